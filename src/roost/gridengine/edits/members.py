"""The value of an attribute after members of its list were added, changed or removed, and the messages about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from roost.gridengine.edits.work import Stop, Work
from roost.gridengine.objects import kinds
from roost.gridengine.objects.pairs import SlotwiseSubordinate, Subordinate, Subordination

#: Lists that are replaced as a whole.
_FLAGS: Final = ("qtype", "type")


class Edit:
    """One of these options, for one kind of objects."""

    def __init__(self, work: Work, verb: str, word: str, kind: kinds.ObjectKind) -> None:
        self.work = work
        self.verb = verb
        #: The kind, as the option names it.
        self.word = word
        self.kind = kind
        #: Whether something was added, changed or removed.
        self.changed = False

    def merged(self, row: str, given: Any, present: Any, of: str) -> Any:
        """The value after the edit; `of` is the name of its object in messages."""
        if self.verb == "r" or not isinstance(given, tuple) or row in _FLAGS:
            self.changed = True
            return given
        if isinstance(given, Subordination):
            return self._subordination(row, given, present, of)
        return self._members(row, given, present, of)

    def _subordination(self, row: str, given: Subordination, present: Subordination, of: str) -> Subordination:
        if (given.slots is None) != (present.slots is None) and present.names and given.names:
            raise Stop(f'"{row}" of "{of}" is {"queue-wise" if present.slots is None else "slot-wise"}: use -rattr')
        queues: tuple[Subordinate, ...] = self._members(row, given.queues, present.queues, of)
        slotwise: tuple[SlotwiseSubordinate, ...] = self._members(row, given.slotwise, present.slotwise, of)
        return Subordination(queues=queues, slots=present.slots or given.slots if slotwise else None, slotwise=slotwise)

    def _members(self, row: str, given: tuple[Any, ...], present: tuple[Any, ...], of: str) -> tuple[Any, ...]:
        kept = {_key(one): one for one in present}
        match self.verb:
            case "a":
                there = next((_key(one) for one in given if _key(one) in kept), None)
                if there is not None:
                    self.work.say(f'No modification because "{there}" already exists in "{row}" of "{of}"', out=True)
                    return present
                self.changed = True
                return (*present, *{_key(one): one for one in given}.values())
            case "d":
                self.note(
                    (f'"{_key(one)}" does not exist in "{row}" of "{of}"' for one in given),
                    [_key(one) not in kept for one in given],
                )
                self.changed = True
                gone = {_key(one) for one in given}
                return tuple(one for one in present if _key(one) not in gone)
            case _:
                if not given and not isinstance(present, Subordination):
                    raise Stop(_NO_MEMBERS)
                if not kept:
                    self.work.say(f'"{row}" of "{of}" is empty - Adding new element(s).', out=True)
                else:
                    self.note(
                        (f'Unable to find "{_key(one)}" in "{row}" of "{of}" - Adding new element.' for one in given),
                        [_key(one) not in kept for one in given],
                    )
                self.changed = True
                return tuple({**kept, **{_key(one): one for one in given}}.values())

    def note(self, texts: Iterable[str], which: list[bool]) -> None:
        for text, wanted in zip(texts, which, strict=True):
            if wanted:
                self.work.say(text, out=True)


_NO_MEMBERS: Final = '"NONE" is not a valid list attribute value for -mattr.  Try using -rattr instead.'


def _key(one: Any) -> str:
    return one if isinstance(one, str) else str(one[0])
