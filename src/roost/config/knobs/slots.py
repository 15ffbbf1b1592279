"""Dividing a machine into slots: resources, slot types, what is advertised, which slots react to the owner."""

from __future__ import annotations

from functools import partial

from roost.config.knob import Knob, KnobScope, KnobType, Members, Reload, Unread, knob

_k = partial(knob, subsystem="STARTD", read_by="startd.slot_ad.config")
_laid_out = partial(knob, subsystem="STARTD", reload=Reload.RECONFIG, read_by="startd.layout.layout")
_fixed = partial(knob, subsystem="STARTD", reload=Reload.RESTART, read_by="startd.layout.layout")

# Each row is one line, however long: it is a table.
# fmt: off
# ruff: noqa: E501
KNOBS: tuple[Knob, ...] = (
    _fixed("NUM_CPUS", KnobType.INTEGER, "$(DETECTED_CPUS_LIMIT)", "Cores to divide among slots; a larger number than exist advertises cores twice.", unit="cores", low=0, read_by="startd.layout.resources"),
    _fixed("MAX_NUM_CPUS", KnobType.INTEGER, "0", "Upper limit of NUM_CPUS; 0 for none.", unit="cores", low=0, read_by="startd.layout.resources"),
    _fixed("COUNT_HYPERTHREAD_CPUS", KnobType.BOOLEAN, "True", "Whether hardware threads count as cores.", unread=Unread("Hardware threads always count as cores; set NUM_CPUS.")),
    _fixed("MEMORY", KnobType.INTEGER, None, "Memory to divide among slots; unset means what was found less RESERVED_MEMORY.", unit="MB", low=0, read_by="startd.layout.resources"),
    _fixed("RESERVED_MEMORY", KnobType.INTEGER, "0", "Memory reserved from jobs.", unit="MB", low=0, read_by="startd.layout.resources"),
    _k("RESERVED_DISK", KnobType.INTEGER, "0", "Disk space reserved from jobs on the filesystem of EXECUTE.", unit="MB", low=0, read_by="startd.layout.resources"),
    _k("RESERVED_SWAP", KnobType.INTEGER, "0", "Swap space reserved from jobs.", unit="MB", low=0, read_by="startd.layout.resources"),
    _fixed("EXECUTE", KnobType.PATH, "$(LOCAL_DIR)/execute", "Directory in which jobs' scratch directories are created; it must exist. Outside the state directory, the machine creates a subdirectory roost-<digest> for them.", scope=KnobScope.SLOT, read_by="runtime.node.runs.scratch"),
    _laid_out("NUM_SLOTS", KnobType.INTEGER, None, "Number of slots of type 0, each with an equal share; used if no typed slots are configured.", low=0),
    _laid_out("NUM_SLOTS_TYPE_<N>", KnobType.INTEGER, "0", "Number of slots of type N.", low=0),
    _laid_out("SLOT_TYPE_<N>", KnobType.STRING, None, "Share of each resource that a slot of type N gets, for example `cpus=2, ram=25%, auto`."),
    _laid_out("SLOT_TYPE_<N>_PARTITIONABLE", KnobType.BOOLEAN, "False", "Whether slots of type N are cut into dynamic slots to fit each job."),
    _k("SLOT_TYPE_<N>_CONSUMPTION_POLICY", KnobType.BOOLEAN, None, "CONSUMPTION_POLICY for slots of type N.", read_by="startd.requests"),
    _k("SLOT_TYPE_<N>_STARTD_ATTRS", KnobType.LIST, None, "Names of macros published in the ads of slots of type N.", members=Members.NAMES),
    _laid_out("MAX_SLOT_TYPES", KnobType.INTEGER, "10", "Slot types from 1 up to, but not including, this number are read.", low=1, high=1000),
    _laid_out("SLOT_CONFIG_FAILURE_MODE", KnobType.STRING, "Except", "What to do if slots cannot be created: trim them, create none, or exit.", words=("besteffort", "allornothing", "except")),
    _fixed("MACHINE_RESOURCE_NAMES", KnobType.LIST, None, "Names of further resources of the machine, such as gpu.", read_by="startd.layout.resources", members=Members.NAMES),
    _fixed("MACHINE_RESOURCE_<NAME>", KnobType.STRING, None, "Quantity of that resource, or a list of identifiers of its units.", read_by="startd.layout.resources"),
    _fixed("MACHINE_RESOURCE_INVENTORY_<NAME>", KnobType.STRING, None, "Command that prints the quantity or the identifiers of that resource.", read_by="startd.layout.resources"),
    _fixed("OFFLINE_MACHINE_RESOURCE_<NAME>", KnobType.LIST, None, "Identifiers of units that no job may get.", read_by="startd.layout.resources"),
    _k("STARTD_ATTRS", KnobType.LIST, None, "Names of macros published in every slot ad; their values are expressions, so strings need quotes.", scope=KnobScope.SLOT, members=Members.NAMES),
    _k("STARTD_EXPRS", KnobType.LIST, None, "Older name of STARTD_ATTRS; both lists are used.", scope=KnobScope.SLOT, members=Members.NAMES),
    _k("STARTD_JOB_ATTRS", KnobType.LIST, None, "Job attributes copied into the slot ad while it is claimed.", read_by="startd.configured", members=Members.NAMES),
    _k("STARTD_SLOT_ATTRS", KnobType.LIST, None, "Slot attributes shown to all other slots of the machine as slot<N>_NAME.", read_by="node.plan", members=Members.NAMES),
    _k("STARTD_LATCH_EXPRS", KnobType.LIST, None, "Attributes whose last change is published: NAMETime is the instant, NAMEValue the value. Only numbers and booleans count: any other value, such as the string Activity, is ignored and never changes.", read_by="node.plan", members=Members.NAMES),
    _k("SLOT<N>_<ATTR>", KnobType.STRING, None, "Value of a published macro for slot N only; other knobs cannot be set this way."),
    _fixed("SLOTS_CONNECTED_TO_CONSOLE", KnobType.INTEGER, "1000000", "Slots up to this number notice the console; the default is all.", low=0, read_by="startd.idleness"),
    _fixed("SLOTS_CONNECTED_TO_KEYBOARD", KnobType.INTEGER, "1000000", "Slots up to this number notice terminals and keyboard; the default is all.", low=0, read_by="startd.idleness"),
    _k("DISCONNECTED_KEYBOARD_IDLE_BOOST", KnobType.INTEGER, "1200", "Added to the idle time that slots not connected to the keyboard report, which counts from the start of the daemon.", unit="s", low=0, read_by="startd.idleness"),
    _fixed("STARTUP_KEYBOARD_IDLE_BOOST", KnobType.INTEGER, "0", "Idle time assumed for keyboard and mouse when the daemon starts, where their use is noticed only as it happens.", unit="s", low=0, read_by="runtime.node.sensors"),
    _k("CONSOLE_DEVICES", KnobType.LIST, "console", "Devices whose use counts as console activity.", read_by="runtime.node.sensors"),
    _k("CONSUMPTION_POLICY", KnobType.BOOLEAN, "False", "Whether CONSUMPTION_<NAME> says what a job takes from a partitionable slot.", read_by="startd.requests"),
    _k("CONSUMPTION_<NAME>", KnobType.EXPRESSION, None, "How much of the resource <NAME> a job takes from a partitionable slot, where CONSUMPTION_POLICY is set.", read_by="startd.requests"),
    _k("CLAIM_PARTITIONABLE_LEFTOVERS", KnobType.BOOLEAN, "True", "Whether a schedd that claimed part of a partitionable slot may keep claiming the rest.", read_by="startd.requests"),
    _k("MODIFY_REQUEST_EXPR_REQUESTCPUS", KnobType.EXPRESSION, "quantize(RequestCpus,{1})", "Cores of a dynamic slot created for a request.", unit="cores", read_by="startd.requests"),
    _k("MODIFY_REQUEST_EXPR_REQUESTMEMORY", KnobType.EXPRESSION, "quantize(RequestMemory,{128})", "Memory of a dynamic slot created for a request.", unit="MB", read_by="startd.requests"),
    _k("MODIFY_REQUEST_EXPR_REQUESTDISK", KnobType.EXPRESSION, "quantize(RequestDisk,{1024})", "Disk space of a dynamic slot created for a request.", unit="KB", read_by="startd.requests"),
    _k("MUST_MODIFY_REQUEST_EXPRS", KnobType.BOOLEAN, "False", "Whether a request that does not fit after modification is refused instead of tried unmodified.", read_by="startd.requests"),
    _k("PROPORTIONAL_SWAP_ASSIGNMENT", KnobType.BOOLEAN, "False", "Whether a dynamic slot gets swap in proportion to memory.", read_by="startd.requests"),
)
