r"""Reads a regular expression in PCRE2's syntax (8-bit, no UTF, as the reference library compiles them).

| understood | |
|---|---|
| sets | ``. \d \w \s \h \v \N \R \X \C \D \W \S \H \V``, ``[…]``, POSIX names, ``\p{Lu}`` (Latin-1) |
| characters | ``\a \e \f \n \r \t \0 \ddd \o{} \xhh \x{hh} \cx``, ``\Q…\E``, escaped punctuation |
| places | ``^ $ \A \z \Z \b \B \G \K`` |
| groups | capturing, named (all four spellings), ``(?: (?| (?> (?= (?! (?<= (?<! (?#``, atomic, comments |
| options | ``(?i) (?m) (?s) (?x) (?xx) (?n) (?U) (?J) (?^)`` and scoped |
| repeats | ``* + ? {n} {n,} {n,m}``, lazy and possessive |
| references | ``\1 \g1 \g{-1} \g{n} \k<n> (?P=n)``, recursion ``(?R) (?1) (?+1) (?&n) (?P>n) \g<n>`` |
| conditions | ``(?(1) (?(<n>) (?(R) (?(R1) (?(DEFINE) (?(?=`` |

Not supported, so an invalid pattern here: ``(*UTF)``, ``(*CRLF)`` and the like, verbs other than ``(*FAIL)``,
``\p{Script}``, callouts with text.
"""

from __future__ import annotations

import re
from typing import Final

from roost.base.records import replace
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
    compiled_size,
    fixed_length,
)
from roost.classad.functions.pcre.sets import ANY_BYTE, NO_NEWLINE, VERTICAL, Options, SetReader

#: Bytes of a pattern; longer ones are too large for PCRE2 as well.
PATTERN_BYTES_MAX: Final = 64 * 1024
#: Open groups, as in PCRE2.
_NESTING_MAX: Final = 250
_REPEATS_MAX: Final = 65535
#: Bytes that PCRE2 can compile a pattern to; it writes a group once for each repeat that is certain or
#: bounded.
_COMPILED_BYTES_MAX: Final = 65535

_PLACES: Final = {
    "A": Anchor.SUBJECT_START,
    "z": Anchor.SUBJECT_END,
    "Z": Anchor.SUBJECT_END_OR_LAST_NEWLINE,
    "b": Anchor.WORD_EDGE,
    "B": Anchor.NO_WORD_EDGE,
    "G": Anchor.SEARCH_START,
}
_NEWLINES: Final = Atomic(Choice((Sequence((Bytes(frozenset((13,))), Bytes(frozenset((10,))))), Bytes(VERTICAL))))
_CLUSTER: Final = Atomic(Choice((Sequence((Bytes(frozenset((13,))), Bytes(frozenset((10,))))), Bytes(ANY_BYTE))))

_SPECIAL_SETS: Final[dict[str, Part]] = {
    "R": _NEWLINES,
    "X": _CLUSTER,
    "N": Bytes(NO_NEWLINE),
    "C": Bytes(ANY_BYTE),
}

_QUANTIFIER: Final = re.compile(r"([*+?]|\{([0-9]+)(,([0-9]*))?\})")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")
_NAMED: Final = re.compile(r"P?<([A-Za-z_]\w{0,31})>|'([A-Za-z_]\w{0,31})'", re.ASCII)
_OPTIONS: Final = re.compile(r"(\^?)((?:xx|[imsxnUJ])*)(?:-((?:xx|[imsxnUJ])*))?([:)])")
_RECURSION: Final = re.compile(r"(?:R|([+-]?)([0-9]+)|&([A-Za-z_]\w*)|P>([A-Za-z_]\w*))\)", re.ASCII)
_CONDITION: Final = re.compile(
    r"(?:([+-]?)([0-9]+)|<([A-Za-z_]\w*)>|'([A-Za-z_]\w*)'|(R)([0-9]*)|R&([A-Za-z_]\w*)"
    r"|(DEFINE)|([A-Za-z_]\w*))\)",
    re.ASCII,
)
_G_REFERENCE: Final = re.compile(r"g(?:\{?([+-]?[0-9]+)\}?|\{([A-Za-z_]\w*)\})", re.ASCII)
_G_RECURSION: Final = re.compile(r"g(?:<([^>]*)>|'([^']*)')")
_K_REFERENCE: Final = re.compile(r"k(?:\{([A-Za-z_]\w*)\}|<([A-Za-z_]\w*)>|'([A-Za-z_]\w*)')", re.ASCII)


def parse(pattern: bytes, options: Options) -> Pattern:
    """The parts of a pattern. Raises PatternError."""
    if len(pattern) > PATTERN_BYTES_MAX:
        raise PatternError("too long")
    return _Parser(pattern.decode("latin-1"), options).parse()


class _Parser(SetReader):
    """One pass over the pattern; one character is one byte. References forward are checked at the end."""

    def __init__(self, text: str, options: Options) -> None:
        super().__init__(text, options)
        self.groups = 0
        self.depth = 0
        self.names: dict[str, list[int]] = {}
        self.duplicate_names = False
        self.captures: dict[int, Capture] = {}
        self.wanted: list[int] = []
        #: Groups being read, and those of them that are referred to from inside.
        self.open: set[int] = set()
        self.own_references: set[int] = set()
        self.refers = False
        #: Names with their groups, those not read yet included.
        self.known_names = _all_names(text)

    def parse(self) -> Pattern:
        body = self._alternatives()
        if self.at < len(self.text):
            raise PatternError("a closing parenthesis too many")
        if any(number > self.groups for number in self.wanted):
            raise PatternError("no such group")
        if compiled_size(body) > _COMPILED_BYTES_MAX:
            raise PatternError("too large")
        return Pattern(body, self.groups, self.refers, self.captures)

    # -- structure -----------------------------------------------------------------------------

    def _alternatives(self, reset: bool = False) -> Part:
        """Branches up to a closing parenthesis or the end; options set inside end there."""
        saved = self.options
        start = highest = self.groups
        branches = [self._branch()]
        while self._next("|"):
            if reset:
                highest = max(highest, self.groups)
                self.groups = start
            branches.append(self._branch())
        self.groups = max(highest, self.groups)
        self.options = saved
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def _branch(self) -> Part:
        items: list[Part] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            if self.options.extended and self._skipped():
                continue
            item = self._item()
            if item is None:
                continue
            items.append(self._repeated(item))
        return items[0] if len(items) == 1 else Sequence(tuple(items)) if items else Empty()

    # -- repeats -------------------------------------------------------------------------------

    def _repeated(self, item: Part) -> Part:
        self._skip_comments()
        found = self._matched(_QUANTIFIER)
        if found is None:
            return item
        if isinstance(item, At | KeepOut):
            raise PatternError("nothing to repeat")
        sign = found[1]
        least = int(found[2][:6]) if found[2] else 1 if sign == "+" else 0
        if found[2]:
            most = least if found[3] is None else int(found[4][:6]) if found[4] else UNBOUNDED
        else:
            most = 1 if sign == "?" else UNBOUNDED
        if max(least, most) > _REPEATS_MAX or (most != UNBOUNDED and most < least):
            raise PatternError("wrong number of repeats")
        mode = self._mode()
        if isinstance(item, Look):
            # A look is repeated at most once: more of the same finds the same. One behind is kept to vary in number.
            varies = item.behind and least != most
            least, most = min(least, 1), UNBOUNDED if varies else min(most, 1) if most != UNBOUNDED else 1
        return Repeat(item, least, most, mode)

    def _mode(self) -> Mode:
        self._skip_comments()
        if self._next("+"):
            return Mode.POSSESSIVE
        return Mode.LAZY if self._next("?") != self.options.lazy else Mode.GREEDY

    def _skip_comments(self) -> None:
        while self.at < len(self.text):
            if self.text.startswith("(?#", self.at):
                self._comment()
            elif not (self.options.extended and self._skipped()):
                break

    # -- one item ------------------------------------------------------------------------------

    def _item(self) -> Part | None:
        """The item here; None for an item that matches nothing and cannot be repeated."""
        char = self.text[self.at]
        if char == "(":
            return self._group()
        if char == "[":
            return self._set()
        if char == "\\":
            return self._escape()
        if char in "*+?" or (char == "{" and _QUANTIFIER.match(self.text, self.at)):
            raise PatternError("nothing to repeat")
        self.at += 1
        if char == ".":
            return Bytes(ANY_BYTE if self.options.dot_all else NO_NEWLINE)
        if char == "^":
            return At(Anchor.LINE_START if self.options.multiline else Anchor.SUBJECT_START)
        if char == "$":
            return At(Anchor.LINE_END if self.options.multiline else Anchor.SUBJECT_END_OR_LAST_NEWLINE)
        return self._char(ord(char))

    # -- escapes -------------------------------------------------------------------------------

    def _escape(self) -> Part | None:
        self.at += 1
        if self.at >= len(self.text):
            raise PatternError("a backslash at the end")
        char = self.text[self.at]
        if char == "Q":
            return self._literal_text()
        if char == "E":
            self.at += 1
            return None
        if char in _PLACES:
            self.at += 1
            return At(_PLACES[char])
        if char == "K":
            self.at += 1
            return KeepOut()
        if char in "RXNC":
            self.at += 1
            if char == "N" and self._matched(re.compile(r"\{(?![0-9]+(,[0-9]*)?\})")):
                raise PatternError("\\N{...} needs UTF")
            return _SPECIAL_SETS[char]
        if char in "gk" or (char in "123456789"):
            reference = self._reference(char)
            if reference is not None:
                return reference
        among = self._set_escape()
        if among is not None:
            return Bytes(among)
        return self._char(self._byte_escape())

    def _literal_text(self) -> Part | None:
        end = self.text.find("\\E", self.at)
        text = self.text[self.at + 1 : end if end >= 0 else len(self.text)]
        if end < 0 or len(text) <= 1:
            self.at = len(self.text) if end < 0 else end + 2
        if not text:
            return None
        parts = [self._char(ord(char)) for char in text]
        if len(parts) == 1:
            return parts[0]
        self.at = len(self.text) if end < 0 else end + 2
        # A repeat after the text applies to its last character only.
        return Sequence((*parts[:-1], self._repeated(parts[-1])))

    def _reference(self, char: str) -> Part | None:
        """A reference to a group; None if the digits are an octal number."""
        if char == "k":
            found = self._matched(_K_REFERENCE)
            if found is None:
                raise PatternError("a name is missing")
            return self._named_reference(found[1] or found[2] or found[3])
        if char == "g":
            found = self._matched(_G_RECURSION)
            if found is not None:
                return self._recursion_to(found[1] if found[1] is not None else found[2])
            found = self._matched(_G_REFERENCE)
            if found is None:
                raise PatternError("a group is missing")
            if found[2]:
                return self._named_reference(found[2])
            number = int(found[1][:8])
            if found[1][0] in "+-":
                number += self.groups + (1 if number < 0 else 0)
            return self._backreference((number,))
        found = re.compile(r"[0-9]+").match(self.text, self.at)
        assert found is not None
        number = int(found[0][:8])
        if number < 10 or char in "89" or number <= self.groups:
            self.at = found.end()
            return self._backreference((number,))
        return None

    def _backreference(self, numbers: tuple[int, ...]) -> Part:
        if min(numbers) < 1:
            raise PatternError("no such group")
        self.wanted.extend(numbers)
        self.own_references |= self.open.intersection(numbers)
        self.refers = True
        return Backreference(numbers, self.options.any_case)

    def _named_reference(self, name: str) -> Part:
        return self._backreference(self._numbers_of(name))

    def _numbers_of(self, name: str) -> tuple[int, ...]:
        numbers = self.names.get(name)
        if numbers is None:
            numbers = self.known_names.get(name, [])
        if not numbers:
            raise PatternError("no such name")
        self.wanted.extend(numbers)
        return tuple(numbers)

    # -- groups --------------------------------------------------------------------------------

    def _group(self) -> Part | None:
        self.at += 1
        self.depth += 1
        if self.depth > _NESTING_MAX:
            raise PatternError("nested too deeply")
        part = self._opened()
        self.depth -= 1
        return part

    def _opened(self) -> Part | None:
        """The group whose parenthesis has just been read."""
        if self._next("*"):
            return self._verb()
        if not self._next("?"):
            if self.options.no_capture:
                return self._rest_of(self._alternatives())
            return self._capture(None)
        if self.text.startswith("#", self.at):
            self.at -= 2
            self._comment()
            return None
        for opener, behind, negative in _LOOKS:
            if self._next(opener):
                return self._look(behind, negative)
        if self._next(":"):
            return self._rest_of(self._alternatives())
        if self._next(">"):
            return Atomic(self._rest_of(self._alternatives()))
        if self._next("|"):
            # Groups that share a number cannot be expressed in the standard library's `re`.
            self.refers = True
            return self._rest_of(self._alternatives(reset=True))
        if self._next("("):
            return self._condition()
        if self._next("P="):
            found = self._matched(_NAME)
            if found is None:
                raise PatternError("a name is missing")
            return self._rest_of(self._named_reference(found[0]))
        if self._matched(re.compile(r"C[0-9]{0,3}\)")):
            return None
        found = self._matched(_NAMED)
        if found is not None:
            return self._capture(found[1] or found[2])
        found = self._matched(_RECURSION)
        if found is not None:
            return self._recursion(found)
        return self._option_setting()

    def _rest_of(self, part: Part) -> Part:
        self._expect_close()
        # A place in a group may be repeated, a bare one may not.
        return Sequence((part,)) if isinstance(part, At | KeepOut) else part

    def _comment(self) -> None:
        end = self.text.find(")", self.at)
        if end < 0:
            raise PatternError("the comment is not closed")
        self.at = end + 1

    def _verb(self) -> Part:
        if self._matched(re.compile(r"(?:FAIL|F)\)")):
            return Fail()
        raise PatternError("not supported")

    def _capture(self, name: str | None) -> Part:
        self.groups += 1
        number = self.groups
        if name is not None:
            numbers = self.names.setdefault(name, [])
            if numbers and number not in numbers and not self.duplicate_names:
                raise PatternError("the name is taken")
            if number not in numbers:
                numbers.append(number)
        self.open.add(number)
        body = self._alternatives()
        self._expect_close()
        self.open.discard(number)
        capture = Capture(number, body)
        self.captures.setdefault(number, capture)
        # PCRE2 does not backtrack into a group that refers to itself.
        return Atomic(capture) if number in self.own_references else capture

    def _look(self, behind: bool, negative: bool) -> Part:
        body = self._rest_of(self._alternatives())
        if not behind:
            return Look(body, behind, negative)
        branches = body.branches if isinstance(body, Choice) else (body,)
        lengths = [fixed_length(branch) for branch in branches]
        if None in lengths:
            raise PatternError("looking behind needs a fixed length")
        return Look(Choice(branches), behind, negative, tuple(length or 0 for length in lengths))

    def _recursion(self, found: re.Match[str]) -> Part:
        if found[2]:
            return self._recursion_to((found[1] or "") + found[2])
        return self._recursion_to(found[3] or found[4] or "0")

    def _recursion_to(self, target: str) -> Part:
        self.refers = True
        if not re.fullmatch(r"[+-]?[0-9]+", target):
            return Recurse(self._numbers_of(target)[0])
        number = int(target[:8])
        if target[0] == "-":
            number += self.groups + 1
        elif target[0] == "+":
            number += self.groups
        if number < 0 or (number == 0 and target[0] in "+-"):
            raise PatternError("no such group")
        self.wanted.append(number)
        return Recurse(number)

    def _condition(self) -> Part:
        self.refers = True
        test = self._condition_test()
        define = test == ()
        body = self._alternatives()
        self._expect_close()
        branches = body.branches if isinstance(body, Choice) else (body,)
        if len(branches) > (1 if define else 2):
            raise PatternError("too many branches")
        return Condition(test, branches[0], branches[1] if len(branches) == 2 else Empty())

    def _condition_test(self) -> tuple[int, ...] | Look:
        if self._next("?"):
            for opener, behind, negative in _LOOKS:
                if self._next(opener):
                    look = self._look(behind, negative)
                    assert isinstance(look, Look)
                    return look
            raise PatternError("wrong condition")
        found = self._matched(_CONDITION)
        if found is None:
            raise PatternError("wrong condition")
        if found[2]:
            number = int(found[2][:8])
            if found[1] == "-":
                number = self.groups + 1 - number
            elif found[1] == "+":
                number += self.groups
            if number < 1:
                raise PatternError("no such group")
            self.wanted.append(number)
            return (number,)
        name = found[3] or found[4] or found[9]
        if found[5] and found[0][:-1] not in self.known_names:
            return (-1, int(found[6][:8])) if found[6] else (-1,)
        if found[7]:
            return (-1, self._numbers_of(found[7])[0])
        if found[8]:
            return ()
        return self._numbers_of(name or found[0][:-1])

    def _option_setting(self) -> Part | None:
        found = self._matched(_OPTIONS)
        if found is None:
            raise PatternError("unknown group")
        outside = self.options
        options = Options() if found[1] else outside
        if found[1] and found[3] is not None:
            raise PatternError("wrong options")
        self.duplicate_names = self.duplicate_names or "J" in found[2]
        self.options = _with(_with(options, found[2], True), found[3] or "", False)
        if found[4] == ")":
            # In force to the end of the group around it, branches that follow included.
            return None
        inside = self.options
        part = self._alternatives()
        assert self.options is inside
        self.options = outside
        return self._rest_of(part)


_LOOKS: Final = (("=", False, False), ("!", False, True), ("<=", True, False), ("<!", True, True))
_LETTERS: Final = {
    "i": "any_case",
    "m": "multiline",
    "s": "dot_all",
    "x": "extended",
    "n": "no_capture",
    "U": "lazy",
}


def _with(options: Options, letters: str, on: bool) -> Options:
    for letter in letters:
        if letter in _LETTERS:
            options = replace(options, **{_LETTERS[letter]: on})
    if "xx" in letters:
        options = replace(options, more_extended=on)
    elif "x" in letters:
        options = replace(options, more_extended=False)
    return options


#: What _all_names steps over: escapes, sets, heads of conditions; and parentheses, group 1 if they capture.
_OPENING: Final = re.compile(
    r"\\.|\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\]|\(\?\((?!\?)[^)]*\)"
    r"|\((\?(?:P?<(?![=!])(\w+)>|'(\w+)')|(?!\?|\*))?",
    re.DOTALL,
)


def _all_names(text: str) -> dict[str, list[int]]:
    """Names and numbers of all groups, for references before the group. A guess where (?| or (?n) is used."""
    names: dict[str, list[int]] = {}
    number = 0
    for found in _OPENING.finditer(text):
        if not found[0].startswith("(") or found[1] is None:
            continue
        number += 1
        name = found[2] or found[3]
        if name:
            names.setdefault(name, []).append(number)
    return names
