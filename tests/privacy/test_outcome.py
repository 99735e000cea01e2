"""ln Pr[A(D) = a] against mpmath, closed forms and sums over all noise; and every outcome at once on a shared grid."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

import sparsegate as sg
from sparsegate.gates.laws import NoiseLaw
from sparsegate.gates.variants import Closes, Compared, Noise, Released, Scales, Variant
from sparsegate.privacy import log_probability, loss, search
from sparsegate.privacy.model import Comparisons, build
from sparsegate.privacy.outcome import log_probabilities, possible_outcomes, transcript

B, A = False, True
TOLERANCE = 1e-10


def by_expansion(
    rho: float, nu: float, queries: Sequence[tuple[float, bool]], *, digits: int = 400, lattice: bool = False
) -> Any:
    """ln Pr in closed form: between break points the integrand is a sum of exponentials, integrated term by term.

    On the lattice the terms are geometric series. Cancellation is bought off with digits. Queries are (place, above).
    """
    with mpmath.workdps(digits):
        s, b = mpmath.mpf(rho), mpmath.mpf(nu)
        p = mpmath.exp(-1 / b) if lattice else mpmath.mpf(1)
        shares = {1: p / (1 + p), -1: 1 / (1 + p)}  # Pr[nu < t] at t = 0 from the left, Pr[nu >= t] from the right
        peak = mpmath.tanh(1 / (2 * s)) if lattice else 1 / (2 * s)
        places = sorted({mpmath.mpf(0)} | {mpmath.mpf(place) for place, _ in queries})
        total = mpmath.mpf(0)
        for left, right in zip([-mpmath.inf, *places], [*places, mpmath.inf], strict=True):
            anchor = left if mpmath.isfinite(left) else right
            terms: dict[int, Any] = {0: mpmath.mpf(1)}  # terms[k] is the coefficient of exp(k (z - anchor) / b)
            for place, above in queries:
                side = 1 if right <= place else -1
                small = {side: shares[side] * mpmath.exp(side * (anchor - place) / b)}
                terms = multiply(terms, small if (side == 1) != above else {0: mpmath.mpf(1), side: -small[side]})
            sign = 1 if right <= 0 else -1
            for k, coefficient in terms.items():
                whole = span(k / b + sign / s, left - anchor, right - anchor, lattice)
                total += coefficient * mpmath.exp(sign * anchor / s) * peak * whole
        return mpmath.log(total)


def multiply(a: dict[int, Any], b: dict[int, Any]) -> dict[int, Any]:
    out: dict[int, Any] = {}
    for i, x in a.items():
        for j, y in b.items():
            out[i + j] = out.get(i + j, 0) + x * y
    return out


def span(rate: Any, left: Any, right: Any, lattice: bool) -> Any:
    """The integral, or the sum over integers, of exp(rate x) over (left, right]."""
    if rate == 0:
        return right - left
    ends = [mpmath.exp(rate * end) if mpmath.isfinite(end) else mpmath.mpf(0) for end in (left, right)]
    return (ends[1] - ends[0]) / (-mpmath.expm1(-rate) if lattice else rate)


def close(value: float, exact: object) -> bool:
    """Relative error of the probability, not of its logarithm."""
    return abs(mpmath.expm1(mpmath.mpf(value) - exact)) <= TOLERANCE


FORTY = np.random.default_rng(3).normal(size=(2, 40))


@pytest.mark.parametrize(
    ("rho", "nu", "q", "outcome"),
    [
        (2, 8, [0, 0], [B, A]),
        (2, 8, [3, -5, 0, 12, 3], [B, A, B, B, A]),
        (1, 30, [100, 90, -200], [B, B, A]),  # about 1e-5
        (1, 1, [100, 120, 140, -150, -180], [B, B, B, A, A]),  # about 1e-300
        (1e6, 1, [1e6 + 1, 1e6, 1e6 - 2], [B, A, B]),  # rho far wider than nu, and far from zero
        (3, 2, [9000, -4000.5, 8000.25], [B, A, B]),  # e**-3000 and less
        (8, 16, np.round(FORTY[0] * 480, 4).tolist(), (FORTY[1] < 0.5).tolist()),
    ],
)
def test_a_transcript_agrees_with_the_integral_in_closed_form(
    rho: float, nu: float, q: list[float], outcome: list[bool]
) -> None:
    value = log_probability("chen-2015", q, outcome, scales=Scales(Fraction(rho), Fraction(nu), None))
    digits = 4000 if max(q) >= 9000 else 800
    assert close(value, by_expansion(rho, nu, list(zip(q, outcome, strict=True)), digits=digits))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("lattice", [False, True], ids=["continuous", "lattice"])
def test_a_random_transcript_agrees_with_the_integral_in_closed_form(seed: int, lattice: bool) -> None:
    rng = np.random.default_rng(seed)
    rho, nu = (float(2.0 ** rng.integers(-3, 21)) for _ in range(2))
    n = int(rng.integers(1, 11))
    q = np.round(rng.normal(size=n) * (rho + nu) * 4)
    outcome = [bool(x) for x in rng.random(n) < 0.5]
    scales, noise = Scales(Fraction(rho), Fraction(nu), None), "lattice" if lattice else "continuous"
    value = log_probability("chen-2015", q, outcome, scales=scales, noise=noise)  # type: ignore[arg-type]
    assert close(value, by_expansion(rho, nu, list(zip(q.tolist(), outcome, strict=True)), lattice=lattice))


@pytest.mark.parametrize(
    ("row", "outcome", "numbers"),
    [
        ("lee-clifton-2014", [B, A, B], 0),
        ("ding-2019", [B, 0.75, 2.5], 2),
        ("exponential-gap", [B, 0.75, 2.5], 2),
        ("roth-2011", [B, 0.5, 2.5], 2),
        ("hardt-rothblum-2010", [B, 7.5, B], 1),
        ("hardt-rothblum-2010-indicator", [B, A, A], 0),
    ],
)
def test_a_fine_lattice_tends_to_continuous_noise(row: str, outcome: list[Any], numbers: int) -> None:
    """A released number has a density there: its mass over the step."""
    estimates = [1.0, 6.0, -2.0] if row.startswith("hardt") else None
    options = {"cutoff": 2, "epsilon": 0.3, "estimates": estimates, "threshold": 1.0}
    fine = log_probability(row, [4.0, 2.0, 2.5], outcome, **options, noise="lattice", granularity=2**-20)
    whole = log_probability(row, [4.0, 2.0, 2.5], outcome, **options)
    assert fine + 20 * math.log(2) * numbers == pytest.approx(whole, abs=1e-5)


@pytest.mark.parametrize("noise", ["continuous", "lattice"])
def test_redrawn_rounds_multiply(noise: str) -> None:
    q, parameters = [3, 0, 1, 9, -2], {"cutoff": 3, "epsilon": 1, "noise": noise}
    whole = log_probability("dwork-roth-2014", q, [B, A, A, B, B], **parameters)
    rounds = [([3, 0], [B, A]), ([1], [A]), ([9, -2], [B, B])]
    assert whole == pytest.approx(
        sum(log_probability("dwork-roth-2014", *part, **parameters) for part in rounds), abs=1e-13
    )


@pytest.mark.parametrize("row", ["roth-2011", "hardt-rothblum-2010"])
def test_numbers_on_the_lattice_add_up_to_the_indicator(row: str) -> None:
    parameters = {"epsilon": 4, "noise": "lattice", "estimates": [1, -2] if row.startswith("hardt") else None}
    numbers = [log_probability(row, [2, 1], [B, number], **parameters) for number in range(-80, 81)]
    assert math.fsum(map(math.exp, numbers)) == pytest.approx(
        math.exp(log_probability(row, [2, 1], [B, A], **parameters))
    )


def test_a_thousand_equal_comparisons_count_as_a_power() -> None:
    value = log_probability("chen-2015", [0] * 1000, [B] * 1000, scales=Scales(Fraction(1), Fraction(1), None))
    # For equal scales the integral of F(z)^n p(z) is 1/(n+1).
    assert value == pytest.approx(-math.log(1001), abs=1e-12)


@pytest.mark.parametrize(
    ("outcome", "parameters"),
    [
        # It goes on after the last positive, is too short or too long, or has a number where none is released.
        *((wrong, {}) for wrong in ([A, B], [A, A], [B], [B, B, B], [B, 1], [B, 1.5], [B, "ABOVE"], [B, None])),
        *((wrong, {}) for wrong in (True, None, "ab")),
        *((wrong, {"row": "roth-2011"}) for wrong in ([B, math.nan], [sg.Answer(False, 3), A])),
        *((wrong, {"row": "ding-2019"}) for wrong in ([sg.Answer(True, 3)], [(0, 1)])),
        ([math.nan], {"row": "exponential-gap"}),
        ([2.0], {"row": "liu-2024"}),
        *(([B, A], {"answers": wrong}) for wrong in ([0, math.inf], [[0, 1]], ["0", "1"])),
        *(([B, A], {name: 1}) for name in ("granularity", "monotonic")),
        ([B, A], {"scales": Scales(Fraction(1), Fraction(1), None)}),
        *(
            ([B, A], {"epsilon": None} | wrong)
            for wrong in (
                {},
                {"allocation": "1:1", "budget": sg.Budget(threshold_epsilon=1, query_epsilon=1)},
                {"scales": Scales(Fraction(1), Fraction(1), Fraction(1))},
                {"row": "ding-2019", "scales": Scales(Fraction(1), None, None)},
            )
        ),
        ([B, A], {"noise": "gaussian"}),
        ([B, A], {"estimates": [0, 0]}),
        ([B, A], {"row": "hardt-rothblum-2010"}),
        ([B, A], {"threshold": [0, 0, 0]}),
        ([B, A], {"sensitivity": 0}),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(outcome: list[object], parameters: dict[str, object]) -> None:
    given = {"row": "lyu-2017", "answers": [0, 1], "epsilon": 1, "outcome": outcome} | parameters
    with pytest.raises(sg.ParameterError):
        log_probability(**given)  # type: ignore[arg-type]
    with pytest.raises(sg.ParameterError):  # more queries than can be listed
        possible_outcomes(build("chen-2015", epsilon=1), 13)


SCALES = Scales(Fraction(2), Fraction(3), None)
WITH_ANSWERS = SCALES._replace(answer=Fraction(4))


def row(key: str, **changes: Any) -> Variant:
    """A row made for a test: nobody claims that it is private."""
    return replace(sg.VARIANTS[key], private=False, flaw="made for a test", **changes)


def masses(law: NoiseLaw | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values x and P[X = x] from its definition."""
    assert law is not None
    x, p = np.arange(-150.0, 151.0), math.exp(-1 / law.scale)
    weights = ((1 - p) / (1 + p) if law.side == 0 else 1 - p) * p ** np.abs(x)
    return x[x * law.side >= 0], weights[x * law.side >= 0]


def summed(asked: Comparisons, outcome: Sequence[Any]) -> float:
    """Pr of a transcript as a sum over rho of sums over nu, straight from the definition of a gate."""
    (z, total), (x, weights) = masses(asked.model.rho), masses(asked.model.nu)
    for answer, bar, estimate, entry in zip(asked.answer, asked.bar, asked.estimate, outcome, strict=True):
        gap, number = entry if isinstance(entry, tuple) else (entry, None)
        compared = np.abs(estimate - answer + x) if asked.inside else answer + x
        if gap is B or gap is A:
            total = total * (((compared >= (z + bar)[:, None]) == gap) @ weights)
        else:
            total = total * ((compared == (gap + z + bar)[:, None]) @ weights) * (gap >= 0)
        if number is not None:
            fresh, likely = masses(asked.model.fresh)
            total = total * likely[fresh == number - answer].sum()
    return float(total.sum())


OUTCOMES = ([B], [A], [B, B, A], [A, B, B], [B, B, B])
GAPS = ([2], [0], [B, 0], [B, B, 3], [0, 4], [2, B, 0], [-1])


@pytest.mark.parametrize("answers", [(0, 1, -2), (4, -3, 2), (30, 2, -40)])
@pytest.mark.parametrize(
    "key", ["liu-2024", "ding-2019", "exponential-gap", "two-sided", "hardt-rothblum-2010-indicator"]
)
def test_a_transcript_on_the_lattice_is_a_sum_over_all_noise(key: str, answers: tuple[int, ...]) -> None:
    model = build(key, cutoff=3, scales=SCALES, noise="lattice")
    for outcome in (*OUTCOMES, *(GAPS if model.row.gap else ())):
        estimates, bars = ([3, -2, 5], [1, -1, 4]) if key.startswith("hardt") else (None, [0] * 3)
        asked = model.compare(answers[: len(outcome)], bars[: len(outcome)], estimates and estimates[: len(outcome)])
        exact = summed(asked, outcome)
        assert transcript(asked, outcome) == pytest.approx(math.log(exact) if exact else -math.inf, abs=1e-10), outcome


# The definition of continuous noise, at 30 digits; side 1 is one-sided noise.


def density(scale: Any, x: Any, side: int = 0) -> Any:
    return mpmath.exp(-abs(x) / scale) / scale * (mpmath.mpf(x >= 0) if side else mpmath.mpf("0.5"))


def cdf(scale: Any, x: Any, side: int = 0) -> Any:
    if side:
        return 1 - mpmath.exp(-x / scale) if x > 0 else mpmath.mpf(0)
    return mpmath.exp(x / scale) / 2 if x < 0 else 1 - mpmath.exp(-x / scale) / 2


def within(scale: Any, error: float, bar: Any) -> Any:
    """Pr[|error + nu| < bar]."""
    return cdf(scale, bar - error) - cdf(scale, -bar - error) if bar > 0 else mpmath.mpf(0)


def by_quadrature(f: Callable[[Any], Any], breaks: Iterable[Any], scale: float, high: float = math.inf) -> Any:
    """ln of the integral of f up to ``high``, piecewise between its breaks and out to 130 scales beyond them."""
    with mpmath.workdps(30):
        places = sorted({mpmath.mpf(0), *map(mpmath.mpf, breaks)})
        tails = [scale * x for x in (1, 3, 8, 20, 60, 130)]
        points = {*places, *(places[0] - t for t in tails), *(places[-1] + t for t in tails), high}
        return mpmath.log(mpmath.quad(f, sorted(point for point in points if point <= high and point < math.inf)))


def test_the_quadrature_breaks_wherever_a_law_bends(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = build("standard", epsilon=1).compare([5, -2], 0, None)
    smooth = set(asked.breaks())
    monkeypatch.setattr(NoiseLaw, "bends", (-3.0, 4.0))
    assert set(asked.breaks()) == smooth | {middle + bend for middle in (0.0, 5.0, -2.0) for bend in (-3.0, 4.0)}


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(("rho", "nu"), [(2.0, 3.0), (0.5, 40.0), (100.0, 1.0)])
def test_a_continuous_gap_is_a_density_of_mpmath(side: int, rho: float, nu: float) -> None:
    scales = Scales(Fraction(rho), Fraction(nu), None)
    model = build("exponential-gap" if side else "ding-2019", cutoff=2, scales=scales)
    shift, gap = mpmath.mpf(model.shift), mpmath.mpf("0.75")

    def f(z: Any) -> Any:
        bar = z + shift
        gaps = density(nu, gap + bar + 0.5, side) * density(nu, bar - 3, side)
        return density(rho, z, side) * cdf(nu, bar - 1.25, side) * gaps

    exact = by_quadrature(f, (1.25 - shift, -0.5 - shift - gap, 3 - shift), rho)
    assert close(transcript(model.compare([1.25, -0.5, 3.0], 0, None), [B, 0.75, 0]), exact)


def test_a_continuous_number_is_a_density_of_mpmath_and_limits_the_threshold() -> None:
    """A noisy answer; a noisy error, where |6 - 7.5| - 1 is left for rho; and a fresh answer, of scale 1."""
    answer = by_quadrature(lambda z: density(2, z) * cdf(2, z - 4) * cdf(2, z - 1), (4, 1), 2, high=0.5)
    answer += mpmath.log(density(mpmath.mpf(2), mpmath.mpf("-1.5")))
    assert close(log_probability("roth-2011", [4, 1, 2], [B, B, 0.5], epsilon=1), answer)
    error = by_quadrature(lambda z: density(2, z) * within(4, 3, 1 + z), (2, -1), 2, high=0.5)
    error += mpmath.log(density(mpmath.mpf(4), mpmath.mpf("5.5")))
    options: dict[str, Any] = {"estimates": [1, 6], "threshold": 1, "epsilon": 1}
    assert close(log_probability("hardt-rothblum-2010", [4, 2], [B, 7.5], **options), error)
    budget = sg.Budget(threshold_epsilon=0.5, query_epsilon=0.5, answer_epsilon=1)
    value, bare = (log_probability("standard", [4, 1], [B, entry], budget=budget) for entry in (3.0, A))
    assert value - bare == pytest.approx(math.log(0.5) - 2, abs=1e-12)


def test_a_gap_and_a_fresh_answer_make_a_pair() -> None:
    model = build("exponential-gap", cutoff=2, scales=WITH_ANSWERS, noise="lattice")
    for outcome in ([B, (2, 5)], [(0, -1), (3, 4)], [(None, 3)], [(1, None), B]):
        asked = model.compare((1, 0)[: len(outcome)], 0, None)
        plain = [(A, e[1]) if isinstance(e, tuple) and e[0] is None else e for e in outcome]
        assert transcript(asked, outcome) == pytest.approx(math.log(summed(asked, plain)), abs=1e-10)


@pytest.mark.parametrize("key", ["ding-2019", "exponential-gap"])
def test_all_gaps_together_are_an_above(key: str) -> None:
    options = {"scales": SCALES, "noise": "lattice", "cutoff": 2}
    each = [log_probability(key, [1, -4, 2], [B, gap, A], **options) for gap in range(150)]  # type: ignore[arg-type]
    whole = log_probability(key, [1, -4, 2], [B, A, A], **options)  # type: ignore[arg-type]
    assert math.log(math.fsum(np.exp(each))) == pytest.approx(whole, abs=1e-12)


def test_impossible_answers_have_no_probability_and_an_infinite_loss_is_not_nan() -> None:
    minus = replace(build("liu-2024", scales=SCALES), rho=NoiseLaw(scale=2.0, side=-1))
    own, other = (transcript(minus.compare([q], -minus.shift, None), [B]) for q in (-1, 0))
    assert (other, own - other) == (-math.inf, math.inf)
    assert log_probability("ding-2019", [0.0], [-0.5], scales=SCALES) == -math.inf
    assert loss("exponential-gap", [5], [5], [-1], scales=SCALES) == 0.0
    assert log_probability("stoddard-2014", [1, 0], [B, A], epsilon=1) == -math.inf
    assert log_probability("roth-2011", [1], [0.5], epsilon=1, noise="lattice") == -math.inf  # not a lattice point


@pytest.mark.parametrize(("rho_side", "nu_side"), [(-1, 1), (1, -1)])
def test_a_minus_sign_on_either_noise_loses_everything(rho_side: Any, nu_side: Any) -> None:
    for lattice in (False, True):
        laws = [NoiseLaw(scale=s, lattice=lattice, side=side) for s, side in ((2.0, rho_side), (3.0, nu_side))]
        sound = build("liu-2024", scales=SCALES, noise="lattice" if lattice else "continuous")
        model = replace(sound, rho=laws[0], nu=laws[1], shift=0.0)
        # A BELOW needs q < rho <= 0 and an ABOVE needs q >= rho + |nu|: one step more, and there is no such noise.
        pair = (-1, 0) if rho_side < 0 else (0, -1) if lattice else (1, 0)
        outcome = [B] if rho_side < 0 else [A]
        own, other = (transcript(model.compare([q], 0, None), outcome) for q in pair)
        assert own > other == -math.inf
        both = log_probabilities(model.compare([pair[0]], 0, None)), possible_outcomes(model, 1).outcomes
        assert dict(zip(both[1], both[0], strict=True))[tuple(outcome)] == pytest.approx(own, abs=1e-12)
        if lattice:
            exact = [summed(model.compare([q], 0, None), outcome) for q in pair]
            assert exact == pytest.approx([math.exp(own), 0.0], abs=1e-14)


ROWS = {**sg.VARIANTS, "one-sided two-sided": row("two-sided", noise=Noise.EXPONENTIAL)}
# (rho scale, nu scale, spread of the answers, queries, cutoff)
CASES = [(1, 50, 40, 5, 5), (500, 2, 700, 4, 3), (10**6, 10**6, 10**6, 3, 1)]
WIDE = [(1, 200, 50, 6, 2), (300, 900, 50, 6, 2)]


@pytest.mark.parametrize("noise", ["continuous", "lattice"])
@pytest.mark.parametrize(
    ("key", "case"),
    [(key, case) for key in ROWS for case in (*CASES, *(WIDE if ROWS[key].noise is Noise.EXPONENTIAL else ()))],
    ids=str,
)
def test_the_shared_grid_sums_to_one_and_agrees_with_the_adaptive_integral(
    key: str, noise: Any, case: tuple[int, int, int, int, int]
) -> None:
    rho, nu, spread, n, cutoff = case
    made, rng = ROWS[key], np.random.default_rng(n * spread)
    scales = Scales(Fraction(rho), Fraction(nu) if made.query_noise.factor else None, None)
    answers, bars, estimates = rng.integers(-spread, spread + 1, (3, n))
    model = build(made, cutoff=cutoff, scales=scales, noise=noise)
    asked = model.compare(answers, bars, None if made.compared is Compared.ANSWER else estimates)
    every, outcomes = log_probabilities(asked), possible_outcomes(model, n).outcomes
    assert math.fsum(np.exp(every)) == pytest.approx(1, abs=1e-10)
    chosen = rng.choice(len(outcomes), min(12, len(outcomes)), replace=False)
    assert [every[i] for i in chosen] == pytest.approx([transcript(asked, outcomes[i]) for i in chosen], abs=1e-10)


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


@pytest.mark.parametrize("changes", [{"noise": Noise.EXPONENTIAL}, {"gap": True}, {"released": Released.FRESH_ANSWER}])
def test_a_two_sided_gate_with_anything_more_is_found_out(changes: dict[str, Any]) -> None:
    answers = 0.25 if "released" in changes else 0
    budget = sg.Budget(threshold_epsilon=0.5, query_epsilon=0.5, answer_epsilon=answers)
    made = row("two-sided", **changes)
    assert search("two-sided", queries=8, budget=sg.Budget(threshold_epsilon=0.5, query_epsilon=0.5)).loss <= 1 + 1e-9
    assert search(made, queries=8, budget=budget).loss > float(budget.total) + 0.2
    assert made.closes is Closes.RARER
