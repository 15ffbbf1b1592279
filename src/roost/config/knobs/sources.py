"""Knobs that say where more configuration comes from, and paths that many daemons share."""

from __future__ import annotations

from functools import partial

from roost.config.knob import Knob, KnobType, Reload, knob

_k = partial(knob, subsystem="ALL")
_path = partial(knob, type=KnobType.PATH, subsystem="ALL", reload=Reload.RESTART)

# One row a line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
KNOBS: tuple[Knob, ...] = (
    _k("LOCAL_CONFIG_DIR", KnobType.LIST, None, "Directories whose files are read after the root file, left to right, files in byte order of their names."),
    _k("LOCAL_CONFIG_DIR_EXCLUDE_REGEXP", KnobType.STRING, r"^((\..*)|(.*~)|(#.*)|(.*\.rpmsave)|(.*\.rpmnew))$", "Names of files in those directories that are not read, as a regular expression."),
    _k("LOCAL_CONFIG_FILE", KnobType.LIST, None, "Files read after the directories, left to right; an entry that ends in `|` is a command that prints configuration."),
    _k("REQUIRE_LOCAL_CONFIG_FILE", KnobType.BOOLEAN, "True", "Whether a missing file of LOCAL_CONFIG_FILE is an error."),
    _k("USER_CONFIG_FILE", KnobType.PATH, "$(HOME)/.roost/user_config", "File that commands run by ordinary users read last; no error if it is missing.", reload=Reload.COMMAND),
    _k("ENABLE_RUNTIME_CONFIG", KnobType.BOOLEAN, "False", "Whether configuration may be set remotely until the next restart."),
    _k("ENABLE_PERSISTENT_CONFIG", KnobType.BOOLEAN, "False", "Whether configuration set remotely may be kept over restarts."),
    _k("SETTABLE_ATTRS_<LEVEL>", KnobType.LIST, None, "Names that requests of that authorization level may set remotely."),
    _path("RELEASE_DIR", default=None, meaning="Directory of the installed programs."),
    _path("BIN", default="$(RELEASE_DIR)/bin", meaning="Directory of commands for everybody."),
    _path("SBIN", default="$(RELEASE_DIR)/sbin", meaning="Directory of daemons and commands for administrators."),
    _path("LIB", default="$(RELEASE_DIR)/lib", meaning="Directory of libraries."),
    _path("LIBEXEC", default="$(RELEASE_DIR)/libexec", meaning="Directory of programs that daemons run, such as the discovery of devices."),
    _path("SHARE", default="$(RELEASE_DIR)/share/roost", meaning="Directory of files that are the same on every machine."),
    _path("LOCAL_DIR", default="$(ROOST_HOME:/var/lib/roost)", meaning="Directory for what belongs to this machine: the state directory of a pool."),
    _path("LOG", default="$(LOCAL_DIR)/log", meaning="Directory of log files."),
    _path("SPOOL", default="$(LOCAL_DIR)/spool", meaning="Directory of the job queue and of files that wait with jobs."),
    _path("LOCK", default="$(LOCAL_DIR)/lock", meaning="Directory of lock files."),
    _path("RUN", default="$(LOCAL_DIR)/run", meaning="Directory of sockets and process numbers."),
    _path("ETC", default="/etc/roost", meaning="Directory of configuration and credentials."),
    _k("UID_DOMAIN", KnobType.STRING, "$(FULL_HOSTNAME)", "Domain within which an account name means the same person.", reload=Reload.RESTART),
    _k("FILESYSTEM_DOMAIN", KnobType.STRING, "$(FULL_HOSTNAME)", "Domain within which a path means the same file.", reload=Reload.RESTART),
    _k("CONDOR_HOST", KnobType.STRING, None, "Host of the central manager."),
    _k("COLLECTOR_HOST", KnobType.LIST, "$(CONDOR_HOST)", "Hosts, with optional ports, of the collectors that ads are sent to.", reload=Reload.RESTART),
    _k("POOL_NAME", KnobType.STRING, None, "Name of the pool for people."),
    _k("CONDOR_ADMIN", KnobType.STRING, None, "Mail address that problems are reported to."),
    _k("CONDOR_IDS", KnobType.STRING, None, "User and group number, as `uid.gid`, that daemons started by root use for their files.", reload=Reload.RESTART),
    _k("DAEMON_SHUTDOWN", KnobType.EXPRESSION, None, "When TRUE in the daemon's own ad, the daemon shuts down gracefully."),
    _k("DAEMON_SHUTDOWN_FAST", KnobType.EXPRESSION, None, "When TRUE in the daemon's own ad, the daemon shuts down fast."),
    _k("UPDATE_INTERVAL", KnobType.INTEGER, "300", "Time between two updates of a daemon's ads.", unit="s", low=1),
    _k("UPDATE_COLLECTOR_WITH_TCP", KnobType.BOOLEAN, "True", "Kept for old configurations: updates always travel over an acknowledged connection."),
    _k("ALL_DEBUG", KnobType.LIST, None, "Log categories for every daemon."),
    _k("<SUBSYS>_DEBUG", KnobType.LIST, None, "Log categories for one daemon, for instance D_FULLDEBUG."),
    _k("<SUBSYS>_LOG", KnobType.PATH, None, "Log file of one daemon.", reload=Reload.RESTART),
    _k("MAX_DEFAULT_LOG", KnobType.STRING, "10 Mb", "Size at which a log file is rotated, unless MAX_<SUBSYS>_LOG says otherwise."),
    _k("MAX_<SUBSYS>_LOG", KnobType.STRING, None, "Size at which one daemon's log file is rotated."),
    _k("MAX_NUM_<SUBSYS>_LOG", KnobType.INTEGER, "1", "Number of rotated log files kept.", low=0),
    _k("<SUBSYS>_ATTRS", KnobType.LIST, None, "Names of macros published in that daemon's ad."),
    _k("<SUBSYS>_EXPRS", KnobType.LIST, None, "Older name of <SUBSYS>_ATTRS."),
    _k("ALLOW_<LEVEL>", KnobType.LIST, None, "Who may send requests of that authorization level."),
    _k("DENY_<LEVEL>", KnobType.LIST, None, "Who may not send requests of that authorization level."),
    _k("SEC_<CONTEXT>_<FEATURE>", KnobType.STRING, None, "Security settings of one context, such as authentication methods."),
)
