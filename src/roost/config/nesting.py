"""A lower bound on the nesting of references, found without expanding them.

Expanding stops at `Limits.expansion_depth_max`. In a long chain of macros every link would be followed that far only to
fail; here each definition is visited once. Only references that are always followed count (written literally, to a name
that is defined and not empty), none inside defaults, function arguments or names composed by macros. A cycle counts as
far as it has been followed: detecting cycles is left to expansion.
"""

from __future__ import annotations

from collections.abc import Iterator

from roost.config.expand import Found, Scope
from roost.config.references import NAME, Reference, pieces


class Nesting:
    """Caches depths of one scope, by case-folded full name."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._depths: dict[str, int] = {}

    def depth(self, text: str) -> int:
        """Minimum levels of references in the expansion of a text; 0 for a text without references."""
        if "$" not in text:
            return 0
        return 1 + max((self._of(found) for found in self._followed(text)), default=0)

    def _of(self, root: Found) -> int:
        """The depth of a definition, found without recursion."""
        work: list[tuple[str, Iterator[Found]]] = []
        self._open(root, work)
        while work:
            key, inner = work[-1]
            for found in inner:
                if found.name.lower() not in self._depths:
                    self._open(found, work)
                    break
                self._deepen(key, found.name.lower())
            else:
                work.pop()
                if work:
                    self._deepen(work[-1][0], key)
        return self._depths[root.name.lower()]

    def _open(self, found: Found, work: list[tuple[str, Iterator[Found]]]) -> None:
        key = found.name.lower()
        if key not in self._depths:
            self._depths[key] = 1 if "$" in found.text else 0
            work.append((key, self._followed(found.text)))

    def _deepen(self, key: str, inner: str) -> None:
        self._depths[key] = max(self._depths[key], 1 + self._depths[inner])

    def _followed(self, text: str) -> Iterator[Found]:
        if "$" not in text:
            return
        for piece in pieces(text):
            if isinstance(piece, Reference) and NAME.match(piece.name) and piece.name.lower() != "dollar":
                found = self._scope.find(piece.name.lower())
                if found is not None and found.text:
                    yield found
