"""The central daemons: master, collector, defragmentation, and Roost's infrastructure."""

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
    _master("MASTER_BACKOFF_CONSTANT", KnobType.INTEGER, None, "Constant part of the delay before a crashed daemon is restarted, which is CONSTANT + FACTOR ** n seconds after n crashes. Defaults to 9 if one of the other two is set; if none is set, the delay begins at 0.1 s and doubles up to 30 s.", unit="s", low=0, read_by="runtime.master_settings"),
    _master("MASTER_BACKOFF_FACTOR", KnobType.REAL, None, "Growth of that delay with each crash; unset counts as 2.", low=0, read_by="runtime.master_settings"),
    _master("MASTER_BACKOFF_CEILING", KnobType.INTEGER, None, "Longest such delay; unset counts as 3600.", unit="s", low=0, read_by="runtime.master_settings"),
    _master("MASTER_RECOVER_FACTOR", KnobType.INTEGER, None, "How long a daemon must run for its crashes to be forgotten; unset counts as 300 if one of MASTER_BACKOFF_* is set, otherwise as 60.", unit="s", low=0, read_by="runtime.master_settings"),
    _master("SHUTDOWN_GRACEFUL_TIMEOUT", KnobType.INTEGER, "1800", "How long a graceful shutdown of a daemon may take, including the retirement and vacating of its jobs, before a fast shutdown.", unit="s", low=0, read_by="runtime.master_settings"),
    _master("SHUTDOWN_FAST_TIMEOUT", KnobType.INTEGER, "300", "How long a fast shutdown of a daemon may take before it is killed.", unit="s", low=0, read_by="runtime.master_settings"),
    _collector("COLLECTOR_NAME", KnobType.STRING, None, "Description of the pool.", read_by="runtime.master"),
    _collector("COLLECTOR_PORT", KnobType.INTEGER, "9618", "Kept for old configurations: machines make outbound connections only.", low=0, high=65535, unread=Unread("Machines make outbound connections only.", _N)),
    _collector("CLASSAD_LIFETIME", KnobType.INTEGER, "900", "Age at which an ad that has not been renewed is dropped.", unit="s", low=1, read_by="runtime.central.daemon"),
    _collector("COLLECTOR_UPDATE_INTERVAL", KnobType.INTEGER, "900", "Time between two updates of the collector's own ad.", unit="s", low=1, unread=Unread("The ad of the collector is always current.", _N)),
    _collector("AUDIT_DATABASE_URL", KnobType.STRING, None, "Database of the audit trail, as an SQLAlchemy URL. If unset, it is the queue's database if that is PostgreSQL, otherwise a file next to the queue's.", reload=Reload.RESTART),
    _collector("AUDIT_MAX_AGE", KnobType.INTEGER, "7776000", "Age at which decisions leave the audit trail.", unit="s", low=0),
    _collector("AUDIT_MAX_RECORDS", KnobType.INTEGER, "1000000", "Maximum number of decisions in the audit trail; the oldest are deleted first.", low=1),
    _collector("COLLECTOR_REQUIREMENTS", KnobType.EXPRESSION, None, "Condition on the ads that the collector accepts.", unread=Unread("Every ad that an authenticated daemon sends is accepted.", _E)),
    _collector("CONDOR_VIEW_HOST", KnobType.LIST, None, "Other collectors that ads are forwarded to.", unread=Unread("Ads are not forwarded to other collectors.")),
    _collector("ABSENT_REQUIREMENTS", KnobType.EXPRESSION, None, "Ads that are kept as absent instead of being dropped when they are not renewed.", unread=Unread("Ads that are not renewed are dropped.")),
    _collector("OFFLINE_EXPIRE_ADS_AFTER", KnobType.INTEGER, "2147483647", "How long ads of sleeping machines are kept.", unit="s", low=0, unread=Unread("Roost does not put machines to sleep or wake them.")),
    _defrag("DEFRAG_INTERVAL", KnobType.INTEGER, "600", "Time between two rounds of draining.", unit="s", low=1),
    _defrag("DEFRAG_UPDATE_INTERVAL", KnobType.INTEGER, "300", "Time between two updates of the daemon's ad.", unit="s", low=1),
    _defrag("DEFRAG_DRAINING_MACHINES_PER_HOUR", KnobType.REAL, "0", "Number of machines per hour on which draining begins; 0 disables draining.", low=0),
    _defrag("DEFRAG_MAX_WHOLE_MACHINES", KnobType.INTEGER, "-1", "No draining begins while at least this many machines are whole; -1 for no limit.", low=-1),
    _defrag("DEFRAG_MAX_CONCURRENT_DRAINING", KnobType.INTEGER, "-1", "Maximum number of machines draining at a time; -1 for no limit.", low=-1),
    _defrag("DEFRAG_WHOLE_MACHINE_EXPR", KnobType.EXPRESSION, "Cpus == TotalSlotCpus", "Which machines count as whole.", read_by="defrag.view"),
    _defrag("DEFRAG_REQUIREMENTS", KnobType.EXPRESSION, None, "Which machines may be drained."),
    _defrag("DEFRAG_CANCEL_REQUIREMENTS", KnobType.EXPRESSION, "$(DEFRAG_WHOLE_MACHINE_EXPR)", "Condition on which draining of a machine is cancelled.", read_by="defrag.view"),
    _defrag("DEFRAG_RANK", KnobType.EXPRESSION, "-ExpectedMachineGracefulDrainingBadput", "Which machines are drained first: those with the largest value.", read_by="defrag.view"),
    _defrag("DEFRAG_DRAINING_START_EXPR", KnobType.EXPRESSION, "FALSE", "START of a machine while it is drained; macros in it are those of this daemon, not of the machine."),
    _defrag("DEFRAG_DRAINING_SCHEDULE", KnobType.STRING, "graceful", "How machines are drained.", words=("graceful", "quick", "fast")),
    _defrag("DEFRAG_SCHEDULE", KnobType.STRING, None, "Older name of DEFRAG_DRAINING_SCHEDULE.", words=("graceful", "quick", "fast")),
    _defrag("DEFRAG_NAME", KnobType.STRING, None, "Name of the daemon."),
    _roost("NATS_SERVERS", KnobType.LIST, None, "Message servers of the pool; unset starts one of its own."),
    _roost("NATS_CREDENTIALS", KnobType.PATH, None, "File with the credentials for the message servers: a JSON object with user and password, or with one such object for each of central, schedd, node and client."),
    _roost("ROOST_USERS", KnobType.LIST, None, "Users of this machine who may use the pool, where root runs it."),
    _roost("WEB_SERVER", KnobType.BOOLEAN, "true", "Whether the central manager's machine serves web pages, the HTTP API and metrics.", read_by="runtime.web_settings"),
    _roost("WEB_ADDRESS", KnobType.STRING, "127.0.0.1", "IP address on which the web server listens; an address that other machines can reach requires a certificate.", read_by="runtime.web_settings"),
    _roost("WEB_PORT", KnobType.INTEGER, "0", "Port of the web server; 0 selects a free port at the first start, which is then kept.", low=0, high=65535, read_by="runtime.web_settings"),
    _roost("WEB_TLS_CERTIFICATE", KnobType.PATH, None, "File with the web server's certificate and its chain; if unset, the server does not use TLS.", read_by="runtime.web_settings"),
    _roost("WEB_TLS_KEY", KnobType.PATH, None, "File with the private key of the web server's certificate.", read_by="runtime.web_settings"),
    _roost("WEB_PATH_PREFIX", KnobType.STRING, None, "Path prefix under which a proxy serves the pages, such as /pool.", read_by="runtime.web_settings"),
    _roost("WEB_ORIGINS", KnobType.LIST, None, "Addresses at which browsers reach the web server behind a proxy, such as https://pool.example.org; `roost web` prints the first.", read_by="runtime.web_settings"),
    _roost("WEB_SESSION_LIFETIME", KnobType.REAL, "43200", "How long an unused login lasts.", unit="s", low=60, reload=Reload.RECONFIG, read_by="runtime.web_settings"),
    _roost("WEB_REQUESTS_PER_MINUTE", KnobType.INTEGER, "1200", "Maximum number of requests per minute to the web server, per user, or per address without a login.", low=1, read_by="runtime.web_settings"),
    _roost("WEB_LAB_RUNS_MAX", KnobType.INTEGER, "2", "Maximum number of simulations that the policy workbench runs at a time; a user has one at a time, and 0 turns them off.", low=0, high=64, read_by="runtime.web_settings"),
    _roost("WEB_LAB_TIME_MAX", KnobType.INTEGER, "600", "How long a simulation of the policy workbench may take.", unit="s", low=1, high=86400, read_by="runtime.web_settings"),
    _roost("WEB_LAB_MEMORY_MAX", KnobType.INTEGER, "2048", "Memory of the process of a simulation of the policy workbench, as address space.", unit="MB", low=512, read_by="runtime.web_settings"),
    _roost("DATABASE_URL", KnobType.STRING, None, "Database that keeps jobs and history, as an SQLAlchemy URL; unset is an SQLite database in the state directory.", read_by="runtime.queue.daemon"),
    _roost("REQUEST_TIME_MAX", KnobType.REAL, "10", "Processor time that one request to a daemon may take; a query that needs more is rejected as a whole.", unit="s", low=0.1, reload=Reload.RECONFIG, read_by="runtime.bus.budget"),
    _roost("ROOST_SENSORS_FILE", KnobType.PATH, None, "JSON file whose readings replace those of the sensors, for tests and demonstrations.", read_by="runtime.node.sensors"),
    _roost("ROOST_ACTIVITY_FILES", KnobType.LIST, None, "Files whose change means that the machine's owner is active, such as a file that an X idle watcher touches.", read_by="runtime.node.sensors"),
)
