"""The central manager's daemon: the collector's table, the matchmaker, the audit trail, defragmentation."""
