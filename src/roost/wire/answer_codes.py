"""The codes of answers without a result, and of jobs that an action did not change, with their meanings."""

from __future__ import annotations

from typing import Final

#: Code to its meaning and the remedy.
MEANINGS: Final = {
    "bad-request": "The daemon does not know the request or one of its fields, or a value has the wrong type or is out "
    "of range. The text of the answer names it.",
    "bad-message": "The daemon cannot decode the message. Commands and daemons may have different versions.",
    "permission-denied": "The user may not make the request, or may not act on this job.",
    "not-found": "The job, machine or object does not exist.",
    "already-done": "The job is already in the status that the action leads to.",
    "bad-status": "The action does not apply to a job in this status.",
    "released-too-often": "The job has been released as often as SYSTEM_MAX_RELEASES allows.",
    "refused": "The machine cannot do what was asked for. The text of the answer says why.",
    "over-budget": "The daemon needed more time than REQUEST_TIME_MAX allows. Request less, for example with "
    "a constraint.",
    "busy": "The daemon is already answering as many requests as it accepts. Wait for their answers and try again.",
    "no-database": "The daemon cannot reach its database. Its log says why, and it tries again by itself.",
    "no-registry": "The registrar cannot record the members of the pool, or cannot tell the message server. The "
    "text of the answer says why.",
    "database-damaged": "The daemon's database is damaged, so nothing can be changed. Its log says what to do.",
    "cell-refused": "The change would make the Grid Engine cell invalid. The text of the answer says why.",
    "too-many-reservations": "The Grid Engine cell has as many advance reservations as max_advance_reservations of its "
    "global configuration allows. Delete one with qrdel, or have a manager raise the limit.",
    "cell-changed-since": "The Grid Engine cell has changed since the command read it. Read it again and "
    "repeat the change.",
    "not-admitted": "The Grid Engine cell does not accept the job. The text of the answer says why.",
    "not-transferred": "A file of a job of condor_submit -spool could not be read or written. The text of the answer "
    "says which and why.",
    "jsv-failed": "The program that jsv_url of the Grid Engine cell names gave no verdict. The text of the answer "
    "says why.",
    "not-permitted": "The Grid Engine cell does not let this user or host make the request.",
    "internal": "An internal error: a bug in Roost. The daemon's log says where it happened; please report it.",
}
