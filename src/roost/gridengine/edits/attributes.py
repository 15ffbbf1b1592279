"""``-aattr``, ``-dattr``, ``-mattr``, ``-rattr`` and their forms with a file: attributes of objects that exist.

The verb is its first letter: `a` adds members of a list, `d` takes members away, `m` changes members and adds those
that are missing, `r` replaces the value. A value that is not a list is replaced by all of them. A queue is named with a
host or host group to change its overrides there: ``all.q@node1``, ``all.q@@group``.

As in Grid Engine, no member is added if one of those given exists already.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from roost.base import records
from roost.gridengine import changes
from roost.gridengine.edits.members import Edit
from roost.gridengine.edits.objects import refuse_shares
from roost.gridengine.edits.said import is_of_value, unread
from roost.gridengine.edits.work import QconfOption, Stop, Work
from roost.gridengine.objects import kinds
from roost.gridengine.objects.complex import by_any_name
from roost.gridengine.objects.pairs import HOST_PAIRS, Pair
from roost.gridengine.objects.queue import HOSTS, ClusterQueue, groups_first, split_overrides
from roost.gridengine.objects.quota import QuotaRule, QuotaSet
from roost.gridengine.objects.rows import Row
from roost.gridengine.objects.text import Entry, entries, logical_lines, value_of
from roost.gridengine.problems import Refused

#: Objects by their names in these options.
OBJECTS: Final = {
    "queue": kinds.QUEUE,
    "exechost": kinds.HOST,
    "pe": kinds.ENVIRONMENT,
    "ckpt": kinds.CHECKPOINT,
    "hostgroup": kinds.HOST_GROUP,
    "resource_quota": kinds.QUOTA_SET,
    "calendar": kinds.CALENDAR,
    "userset": kinds.USER_LIST,
    "project": kinds.PROJECT,
    "user": kinds.USER,
}
#: Commands that may be NONE in a file, but not here.
_COMMANDS: Final = frozenset(("start_proc_args", "stop_proc_args"))
#: Attributes with another name in messages about their members.
_CALLED: Final = {"entries": "user_lists"}
#: The kind, an attribute and its value.
_BEFORE_OBJECTS: Final = 3
_PURGED_ALL: Final = "*"


def change(work: Work, order: QconfOption) -> None:
    """Change attributes; the words are the kind, with -?attr the attribute and its value, and the objects."""
    word, *rest = order.words
    kind = OBJECTS.get(word)
    if kind is None:
        raise Stop(f'Modification of object "{word}" not supported')
    from_file = order.option[0].isupper()
    verb = order.option[0].lower()
    if from_file:
        given = _from_file(kind, order)
        names = rest
    else:
        attribute, value, *names = rest
        given = {attribute: Entry(attribute, value, _span(order))}
    for attribute in given:
        if attribute == (kind.key or "name"):
            raise Stop(f"qconf: cannot change {attribute}")
    reader = _Reader(kind, order, from_file=from_file)
    if kind is not kinds.QUOTA_SET:
        values = {attribute: reader.value(entry) for attribute, entry in given.items()}
    for name in names:
        edit = Edit(work, verb, word, kind)
        if kind is kinds.QUEUE:
            step = partial(_queue, edit, name, values)
        elif kind is kinds.QUOTA_SET:
            step = partial(_quota_set, edit, name, given, reader)
        else:
            step = partial(_object, edit, name, values)
        work.tried(partial(_at_once, work, step))


def _at_once(work: Work, step: Callable[[], None]) -> None:
    """Carry out a step; if it is refused, messages about members are dropped, since they no longer apply."""
    said = len(work.lines)
    try:
        step()
    except Stop:
        del work.lines[said:]
        raise


def incomplete(option: str, words: Sequence[str]) -> tuple[str, ...]:
    """The message of `qconf` for an option without a file whose objects are missing: it checks the value first."""
    kind = OBJECTS.get(words[0])
    if kind is None:
        return (f'Modification of object "{words[0]}" not supported',)
    if len(words) < _BEFORE_OBJECTS:
        return ()
    order = QconfOption(option=option, words=tuple(words))
    try:
        if kind is not kinds.QUOTA_SET:
            _Reader(kind, order, from_file=False).value(Entry(words[1], words[2], _span(order)))
    except Stop as stop:
        return stop.lines
    return ("qconf: missing object list",)


def _span(order: QconfOption) -> Any:
    from roost.base.diagnostics import Span

    return Span(order.file or "value", 1)


def _from_file(kind: kinds.ObjectKind, order: QconfOption) -> dict[str, Entry]:
    bad = [f'error: invalid option argument "{order.file}"', "Usage: qconf -help"]
    try:
        given = {entry.name: entry for entry in entries(logical_lines(order.text, order.file))}
    except Refused as refused:
        raise Stop(*unread(refused, order.file), *bad) from None
    if not given:
        raise Stop(f'error: error reading file: "{order.file}"', *bad)
    return given


class _Value:
    """The given value of an attribute, and for a queue those of hosts and groups."""

    def __init__(self, row: Row, default: Any, domains: Mapping[str, Any]) -> None:
        self.row = row
        #: None if only domains are given.
        self.default = default
        self.domains = domains


def valued(text: str) -> str:
    """A list of pairs in which each name has a value."""
    return ",".join(part if "=" in part else f"{part}=0" for part in text.split(","))


class _Reader:
    """Reads the given values."""

    def __init__(self, kind: kinds.ObjectKind, order: QconfOption, *, from_file: bool) -> None:
        self._kind = kind
        self._file = order.file
        self._from_file = from_file
        self._deletes = order.option[0] in "dD"
        rows = (*((HOSTS,) if kind is kinds.QUEUE else ()), *kind.rows)
        self._rows = {row.name: row for row in rows if not row.reported}

    def value(self, entry: Entry) -> _Value:
        """The value of an attribute; raise Stop with the message of `qconf`."""
        row = self._rows.get(entry.name)
        if entry.name == (self._kind.key or "name"):
            raise Stop(f"qconf: cannot change {entry.name}")
        if row is None or not entry.text.strip():
            raise self.unknown(entry)
        try:
            if self._kind is not kinds.QUEUE:
                # The whole object is checked once it has the value.
                return _Value(row, value_of(records.replace(row, check=None), self._paired(row, entry), entry.span), {})
            if row is HOSTS:
                return _Value(row, value_of(row, entry.text, entry.span), {})
            only_domains = entry.text.startswith("[")
            text, written = split_overrides(entry._replace(text=f"0,{entry.text}") if only_domains else entry)
            domains = {domain: value_of(row, each, entry.span) for domain, each in written}
            return _Value(row, None if only_domains else value_of(row, text, entry.span), domains)
        except Refused as refused:
            raise self.refused(refused, entry) from None

    def _paired(self, row: Row, entry: Entry) -> str:
        """The text of a value; names to delete need no values."""
        if not self._deletes or row.type is not HOST_PAIRS:
            return entry.text
        return valued(entry.text)

    def refused(self, refused: Refused, entry: Entry) -> Stop:
        """The message of `qconf` for a value that it refuses."""
        queue = self._kind is kinds.QUEUE
        if self._from_file:
            lines = unread(refused, self._file, queue=queue)
            if lines:
                return Stop(*lines, *self._bad_option())
        message = refused.problems[0].message
        if "u_long32" in message and entry.text.startswith("-") and not queue:
            return Stop(f'parameter "{entry.name}" must be a positive number')
        lines = unread(refused, "", queue=queue, prefix="")
        if not is_of_value(message):
            lines = lines[:-1]
        if message.startswith("unknown specifier"):
            return Stop(self.unknown(entry).lines[0], *lines[1:-1])
        whole = kinds.whole_message(message, self._rows[entry.name], self._kind.word, "", entry.text)
        # There is no file for the last line to name.
        return Stop(*(lines[:-1] or [whole]))

    def plain(self, refused: Refused) -> Stop:
        """The message of `qconf` for a part of a quota set."""
        return Stop(refused.problems[0].message)

    def unknown(self, entry: Entry) -> Stop:
        """The message of `qconf` for an attribute that the kind does not have."""
        if self._from_file:
            message = f'error: unknown attribute name "{entry.name}"'
            return Stop(message, f'error: error reading file: "{self._file}"', *self._bad_option())
        return Stop(f'The attribute name ("{entry.name}") and/or value ("{entry.text}") is invalid')

    def _bad_option(self) -> tuple[str, str]:
        return f'error: invalid option argument "{self._file}"', "Usage: qconf -help"


def _put(edit: Edit, one: kinds.Named) -> None:
    work = edit.work
    refuse_shares(one)
    work.take(lambda: changes.put(work.cell, one, new=False, known_host=work.asker.known_host))
    if edit.kind is not kinds.HOST or edit.changed:
        work.done("modified", one.name, edit.kind.list_word, out=True)


def _present(edit: Edit, name: str) -> Any:
    if edit.kind is kinds.HOST and "*" not in name:
        name = name.lower()
        if name != "global" and not edit.work.asker.known_host(name):
            raise Stop(f'can\'t resolve hostname "{name}"')
    edit.work.needs()
    present = edit.work.cell.objects(edit.kind).get(name)
    if present is None:
        raise Stop(f'denied: {edit.kind.list_word} "{name}" does not exist')
    return present


def _resolved(edit: Edit, value: Any) -> Any:
    """Pairs with the names of complexes for their shortcuts."""
    if not isinstance(value, tuple) or not value or not all(isinstance(one, Pair) for one in value):
        return value
    known = by_any_name(edit.work.cell.complexes.values())
    return tuple(Pair(known[one.name].name if one.name in known else one.name, one.text) for one in value)


def _object(edit: Edit, name: str, values: Mapping[str, _Value]) -> None:
    present = _present(edit, name)
    if edit.verb == "d":
        # Grid Engine looks for the user lists that are taken away; of queues it does not.
        lists = {key: each.default for key, each in values.items() if key in _USER_LISTS}
        gone = (one for names in lists.values() for one in names if one not in edit.work.cell.user_lists)
        if (unknown := next(gone, None)) is not None:
            raise Stop(f'Userset "{unknown}" does not exist')
    merged = {
        attribute: edit.merged(
            _CALLED.get(attribute, attribute), _resolved(edit, each.default), getattr(present, attribute), edit.word
        )
        for attribute, each in values.items()
    }
    for attribute in _COMMANDS & merged.keys():
        if not re.sub(r"^[^/\s]*@", "", merged[attribute]).startswith("/"):
            raise Stop(f'denied: path given for "{attribute}" must start with a "/"')
    _put(edit, _checked(edit.kind, records.replace(present, **merged)))


#: Attributes with names of user lists.
_USER_LISTS: Final = frozenset(("acl", "xacl", "user_lists", "xuser_lists"))


def _checked(kind: kinds.ObjectKind, one: Any) -> Any:
    """An object read back from its own text, which checks it as a whole."""
    try:
        return kind.parse(kind.show(one), one.name)
    except Refused as refused:
        raise Stop(refused.problems[0].message) from None


def _queue(edit: Edit, name: str, values: Mapping[str, _Value]) -> None:
    queue_name, _, domain = name.partition("@")
    if domain and not domain.startswith("@"):
        domain = domain.lower()
    present: ClusterQueue = _present(edit, queue_name)
    hosts, defaults, overrides = (
        present.hostlist,
        dict[str, Any](),
        {key: dict(v) for key, v in present.overrides.items()},
    )
    for attribute, each in values.items():
        # Grid Engine deletes from a queue the member with exactly the given name.
        given = each.default if edit.verb == "d" else _resolved(edit, each.default)
        if each.row is HOSTS:
            hosts = hosts if domain else edit.merged(attribute, given, hosts, queue_name)
            continue
        special = overrides.setdefault(attribute, {})
        domains = dict(each.domains)
        if domain and given is not None:
            domains[domain] = given
        elif given is not None:
            defaults[attribute] = edit.merged(attribute, given, getattr(present.defaults, attribute), queue_name)
        for key, value in domains.items():
            before = special.get(key)
            if before is not None:
                special[key] = edit.merged(attribute, _resolved(edit, value), before, queue_name)
            elif edit.verb != "d" or not isinstance(value, tuple):
                special[key] = _resolved(edit, value)
    kept = {key: groups_first(special) for key, special in overrides.items() if special}
    after = records.replace(
        present, hostlist=hosts, defaults=records.replace(present.defaults, **defaults), overrides=kept
    )
    _put(edit, after)


def purge(work: Work, order: QconfOption) -> None:
    """``-purge queue attributes queue@domain``: removes the overrides of a queue for a host or host group."""
    word, attributes, *names = order.words
    if word != "queue":
        raise Stop(f'error: Modification of object "{word}" not supported')
    for name in names:
        work.tried(partial(_purge, work, attributes, name))


def _purge(work: Work, attributes: str, name: str) -> None:
    queue_name, _, domain = name.partition("@")
    if not queue_name or not domain:
        raise Stop(f'error: Given object_instance "{name}" is incomplete')
    present = work.cell.queues.get(queue_name)
    if present is None:
        raise Stop(f'error: Cluster queue entry "{queue_name}" does not exist')
    domain = domain if domain.startswith("@") else domain.lower()
    wanted = attributes.split(",")
    gone = {key for key in present.overrides if attributes == _PURGED_ALL or key in wanted}
    if not any(domain in present.overrides[key] for key in gone):
        raise Stop(f'Attribute name ("{attributes}") and/or value ("{domain}") not found', status=0)
    work.needs(status=0)
    kept = {
        key: {each: value for each, value in special.items() if each != domain or key not in gone}
        for key, special in present.overrides.items()
    }
    after = records.replace(present, overrides={key: special for key, special in kept.items() if special})
    work.take(lambda: changes.put(work.cell, after, new=False, known_host=work.asker.known_host))
    work.done("modified", queue_name, "cluster queue", out=True)


def _quota_set(edit: Edit, name: str, given: Mapping[str, Entry], reader: _Reader) -> None:
    set_name, _, rule_name = name.partition("/")
    present: QuotaSet = _present(edit, set_name)
    after = present
    for attribute, entry in given.items():
        match attribute:
            case "enabled" | "description":
                after = _parsed(after, reader, entry, f"{attribute} {entry.text}")
            case "limit":
                after = _limited(edit, after, reader, entry, rule_name)
            case _:
                raise reader.unknown(entry)
    edit.changed = True
    _put(edit, after)


def _parsed(present: QuotaSet, reader: _Reader, entry: Entry, line: str) -> QuotaSet:
    """A set after one changed line is parsed again."""
    shown = {"description": f"description {present.description}", "enabled": f"enabled {present.enabled}"}
    shown[entry.name] = line
    text = "\n".join(["{", f"name {present.name}", *shown.values(), "limit to slots=1", "}", ""])
    try:
        found: QuotaSet = kinds.QUOTA_SET.parse(text, "value")
    except Refused as refused:
        raise reader.plain(refused) from None
    return records.replace(found, rules=present.rules)


def _limited(edit: Edit, present: QuotaSet, reader: _Reader, entry: Entry, rule_name: str) -> QuotaSet:
    """A set with the limits of one rule changed."""
    at = next((n for n, rule in enumerate(present.rules, 1) if rule_name and rule_name in (rule.name, str(n))), None)
    if at is None:
        raise Stop("no resource quota rule specified for modification")
    rule = present.rules[at - 1]
    try:
        text = valued(entry.text) if edit.verb == "d" else entry.text
        found: QuotaSet = kinds.QUOTA_SET.parse(f"{{\nname x\nlimit hosts {{*}} to {text}\n}}\n", "value")
    except Refused as refused:
        raise reader.plain(refused) from None
    limits = edit.merged("resource_quota_rules", _resolved(edit, found.rules[0].limits), rule.limits, edit.word)
    changed: QuotaRule = records.replace(rule, limits=limits)
    return records.replace(present, rules=(*present.rules[: at - 1], changed, *present.rules[at:]))


#: The handlers of the options.
HANDLERS: Final[dict[str, Callable[[Work, QconfOption], None]]] = {
    **{f"{verb}attr": change for verb in "admrADMR"},
    "purge": purge,
}
