"""Macros for use in other values: time units, timers, universe numbers, and values detected at
start."""

from __future__ import annotations

from functools import partial

from roost.base.diagnostics import Severity
from roost.config.knob import Knob, KnobType, Reload, Unread, knob

_macro = partial(knob, type=KnobType.MACRO, subsystem="ALL", read_by="config.expand")
_preset = partial(
    knob, type=KnobType.MACRO, default=None, subsystem="ALL", reload=Reload.PRESET, read_by="runtime.machine"
)
_detected = partial(
    knob, type=KnobType.MACRO, default=None, subsystem="ALL", reload=Reload.RESTART, read_by="runtime.machine"
)

_N = Severity.NOTE

# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
KNOBS: tuple[Knob, ...] = (
    _macro("ROOST", default="True", meaning="Defined when Roost reads the configuration: lines between `if ! defined ROOST` and `endif` are for HTCondor only."),
    _macro("MINUTE", default="60", unit="s", meaning="Seconds in a minute."),
    _macro("HOUR", default="3600", unit="s", meaning="Seconds in an hour."),
    _macro("STANDARD", default="1", meaning="Number of the standard universe, which no longer exists."),
    _macro("VANILLA", default="5", meaning="Number of the vanilla universe, that of ordinary jobs."),
    _macro("VM", default="13", meaning="Number of the virtual-machine universe."),
    _macro("IsVanilla", default="(TARGET.JobUniverse == 5)", meaning="True for a vanilla job."),
    _macro("IsVM", default="(TARGET.JobUniverse == 13)", meaning="True for a job that is a virtual machine."),
    _macro("IsStandard", default="(TARGET.JobUniverse == 1)", meaning="True for a standard-universe job; such jobs no longer exist."),
    _macro("IsMPI", default="(TARGET.JobUniverse == 8)", meaning="True for a job of the old MPI universe; such jobs no longer exist."),
    _macro("StateTimer", default="(time() - EnteredCurrentState)", unit="s", meaning="How long the slot has been in its state."),
    _macro("ActivityTimer", default="(time() - EnteredCurrentActivity)", unit="s", meaning="How long the slot has been in its activity."),
    _macro("ActivationTimer", default="(time() - JobStart)", unit="s", meaning="How long the slot's job has been running; UNDEFINED without a job."),
    _macro("LastCkpt", default="(time() - LastPeriodicCheckpoint)", unit="s", meaning="How long ago the job last saved its state."),
    _preset("SUBSYSTEM", meaning="Name of the daemon or command that reads the configuration.", read_by="config.scope"),
    _preset("SUBSYS", meaning="The same as SUBSYSTEM.", read_by="config.scope"),
    _preset("LOCALNAME", meaning="Name given to this instance of the daemon; that of the subsystem when none was given.", read_by="config.scope"),
    _preset("DOLLAR", meaning="A dollar sign that does not begin a macro reference.", read_by="config.scope"),
    _preset("HOSTNAME", meaning="Name of the host without its domain."),
    _preset("FULL_HOSTNAME", meaning="Name of the host with its domain."),
    _preset("IP_ADDRESS", meaning="Address of the host that daemons announce.", unread=Unread("Roost does not determine it: machines make outbound connections only.", _N)),
    _preset("IPV4_ADDRESS", meaning="IPv4 address of the host.", unread=Unread("Roost does not determine it: machines make outbound connections only.", _N)),
    _preset("IPV6_ADDRESS", meaning="IPv6 address of the host.", unread=Unread("Roost does not determine it: machines make outbound connections only.", _N)),
    _detected("TILDE", meaning="Home directory of the account the daemons run under.", unread=Unread("Not set at start: use $(HOME).", _N)),
    _preset("DETECTED_CPUS", unit="cores", meaning="Cores found, counting hardware threads if COUNT_HYPERTHREAD_CPUS."),
    _detected("DETECTED_PHYSICAL_CPUS", unit="cores", meaning="Physical cores found."),
    _detected("DETECTED_CPUS_LIMIT", unit="cores", meaning="Cores this daemon may use: those found, or fewer if it is confined."),
    _detected("DETECTED_CORES", unit="cores", meaning="Logical cores found."),
    _detected("DETECTED_MEMORY", unit="MB", meaning="Physical memory found."),
    _detected("ARCH", meaning="Processor architecture, for example X86_64."),
    _detected("OPSYS", meaning="Operating system, for example LINUX."),
    _detected("OPSYSVER", meaning="Version of the operating system as a number."),
    _detected("OPSYSANDVER", meaning="Name of the distribution with its major version."),
    _detected("OPSYSMAJORVER", meaning="Major version of the distribution."),
    _detected("UNAME_ARCH", meaning="Architecture as uname prints it."),
    _detected("UNAME_OPSYS", meaning="Operating system as uname prints it."),
    _preset("PID", meaning="Process number of the daemon."),
    _preset("PPID", meaning="Process number of the daemon's parent."),
    _preset("USERNAME", meaning="Account name the daemon runs under."),
    _preset("REAL_UID", meaning="User number the daemon runs under."),
    _preset("REAL_GID", meaning="Group number the daemon runs under."),
    _detected("HOME", meaning="Home directory of the account that runs the command."),
    _detected("CONFIG_ROOT", meaning="Directory of the first configuration file.", read_by="config.sources"),
)
