"""Which row a SparseVector takes, when a two-sided one closes, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparsegate as sg
from sparsegate.gates.bounds import tight_loss
from sparsegate.gates.planning import plan
from sparsegate.gates.variants import Closes, Noise

PUBLIC: dict[str, Any] = {"threshold": 100, "cutoff": 10, "epsilon": 1, "sensitivity": 1}


def key(**options: Any) -> str:
    return sg.SparseVector(**PUBLIC | options)._calibration.row.key


def test_the_noise_of_a_gate_without_a_limit_is_exponential_unless_said() -> None:
    assert key() == key(noise="exponential") == "exponential-gap"
    assert key(noise="laplace") == "ding-2019"
    assert key(closes="rarer") == key(closes="rarer", noise="laplace") == "two-sided"


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("queries", [1, 5, 10, 14, 16, 18, 25, 200])
def test_auto_takes_the_plan_of_less_variance(monotonic: bool, queries: int) -> None:
    options: dict[str, Any] = {"cutoff": 10, "epsilon": 1, "monotonic": monotonic, "queries": queries}
    plans = {noise: plan(**options, noise=noise) for noise in ("laplace", "exponential")}  # type: ignore[arg-type]
    better = min(plans.values(), key=lambda planned: planned.variance)
    assert key(monotonic=monotonic, queries=queries) == better.row.key
    assert (better.row.noise is Noise.EXPONENTIAL) == (queries > 17 or (monotonic and queries > 15))


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("cutoff", [1, 25, 100])
def test_the_margin_is_at_most_72_percent_of_that_of_laplace_noise(cutoff: int, monotonic: bool) -> None:
    options = {"threshold": 0.0, "cutoff": cutoff, "monotonic": monotonic}
    margins = [sg.SparseVector(**PUBLIC | options | {"noise": noise}).margin() for noise in ("auto", "laplace")]
    assert margins[0] <= 0.72 * margins[1]


@given(
    cutoff=st.integers(1, 8),
    queries=st.one_of(st.none(), st.integers(1, 30)),
    monotonic=st.booleans(),
    share=st.fractions(0, Fraction(9, 10)),
)
def test_a_plan_of_exponential_noise_spends_no_more_than_epsilon(
    cutoff: int, queries: int | None, monotonic: bool, share: Fraction
) -> None:
    planned = plan(
        cutoff=cutoff, epsilon=1, monotonic=monotonic, queries=queries, answer_epsilon=share, noise="exponential"
    )
    assert planned.epsilon <= 1
    assert planned.epsilon == 1 or queries is not None


@given(cutoff=st.integers(1, 8), queries=st.one_of(st.none(), st.integers(1, 30)), monotonic=st.booleans())
def test_a_plan_without_answers_releases_gaps_for_nothing(cutoff: int, queries: int | None, monotonic: bool) -> None:
    options: dict[str, Any] = {"cutoff": cutoff, "monotonic": monotonic, "queries": queries}
    planned = plan(**options, epsilon=1)
    assert planned.row.key == "ding-2019"
    assert tight_loss(planned.row, planned.scales, **options) <= 1


@pytest.mark.parametrize(("cutoff", "queries", "monotonic"), [(2, 3, True), (3, 2, False)])
def test_a_plan_keeps_back_gaps_that_would_cost(cutoff: int, queries: int, monotonic: bool) -> None:
    options: dict[str, Any] = {"cutoff": cutoff, "monotonic": monotonic, "queries": queries}
    planned = plan(**options, epsilon=1, answer_epsilon=0.5)
    assert planned.row.key == "standard"
    assert tight_loss(sg.VARIANTS["ding-2019"], planned.scales, **options) > 1


@given(st.integers(0, 2**32), st.lists(st.integers(80, 120), max_size=120), st.integers(1, 5))
def test_a_two_sided_gate_closes_when_both_answers_were_given_c_times(
    seed: int, answers: list[int], cutoff: int
) -> None:
    options = PUBLIC | {"cutoff": cutoff, "closes": "rarer", "not_private": True}
    one, many = (sg.SparseVector(**options, source=sg.Seeded(seed)) for _ in range(2))
    singly: list[bool] = []
    for answer in answers:
        if one.closed:
            break
        singly.append(bool(one.ask(answer)))
        rarer = min(sum(singly), len(singly) - sum(singly))
        assert one.remaining == cutoff - rarer
        assert one.closed == (rarer == cutoff)
    assert many.ask_many(answers).tolist() == singly
    assert (one.positives, one.closed, one.remaining) == (many.positives, many.closed, many.remaining)
    batch = sg.run_many(
        "two-sided", answers, runs=3, threshold=100, epsilon=1, cutoff=cutoff, source=sg.Seeded(seed), not_private=True
    )
    for above, asked in zip(batch.above, batch.asked, strict=True):
        said = above[:asked].tolist()
        assert min(said.count(True), said.count(False)) <= cutoff
        assert asked == len(answers) or min(said.count(True), said.count(False)) == cutoff
        assert not above[asked:].any()


def test_a_two_sided_gate_says_so() -> None:
    gate = sg.SparseVector(**PUBLIC | {"cutoff": 2, "closes": "rarer"})
    gate.ask_many([10**6] * 50)
    assert repr(gate) == "<SparseVector two-sided: 50 ABOVE and 0 BELOW, 2 of each, open>"
    gate.ask_many([-(10**6)] * 3)
    with pytest.raises(sg.GateClosed, match="it has given both answers 2 times"):
        gate.ask(0)


def test_a_planned_two_sided_gate_costs_its_epsilon() -> None:
    gate = sg.SparseVector(**PUBLIC | {"closes": "rarer", "queries": 12, "cutoff": 3})
    assert gate._calibration.row.closes is Closes.RARER
    assert gate._calibration.epsilon <= 1
    assert gate.ask_many([10**6] * 20).size == 12


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"noise": "gaussian"}, "noise must be one of auto, exponential, laplace, got 'gaussian'"),
        ({"closes": "never"}, 'closes must be "above" or "rarer", got \'never\''),
        ({"closes": "rarer", "noise": "exponential"}, "one-sided noise is not private there"),
        (
            {
                "closes": "rarer",
                "epsilon": None,
                "budget": sg.Budget(threshold_epsilon=1, query_epsilon=1, answer_epsilon=1),
            },
            'budget must have no answers share where closes="rarer"',
        ),
        ({"delta": 1e-6, "noise": "exponential"}, "its bound is of no other gate"),
        ({"delta": 1e-6, "closes": "rarer"}, "its bound is of no other gate"),
    ],
)
def test_what_has_no_proof_is_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(sg.ParameterError) as refused:
        sg.SparseVector(**PUBLIC | options)
    assert text in str(refused.value)


def test_a_two_sided_gate_with_exponential_noise_a_gap_or_answers_has_no_bound() -> None:
    from dataclasses import replace

    row = sg.VARIANTS["two-sided"]
    assert sg.privacy.tight_epsilon(row, cutoff=3, epsilon=1) == pytest.approx(1)
    flawed = {"private": False, "flaw": "no bound"}
    for change in ({"noise": Noise.EXPONENTIAL}, {"gap": True}):
        assert sg.privacy.tight_epsilon(replace(row, **change, **flawed), cutoff=3, epsilon=1) == math.inf  # type: ignore[arg-type]
