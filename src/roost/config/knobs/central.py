"""The daemons around the pool: master, collector, defragmentation, and what Roost stands on."""

from __future__ import annotations

from functools import partial

from roost.base.diagnostics import Severity
from roost.config.knob import Knob, KnobType, Reload, Unread, knob

_master = partial(knob, subsystem="MASTER", read_by="runtime.master")
_collector = partial(knob, subsystem="COLLECTOR", read_by="runtime.central.audit_keeper")
_defrag = partial(knob, subsystem="DEFRAG", read_by="defrag.policy")
_roost = partial(knob, subsystem="ALL", reload=Reload.RESTART, read_by="runtime.master")

_E = Severity.ERROR
_N = Severity.NOTE

# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
KNOBS: tuple[Knob, ...] = (
    _master("DAEMON_LIST", KnobType.LIST, "MASTER", "Daemons that run here.", reload=Reload.RESTART),
    _master("MASTER_NAME", KnobType.STRING, None, "Name of this machine's master when a host has several.", reload=Reload.RESTART, unread=Unread("The master is named after its host.")),
    _master("MASTER_UPDATE_INTERVAL", KnobType.INTEGER, "300", "Time between two updates of the master's ad.", unit="s", low=1, unread=Unread("The master has no ad of its own.", _N)),
    _master("MASTER_BACKOFF_CONSTANT", KnobType.INTEGER, None, "Added to the wait before a daemon that died is started again, which is CONSTANT + FACTOR ** n seconds after n deaths. Unset counts as 9 where one of the other two is set; with none of them the wait begins at 0.1 s and doubles up to 30 s.", unit="s", low=0, read_by="runtime.master_settings"),
    _master("MASTER_BACKOFF_FACTOR", KnobType.REAL, None, "Growth of that wait with each death; unset counts as 2.", low=0, read_by="runtime.master_settings"),
    _master("MASTER_BACKOFF_CEILING", KnobType.INTEGER, None, "Longest such wait; unset counts as 3600.", unit="s", low=0, read_by="runtime.master_settings"),
    _master("MASTER_RECOVER_FACTOR", KnobType.INTEGER, None, "How long a daemon must live for its deaths to be forgotten; unset counts as 300 where one of MASTER_BACKOFF_* is set, else as 60.", unit="s", low=0, read_by="runtime.master_settings"),
    _master("SHUTDOWN_GRACEFUL_TIMEOUT", KnobType.INTEGER, "1800", "How long a daemon may take to end gracefully, its jobs' retirement and vacating included, before it has to end fast.", unit="s", low=0, read_by="runtime.master_settings"),
    _master("SHUTDOWN_FAST_TIMEOUT", KnobType.INTEGER, "300", "How long a daemon may take to end fast before it is killed.", unit="s", low=0, read_by="runtime.master_settings"),
    _collector("COLLECTOR_NAME", KnobType.STRING, None, "Description of the pool.", read_by="runtime.master"),
    _collector("COLLECTOR_PORT", KnobType.INTEGER, "9618", "Kept for old configurations: machines make outbound connections only.", low=0, high=65535, unread=Unread("Machines make outbound connections only.", _N)),
    _collector("CLASSAD_LIFETIME", KnobType.INTEGER, "900", "Age at which an ad that is not renewed is dropped.", unit="s", low=1, read_by="runtime.central.daemon"),
    _collector("COLLECTOR_UPDATE_INTERVAL", KnobType.INTEGER, "900", "Time between two updates of the collector's own ad.", unit="s", low=1, unread=Unread("The ad of the collector is always the present one.", _N)),
    _collector("AUDIT_DATABASE_URL", KnobType.STRING, None, "Database of the audit trail, as an URL of SQLAlchemy. Without it: the queue's in PostgreSQL, else a file beside the queue's.", reload=Reload.RESTART),
    _collector("AUDIT_MAX_AGE", KnobType.INTEGER, "7776000", "Age at which decisions leave the audit trail.", unit="s", low=0),
    _collector("AUDIT_MAX_RECORDS", KnobType.INTEGER, "1000000", "Most decisions in the audit trail; the oldest leave first.", low=1),
    _collector("COLLECTOR_REQUIREMENTS", KnobType.EXPRESSION, None, "Condition on the ads that are taken.", unread=Unread("Every ad that an authenticated daemon sends is taken.", _E)),
    _collector("CONDOR_VIEW_HOST", KnobType.LIST, None, "Further collectors that ads are passed on to.", unread=Unread("Ads are passed on to no further collector.")),
    _collector("ABSENT_REQUIREMENTS", KnobType.EXPRESSION, None, "Ads that are kept as absent, not dropped, when they are not renewed.", unread=Unread("Ads that are not renewed are dropped.")),
    _collector("OFFLINE_EXPIRE_ADS_AFTER", KnobType.INTEGER, "2147483647", "How long ads of sleeping machines are kept.", unit="s", low=0, unread=Unread("Roost puts no machine to sleep and wakes none.")),
    _defrag("DEFRAG_INTERVAL", KnobType.INTEGER, "600", "Time between two rounds of draining.", unit="s", low=1),
    _defrag("DEFRAG_UPDATE_INTERVAL", KnobType.INTEGER, "300", "Time between two updates of the daemon's ad.", unit="s", low=1),
    _defrag("DEFRAG_DRAINING_MACHINES_PER_HOUR", KnobType.REAL, "0", "Machines whose draining is begun in an hour; 0 does nothing.", low=0),
    _defrag("DEFRAG_MAX_WHOLE_MACHINES", KnobType.INTEGER, "-1", "No draining is begun while that many machines are whole; -1 for no limit.", low=-1),
    _defrag("DEFRAG_MAX_CONCURRENT_DRAINING", KnobType.INTEGER, "-1", "Most machines drained at a time; -1 for no limit.", low=-1),
    _defrag("DEFRAG_WHOLE_MACHINE_EXPR", KnobType.EXPRESSION, "Cpus == TotalSlotCpus", "Which machines count as whole.", read_by="defrag.view"),
    _defrag("DEFRAG_REQUIREMENTS", KnobType.EXPRESSION, None, "Which machines may be drained."),
    _defrag("DEFRAG_CANCEL_REQUIREMENTS", KnobType.EXPRESSION, "$(DEFRAG_WHOLE_MACHINE_EXPR)", "Which machines' draining is cancelled.", read_by="defrag.view"),
    _defrag("DEFRAG_RANK", KnobType.EXPRESSION, "-ExpectedMachineGracefulDrainingBadput", "Which machines are drained first: those with the largest value.", read_by="defrag.view"),
    _defrag("DEFRAG_DRAINING_START_EXPR", KnobType.EXPRESSION, "FALSE", "START of a machine while it is drained; macros in it are those of this daemon, not of the machine."),
    _defrag("DEFRAG_DRAINING_SCHEDULE", KnobType.STRING, "graceful", "How machines are drained.", words=("graceful", "quick", "fast")),
    _defrag("DEFRAG_SCHEDULE", KnobType.STRING, None, "Older name of DEFRAG_DRAINING_SCHEDULE.", words=("graceful", "quick", "fast")),
    _defrag("DEFRAG_NAME", KnobType.STRING, None, "Name of the daemon."),
    _roost("NATS_SERVERS", KnobType.LIST, None, "Message servers of the pool; unset starts one of its own."),
    _roost("NATS_CREDENTIALS", KnobType.PATH, None, "File with the credentials for the message servers: a JSON object with user and password, or with one such object for each of central, schedd, node and client."),
    _roost("ROOST_USERS", KnobType.LIST, None, "Users of this machine who may use the pool, where root runs it."),
    _roost("WEB_SERVER", KnobType.BOOLEAN, "true", "Whether the central manager's machine serves web pages, the HTTP API and metrics.", read_by="runtime.web_settings"),
    _roost("WEB_ADDRESS", KnobType.STRING, "127.0.0.1", "IP address on which the web server listens; another one than the machine's own needs a certificate.", read_by="runtime.web_settings"),
    _roost("WEB_PORT", KnobType.INTEGER, "0", "Port of the web server; 0 is one that is free at the first start, and is kept.", low=0, high=65535, read_by="runtime.web_settings"),
    _roost("WEB_TLS_CERTIFICATE", KnobType.PATH, None, "File with the certificate of the web server and those that vouch for it; unset serves without TLS.", read_by="runtime.web_settings"),
    _roost("WEB_TLS_KEY", KnobType.PATH, None, "File with the key of the web server's certificate.", read_by="runtime.web_settings"),
    _roost("WEB_PATH_PREFIX", KnobType.STRING, None, "What paths begin with where a proxy serves the pages below one, such as /pool.", read_by="runtime.web_settings"),
    _roost("WEB_ORIGINS", KnobType.LIST, None, "Addresses by which browsers find the web server behind a proxy, such as https://pool.example.org; the first is the one that `roost web` prints.", read_by="runtime.web_settings"),
    _roost("WEB_SESSION_LIFETIME", KnobType.REAL, "43200", "How long a login lasts without use.", unit="s", low=60, reload=Reload.RECONFIG, read_by="runtime.web_settings"),
    _roost("WEB_REQUESTS_PER_MINUTE", KnobType.INTEGER, "1200", "Most requests to the web server in a minute, of one user or of one address without a login.", low=1, read_by="runtime.web_settings"),
    _roost("DATABASE_URL", KnobType.STRING, None, "Database that keeps jobs and history, as an SQLAlchemy URL; unset is an SQLite database in the state directory.", read_by="runtime.queue.daemon"),
    _roost("REQUEST_TIME_MAX", KnobType.REAL, "10", "Processor time that one request to a daemon may take; a query that needs more is refused whole.", unit="s", low=0.1, reload=Reload.RECONFIG, read_by="runtime.bus.budget"),
    _roost("ROOST_SENSORS_FILE", KnobType.PATH, None, "JSON file whose readings take the place of what sensors say, for tests and demonstrations.", read_by="runtime.node.sensors"),
    _roost("ROOST_ACTIVITY_FILES", KnobType.LIST, None, "Files whose change means that the machine's owner is active, such as a file that an X idle watcher touches.", read_by="runtime.node.sensors"),
)
