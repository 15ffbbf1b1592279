"""The context for reading a submit description, for all programs that submit to a running pool; configuration."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from roost.runtime.home import HomeError
from roost.runtime.identity import user_name

if TYPE_CHECKING:
    from roost.config import Config
    from roost.runtime.home import Home
    from roost.schedd.submit import SubmitContext


def pool_config(home: Home, contact: dict[str, Any]) -> Config | None:
    """The pool's configuration, with defaults and site policy for jobs; None if there is none."""
    roots = contact.get("roots")
    if roots is None and not home.config_file.exists():
        return None
    return home.config(None if roots is None else tuple(roots), "SUBMIT")


def submit_context(
    config: Config | None, contact: Mapping[str, Any], *, look_at_files: bool = True, spooled: bool = False
) -> SubmitContext:
    """The context of a description that this user submits now; without a pool, `contact` is empty."""
    from roost.runtime.queue.submit_host import SystemSubmitHost
    from roost.schedd.submit import SubmitContext

    return SubmitContext(
        host=SystemSubmitHost(),
        now=time.time(),
        owner=user_name(),
        uid_domain=str(contact.get("uid_domain", "")),
        config=config,
        look_at_files=look_at_files,
        spooled=spooled,
    )


def config_for_tools(home: Home, subsystem: str) -> Config | None:
    """The configuration of the pool as a daemon with that name reads it; without a pool, from HTCondor's locations.

    None if there is no configuration at all.
    """
    contact: dict[str, Any] = {}
    with suppress(HomeError):
        contact = home.contact()
    roots = contact.get("roots")
    if roots is not None or home.config_file.exists():
        return home.config(None if roots is None else tuple(roots), subsystem)
    from roost.runtime.machine import root_files

    found = root_files(None, os.environ)
    return None if found is None else home.config(found, subsystem)
