"""What the bindings have and a Roost pool has not: credentials of services, placement, orders to a running DAG.

The classes are there, so that programs that only name them can be imported; each call says why it is refused.
"""

from __future__ import annotations

from typing import Any, NoReturn

from roost.compat.classad2 import ClassAd
from roost.compat.htcondor2.errors import HTCondorException


def _refuse(what: str) -> NoReturn:
    raise HTCondorException(f"Roost keeps no {what}")


class CredCheck:
    """Which credentials are there."""

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
    """A keeper of users' credentials. There is none in Roost: jobs use what the user's own files have."""

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
    """A keeper of placements. There is none in Roost."""

    def __init__(self, location: ClassAd | None = None) -> None:
        self._location = location

    def _placements(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not possible in Roost."""
        _refuse("placements")

    queryAuthorizations = queryTokens = queryUsers = userLogin = _placements
