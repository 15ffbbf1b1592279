"""The history file, written, rotated and read from its end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import roost.schedd.records.history as history
from roost.classad import ClassAd
from roost.schedd.records.history import Banner, BytesStore, backwards, format_entry, forwards, rotated_name, to_delete

_VALUES = st.one_of(st.integers(-5, 5), st.booleans(), st.text(st.sampled_from('a "=*é'), max_size=20))
_ADS = st.dictionaries(st.sampled_from(("A", "Bb", "Cmd", "Env")), _VALUES, max_size=4)


def file_of(ads: list[ClassAd]) -> bytes:
    data = b""
    for ad in ads:
        data += format_entry(ad, len(data), now=100)
    return data


def jobs(attributes: list[dict[str, object]]) -> list[ClassAd]:
    return [ClassAd({"ClusterId": 7, "ProcId": n, "Owner": "me", **ad}) for n, ad in enumerate(attributes)]


@given(st.lists(_ADS, max_size=5), st.sampled_from([3, 17, 65_536]))
def test_what_is_written_is_read_from_either_end(attributes: list[dict[str, object]], block: int) -> None:
    ads = jobs(attributes)
    data = file_of(ads)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history, "_BLOCK", block)
        newest_first = list(backwards(BytesStore(data)))
        oldest_first = list(forwards(BytesStore(data)))
    assert [entry.ad for entry in newest_first] == ads[::-1]
    assert [entry.ad for entry, _ in oldest_first] == ads
    for entry, after in oldest_first:
        assert data[entry.banner.offset : after] == format_entry(entry.ad, entry.banner.offset, now=100)


def test_the_banner_is_the_known_one() -> None:
    ad = ClassAd({"ClusterId": 7, "ProcId": 3, "Owner": "me", "CompletionDate": 99})
    assert format_entry(ad, 12).split(b"\n")[-2] == (
        b'*** Offset = 12 ClusterId = 7 ProcId = 3 Owner = "me" CompletionDate = 99'
    )
    banner = Banner.read('*** Offset = 12 ClusterId = 7 ProcId = 3 Owner = "a b" CompletionDate = 99 CurrentTime = 5')
    assert banner == Banner(offset=12, cluster=7, proc=3, owner="a b", completed_at=99, written_at=5)


@given(st.integers(1, 200))
def test_a_write_that_was_cut_off_hides_no_other_job(cut: int) -> None:
    ads = jobs([{"A": 1}, {"A": 2}, {"A": 3}])
    data = file_of(ads)
    last = len(format_entry(ads[2], len(file_of(ads[:2])), now=100))
    found = [entry.ad["A"] for entry in backwards(BytesStore(data[: len(data) - min(cut, last)]))]
    assert found == [2, 1]


def test_a_beginning_that_was_cut_off_hides_no_later_job() -> None:
    data = file_of(jobs([{"A": 1}, {"A": 2}]))
    assert next(backwards(BytesStore(data[30:]))).ad["A"] == 2


def test_reading_backwards_reads_no_more_than_is_wanted() -> None:
    class Counting(BytesStore):
        taken = 0

        def read(self, offset: int, length: int) -> bytes:
            self.taken += length
            return super().read(offset, length)

    store = Counting(file_of(jobs([{"Env": "x" * 1000}] * 1000)))
    assert next(backwards(store)).ad["ProcId"] == 999
    assert store.taken < 200_000


def test_rotations_are_named_by_their_instant_and_the_newest_kept() -> None:
    assert rotated_name("history", 1_795_256_430) == "history.20261121T102030"
    names = ["history", *(rotated_name("history", 1_795_256_430 + n) for n in range(4)), "history.7.0", "historyX"]
    assert to_delete("history", names, 2) == ["history.20261121T102030", "history.20261121T102031"]
    assert to_delete("history", names, 9) == []
