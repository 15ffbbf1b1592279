"""The meaning of names in a submit description, for one job.

A name is looked up in this order: the variables of the queue statement, ``Cluster`` and ``Process``, the definitions of
the description, and finally the built-in names: ``Step``, ``ItemIndex``, ``ProcId``, ``ARCH`` and the like. A
description may therefore redefine all but the first three.

`Macros` has everything that is the same for all jobs; `Position` what differs.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Final

from roost.base.records import dataclass, field
from roost.config import Limits, Span
from roost.config.expand import Expander, Found
from roost.config.functions import FunctionFailed, file_parts
from roost.config.host import Host
from roost.config.references import FILE_FUNCTION, NAME, Call, Reference, pieces

#: Names that differ from job to job, besides the variables of the queue statement.
PROC_NAMES: Final = frozenset(("process", "procid", "jobid", "step", "itemindex", "row"))
#: Names that are known only once the queue has numbered the cluster.
CLUSTER_NAMES: Final = frozenset(("cluster", "clusterid", "jobid"))
#: All built-in names.
LIVE_NAMES: Final = PROC_NAMES | CLUSTER_NAMES
_NOTHING: Final = frozenset[str]()
#: Names that every description has, whatever machine it is read on.
PLATFORM: Final[Mapping[str, str]] = {"arch": "X86_64", "opsys": "LINUX", "islinux": "1", "iswindows": "0"}
_RANDOM: Final = re.compile(r"\$RANDOM_(?:CHOICE|INTEGER)\(")
LIVE: Final = Span("<queue>")
BUILT_IN: Final = Span("<built in>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """One job in its cluster."""

    cluster: int = 1
    proc: int = 0
    step: int = 0
    item_index: int = 0
    #: Values of the queue statement's variables, in their order.
    row: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Macros:
    """The definitions in force at a queue statement."""

    #: Folded name to its definition in the description.
    defined: Mapping[str, Found]
    #: Folded names of the queue statement's variables.
    variables: tuple[str, ...]
    #: Folded name to its built-in value.
    built_in: Mapping[str, str]
    host: Host
    limits: Limits
    cwd: str
    _varying: dict[str, frozenset[str]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def find(self, name: str, position: Position) -> Found | None:
        """The definition of a folded name for one job."""
        if name in self.variables:
            return Found(name, position.row[self.variables.index(name)], LIVE)
        if name == "process":
            return Found(name, str(position.proc), LIVE)
        if name == "cluster":
            return Found(name, str(position.cluster), LIVE)
        found = self.defined.get(name)
        if found is not None:
            return found
        live = _live(name, position)
        if live is not None:
            return Found(name, live, LIVE)
        text = self.built_in.get(name)
        return None if text is None else Found(name, text, BUILT_IN)

    def stand_in(self, piece: Reference | Call) -> str | None:
        """A text to use instead of expanding a reference or calling a function; None: expand as usual."""
        return None

    def share(self, other: Macros) -> None:
        """Share the cached results of another with the same definitions."""
        object.__setattr__(self, "_varying", other._varying)

    def varying(self, name: str) -> frozenset[str]:
        """The varying names on which the value of a folded name depends, directly or indirectly.

        ``"?"`` is among them if that is unknown: random values, or names constructed by macros.
        """
        if name not in self.defined and name not in LIVE_NAMES and name not in self.variables:
            # So are most names that are looked up.
            return _NOTHING
        known = self._varying.get(name)
        if known is not None:
            return known
        found: set[str] = set()
        pending, seen = [name], {name}
        while pending:
            key = pending.pop()
            if key in self.variables:
                found.add(key)
                continue
            if key in ("process", "cluster") or (key not in self.defined and key in LIVE_NAMES):
                found.add(key)
                continue
            definition = self.defined.get(key)
            if definition is None or "$" not in definition.text:
                continue
            for inner in self.names_in(definition.text, found):
                if inner not in seen:
                    seen.add(inner)
                    pending.append(inner)
        result = self._varying[name] = frozenset(found)
        return result

    def names_in(self, text: str, unsure: set[str]) -> list[str]:
        """Folded names that a text refers to; ``"?"`` is added to `unsure` if there may be others."""
        if _RANDOM.search(text):
            unsure.add("?")
        names: list[str] = []
        pending = [text]
        while pending:
            current = pending.pop()
            if "$" not in current:
                continue
            for piece in pieces(current):
                if isinstance(piece, Call):
                    pending.append(piece.arguments)
                    # Arguments of functions are names without $( ).
                    names += [word.lower() for word in re.findall(r"[A-Za-z_][\w.]*", piece.arguments)]
                elif isinstance(piece, Reference):
                    if NAME.match(piece.name):
                        names.append(piece.name.lower())
                    else:
                        unsure.add("?")
                        pending.append(piece.name)
                    if piece.default is not None:
                        pending.append(piece.default)
        return names


def _live(name: str, position: Position) -> str | None:
    match name:
        case "procid":
            return str(position.proc)
        case "clusterid":
            return str(position.cluster)
        case "jobid":
            return f"{position.cluster}.{position.proc}"
        case "step":
            return str(position.step)
        case "itemindex" | "row":
            return str(position.item_index)
        case _:
            return None


@dataclass(slots=True, kw_only=True)
class JobScope:
    """The names of one job, as an expander looks them up; records those used."""

    macros: Macros
    position: Position
    used: set[str] = field(default_factory=set)

    def find(self, name: str) -> Found | None:
        """The definition of a folded name."""
        self.used.add(name)
        return self.macros.find(name, self.position)


class SubmitExpander(Expander):
    """An expander for which ``f`` in ``$Ff(x)`` is the absolute path."""

    __slots__ = ("macros",)

    macros: Macros

    def _reference(self, piece: Reference) -> str:
        found = self.macros.stand_in(piece) if piece.default is not None else None
        return super()._reference(piece) if found is None else found

    def _call(self, piece: Call) -> str:
        found = self.macros.stand_in(piece)
        if found is not None:
            return found
        if not FILE_FUNCTION.match(piece.function) or "f" not in piece.function[1:]:
            return super()._call(piece)
        self._follow()
        text = self._text(piece.arguments).strip()
        path = self.value_of(text) or text
        try:
            return file_parts(posixpath.join(self.macros.cwd, path), piece.function[1:].replace("f", ""))
        except FunctionFailed as failure:  # pragma: no cover - parts of a path can always be given
            return failure.text


def expander(scope: JobScope) -> SubmitExpander:
    """A new expander for one job."""
    macros = scope.macros
    made = SubmitExpander(scope=scope, host=macros.host, limits=macros.limits)
    made.macros = macros
    return made
