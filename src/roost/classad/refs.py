"""Which attributes an expression refers to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from roost.classad.syntax import Node

if TYPE_CHECKING:
    from roost.classad.ad import ClassAd
    from roost.classad.expr import Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """Names, each list sorted without regard to case."""

    #: Names of the ad itself.
    internal: list[str]
    #: Names that must come from elsewhere.
    external: list[str]
