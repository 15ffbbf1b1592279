r"""A backtracking matcher for parsed patterns that counts its steps: slow, complete, and bounded.

The pattern is compiled to a program for a small machine. The machine's state (place in the program and in the
subject, captures, counters of repeats, open recursions) is immutable, so that alternatives to be tried later are a
plain list of states. Lookaround, atomic groups and conditions run the machine recursively for their part.

Beyond the step, memory and depth limits a match raises `MatchLimit`.
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

from roost.base.records import dataclass
from roost.classad.functions.match_limit import MatchLimit, StepLimit
from roost.classad.functions.pcre.nodes import (
    UNBOUNDED,
    Anchor,
    At,
    Atomic,
    Backreference,
    Bytes,
    Capture,
    Choice,
    Condition,
    Empty,
    Fail,
    KeepOut,
    Look,
    Mode,
    Part,
    Pattern,
    PatternError,
    Recurse,
    Repeat,
    Sequence,
    shortest_length,
)
from roost.classad.functions.pcre.translator import (
    begins_at_start,
    begins_with_anything,
    first_bytes,
    required,
    set_text,
)
from roost.classad.limits import REGEX_STEPS_MAX

#: States waiting to be tried; beyond: MatchLimit.
_WAITING_MAX: Final = 200_000
#: Nested runs for parts of a pattern; beyond: MatchLimit.
_RUNS_MAX: Final = 100
#: Open recursions; beyond: MatchLimit.
_RECURSIONS_MAX: Final = 1000
#: Instructions of a program; beyond, the pattern is too large.
_PROGRAM_MAX: Final = 100_000
#: Stands for any number of repeats.
_NO_MOST: Final = 2**62


#: Start and end of each group, -1 where it has not matched; the first pair is the whole match. While the
#: machine runs, the starts of the groups stand behind them in which it is: a reference means the match
#: before.
Spans: TypeAlias = tuple[int, ...]

# Instructions: (operation, argument, argument, …).
(
    _BYTE, _RUN, _SPLIT, _JUMP, _OPEN, _CLOSE, _ENTER, _TEST, _BEGIN, _AT, _LOOK, _ATOMIC, _BACK, _REFER,
    _CALL, _RETURN, _IF_GROUP, _IF_LOOK, _IF_CALL, _KEEP, _FAIL, _STOP,
) = range(22)  # fmt: skip

Instruction: TypeAlias = "tuple[Any, ...]"


@dataclass(frozen=True, slots=True)
class _Open:
    """An open recursion: where it returns to and what it will restore."""

    number: int
    at: int
    back: int
    spans: Spans
    counts: tuple[tuple[int, int], ...]
    outer: _Open | None
    depth: int


class Program:
    """A compiled pattern. Raises PatternError if it is too large."""

    def __init__(self, pattern: Pattern) -> None:
        self.code: list[Instruction] = []
        self.repeats = 0
        self.pattern = pattern
        self.starts: dict[int, int] = {}
        self._subroutines = pattern.refers
        self._emit(pattern.body)
        self.code.append((_RETURN, 0))
        self.code.append((_STOP,))
        self.starts[0] = 0
        self.shortest = shortest_length(pattern.body)
        self.required = [re.compile(set_text(among)) for among in _rarest(required(pattern.body))]
        self.by_line = not pattern.refers and begins_with_anything(pattern.body)
        self.anchored = begins_at_start(pattern.body)
        first = first_bytes(pattern.body)
        self.first = None if first is None else re.compile(set_text(first))

    # -- compiling -----------------------------------------------------------------------------

    def _put(self, *instruction: Any) -> int:
        if len(self.code) > _PROGRAM_MAX:
            raise PatternError("too large")
        self.code.append(instruction)
        return len(self.code) - 1

    def _emit(self, part: Part) -> None:
        match part:
            case Empty():
                pass
            case Fail():
                self._put(_FAIL)
            case Bytes(among=among):
                self._put(_BYTE, among)
            case Sequence(items=items):
                for item in items:
                    self._emit(item)
            case Choice(branches=branches):
                self._emit_choice(branches)
            case Capture(number=number, body=body):
                self.starts.setdefault(number, self._put(_OPEN, 2 * self.pattern.groups + 1 + number))
                self._emit(body)
                self._put(_CLOSE, number)
                if self._subroutines:
                    self._put(_RETURN, number)
            case Repeat():
                self._emit_repeat(part)
            case At(place=place):
                self._put(_AT, place)
            case Look():
                self._emit_look(_LOOK, part)
            case Atomic(body=body):
                self._emit_apart(_ATOMIC, body)
            case Backreference(numbers=numbers, any_case=any_case):
                self._put(_REFER, numbers, any_case)
            case Recurse(number=number):
                self._put(_CALL, number)
            case Condition():
                self._emit_condition(part)
            case KeepOut():
                self._put(_KEEP)

    def _emit_choice(self, branches: tuple[Part, ...]) -> None:
        jumps = []
        for branch in branches[:-1]:
            split = self._put(_SPLIT, 0, 0)
            self._emit(branch)
            jumps.append(self._put(_JUMP, 0))
            self.code[split] = (_SPLIT, split + 1, len(self.code))
        self._emit(branches[-1])
        for jump in jumps:
            self.code[jump] = (_JUMP, len(self.code))

    def _emit_repeat(self, part: Repeat) -> None:
        if part.mode is Mode.POSSESSIVE:
            self._emit_apart(_ATOMIC, Repeat(part.body, part.least, part.most, Mode.GREEDY))
            return
        most = part.most if part.most != UNBOUNDED else _NO_MOST
        if isinstance(part.body, Bytes):
            run = re.compile(b"(?:" + set_text(part.body.among) + b")*")
            self._put(_RUN, run, part.least, most, part.mode is Mode.LAZY)
            return
        index = self.repeats
        self.repeats += 1
        self._put(_BEGIN, index)
        test = self._put(_TEST)
        self._put(_ENTER, index)
        self._emit(part.body)
        self._put(_JUMP, test)
        self.code[test] = (_TEST, index, part.least, most, part.mode is Mode.LAZY, len(self.code))

    def _emit_apart(self, operation: int, body: Part) -> None:
        """A part that runs by itself; the instruction knows what follows it."""
        start = self._put(operation)
        self._emit(body)
        self._put(_STOP)
        self.code[start] = (operation, start + 1, len(self.code))

    def _emit_look(self, operation: int, look: Look) -> int:
        start = self._put(operation)
        if not look.behind:
            self._emit(look.body)
        else:
            branches = look.body.branches if isinstance(look.body, Choice) else (look.body,)
            jumps = []
            for branch, length in zip(branches, look.lengths, strict=True):
                split = self._put(_SPLIT, 0, 0)
                self._put(_BACK, length)
                self._emit(branch)
                jumps.append(self._put(_JUMP, 0))
                self.code[split] = (_SPLIT, split + 1, len(self.code))
            self._put(_FAIL)
            for jump in jumps:
                self.code[jump] = (_JUMP, len(self.code))
        self._put(_STOP)
        self.code[start] = (operation, start + 1, len(self.code), look.negative)
        return start

    def _emit_condition(self, part: Condition) -> None:
        test = part.test
        if isinstance(test, Look):
            decision = self._emit_look(_IF_LOOK, test)
        else:
            decision = self._put(_IF_CALL if test[:1] == (-1,) else _IF_GROUP, test, 0)
        self._emit(part.yes)
        jump = self._put(_JUMP, 0)
        other = len(self.code)
        self._emit(part.no)
        self.code[jump] = (_JUMP, len(self.code))
        if isinstance(test, Look):
            self.code[decision] = (*self.code[decision], other)
        else:
            self.code[decision] = (self.code[decision][0], test, other)

    # -- matching ------------------------------------------------------------------------------

    def search(
        self, subject: bytes, start: int, *, here: bool = False, empty: bool = True, most: int = REGEX_STEPS_MAX
    ) -> tuple[Spans | None, int]:
        """The first match from `start` on, and the steps it took.

        With `here` only a match that begins at `start` counts; an empty one counts only with `empty`. Beyond `most`
        steps it raises MatchLimit.
        """
        run = _Run(self, subject, start, empty, most)
        spans = run.search(here)
        return spans, run.steps


class _Run:
    """One search."""

    def __init__(self, program: Program, subject: bytes, start: int, empty: bool, most: int) -> None:
        self.program = program
        self.subject = subject
        self.start = start
        self.empty = empty
        self.most = most
        self.steps = 0
        self.runs = 0

    def search(self, here: bool) -> Spans | None:
        program = self.program
        at, size = self.start, len(self.subject) - program.shortest
        nothing = (-1,) * (3 * program.pattern.groups)
        counts = ((0, -1),) * program.repeats
        if not all(among.search(self.subject, at) for among in program.required):
            return None
        while at <= size:
            if program.first is not None:
                look = program.first.match if here else program.first.search
                found = look(self.subject, at)
                if found is None:
                    return None
                at = found.start()
            self.steps += 1
            spans = self.match(0, at, (at, at, *nothing), counts, None, whole=True)
            if spans is not None:
                return spans[0][: 2 * program.pattern.groups + 2]
            if here or (program.anchored and at == 0):
                return None
            at += 1
            if program.by_line:
                at = self.subject.find(b"\n", at - 1) + 1
                if at == 0:
                    return None
        return None

    def match(
        self,
        pc: int,
        at: int,
        spans: Spans,
        counts: tuple[tuple[int, int], ...],
        calls: _Open | None,
        *,
        whole: bool = False,
    ) -> tuple[Spans, int] | None:
        """Run from `pc` to a STOP: the captures and the place then, None if it does not match."""
        self.runs += 1
        if self.runs > _RUNS_MAX:
            raise MatchLimit
        try:
            return self._loop(pc, at, spans, counts, calls, whole)
        finally:
            self.runs -= 1

    def _loop(
        self,
        pc: int,
        at: int,
        spans: Spans,
        counts: tuple[tuple[int, int], ...],
        calls: _Open | None,
        whole: bool,
    ) -> tuple[Spans, int] | None:
        code, subject, size = self.program.code, self.subject, len(self.subject)
        opened_at = 2 * self.program.pattern.groups + 1
        # Captures and counters are copied when they change; many of them are more work.
        copying = (len(spans) + len(counts)) >> 5
        # Each entry: a state, and for the run of a repeated byte the last place to continue from.
        waiting: list[tuple[Any, ...]] = []
        steps, allowed = self.steps, self.most
        while True:
            steps += 1
            if steps > allowed:
                self.steps = steps
                raise StepLimit
            if len(waiting) > _WAITING_MAX:
                self.steps = steps
                raise MatchLimit
            instruction = code[pc]
            operation = instruction[0]
            matched = True
            if operation == _BYTE:
                if at < size and subject[at] in instruction[1]:
                    at += 1
                    pc += 1
                else:
                    matched = False
            elif operation == _RUN:
                _, run, least, most, lazy = instruction
                length = run.match(subject, at, min(size, at + most)).end() - at
                steps += length >> 6
                if length < least:
                    matched = False
                else:
                    pc += 1
                    if length > least:
                        if lazy:
                            waiting.append((pc, at + least + 1, spans, counts, calls, at + length))
                        else:
                            waiting.append((pc, at + length - 1, spans, counts, calls, at + least))
                    at += least if lazy else length
            elif operation == _SPLIT:
                waiting.append((instruction[2], at, spans, counts, calls, at))
                pc = instruction[1]
            elif operation == _JUMP:
                pc = instruction[1]
            elif operation == _OPEN:
                index = instruction[1]
                spans = (*spans[:index], at, *spans[index + 1 :])
                steps += copying
                pc += 1
            elif operation == _CLOSE:
                index = 2 * instruction[1]
                began = spans[opened_at + instruction[1]]
                spans = (*spans[:index], began, at, *spans[index + 2 :])
                steps += copying
                pc += 1
            elif operation == _BEGIN:
                counts = _replaced(counts, instruction[1], (0, -1))
                steps += copying
                pc += 1
            elif operation == _TEST:
                _, index, least, most, lazy, out = instruction
                count, began = counts[index]
                if count < least:
                    pc += 1
                elif count >= most or (count and began == at and most == _NO_MOST):
                    pc = out  # enough, or an empty repeat that would go on forever
                elif lazy:
                    waiting.append((pc + 1, at, spans, counts, calls, at))
                    pc = out
                else:
                    waiting.append((out, at, spans, counts, calls, at))
                    pc += 1
            elif operation == _ENTER:
                index = instruction[1]
                counts = _replaced(counts, index, (counts[index][0] + 1, at))
                steps += copying
                pc += 1
            elif operation == _AT:
                matched = self._holds(instruction[1], at)
                pc += 1
            elif operation == _STOP:
                if not whole:
                    self.steps = steps
                    return spans, at
                if not self.empty and spans[0] == at:
                    matched = False
                else:
                    self.steps = steps
                    return (spans[0], at, *spans[2:]), at
            elif operation == _RETURN:
                if calls is not None and calls.number == instruction[1]:
                    pc, spans, counts, calls = calls.back, calls.spans, calls.counts, calls.outer
                else:
                    pc += 1
            elif operation == _FAIL:
                matched = False
            else:
                self.steps = steps
                state = self._rare(instruction, pc, at, spans, counts, calls)
                steps = self.steps
                if state is None:
                    matched = False
                else:
                    pc, at, spans, counts, calls = state
            if not matched:
                if not waiting:
                    self.steps = steps
                    return None
                pc, at, spans, counts, calls, limit = waiting.pop()
                if at != limit:
                    waiting.append((pc, at - 1 if at > limit else at + 1, spans, counts, calls, limit))

    def _rare(
        self,
        instruction: Instruction,
        pc: int,
        at: int,
        spans: Spans,
        counts: tuple[tuple[int, int], ...],
        calls: _Open | None,
    ) -> tuple[int, int, Spans, tuple[tuple[int, int], ...], _Open | None] | None:
        """The state behind a less common instruction; None if it does not match."""
        operation = instruction[0]
        if operation in (_LOOK, _IF_LOOK):
            found = self.match(instruction[1], at, spans, counts, calls)
            holds = (found is not None) != instruction[3]
            if found is not None and not instruction[3]:
                spans = found[0]
            if operation == _IF_LOOK:
                return (instruction[2] if holds else instruction[4]), at, spans, counts, calls
            return (instruction[2], at, spans, counts, calls) if holds else None
        if operation == _ATOMIC:
            found = self.match(instruction[1], at, spans, counts, calls)
            return None if found is None else (instruction[2], found[1], found[0], counts, calls)
        self.steps += 1
        if operation == _BACK:
            at -= instruction[1]
            return (pc + 1, at, spans, counts, calls) if at >= 0 else None
        if operation == _REFER:
            end = self._referred(instruction[1], instruction[2], at, spans)
            return None if end is None else (pc + 1, end, spans, counts, calls)
        if operation == _CALL:
            return self._call(instruction[1], pc, at, spans, counts, calls)
        if operation == _IF_GROUP:
            holds = any(spans[2 * number + 1] >= 0 for number in instruction[1])
            return (pc + 1 if holds else instruction[2]), at, spans, counts, calls
        if operation == _IF_CALL:
            wanted = instruction[1][1:]
            holds = calls is not None and (not wanted or calls.number == wanted[0])
            return (pc + 1 if holds else instruction[2]), at, spans, counts, calls
        assert operation == _KEEP
        return pc + 1, at, (at, *spans[1:]), counts, calls

    def _call(
        self,
        number: int,
        pc: int,
        at: int,
        spans: Spans,
        counts: tuple[tuple[int, int], ...],
        calls: _Open | None,
    ) -> tuple[int, int, Spans, tuple[tuple[int, int], ...], _Open | None]:
        depth = 1 if calls is None else calls.depth + 1
        outer = calls
        while outer is not None and outer.at == at:
            if outer.number == number:
                raise MatchLimit  # it would go on forever
            outer = outer.outer
        if depth > _RECURSIONS_MAX:
            raise MatchLimit
        opened = _Open(number, at, pc + 1, spans, counts, calls, depth)
        return self.program.starts[number], at, spans, ((0, -1),) * self.program.repeats, opened

    def _referred(self, numbers: tuple[int, ...], any_case: bool, at: int, spans: Spans) -> int | None:
        for number in numbers:
            start, end = spans[2 * number], spans[2 * number + 1]
            if end < 0 or start < 0:
                continue
            text = self.subject[start:end]
            here = self.subject[at : at + len(text)]
            self.steps += len(text) >> 6
            if text == here or (any_case and text.lower() == here.lower()):
                return at + len(text)
            return None
        return None

    def _holds(self, place: Anchor, at: int) -> bool:
        subject, size = self.subject, len(self.subject)
        match place:
            case Anchor.SUBJECT_START:
                return at == 0
            case Anchor.SUBJECT_END:
                return at == size
            case Anchor.SUBJECT_END_OR_LAST_NEWLINE:
                return at == size or (at == size - 1 and subject[at] == 10)
            case Anchor.LINE_START:
                return at == 0 or (at < size and subject[at - 1] == 10)
            case Anchor.LINE_END:
                return at == size or subject[at] == 10
            case Anchor.SEARCH_START:
                return at == self.start
        before = at > 0 and subject[at - 1] in _WORD
        after = at < size and subject[at] in _WORD
        return (before != after) == (place is Anchor.WORD_EDGE)


_WORD: Final = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")


#: Sets of bytes whose presence is checked before a search.
_REQUIRED_MAX: Final = 8


def _rarest(sets: frozenset[frozenset[int]]) -> list[frozenset[int]]:
    """The smallest of these sets of bytes."""
    return sorted(sets, key=lambda among: (len(among), sorted(among)))[:_REQUIRED_MAX]


def _replaced(counts: tuple[tuple[int, int], ...], index: int, pair: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    return (*counts[:index], pair, *counts[index + 1 :])
