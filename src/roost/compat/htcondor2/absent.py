"""Features of the bindings that a Roost pool lacks: service credentials and placement.

The classes exist so that programs that only refer to them can be imported; each call says why it is refused.
"""

from __future__ import annotations

from typing import Any, NoReturn

from roost.compat.classad2 import ClassAd
from roost.compat.htcondor2.errors import HTCondorException


def _refuse(what: str) -> NoReturn:
    raise HTCondorException(f"Roost keeps no {what}")


class CredCheck:
    """The credentials that exist."""

    __slots__ = ("error", "present", "services", "url")

    def __init__(self, services: Any, url_or_error: str | None) -> None:
        self.services = services
        is_url = bool(url_or_error) and str(url_or_error).startswith(("http://", "https://"))
        self.url = url_or_error if is_url else None
        self.error = None if is_url else url_or_error
        self.present = not url_or_error

    def __bool__(self) -> bool:
        return self.present

    def __str__(self) -> str:
        return str(self.url or self.error or "")


class Credd:
    """A store of users' credentials. Roost has none: jobs use the user's own files."""

    def __init__(self, location: ClassAd | None = None) -> None:
        self._location = location

    def _credentials(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not possible in Roost."""
        _refuse("credentials of users; jobs find what their user's files have")

    add_password = delete_password = query_password = _credentials
    add_user_cred = delete_user_cred = query_user_cred = _credentials
    add_user_service_cred = delete_user_service_cred = query_user_service_cred = _credentials
    check_user_service_creds = get_oauth2_credential = _credentials


class Placementd:
    """A placement daemon. Roost has none."""

    def __init__(self, location: ClassAd | None = None) -> None:
        self._location = location

    def _placements(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not possible in Roost."""
        _refuse("placements")

    queryAuthorizations = queryTokens = queryUsers = userLogin = _placements
