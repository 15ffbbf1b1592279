"""How the pool is served over HTTP: the knobs of the web server."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from roost.base.records import dataclass
from roost.config import Code, Config, ConfigError, Diagnostic

_PREFIX: Final = re.compile(r"(/[A-Za-z0-9._~-]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSettings:
    """See the knobs."""

    address: str = "127.0.0.1"
    #: 0 for a port chosen by the system, which is kept.
    port: int = 0
    #: Files of a certificate and its key; None without TLS.
    certificate: Path | None = None
    key: Path | None = None
    #: Prefix of paths behind a proxy; "" for none.
    prefix: str = ""
    #: Origins of pages besides the server's own: those of a proxy.
    origins: tuple[str, ...] = ()
    #: Expiry of an unused login, s.
    session_s: float = 43_200.0
    #: Maximum number of requests per minute of one person, or of one address without a login.
    requests_per_minute: int = 1_200
    #: Runs of the lab at a time, how long one may take (s), and how much memory it may have (MB).
    lab_runs_max: int = 2
    lab_s: int = 600
    lab_memory_mb: int = 2048


def is_wanted(config: Config) -> bool:
    """Whether a web server is configured."""
    return config.get_bool("WEB_SERVER", True)


def web_settings(config: Config) -> WebSettings:
    """The settings. Raises ConfigError."""
    prefix = (config.get("WEB_PATH_PREFIX") or "").rstrip("/")
    if not _PREFIX.fullmatch(prefix):
        raise _wrong(config, "WEB_PATH_PREFIX", f"{prefix} is not a path prefix", "Write, for instance, /pool.")
    address = config.get("WEB_ADDRESS") or "127.0.0.1"
    try:
        is_local = ipaddress.ip_address(address).is_loopback
    except ValueError:
        raise _wrong(
            config, "WEB_ADDRESS", f"{address} is not an IP address", "Write one, such as 127.0.0.1."
        ) from None
    certificate, key = config.get("WEB_TLS_CERTIFICATE"), config.get("WEB_TLS_KEY")
    if bool(certificate) != bool(key):
        missing = "WEB_TLS_KEY" if certificate else "WEB_TLS_CERTIFICATE"
        given = "WEB_TLS_CERTIFICATE" if certificate else "WEB_TLS_KEY"
        raise _wrong(config, given, f"{missing} is not set", "A certificate and its key are needed together.")
    if not is_local and not certificate:
        remedy = "Set WEB_TLS_CERTIFICATE and WEB_TLS_KEY, or keep 127.0.0.1 and put a TLS proxy in front of it."
        raise _wrong(
            config, "WEB_ADDRESS", f"{address} can be reached from other machines, but TLS is not configured", remedy
        )
    return WebSettings(
        address=address,
        port=config.get_int("WEB_PORT", 0),
        certificate=_readable(config, "WEB_TLS_CERTIFICATE", certificate),
        key=_readable(config, "WEB_TLS_KEY", key),
        prefix=prefix,
        origins=tuple(each.rstrip("/") for each in config.get_list("WEB_ORIGINS")),
        session_s=config.get_float("WEB_SESSION_LIFETIME", 43_200.0),
        requests_per_minute=config.get_int("WEB_REQUESTS_PER_MINUTE", 1_200),
        lab_runs_max=config.get_int("WEB_LAB_RUNS_MAX", 2),
        lab_s=config.get_int("WEB_LAB_TIME_MAX", 600),
        lab_memory_mb=config.get_int("WEB_LAB_MEMORY_MAX", 2048),
    )


def web_problems(config: Config) -> Iterator[Diagnostic]:
    """Problems in the settings. Raises ConfigError."""
    web_settings(config)
    yield from ()


def _readable(config: Config, knob: str, path: str | None) -> Path | None:
    if not path:
        return None
    try:
        with Path(path).open("rb"):
            return Path(path)
    except OSError as error:
        raise _wrong(config, knob, f"{path}: {error.strerror}", "Name a file that the pool's user may read.") from None


def _wrong(config: Config, knob: str, message: str, remedy: str) -> ConfigError:
    return ConfigError(config.problem(Code.BAD_CHOICE, knob, message, remedy=remedy))
