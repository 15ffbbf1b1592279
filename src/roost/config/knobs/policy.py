"""The policy expressions of an execute machine: when jobs start, are suspended, preempted, vacated and
killed."""

from __future__ import annotations

from functools import partial

from roost.config.knob import Knob, KnobScope, KnobType, knob

_expr = partial(knob, type=KnobType.EXPRESSION, subsystem="STARTD", scope=KnobScope.SLOT_TYPE, read_by="startd.guards")


# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
KNOBS: tuple[Knob, ...] = (
    _expr("START", default="True", meaning="Whether the slot is willing to run a job. Part of the slot's Requirements; if it is FALSE without reference to any job, the slot accepts no jobs."),
    _expr("IS_OWNER", default="False", meaning="Whether the machine's owner is using the slot (state Owner). It must be TRUE or FALSE without a job; a claimed slot evaluates it with the job of its claim. Older manuals of HTCondor describe the default `START =?= False`: set that for a slot that should show as Owner while START accepts no jobs.", read_by="startd.slot_ad.config"),
    _expr("SUSPEND", default="False", meaning="Whether to suspend the running job; evaluated while WANT_SUSPEND is TRUE."),
    _expr("CONTINUE", default="True", meaning="Whether to resume a suspended job."),
    _expr("PREEMPT", default="False", meaning="Whether to start preempting the job: first its retirement, then its eviction. This cannot be undone.", read_by="startd.machine"),
    _expr("KILL", default="False", meaning="Whether to stop waiting for a vacating job and kill it."),
    _expr("WANT_SUSPEND", default="False", meaning="Whether suspending is considered at all: while it is TRUE, a busy slot evaluates SUSPEND, otherwise PREEMPT.", read_by="startd.machine"),
    _expr("WANT_VACATE", default="True", meaning="Whether a job that PREEMPT evicts gets a soft kill and vacate time, instead of being killed at once.", read_by="startd.entries"),
    _expr("WANT_HOLD", default="False", meaning="Whether a job that PREEMPT evicts is put on hold instead of returning to the queue.", read_by="startd.entries"),
    _expr("WANT_HOLD_REASON", default=None, meaning="Text of the hold reason when WANT_HOLD is TRUE.", read_by="startd.entries"),
    _expr("WANT_HOLD_SUBCODE", default="0", meaning="Subcode of the hold reason when WANT_HOLD is TRUE.", read_by="startd.entries"),
    _expr("RANK", default="0", meaning="How much the slot prefers a job; larger is better. A job with a larger rank may preempt the running one, whatever PREEMPT says.", read_by="startd.slot_ad.config"),
    _expr("MAXJOBRETIREMENTTIME", default="0", unit="s", low=-1, meaning="Time since its start that a job is granted before it may be evicted; -1 means none, even in a peaceful shutdown. The job may ask for less.", read_by="startd.retirement"),
    _expr("MachineMaxVacateTime", default="600", unit="s", low=0, meaning="Maximum time between soft and hard kill; evaluated when the job starts. A negative result counts as 0.", read_by="startd.retirement"),
    _expr("CLAIM_WORKLIFE", default="1200", unit="s", meaning="Age at which a claim accepts no further jobs; -1 for no limit, 0 for one job per claim.", read_by="startd.claim_life"),
    _expr("PERIODIC_CHECKPOINT", default=None, meaning="Whether to ask the job to save its state now.", read_by="startd.machine"),
    _expr("IS_VALID_CHECKPOINT_PLATFORM", default=None, meaning="Whether a job's checkpoint can be resumed here. If set, it is part of Requirements, in addition to START.", read_by="startd.slot_ad.config"),
    _expr("RunBenchmarks", default="LastBenchmark == 0", meaning="Whether an unclaimed slot runs benchmarks now."),
    _expr("START_BACKFILL", default=None, meaning="Whether an unclaimed slot starts backfill work."),
    _expr("EVICT_BACKFILL", default=None, meaning="Whether to stop backfill work."),
    _expr("CpuBusy", default=None, meaning="Whether the processor is busy with the owner's work. CpuBusyTime counts the seconds for which it has been TRUE.", read_by="startd.slot_ad.config"),
    _expr("CPU_BUSY", default=None, meaning="The same as CpuBusy, used if that is not set.", read_by="startd.slot_ad.config"),
    _expr("FetchWorkDelay", default=None, unit="s", low=0, meaning="Time between two attempts to fetch work with a hook; unset counts as 300. After an attempt without work, at least 1 s passes.", read_by="startd.own_work"),
    _expr("SLOT_WEIGHT", default="Cpus", meaning="What the slot costs its user in fair share.", read_by="startd.slot_ad.config"),
    _expr("SlotWeight", default=None, meaning="Older spelling of SLOT_WEIGHT.", read_by="startd.slot_ad.config"),
    *(_expr(f"{name}_VANILLA", default=None, meaning=f"Used instead of {name} for vanilla jobs when it gives a value.", read_by="startd.slot_ad.config")
      for name in ("SUSPEND", "CONTINUE", "PREEMPT", "KILL", "WANT_SUSPEND", "WANT_VACATE")),
    *(_expr(f"{name}_VM", default=None, meaning=f"Used instead of {name} for virtual-machine jobs when it gives a value.", read_by="startd.slot_ad.config")
      for name in ("SUSPEND", "CONTINUE", "PREEMPT", "KILL", "WANT_SUSPEND", "WANT_VACATE")),
)
