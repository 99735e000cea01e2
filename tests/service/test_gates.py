"""The state machine of a gate: whatever is interleaved or lost, no more than c ABOVE."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsegate.errors import GateClosed, SparsegateError
from sparsegate.service.gates import GateSpec, Tally

EVENTS = st.lists(st.sampled_from([None, False, True]), max_size=60)
"""An intent, or the outcome of one."""


def fresh(cutoff: int, queries: int | None = None) -> Tally:
    return Tally(spec=GateSpec(threshold=1, cutoff=cutoff, epsilon=Fraction(1), queries=queries))


@given(EVENTS, st.integers(1, 5), st.none() | st.integers(1, 8))
def test_no_order_of_events_gives_more_than_the_cutoff(
    events: list[bool | None], cutoff: int, queries: int | None
) -> None:
    tally = fresh(cutoff, queries)
    for above in events:
        if above is None and tally.closed:
            with pytest.raises(GateClosed):
                tally.intend()
        elif above is not None and not tally.unsettled:
            with pytest.raises(SparsegateError):
                tally.settle(above=above)
        else:
            after = tally.intend() if above is None else tally.settle(above=above)
            assert after.positives - tally.positives == {None: 1, True: 0, False: -1}[above]
            tally = after
        assert 0 <= tally.above <= tally.positives <= cutoff
        assert tally.remaining == cutoff - tally.above - tally.unsettled
        assert queries is None or tally.asked <= queries


def test_a_two_sided_gate_counts_the_rarer_answer_at_its_most() -> None:
    """Whatever became of the lost ones, neither was given more than c times while the other was, too."""
    spec = GateSpec(threshold=1, cutoff=3, epsilon=Fraction(1), closes="rarer")
    for below, above, lost in product(range(5), repeat=3):
        tally = Tally(spec=spec, asked=below + above + lost, above=above, below=below)
        rarest = max(min(below + i, above + lost - i) for i in range(lost + 1))
        assert tally.remaining == 3 - rarest
        assert bool(tally.closed) == (rarest >= 3)
