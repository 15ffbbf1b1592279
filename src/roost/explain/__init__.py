"""Answers as values: why a job waits, why a slot is in its state, what happened to it, and what would help.

An answer is made from ads and from records of decisions: the negotiator's record of its last cycle, a machine's record
of its transitions, the audit trail, a job's event log. No decision is repeated. The only thing computed here is which
clause of an expression rejected a slot: `roost.policy.explain` traces that expression on the same ads at the same
instant.

* `verdict`: the slots that a cycle rejected for a job, by clause, and the slot that comes closest
* `refusals`: one rejection in words
* `limits`: quotas, ceilings, concurrency limits, fair share
* `job`: why a job is where it is, and the remedies
* `slot`: why a slot is in its state, and which expressions apply there
* `happenings`: an event, a transition or a decision as one line of a story
* `story`: the lines of a job or of a slot in the order in which they happened

The CLI, `condor_q -better-analyze` and other front ends ask the daemons, call this room, and render what it returns.

What it does not do: query daemons, read a clock or files, or format the time of day.
"""
