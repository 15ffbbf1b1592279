"""What of a configuration does nothing in a pool with a cell is named, and nothing else is."""

from __future__ import annotations

from roost.config import MemoryHost, load_text
from roost.negotiator.beside_cell import warning, without_effect


def test_what_is_set_is_named_and_nothing_else() -> None:
    text = "NEGOTIATOR_PRE_JOB_RANK = 1\nNEGOTIATOR.GROUP_NAMES = a\nNEGOTIATOR_INTERVAL = 9\nSTART = True\n"
    config = load_text(text, host=MemoryHost())
    assert without_effect(config) == ("NEGOTIATOR.GROUP_NAMES", "NEGOTIATOR_PRE_JOB_RANK")
    assert warning(config) == (
        "the pool runs by a Grid Engine cell, in which NEGOTIATOR.GROUP_NAMES, NEGOTIATOR_PRE_JOB_RANK have no effect"
    )
    assert warning(load_text("NEGOTIATOR_INTERVAL = 9\n", host=MemoryHost())) == ""
