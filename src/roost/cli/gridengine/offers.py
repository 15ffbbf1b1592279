"""Resources of queue instances, as printed by `qstat -F`: names, values and order of Grid Engine 8.1.9."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from roost.cli.gridengine.tables import size
from roost.gridengine.cell import read_cell
from roost.gridengine.objects.complex import Type, by_any_name

if TYPE_CHECKING:
    from roost.wire.requests.central import HostOffer, InstanceStatus


class Offers:
    """The selected resources."""

    def __init__(self, files: Mapping[str, str], wanted: Sequence[str]) -> None:
        """`wanted`: names or shortcuts; empty for all. Names that the cell does not have select nothing."""
        named = by_any_name(read_cell(files).complexes.values())
        self._types = {one.name: one.type for one in named.values()}
        self._wanted = {named[each].name for each in wanted if each in named}
        self._all = not wanted

    def shown(self, one: InstanceStatus) -> Iterator[tuple[str, str, str]]:
        """Name, source and value of the selected resources of an instance."""
        for each in one.offers:
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
