"""The one rule: a verdict where the whole interval is, an interval that holds what it should, votes that know doubt."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.support.made_findings import made_findings

from sparsegate.paper import decisions
from sparsegate.paper.decisions import (
    CHOSEN,
    COMPARISONS,
    FALSE_VERDICT,
    FAR,
    LOOKS,
    SIGMAS,
    Decision,
    Quantity,
    Support,
    Term,
    above,
    all_of,
    any_of,
    at_most,
    mean_of,
    most_of,
    opposite,
    rate,
    variance,
)
from sparsegate.paper.experiments import MOST
from sparsegate.paper.results import CellKey
from sparsegate.paper.statements import check_all

YES, NO, OPEN = Support.SUPPORTED, Support.NOT_SUPPORTED, Support.UNDECIDED
A, B = (CellKey("zipf", method, 0.1, 25) for method in ("em", "svt-s-1:1"))
ROW = next(iter(made_findings().rows.values()))
ONE_LOOK = math.erfc(SIGMAS / math.sqrt(2)) / 2


def quantity(value: float, deviation: float, cell: CellKey = A, **unseen: float) -> Quantity:
    return Quantity(value=value, terms={(cell, "ser"): Term(deviation, **unseen)})


def member(support: Support, cell: CellKey = A, times: float = 2.0, *, leans: bool = True) -> Decision:
    if support is OPEN:
        return Decision(support=support, sources=((cell, "ser"),), leans=leans, wanting={cell: times})
    return Decision.sure(support is YES, ((cell, "ser"),))


@pytest.mark.parametrize(
    ("value", "support"), [(0.05 + SIGMAS * 0.01, YES), (0.05 - SIGMAS * 0.01, NO), (0.055, OPEN), (0.045, OPEN)]
)
def test_a_verdict_is_where_the_whole_interval_is(value: float, support: Support) -> None:
    near = quantity(value + (1e-9 if support is YES else -1e-9), 0.01)
    assert above(near, 0.05).support is support
    assert at_most(near, 0.05).support is {YES: NO, NO: YES, OPEN: OPEN}[support]
    assert set(above(near, 0.05).wanting) == ({A} if support is OPEN else set())


def most_wrong_looks(sigmas: float) -> float:
    """How often a mean that is exactly the margin is found above it, in units of a single look that goes wrong.

    Every look but the first has 1 to 4 times the runs, so chosen that one goes most often wrong.

    With x standard errors above the margin, r times the runs make it x/sqrt(r) + sqrt(1 - 1/r) Z, Z normal. Backwards
    from the last look, the chance to go wrong from x is the largest over r; x in steps of 0.02.
    """
    ends = sigmas - 0.02 * np.arange(450, -1, -1)
    x = ends[:-1] + 0.01
    laws = []
    for times in (1.002, 1.005, *np.geomspace(1.01, MOST, 14)):
        below = stats.norm.cdf((ends - x[:, None] / math.sqrt(times)) / math.sqrt(1 - 1 / times))
        laws.append((1 - below[:, -1], np.diff(below)))
    chance = np.zeros_like(x)
    for _ in range(LOOKS - 1):
        chance = np.max([wrong + law @ chance for wrong, law in laws], axis=0)
    return float(1 + np.diff(stats.norm.cdf(ends)) @ chance / stats.norm.sf(sigmas))


def test_looks_go_wrong_no_more_often_than_stated_however_their_runs_are_chosen() -> None:
    assert pytest.approx(FALSE_VERDICT, rel=1e-6) == ONE_LOOK * CHOSEN * LOOKS * COMPARISONS
    assert 5 * LOOKS < most_wrong_looks(SIGMAS) < most_wrong_looks(7.0) < CHOSEN * LOOKS


def test_the_default_report_has_no_more_comparisons_than_are_counted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    made, seen, decide = made_findings(), [], Quantity.lowest.fget  # every comparison asks for the lower end
    assert decide is not None
    monkeypatch.setattr(decisions.Quantity, "lowest", property(lambda self: (seen.append(1), decide(self))[1]))
    check_all(made)
    cells_of_the_paper = 4 * 12 / (len(made.datasets) * len(made.counts))
    assert 100 < len(seen) * cells_of_the_paper < COMPARISONS


def test_what_decides_at_m_times_the_runs_decides_then_and_not_before() -> None:
    for row in (replace(ROW, ser_mean=0.1, ser_std=0.3, runs=400), replace(ROW, ser_mean=0.1, ser_std=0.0, runs=100)):
        times = above(rate(row), 0.12).wanting[row.cell]
        for factor, support in ((1.02, NO), (0.8, OPEN)):
            assert above(rate(replace(row, runs=int(row.runs * times * factor))), 0.12).support is support


def test_terms_of_one_row_add_and_those_of_two_are_independent() -> None:
    a, b = quantity(0.5, 0.03), quantity(0.25, 0.04, B)
    assert (a - b).error == pytest.approx(0.05)
    assert (a + a).error == pytest.approx(0.06)
    assert (a - a).error == 0
    assert (0.5 * a).error == pytest.approx(0.015)
    assert mean_of([a, a, b]).error == pytest.approx(math.hypot(2 * 0.03, 0.04) / 3)
    assert (a / b).value == 2
    assert (a / b).error == pytest.approx(math.hypot(0.03 / 0.25, 0.5 * 0.04 / 0.25**2))


def test_what_no_run_met_widens_the_side_to_which_it_would_move_the_mean() -> None:
    near_nothing = rate(replace(ROW, ser_mean=0.0, ser_std=0.0, runs=1000))
    assert near_nothing.lowest == 0.0
    assert near_nothing.highest == pytest.approx(5 * SIGMAS**2 / 8000)
    turned = quantity(0.5, 0.0) - near_nothing
    assert (turned.lowest, turned.highest) == (pytest.approx(0.5 - 5 * SIGMAS**2 / 8000), 0.5)
    assert above(rate(replace(ROW, runs=1, ser_std=math.nan)), 0.0).support is OPEN  # a single run says nothing
    fair = rate(replace(ROW, ser_mean=0.9, ser_std=0.3, runs=100))
    wide = rate(replace(ROW, ser_mean=1 - 5 * 0.1, ser_std=5 * 0.3, runs=100, ser_least=-4.0))
    assert [wide.lowest, wide.highest] == pytest.approx([1 - 5 * (1 - end) for end in (fair.lowest, fair.highest)])


def coin(share: float, runs: int) -> Quantity:
    """The mean of coins of which this share fell on heads."""
    std = math.sqrt(share * (1 - share) * runs / (runs - 1))
    return rate(replace(ROW, ser_mean=share, ser_std=std, runs=runs))


def test_the_interval_of_coins_misses_no_more_often_than_stated() -> None:
    """Exactly: for each bias, the probability of the numbers of heads whose interval misses it. The twin: 20 % off."""
    worst = {1.0: 0.0, 0.8: 0.0}
    for runs in (100, 400, 1600):
        heads = np.arange(runs + 1)
        shares = heads / runs
        rows = [coin(share, runs) for share in shares]
        low, high = (np.array([getattr(row, end) for row in rows]) for end in ("lowest", "highest"))
        for bias, factor in itertools.product(np.geomspace(0.0003, 0.5, 25), worst):
            mass = stats.binom.pmf(heads, runs, bias)
            below, above_it = (shares + (ends - shares) * factor for ends in (low, high))
            worst[factor] = max(worst[factor], mass[above_it < bias].sum(), mass[below > bias].sum())
    assert worst[1.0] <= ONE_LOOK < worst[0.8]


def test_the_variance_of_runs_is_within_its_error() -> None:
    rng = np.random.default_rng(6)
    drawn = (rng.random((2000, 500)) < 0.1).astype(float)
    errors = [
        variance(replace(ROW, total_ser_mean=mean, total_ser_std=std, runs=500)).error
        for mean, std in zip(drawn.mean(axis=1), drawn.std(axis=1, ddof=1), strict=True)
    ]
    true_error = float(drawn.var(axis=1, ddof=1).std())
    assert true_error < np.mean(errors) < 2 * true_error


@pytest.mark.parametrize(
    ("members", "every", "some", "more"),
    [
        ([YES, YES, YES], YES, YES, YES),
        ([YES, OPEN, OPEN], OPEN, YES, OPEN),
        ([YES, YES, OPEN], OPEN, YES, YES),
        ([NO, OPEN, OPEN], NO, OPEN, OPEN),
        ([NO, NO, OPEN], NO, OPEN, NO),
        ([NO, YES], NO, YES, NO),
        ([NO, NO], NO, NO, NO),
    ],
)
def test_votes_are_decided_as_soon_as_the_undecided_cannot_turn_them(
    members: list[Support], every: Support, some: Support, more: Support
) -> None:
    for combine, support in ((all_of, every), (any_of, some), (most_of, more)):
        vote = combine(member(each) for each in members)
        assert (vote.support, bool(vote.wanting)) == (support, support is OPEN)


def test_runs_go_where_the_vote_is_settled_soonest() -> None:
    cheap, dear = member(OPEN, A, 2.0), member(OPEN, B, 9.0)
    assert any_of([cheap, dear]).wanting == {A: 2.0}
    assert all_of([cheap, dear, member(OPEN, A, 3.0), member(YES, B)]).wanting == {A: 3.0, B: 9.0}
    assert most_of([cheap, dear, member(YES)]).wanting == {A: 2.0}
    against = [member(OPEN, A, 2.0, leans=False), member(OPEN, B, 9.0, leans=False)]
    assert any_of(against).wanting == {A: 2.0, B: 9.0}
    assert all_of([*against, member(OPEN, A, 1.0)]).wanting == {A: 2.0}
    assert all_of([cheap, member(OPEN, B, FAR + 1, leans=False)]).wanting == {A: 2.0, B: FAR + 1}, "chance may have it"
    assert not all_of(against).leans
    assert opposite(all_of(against)).leans
    few, many = replace(ROW, ser_std=0.2, runs=100), replace(ROW, method="svt-s-1:1", ser_std=0.2, runs=1600)
    assert set(above(rate(few) - rate(many), 0.01).wanting) == {few.cell}, "who has many waits for the other"
    assert set(above(rate(replace(few, runs=800)) - rate(many), 0.01).wanting) == {few.cell, many.cell}
