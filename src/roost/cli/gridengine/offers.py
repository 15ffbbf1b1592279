"""What queue instances have of resources, as `qstat -F` prints it: names, values and order of Grid Engine 8.1.9."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from roost.cli.gridengine.tables import FIRST, size
from roost.gridengine.cell import read_cell
from roost.gridengine.objects.complex import Type, by_any_name

if TYPE_CHECKING:
    from roost.wire.requests.central import HostOffer, QueueInstance

#: What a queue instance has itself, in this order.
_OF_QUEUE: Final = (
    "qname", "hostname", "slots", "tmpdir", "seq_no", "rerun", "calendar",
    *(f"{hardness}_{name}" for name in ("rt", "cpu", "fsize", "data", "stack", "core", "rss", "vmem")
      for hardness in "sh"),
    "min_cpu_interval",
)  # fmt: skip


class Offers:
    """The resources that are shown."""

    def __init__(self, files: Mapping[str, str], wanted: Sequence[str]) -> None:
        """`wanted`: names or shortcuts; none for all. Names that the cell does not have choose nothing."""
        named = by_any_name(read_cell(files).complexes.values())
        self._types = {one.name: one.type for one in named.values()}
        self._wanted = {named[each].name for each in wanted if each in named}
        self._all = not wanted

    def shown(self, one: QueueInstance) -> Iterator[tuple[str, str, str]]:
        """Name, source and value of what an instance has."""
        for each in sorted(one.offers, key=_place):
            if self._all or each.name in self._wanted:
                yield each.name, each.source, self._text(each)

    def _text(self, offer: HostOffer) -> str:
        value, kind = offer.value, self._types.get(offer.name)
        if isinstance(value, str):
            return value
        if kind is Type.MEMORY:
            return size(value, 3)
        if kind is Type.TIME:
            seconds = int(value)
            return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        return f"{value:.0f}" if kind is Type.INT else f"{value:.6f}"


def _place(offer: HostOffer) -> tuple[bool, int, str]:
    """Load values first, then what hosts have, then what queues have."""
    own = offer.source.startswith("q")
    order = _OF_QUEUE if own else FIRST
    return own, order.index(offer.name) if offer.name in order else len(order), offer.name
