"""Whatever is divided, booked and ended: no ledger gives out more than it has, and all are full at the end."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

from roost.model.resources import Amounts, Denied
from roost.resources import Booking, Ledgers, Part

RESOURCES = ("Cpus", "Memory", "licence")
amount = st.one_of(st.integers(0, 8), st.fractions(0, 4, max_denominator=6))
amounts = st.dictionaries(st.sampled_from(RESOURCES), amount).map(Amounts)
uses = st.sets(st.sampled_from(("exclusive", "alone")), max_size=1).map(frozenset)
parties = st.sampled_from(("alice", "bob", "carol"))


class Accounts(RuleBasedStateMachine):
    """Operations on a tree, each of which may be denied."""

    nodes = Bundle("nodes")
    shares = Bundle("shares")
    taken = Bundle("taken")

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"n{self.count}"

    @initialize(target=nodes, capacity=amounts, exclusives=uses)
    def begin(self, capacity: Amounts, exclusives: frozenset[str]) -> str:
        self.tree = Ledgers.rooted("root", capacity.plus({"Cpus": 10}), exclusives)
        return "root"

    def take(self, outcome: Ledgers | Denied) -> bool:
        if isinstance(outcome, Denied):
            assert outcome.obstacles
            return False
        self.tree = outcome
        return True

    @rule(target=nodes, parent=nodes, capacity=amounts, exclusives=uses)
    def overlap(self, parent: str, capacity: Amounts, exclusives: frozenset[str]) -> object:
        name = self.name()
        done = self.take(self.tree.overlap(name, parent=parent, capacity=capacity, exclusives=exclusives))
        return name if done else multiple()

    @rule(target=shares, parent=nodes, capacity=amounts)
    def divide(self, parent: str, capacity: Amounts) -> object:
        name = self.name()
        return name if self.take(self.tree.divide(name, parent=parent, capacity=capacity)) else multiple()

    @rule(name=consumes(shares))
    def give_share_back(self, name: str) -> None:
        used = any(part.ledger == name for each in self.tree.bookings.values() for part in each.parts)
        assert self.take(self.tree.without(name)) != used

    @rule(
        target=taken,
        party=parties,
        parts=st.lists(st.tuples(st.one_of(nodes, shares), amounts), min_size=1, max_size=3),
        exclusives=uses,
    )
    def book(self, party: str, parts: list[tuple[str, Amounts]], exclusives: frozenset[str]) -> object:
        booking = Booking(
            id=self.name(),
            party=party,
            parts=tuple(Part(ledger=ledger, amounts=taken) for ledger, taken in parts if ledger in self.tree.ledgers),
            exclusives=exclusives,
        )
        before = self.tree
        if not self.take(self.tree.book(booking)):
            return multiple()
        again = self.tree.end(booking.id)
        assert again == before
        return booking.id

    @rule(booking=consumes(taken))
    def end(self, booking: str) -> None:
        assert self.take(self.tree.end(booking))
        assert isinstance(self.tree.end(booking), Denied)

    @invariant()
    def the_books_are_right(self) -> None:
        assert not self.tree.problems()

    @invariant()
    def nothing_is_given_out_twice(self) -> None:
        assert not self.tree.overdrawn()

    def teardown(self) -> None:
        tree = self.tree
        for name in tree.bookings:
            ended = tree.end(name)
            assert isinstance(ended, Ledgers)
            tree = ended
        for ledger in tree.ledgers.values():
            shares = [share.capacity for share in tree.ledgers.values() if share.share and share.parent == ledger.name]
            assert not ledger.tenants and not ledger.holders
            if not any(share.capacity for share in tree.ledgers.values() if share.share):
                assert not ledger.used, (ledger, shares)


Accounts.TestCase.settings = settings(max_examples=80, stateful_step_count=25, deadline=None)
TestAccounts = Accounts.TestCase


def test_amounts_are_exact() -> None:
    third = Amounts({"Cpus": Fraction(1, 3)})
    total = third.plus(third).plus(third)
    assert total == Amounts({"Cpus": 1})
    assert isinstance(total["Cpus"], int)
    assert total.minus(third).minus(third).minus(third) == Amounts()
