"""Transcripts under one-sided noise, with gaps and with two-sided closing: against sums over all noise, and mpmath."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

import sparsegate as sg
from sparsegate.gates.variants import Closes, Noise, Released, Scales, Variant
from sparsegate.privacy import log_probability, loss, search
from sparsegate.privacy.model import Model, NoiseLaw, build
from sparsegate.privacy.outcome import log_probabilities, possible_outcomes, transcript

B, A = False, True
SCALES = Scales(Fraction(2), Fraction(3), None)
WITH_ANSWERS = SCALES._replace(answer=Fraction(4))


def row(key: str, **changes: Any) -> Variant:
    """A row made for a test: nobody claims that it is private."""
    return replace(sg.VARIANTS[key], private=False, flaw="made for a test", **changes)


def masses(law: NoiseLaw, reach: int = 150) -> dict[int, float]:
    """P[X = x] from its definition."""
    p = math.exp(-1 / law.scale)
    total = (1 - p) / (1 + p) if law.side == 0 else 1 - p
    return {x: total * p ** abs(x) for x in range(-reach, reach + 1) if x * law.side >= 0}


def summed(model: Model, answers: Sequence[int], outcome: Sequence[Any]) -> float:
    """Pr of a transcript as a sum over rho of sums over nu, straight from the definition of a gate."""
    assert model.rho is not None
    assert model.nu is not None
    nu, kappa, total = masses(model.nu), int(model.shift), 0.0

    @cache
    def passes(least: int, above: bool) -> float:
        return math.fsum(w for x, w in nu.items() if (x >= least) is above)

    for rho, weight in masses(model.rho).items():
        for answer, entry in zip(answers, outcome, strict=True):
            gap, number = entry if isinstance(entry, tuple) else (entry, None)
            if gap is B or gap is A:
                weight *= passes(rho + kappa - answer, gap)
            else:
                weight *= nu.get(gap + rho + kappa - answer, 0.0) if gap >= 0 else 0.0
            if number is not None and model.fresh is not None:
                weight *= masses(model.fresh).get(number - answer, 0.0)
        total += weight
    return total


OUTCOMES = ([B], [A], [B, B, A], [A, B, B], [B, B, B])
GAPS = ([2], [0], [B, 0], [B, B, 3], [0, 4], [2, B, 0], [-1])


@pytest.mark.parametrize("answers", [(0, 1, -2), (4, -3, 2), (-5, 0, 1), (30, 2, -40)])
@pytest.mark.parametrize(
    ("key", "scales"),
    [("liu-2024", SCALES), ("ding-2019", SCALES), ("exponential-gap", SCALES), ("two-sided", SCALES)],
)
def test_a_transcript_on_the_lattice_is_a_sum_over_all_noise(
    key: str, scales: Scales, answers: tuple[int, ...]
) -> None:
    model = build(key, cutoff=3, scales=scales, noise="lattice")
    for outcome in (*OUTCOMES, *(GAPS if model.row.gap else ())):
        asked = answers[: len(outcome)]
        here, there = transcript(model.compare(asked, 0, None), outcome), summed(model, asked, outcome)
        assert here == pytest.approx(math.log(there) if there else -math.inf, abs=1e-10), outcome


def test_a_gap_and_a_fresh_answer_make_a_pair() -> None:
    model = build("exponential-gap", cutoff=2, scales=WITH_ANSWERS, noise="lattice")
    for outcome in ([B, (2, 5)], [(0, -1), (3, 4)], [(None, 3)], [(1, None), B]):
        asked = (1, 0)[: len(outcome)]
        plain = [(A, e[1]) if isinstance(e, tuple) and e[0] is None else e for e in outcome]
        assert transcript(model.compare(asked, 0, None), outcome) == pytest.approx(
            math.log(summed(model, asked, plain)), abs=1e-10
        )


@pytest.mark.parametrize("key", ["ding-2019", "exponential-gap"])
def test_all_gaps_together_are_an_above(key: str) -> None:
    options = {"scales": SCALES, "noise": "lattice", "cutoff": 2}
    each = [log_probability(key, [1, -4, 2], [B, gap, A], **options) for gap in range(150)]  # type: ignore[arg-type]
    whole = log_probability(key, [1, -4, 2], [B, A, A], **options)  # type: ignore[arg-type]
    assert math.log(math.fsum(np.exp(each))) == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(("rho", "nu"), [(2.0, 3.0), (0.5, 40.0), (100.0, 1.0)])
def test_a_continuous_gap_is_a_density_of_mpmath(side: int, rho: float, nu: float) -> None:
    key = "exponential-gap" if side else "ding-2019"
    model = build(key, cutoff=2, scales=Scales(Fraction(rho), Fraction(nu), None))

    def weight(x: Any, scale: float) -> Any:
        return mpmath.exp(-abs(x) / scale) / scale * (mpmath.mpf(x >= 0) if side else mpmath.mpf("0.5"))

    def under(x: Any, scale: float) -> Any:
        if side:
            return 1 - mpmath.exp(-x / scale) if x > 0 else mpmath.mpf(0)
        return 1 - mpmath.exp(-x / scale) / 2 if x > 0 else mpmath.exp(x / scale) / 2

    kappa, below, first, second = mpmath.mpf(model.shift), mpmath.mpf("1.25"), mpmath.mpf("-0.5"), mpmath.mpf(3)
    with mpmath.workdps(30):

        def f(z: Any) -> Any:
            bar = z + kappa
            gaps = weight(mpmath.mpf("0.75") + bar - first, nu) * weight(bar - second, nu)
            return weight(z, rho) * under(bar - below, nu) * gaps

        ends = sorted({mpmath.mpf(0), below - kappa, first - kappa - mpmath.mpf("0.75"), second - kappa})
        grid = [ends[0] - 60 * rho, *ends, *(ends[-1] + rho * x for x in (1, 3, 8, 20, 60))]
        exact = mpmath.log(mpmath.quad(f, sorted(set(grid))))
    assert transcript(model.compare([1.25, -0.5, 3.0], 0, None), [B, 0.75, 0]) == pytest.approx(float(exact), abs=1e-10)


def test_impossible_answers_have_no_probability_and_an_infinite_loss_is_not_nan() -> None:
    minus = replace(build("liu-2024", scales=SCALES), rho=NoiseLaw(scale=2.0, side=-1))
    here, there = (transcript(minus.compare([q], -minus.shift, None), [B]) for q in (-1, 0))
    assert (there, here - there) == (-math.inf, math.inf)
    assert log_probability("ding-2019", [0.0], [-0.5], scales=SCALES) == -math.inf
    assert loss("exponential-gap", [5], [5], [-1], scales=SCALES) == 0.0


@pytest.mark.parametrize(("rho_side", "nu_side"), [(-1, 1), (1, -1)])
def test_a_minus_sign_on_either_noise_loses_everything(rho_side: Any, nu_side: Any) -> None:
    for lattice in (False, True):
        laws = [NoiseLaw(scale=s, lattice=lattice, side=side) for s, side in ((2.0, rho_side), (3.0, nu_side))]
        sound = build("liu-2024", scales=SCALES, noise="lattice" if lattice else "continuous")
        model = replace(sound, rho=laws[0], nu=laws[1], shift=0.0)
        # A BELOW needs q < rho <= 0 and an ABOVE needs q >= rho + |nu|: one step more, and there is no such noise.
        pair = (-1, 0) if rho_side < 0 else (0, -1) if lattice else (1, 0)
        outcome = [B] if rho_side < 0 else [A]
        here, there = (transcript(model.compare([q], 0, None), outcome) for q in pair)
        assert here > -math.inf
        assert there == -math.inf
        both = log_probabilities(model.compare([pair[0]], 0, None)), possible_outcomes(model, 1).outcomes
        assert dict(zip(both[1], both[0], strict=True))[tuple(outcome)] == pytest.approx(here, abs=1e-12)
        if lattice:
            assert [summed(model, [q], outcome) for q in pair] == pytest.approx([math.exp(here), 0.0], abs=1e-14)


@pytest.mark.parametrize("noise", ["continuous", "lattice"])
@pytest.mark.parametrize("key", ["liu-2024", "exponential-gap", "two-sided", "one-sided two-sided"])
@pytest.mark.parametrize(
    "scales",
    [
        SCALES,
        Scales(Fraction(1), Fraction(200), None),
        Scales(Fraction(300), Fraction(7), None),
        Scales(Fraction(300), Fraction(900), None),
    ],
)
def test_the_shared_grid_agrees_with_the_adaptive_integral(key: str, scales: Scales, noise: Any) -> None:
    made = row("two-sided", noise=Noise.EXPONENTIAL) if key == "one-sided two-sided" else sg.VARIANTS[key]
    model = build(made, cutoff=2, scales=scales, noise=noise)
    asked = model.compare([0, 3, -4, 50, 7, 7], 0, None)
    logs = log_probabilities(asked)
    assert math.fsum(np.exp(logs)) == pytest.approx(1, abs=1e-12)
    one_by_one = [transcript(asked, outcome) for outcome in possible_outcomes(model, 6).outcomes]
    assert logs.tolist() == pytest.approx(one_by_one, abs=1e-10)


def test_a_two_sided_gate_ends_when_the_rarer_answer_was_given_c_times() -> None:
    model = build("two-sided", cutoff=2, epsilon=1)
    possible = set(possible_outcomes(model, 5).outcomes)
    ends = {o for n in range(1, 6) for o in itertools.product((B, A), repeat=n) if o in possible}
    assert ends == possible
    for outcome in possible:
        short = [min(outcome[:n].count(A), outcome[:n].count(B)) for n in range(len(outcome) + 1)]
        assert max(short[:-1]) < 2
        assert len(outcome) == 5 or short[-1] == 2
    ask = model.compare([0] * 5, 0, None)
    assert transcript(ask, [A, A, A, B, A]) > -math.inf
    for wrong in ([A, A, B, B, A], [A, A, B]):
        with pytest.raises(sg.ParameterError, match="outcome must"):
            transcript(ask, wrong)


@pytest.mark.parametrize(
    ("key", "entry"),
    [("ding-2019", sg.Answer(True, 3)), ("exponential-gap", math.nan), ("liu-2024", 2.0), ("ding-2019", (0, 1))],
)
def test_what_is_no_entry_of_the_row_is_refused(key: str, entry: Any) -> None:
    with pytest.raises(sg.ParameterError, match="outcome must hold"):
        log_probability(key, [0], [entry], scales=SCALES)


def test_a_gap_without_query_noise_is_refused() -> None:
    with pytest.raises(sg.ParameterError, match="scales must have query noise"):
        build("ding-2019", scales=Scales(Fraction(1), None, None))


@pytest.mark.parametrize("changes", [{"noise": Noise.EXPONENTIAL}, {"gap": True}, {"released": Released.FRESH_ANSWER}])
def test_a_two_sided_gate_with_anything_more_is_found_out(changes: dict[str, Any]) -> None:
    answers = 0.25 if "released" in changes else 0
    budget = sg.Budget(threshold_epsilon=0.5, query_epsilon=0.5, answer_epsilon=answers)
    made = row("two-sided", **changes)
    assert search("two-sided", queries=8, budget=sg.Budget(threshold_epsilon=0.5, query_epsilon=0.5)).loss <= 1 + 1e-9
    assert search(made, queries=8, budget=budget).loss > float(budget.total) + 0.2
    assert made.closes is Closes.RARER
