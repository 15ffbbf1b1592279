"""`PersonalPool`: a program's own pool, on this machine, in a directory.

The directory is a state directory of Roost (ROOST_HOME), its configuration is ``roost.config`` there, and `roost up`
and `roost down` start and stop it.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Self

from roost.compat.classad2 import ClassAd
from roost.compat.htcondor2.collector import Collector
from roost.compat.htcondor2.errors import HTCondorException
from roost.compat.htcondor2.schedd import Schedd
from roost.runtime.home import Home, HomeError

__version__ = "1"
__all__ = ("PersonalPool", "PersonalPoolState", "SetCondorConfig")

_VARIABLE = "ROOST_HOME"


class PersonalPoolState(str, Enum):  # noqa: UP042
    """The state of a personal pool."""

    UNINITIALIZED = "UNINITIALIZED"
    INITIALIZED = "INITIALIZED"
    STARTING = "STARTING"
    READY = "READY"
    STOPPING = "STOPPING"
    STOPPED = "STOPPED"


class SetCondorConfig:
    """A context in which the pool of a configuration file is the environment's: ROOST_HOME is its directory."""

    def __init__(self, config_file: Path) -> None:
        self.config_file = Path(config_file)
        self._before: list[str | None] = []

    def set(self) -> None:
        """Make it the environment's pool."""
        self._before.append(os.environ.get(_VARIABLE))
        os.environ[_VARIABLE] = str(self.config_file.parent)

    def unset(self) -> None:
        """Undo the last `set`."""
        before = self._before.pop() if self._before else None
        if before is None:
            os.environ.pop(_VARIABLE, None)
        else:
            os.environ[_VARIABLE] = before

    def __enter__(self) -> Self:
        self.set()
        return self

    def __exit__(self, *_: object) -> None:
        self.unset()


class PersonalPool:
    """A pool on this machine that ends with the program, unless `detach` is used."""

    def __init__(
        self,
        local_dir: Path | str | None = None,
        config: Mapping[str, str | None] | None = None,
        raw_config: str | None = None,
        detach: bool = False,
        use_config: bool = True,
    ) -> None:
        self.local_dir = Path(local_dir or Path.home() / ".condor" / "personal").absolute()
        self.config_file = self.local_dir / "roost.config"
        self.state = PersonalPoolState.UNINITIALIZED
        self._config = {name: value if value is not None else "" for name, value in (config or {}).items()}
        self._raw_config = raw_config or ""
        self._detach = detach
        self._context = SetCondorConfig(self.config_file)
        atexit.register(self.stop)
        if use_config:
            self.initialize()
            self.use_config().set()

    def __repr__(self) -> str:
        return f"PersonalPool(local_dir={self.local_dir}, state={self.state.value})"

    def __enter__(self) -> Self:
        self._context.set()
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._context.unset()

    def use_config(self) -> SetCondorConfig:
        """A context in which this is the environment's pool."""
        return SetCondorConfig(self.config_file)

    @property
    def collector(self) -> Collector:
        """Its collector."""
        with self.use_config():
            return Collector()

    @property
    def schedd(self) -> Schedd:
        """Its queue."""
        with self.use_config():
            return Schedd()

    # -- life --------------------------------------------------------------------------------------

    def initialize(self, overwrite_config: bool = True) -> Self:
        """Make the directory and write the configuration."""
        if self.state is PersonalPoolState.UNINITIALIZED:
            self.local_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            if overwrite_config or not self.config_file.exists():
                lines = ["use ROLE : Personal", *(f"{name} = {value}" for name, value in self._config.items())]
                self.config_file.write_text("\n".join([*lines, self._raw_config]).rstrip() + "\n")
            self.state = PersonalPoolState.INITIALIZED
        return self

    def start(self) -> Self:
        """Start it, and wait until it is ready. Raises HTCondorException."""
        if self.state is PersonalPoolState.READY:
            return self
        self.initialize()
        self.state = PersonalPoolState.STARTING
        done = self.run_command([sys.executable, "-m", "roost.cli", "up", "--detach"])
        if done.returncode:
            self.state = PersonalPoolState.STOPPED
            raise HTCondorException(f"the pool in {self.local_dir} does not start: {done.stderr}")
        self.state = PersonalPoolState.READY
        return self

    def stop(self) -> Self:
        """Stop it, and wait until it has ended; a pool that is detached or not ready is left alone."""
        if self._detach or self.state is not PersonalPoolState.READY:
            return self
        self.state = PersonalPoolState.STOPPING
        self.run_command([sys.executable, "-m", "roost.cli", "down"])
        self.state = PersonalPoolState.STOPPED
        return self

    @classmethod
    def attach(cls, local_dir: Path | str | None = None) -> Self:
        """The pool that runs in a directory. Raises HTCondorException if there is none."""
        pool = cls(local_dir, use_config=False)
        pool.state = PersonalPoolState.INITIALIZED
        pool.use_config().set()
        if not pool._is_ready():
            raise HTCondorException(f"no pool is running in {pool.local_dir}")
        pool.state = PersonalPoolState.READY
        return pool

    def detach(self) -> Self:
        """Keep it running when the program ends."""
        self._detach = True
        return self

    def _is_ready(self) -> bool:
        try:
            Home.find(str(self.local_dir)).contact()
        except HomeError:
            return False
        return True

    # -- queries --------------------------------------------------------------------------

    def who(self) -> ClassAd:
        """An ad that says whether all daemons are running (IsReady); empty while none is."""
        if not self._is_ready():
            return ClassAd()
        contact = Home.find(str(self.local_dir)).contact()
        ad = ClassAd({"IsReady": True, "Machine": str(contact["schedd"])})
        ad["RoostHome"] = str(self.local_dir)
        return ad

    def run_command(
        self,
        args: Sequence[Any],
        stdout: Any = subprocess.PIPE,
        stderr: Any = subprocess.PIPE,
        universal_newlines: bool = True,
        **kwargs: Any,
    ) -> subprocess.CompletedProcess[Any]:
        """Run a command with this as the environment's pool, like `subprocess.run`."""
        with self.use_config():
            done = subprocess.run(
                [str(each) for each in args],
                stdout=stdout,
                stderr=stderr,
                text=universal_newlines,
                check=kwargs.pop("check", False),
                **kwargs,
            )
        done.stdout = done.stdout.rstrip() if done.stdout is not None else None
        done.stderr = done.stderr.rstrip() if done.stderr is not None else None
        return done

    def get_config_val(self, macro: str, default: str | None = None) -> str:
        """The value of a macro. Raises KeyError if it has none and there is no default."""
        from roost.compat import htcondor2

        with self.use_config():
            htcondor2.reload_config()
            try:
                return str(htcondor2.param[macro])
            except KeyError:
                if default is None:
                    raise
                return default
