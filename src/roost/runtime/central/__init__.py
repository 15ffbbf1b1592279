"""The central manager's daemon: the collector's table, the negotiator, the audit trail, defragmentation."""
