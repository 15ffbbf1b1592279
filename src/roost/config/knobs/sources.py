"""Knobs that say where more configuration comes from, and paths that many daemons share."""

from __future__ import annotations

from functools import partial

from roost.base.diagnostics import Severity
from roost.config.knob import Knob, KnobType, Reload, Unread, knob

_k = partial(knob, subsystem="ALL", read_by="config.sources")
_path = partial(knob, type=KnobType.PATH, subsystem="ALL", reload=Reload.RESTART, read_by="config.expand")

_E = Severity.ERROR
_N = Severity.NOTE

_BY_CREDENTIALS = "Daemons authenticate with the message servers: NATS_CREDENTIALS."
_NO_LOG = "No daemon of Roost has that name. COLLECTOR_LOG, SCHEDD_LOG, STARTD_LOG, WEB_LOG and REGISTRAR_LOG are the logs of its daemons, MASTER_LOG is the master's, NEGOTIATOR_LOG, DEFRAG_LOG and STARTER_LOG those of parts of them."
_NO_SHADOWS = "The queue does the work of shadows and logs it to SCHEDD_LOG."
_ONE_LEVEL = "The master always logs all of its messages."

# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
KNOBS: tuple[Knob, ...] = (
    _k("LOCAL_CONFIG_DIR", KnobType.LIST, None, "Directories whose files are read after the root file, left to right, files in byte order of their names."),
    _k("LOCAL_CONFIG_DIR_EXCLUDE_REGEXP", KnobType.STRING, r"^((\..*)|(.*\.pl)|(.*\.py)|(.*\.sh)|(.*~)|(#.*)|(.*\.rpmsave)|(.*\.rpmnew)|(.*\.dpkg-old)|(.*\.dpkg-dist)|(.*\.cfsaved))$", "Names of files in those directories that are not read, as a regular expression without possessive repeats and atomic groups."),
    _k("LOCAL_CONFIG_FILE", KnobType.LIST, None, "Files read after the directories, left to right; an entry that ends in `|` is a command that prints configuration."),
    _k("REQUIRE_LOCAL_CONFIG_FILE", KnobType.BOOLEAN, "True", "Whether a missing file of LOCAL_CONFIG_FILE is an error."),
    _k("USER_CONFIG_FILE", KnobType.PATH, "$(HOME)/.roost/user_config", "File that commands run by ordinary users read last; no error if it is missing.", reload=Reload.COMMAND),
    _k("ENABLE_RUNTIME_CONFIG", KnobType.BOOLEAN, "False", "Whether configuration may be set remotely until the next restart.", unread=Unread("Configuration cannot be set remotely: change the files and run roost reconfig.")),
    _k("ENABLE_PERSISTENT_CONFIG", KnobType.BOOLEAN, "False", "Whether configuration set remotely may be kept over restarts.", unread=Unread("Configuration cannot be set remotely: change the files and run roost reconfig.")),
    _k("SETTABLE_ATTRS_<LEVEL>", KnobType.LIST, None, "Names that requests of that authorization level may set remotely.", unread=Unread("Configuration cannot be set remotely.", _E)),
    _path("RELEASE_DIR", default="/usr", meaning="Directory of the installed programs."),
    _path("BIN", default="$(RELEASE_DIR)/bin", meaning="Directory of commands for all users."),
    _path("SBIN", default="$(RELEASE_DIR)/sbin", meaning="Directory of daemons and commands for administrators."),
    _path("LIB", default="$(RELEASE_DIR)/lib", meaning="Directory of libraries."),
    _path("LIBEXEC", default="$(RELEASE_DIR)/libexec", meaning="Directory of programs that daemons run, such as the discovery of devices."),
    _path("SHARE", default="$(RELEASE_DIR)/share/roost", meaning="Directory of files that are the same on every machine."),
    _path("LOCAL_DIR", default="$(ROOST_HOME:/var/lib/roost)", meaning="Directory for files specific to this machine: the state directory of a pool."),
    _path("LOG", default="$(LOCAL_DIR)/log", meaning="Directory of log files.", unread=Unread("Logs are in the directory log of the state directory; COLLECTOR_LOG, SCHEDD_LOG and STARTD_LOG put them elsewhere.")),
    _path("SPOOL", default="$(LOCAL_DIR)/spool", meaning="Directory of the job queue and of files that wait with jobs.", unread=Unread("The state directory (ROOST_HOME, or roost up --home) is where a pool keeps its files.", _N)),
    _path("LOCK", default="$(LOG)", meaning="Directory of lock files.", unread=Unread("The state directory (ROOST_HOME, or roost up --home) is where a pool keeps its files.", _N)),
    _path("RUN", default="$(LOG)", meaning="Directory of sockets and process numbers.", unread=Unread("The state directory (ROOST_HOME, or roost up --home) is where a pool keeps its files.", _N)),
    _path("ETC", default="/etc/roost", meaning="Directory of configuration and credentials."),
    _k("UID_DOMAIN", KnobType.STRING, "$(FULL_HOSTNAME)", "Domain within which an account name identifies the same person.", reload=Reload.RESTART, read_by="schedd.configured"),
    _k("FILESYSTEM_DOMAIN", KnobType.STRING, "$(FULL_HOSTNAME)", "Domain within which a path means the same file.", reload=Reload.RESTART, read_by="runtime.queue.local_runs"),
    _k("CONDOR_HOST", KnobType.STRING, None, "Host of the central manager.", unread=Unread("Daemons find the pool through NATS_SERVERS.", _N)),
    _k("COLLECTOR_HOST", KnobType.LIST, "$(CONDOR_HOST)", "Hosts, with optional ports, of the collectors that ads are sent to.", reload=Reload.RESTART, unread=Unread("Daemons find the pool through NATS_SERVERS.", _N)),
    _k("POOL_NAME", KnobType.STRING, None, "Name of the pool for people.", read_by="runtime.master"),
    _k("CONDOR_ADMIN", KnobType.STRING, "root@$(FULL_HOSTNAME)", "Mail address that problems are reported to.", unread=Unread("Roost sends no mail.", _N)),
    _k("CONDOR_IDS", KnobType.STRING, None, "User and group number, as `uid.gid`, that daemons started by root use for their files.", reload=Reload.RESTART, unread=Unread("The daemons keep the account that roost up runs under.")),
    _k("DAEMON_SHUTDOWN", KnobType.EXPRESSION, None, "When TRUE in the daemon's own ad, the daemon shuts down gracefully.", unread=Unread("A daemon ends when roost down or condor_off says so, and not by an expression.")),
    _k("DAEMON_SHUTDOWN_FAST", KnobType.EXPRESSION, None, "When TRUE in the daemon's own ad, the daemon shuts down fast.", unread=Unread("A daemon ends when roost down or condor_off says so, and not by an expression.")),
    _k("UPDATE_INTERVAL", KnobType.INTEGER, "300", "Time between two updates of the ads of a machine's slots; changes are published at once. An idle machine is looked at that often, or every 60 s if that is shorter. It must be below CLASSAD_LIFETIME.", unit="s", low=1, read_by="node.plan"),
    _k("UPDATE_COLLECTOR_WITH_TCP", KnobType.BOOLEAN, "True", "Kept for old configurations: updates always travel over an acknowledged connection.", unread=Unread("Updates always travel over an acknowledged connection.", _N)),
    _k("ALL_DEBUG", KnobType.LIST, None, "Log categories for every daemon: D_FULLDEBUG, D_ALL, D_ANY or a category with `:2` log everything, D_LOAD adds loads and idle times to the log of an execute machine; others change nothing.", read_by="runtime.log_settings"),
    *(row for daemon, subsystem in (("COLLECTOR", "COLLECTOR"), ("SCHEDD", "SCHEDD"), ("STARTD", "STARTD"), ("WEB", "COLLECTOR"), ("REGISTRAR", "COLLECTOR")) for row in (
        _k(f"{daemon}_DEBUG", KnobType.LIST, None, "Log categories for this daemon, besides ALL_DEBUG.", subsystem=subsystem, read_by="runtime.log_settings"),
        _k(f"{daemon}_LOG", KnobType.PATH, None, "Log file of this daemon, an absolute path; unset is in the directory log of the state directory, where otherwise a link leads to it.", subsystem=subsystem, read_by="runtime.log_settings"),
        _k(f"MAX_{daemon}_LOG", KnobType.STRING, None, "Size at which this daemon's log is rotated, such as `10 Mb`, at least 10000 bytes; 0 for never, unset is MAX_DEFAULT_LOG.", subsystem=subsystem, read_by="runtime.log_settings"),
        _k(f"MAX_NUM_{daemon}_LOG", KnobType.INTEGER, "2", "Number of rotated log files of this daemon that are kept.", subsystem=subsystem, low=0, high=1000, read_by="runtime.log_settings"),
    )),
    _k("LOG_FORMAT", KnobType.STRING, "text", "How daemons log: lines of text, lines of JSON, or entries of systemd's journal instead of files; <DAEMON>.LOG_FORMAT is for one daemon.", words=("text", "json", "journal"), read_by="runtime.log_settings"),
    _k("MAX_DEFAULT_LOG", KnobType.STRING, "10 Mb", "Size at which a daemon's log is rotated unless it has its own: bytes, at least 10000, or with a unit of Kb, Mb, Gb or Tb; 0 for never.", read_by="runtime.log_settings"),
    *(row for part, what, daemon in (("NEGOTIATOR", "the matchmaker, and of the scheduling run of a Grid Engine cell", "COLLECTOR"), ("DEFRAG", "defragmentation", "COLLECTOR"), ("STARTER", "starters and of the hooks of jobs, of all slots", "STARTD")) for row in (
        _k(f"{part}_DEBUG", KnobType.LIST, None, f"Log categories of {what}, besides {daemon}_DEBUG and ALL_DEBUG.", subsystem=part, read_by="runtime.log_settings"),
        _k(f"{part}_LOG", KnobType.PATH, None, f"Log file of {what}, an absolute path; unset is that of {daemon}_LOG.", subsystem=part, read_by="runtime.log_settings"),
        _k(f"MAX_{part}_LOG", KnobType.STRING, None, f"Size at which {part}_LOG is rotated, such as `10 Mb`, at least 10000 bytes; 0 for never, unset is MAX_DEFAULT_LOG.", subsystem=part, read_by="runtime.log_settings"),
        _k(f"MAX_NUM_{part}_LOG", KnobType.INTEGER, "2", f"Number of rotated files of {part}_LOG that are kept.", subsystem=part, low=0, high=1000, read_by="runtime.log_settings"),
    )),
    _k("MASTER_DEBUG", KnobType.LIST, None, "Log categories of the master.", subsystem="MASTER", unread=Unread(_ONE_LEVEL, _N)),
    _k("MASTER_LOG", KnobType.PATH, None, "File, an absolute path, that gets the lines of the master with their times; the master prints them as well, where roost up runs, or to log/master.log with --detach.", subsystem="MASTER", read_by="runtime.log_settings"),
    _k("MAX_MASTER_LOG", KnobType.STRING, None, "Size at which MASTER_LOG is rotated, such as `10 Mb`, at least 10000 bytes; 0 for never, unset is MAX_DEFAULT_LOG.", subsystem="MASTER", read_by="runtime.log_settings"),
    _k("MAX_NUM_MASTER_LOG", KnobType.INTEGER, "2", "Number of rotated files of MASTER_LOG that are kept.", subsystem="MASTER", low=0, high=1000, read_by="runtime.log_settings"),
    *(row for daemon, what, unread in (("SHADOW", "the shadows", Unread(_NO_SHADOWS)), ("<SUBSYS>", "another daemon", Unread(_NO_LOG, _N))) for row in (
        _k(f"{daemon}_DEBUG", KnobType.LIST, None, f"Log categories of {what}.", unread=unread),
        _k(f"MAX_NUM_{daemon}_LOG", KnobType.INTEGER, "1", f"Number of rotated log files kept of {what}.", low=0, unread=unread),
        _k(f"MAX_{daemon}_LOG", KnobType.STRING, None, f"Size at which the log file of {what} is rotated.", unread=unread),
        _k(f"{daemon}_LOG", KnobType.PATH, None, f"Log file of {what}.", reload=Reload.RESTART, unread=unread),
    )),
    _k("<SUBSYS>_ATTRS", KnobType.LIST, None, "Names of macros published in that daemon's ad.", unread=Unread("Only the ads of slots take attributes from the configuration, by STARTD_ATTRS.")),
    _k("<SUBSYS>_EXPRS", KnobType.LIST, None, "Older name of <SUBSYS>_ATTRS.", unread=Unread("Only the ads of slots take attributes from the configuration, by STARTD_ATTRS.")),
    *(row for level, action in (("READ", "ask for ads, jobs and decisions"), ("WRITE", "submit jobs and act on their own"), ("ADMINISTRATOR", "act on all jobs, drain machines and change priorities")) for row in (
        _k(f"ALLOW_{level}", KnobType.LIST, None, f"Users who may {action}, as user@domain{'' if level == 'ADMINISTRATOR' else ' or with wildcards'}; unset: see permissions.md.", read_by="config.access"),
        _k(f"DENY_{level}", KnobType.LIST, None, f"Users who may not {action}, nor what is of a higher level.", read_by="config.access"),
        *(row for daemon in ("SCHEDD", "STARTD", "COLLECTOR") for row in (
            _k(f"ALLOW_{level}_{daemon}", KnobType.LIST, None, f"Taken instead of ALLOW_{level} by that daemon.", subsystem=daemon, read_by="config.access"),
            _k(f"DENY_{level}_{daemon}", KnobType.LIST, None, f"Taken instead of DENY_{level} by that daemon.", subsystem=daemon, read_by="config.access"),
        )),
    )),
    *(_k(f"ALLOW_{level}", KnobType.LIST, None, "Daemons that may join the pool.", unread=Unread(_BY_CREDENTIALS, _E, ("*",))) for level in ("DAEMON", "NEGOTIATOR", "ADVERTISE_STARTD", "ADVERTISE_SCHEDD", "ADVERTISE_MASTER")),
    _k("ALLOW_CLIENT", KnobType.LIST, None, "Daemons that commands trust.", unread=Unread(_BY_CREDENTIALS, _E, ("*",))),
    _k("ALLOW_OWNER", KnobType.LIST, None, "Older level of authorization for the owner of a machine.", unread=Unread("The level no longer exists: use ALLOW_ADMINISTRATOR_STARTD.", _E)),
    _k("ALLOW_CONFIG", KnobType.LIST, None, "Who may set configuration remotely.", unread=Unread("Configuration cannot be set remotely.", _E)),
    _k("DENY_CONFIG", KnobType.LIST, None, "Who may not set configuration remotely.", unread=Unread("Configuration cannot be set remotely.", _N)),
    _k("ALLOW_<LEVEL>", KnobType.LIST, None, "Who may send requests of another authorization level.", unread=Unread("Only READ, WRITE and ADMINISTRATOR are levels of Roost.", _E, ("*",))),
    _k("DENY_<LEVEL>", KnobType.LIST, None, "Who may not send requests of another authorization level.", unread=Unread("Only READ, WRITE and ADMINISTRATOR are levels of Roost; keep daemons out by their credentials.", _E)),
    _k("SEC_<CONTEXT>_AUTHENTICATION", KnobType.STRING, None, "Whether daemons and users are authenticated.", unread=Unread("Daemons and users are always authenticated, by the credentials of the message servers.", _N, ("required", "preferred", "optional"))),
    _k("SEC_<CONTEXT>_ENCRYPTION", KnobType.STRING, None, "Whether what daemons and users say is encrypted.", unread=Unread("Messages are encrypted where NATS_SERVERS names servers as tls://.", _E, harmless=("preferred", "optional", "never"))),
    _k("SEC_<CONTEXT>_INTEGRITY", KnobType.STRING, None, "Whether what daemons and users say is protected from change.", unread=Unread("Messages are protected where NATS_SERVERS names servers as tls://.", _E, harmless=("preferred", "optional", "never"))),
    _k("SEC_<CONTEXT>_<FEATURE>", KnobType.STRING, None, "Other security settings of one context, such as authentication methods.", unread=Unread("Daemons and users are authenticated by the credentials of the message servers.", _N)),
)
