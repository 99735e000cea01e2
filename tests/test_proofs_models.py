"""The laws that the theorems are about, computed from the definitions in proofs/*.v, are those of the mechanisms here.

Every function below is a definition of the Coq file that it names, written down again as it stands there: sums over
noise, one answer after the other. Nothing of the library is used in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product
from typing import Any

import pytest

import sparsegate as sg
from sparsegate.gates.bounds import Rates, round_loss
from sparsegate.gates.laws import LAWS, Direction, NoiseLaw
from sparsegate.privacy.model import build
from sparsegate.privacy.selections import noisy_order, peeled, subset_weights
from sparsegate.selection.noisy_scores import noisy_scale
from sparsegate.tables.observed import candidates

Law = dict[Any, float]
Step = Callable[[tuple[Any, ...], int], Law]
FAR = 90


def laplace(a: float) -> Law:
    """laplace.v: mass (1-q)/(1+q) q^|z|, q = e^-a."""
    q = math.exp(-a)
    return {z: (1 - q) / (1 + q) * q ** abs(z) for z in range(-FAR, FAR + 1)}


def geometric(a: float) -> Law:
    """geometric.v: mass (1-q) q^z, z >= 0."""
    q = math.exp(-a)
    return {z: (1 - q) * q**z for z in range(FAR + 1)}


def image(law: Law, of: Callable[[int], Hashable]) -> Law:
    r"""\dlet_(nu <- law) dunit (of nu)."""
    pushed: Law = {}
    for nu, mass in law.items():
        pushed[of(nu)] = pushed.get(of(nu), 0.0) + mass
    return pushed


def gate(mu: Law, closed: Callable[[tuple[Any, ...]], bool], step: Step, n: int, t: Sequence[Any]) -> float:
    """gate.v: rho once, then answer after answer, until the gate is closed or n questions were asked."""

    def run(h: tuple[Any, ...], rho: int) -> float:
        if len(h) == n or closed(h):
            return float(h == tuple(t))
        if len(h) >= len(t):
            return 0.0
        return step(h, rho).get(t[len(h)], 0.0) * run((*h, t[len(h)]), rho)

    return math.fsum(mass * run((), rho) for rho, mass in mu.items())


def gap_of(x: int) -> int | None:
    """gap.v: ABOVE with its gap, or BELOW."""
    return x if x >= 0 else None


def positives(h: tuple[Any, ...]) -> int:
    """How many ABOVE, with a number or without."""
    return sum(answer is not None and answer is not False for answer in h)


QUESTIONS = [3, 5, 2]
BARS = [4, 3, 3]
CUTOFF = 2


def transcripts(above: Sequence[Any], below: Any, ends: Callable[[tuple[Any, ...]], bool]) -> Iterator[tuple[Any, ...]]:
    """Every transcript that a gate over the questions can give, ABOVE being one of those given."""

    def grow(h: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        if len(h) == len(QUESTIONS) or ends(h):
            yield h
            return
        for answer in (below, *above):
            yield from grow((*h, answer))

    return grow(())


def likelihoods(
    row: str, mu: Callable[[float], Law], *, monotonic: bool, gap: bool, rarer: bool = False
) -> Iterator[tuple[float, float]]:
    """The probability of every transcript by the definitions of the proofs, and by the library's own."""
    c, delta = (1 if rarer else CUTOFF), 2
    budget = sg.Budget(threshold_epsilon=3, query_epsilon=4)
    options: Any = {"budget": budget, "cutoff": c, "sensitivity": delta, "monotonic": monotonic, "noise": "lattice"}
    kappa = round(build(row, threshold=BARS, **options).shift)
    rho, nu = mu(3 / delta), mu(4 / ((1 if monotonic else 2) * c) / delta)

    def closed(h: tuple[Any, ...]) -> bool:
        k = positives(h)
        return c <= (min(k, len(h) - k) if rarer else k)

    @cache
    def law(i: int, z: int) -> Law:
        over = QUESTIONS[i] - BARS[i] - z - kappa
        return image(nu, lambda x: gap_of(over + x) if gap else over + x >= 0)

    for t in transcripts((0, 3) if gap else (True,), None if gap else False, closed):
        ours = sg.privacy.log_probability(
            row, QUESTIONS, [False if a is None else a for a in t], threshold=BARS, **options
        )
        yield gate(rho, closed, lambda h, z: law(len(h), z), len(QUESTIONS), t), math.exp(ours)


@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize(
    ("row", "mu", "gap", "rarer"),
    [
        ("standard", laplace, False, False),
        ("liu-2024", geometric, False, False),
        ("ding-2019", laplace, True, False),
        ("exponential-gap", geometric, True, False),
        ("two-sided", laplace, False, True),
    ],
)
def test_a_gate_of_the_proofs_is_the_gate_that_runs(
    row: str, mu: Callable[[float], Law], gap: bool, rarer: bool, monotonic: bool
) -> None:
    pairs = list(likelihoods(row, mu, monotonic=monotonic, gap=gap, rarer=rarer))
    assert len(pairs) > 3
    for proved, runs in pairs:
        assert runs == pytest.approx(proved, rel=1e-8)


EPSILON, DELTA, BAR = 6, 2, 4


def flawed(rho: float, nu: float | None, stops: bool, released: bool) -> Callable[[Sequence[Any]], float]:
    """released_noise.v, noise_not_scaled.v, no_query_noise.v and no_cutoff.v, at the rates of rho and nu."""
    noise = {0: 1.0} if nu is None else laplace(nu)
    below = None if released else False

    @cache
    def law(q: int, z: int) -> Law:
        return image(noise, lambda x: (q + x if released else True) if BAR + z <= q + x else below)

    def step(h: tuple[Any, ...], z: int) -> Law:
        return law(QUESTIONS[len(h)], z)

    return lambda t: gate(laplace(rho), lambda h: stops and positives(h) >= CUTOFF, step, len(QUESTIONS), t)


@pytest.mark.parametrize(
    ("row", "rho", "nu", "stops"),
    [
        ("roth-2011", EPSILON / 2 / DELTA, EPSILON / 2 / (CUTOFF * DELTA), True),
        ("lee-clifton-2014", EPSILON / 4 / DELTA, 3 * EPSILON / 4 / DELTA, True),
        ("stoddard-2014", EPSILON / 2 / DELTA, None, False),
        ("chen-2015", EPSILON / 2 / DELTA, EPSILON / 2 / DELTA, False),
        ("gptt", EPSILON / 2 / DELTA, EPSILON / 2 / DELTA, False),
    ],
)
def test_a_flawed_row_of_the_proofs_is_the_row_that_runs(row: str, rho: float, nu: float | None, stops: bool) -> None:
    released = row == "roth-2011"
    proved = flawed(rho, nu, stops, released)

    def ends(h: tuple[Any, ...]) -> bool:
        return stops and positives(h) >= CUTOFF

    for t in transcripts((4, 6) if released else (True,), None if released else False, ends):
        told = [False if answer is None else answer for answer in t]
        options: Any = {"epsilon": EPSILON, "cutoff": CUTOFF, "sensitivity": DELTA, "noise": "lattice"}
        ours = math.exp(sg.privacy.log_probability(row, QUESTIONS, told, threshold=BAR, **options))
        assert ours == pytest.approx(proved(t), rel=1e-8), t


SCORES = (3, 2, 2)


def test_selection_on_noisy_scores_is_that_of_the_proofs() -> None:
    """noisy_scores.v: [top c y u], u uniform over all orders, at the rate 1/b."""
    b = noisy_scale(epsilon=Fraction(9), count=2, steps=2, monotonic=False, max_items_per_user=3)
    assert b == Fraction(min(2 * 2, 3) * 2, 9)
    noise = {z: mass for z, mass in laplace(float(1 / b)).items() if abs(z) < 20}
    law: Law = {}
    for x in product(noise, repeat=3):
        mass = math.prod(noise[z] for z in x) / 6
        y = [score + z for score, z in zip(SCORES, x, strict=True)]
        for u in permutations(range(3)):
            ordered = sorted((-y[i], u.index(i), i) for i in range(3))
            first = tuple(i for _, _, i in ordered[:2])
            law[first] = law.get(first, 0.0) + mass
    ours = noisy_order(SCORES, 2, NoiseLaw(scale=float(b), lattice=True))
    assert law == pytest.approx(dict(ours), rel=1e-8)


def test_peeling_and_sets_are_those_of_the_proofs() -> None:
    """exponential_mechanism.v, peeling.v, subset.v: weights e^(a q), and e^(-a loss) of a set."""
    a = 0.7

    def exponential(weights: Law) -> Law:
        return {x: weight / math.fsum(weights.values()) for x, weight in weights.items()}

    def peel(count: int, left: tuple[int, ...]) -> Law:
        if not count:
            return {(): 1.0}
        drawn = exponential({i: math.exp(a * SCORES[i]) for i in left})
        return {
            (i, *rest): mass * more
            for i, mass in drawn.items()
            for rest, more in peel(count - 1, tuple(j for j in left if j != i)).items()
        }

    assert peel(2, (0, 1, 2)) == pytest.approx(dict(peeled(SCORES, 2, a)))
    sets = {
        frozenset(s): math.exp(-a * (max(SCORES[i] for i in range(3) if i not in s) - min(SCORES[i] for i in s)))
        for s in combinations(range(3), 2)
    }
    assert exponential(sets) == pytest.approx(dict(subset_weights(SCORES, 2, a)))


@pytest.mark.parametrize("table", [{}, {"a": 1}, {"a": 2, "b": 2, "c": 1}, {"b": 3, "a": 3, "c": 3, "d": 3}])
@pytest.mark.parametrize("dbar", [1, 2, 3, 6])
def test_the_candidates_of_an_unknown_domain_are_those_of_the_proofs(table: dict[str, int], dbar: int) -> None:
    """candidates.v: [ranked], labels and dbar + 1 dummies by score, dummies first; [following] is the next score."""
    ranked = sorted([*table.values(), *[0] * (dbar + 1)], reverse=True)
    histogram = {score: list(table.values()).count(score) for score in table.values()}
    largest, following = candidates(histogram, dbar)
    assert sorted((score for score, many in largest.items() for _ in range(many)), reverse=True) == ranked[:dbar]
    assert following == ranked[dbar]


def test_a_gate_with_numbers_is_the_one_that_runs() -> None:
    """numeric_gate.v and numbered_gap.v: an ABOVE releases q + z, z of scale c Delta / eps3, its gap beside it."""
    c, delta = 1, 2
    budget = sg.Budget(threshold_epsilon=3, query_epsilon=4, answer_epsilon=5)
    options: Any = {"budget": budget, "cutoff": c, "sensitivity": delta}
    fresh = {z: mass for z, mass in laplace(5 / c / delta).items() if abs(z) < 9}
    for row, mu, gaps in (("standard", laplace, False), ("exponential-gap", geometric, True)):
        kappa = round(build(row, threshold=BAR, noise="lattice", **options).shift)
        rho, nu = mu(3 / delta), mu(4 / (2 * c) / delta)

        def step(h: tuple[Any, ...], z: int, nu: Law = nu, kappa: int = kappa, gaps: bool = gaps) -> Law:
            q = QUESTIONS[len(h)]
            law = image(nu, lambda x: gap_of(q + x - BAR - z - kappa))
            if not gaps:
                above = math.fsum(mass for gap, mass in law.items() if gap is not None)
                law = {None: law.get(None, 0.0), 0: above}
            return {
                None if gap is None else ((gap, q + y) if gaps else q + y): mass * (1 if gap is None else other)
                for gap, mass in law.items()
                for y, other in (fresh.items() if gap is not None else [(0, 1.0)])
            }

        for t in [(None, None, None), (None, 6), (None, None, 1), (3,)]:
            told = [a if a is None or not gaps else (2, a) for a in t]
            proved = gate(rho, lambda h: positives(h) >= c, step, len(QUESTIONS), told)
            outcome = [False if a is None else a for a in told]
            ours = sg.privacy.log_probability(row, QUESTIONS, outcome, threshold=BAR, noise="lattice", **options)
            assert math.exp(ours) == pytest.approx(proved, rel=1e-8), (row, t)


def test_the_gate_that_redraws_rho_is_that_of_the_proofs() -> None:
    """redrawn_gate.v: every rho of scale c Delta / eps1, a new one after each ABOVE."""
    rho, nu = laplace(EPSILON / 2 / CUTOFF / DELTA), laplace(EPSILON / 2 / (2 * CUTOFF) / DELTA)

    @cache
    def answer(q: int, z: int, above: bool) -> float:
        return math.fsum(mass for x, mass in nu.items() if (z + BAR <= q + x) is above)

    def run(h: tuple[bool, ...], t: tuple[bool, ...], z: int) -> float:
        if len(h) == len(QUESTIONS) or positives(h) >= CUTOFF:
            return float(h == t)
        above = t[len(h)]
        mass, after = answer(QUESTIONS[len(h)], z, above), (*h, above)
        ended = len(after) == len(QUESTIONS) or positives(after) >= CUTOFF
        return mass * (begun(after, t) if above and not ended else run(after, t, z))

    @cache
    def begun(h: tuple[bool, ...], t: tuple[bool, ...]) -> float:
        return math.fsum(mass * run(h, t, z) for z, mass in rho.items())

    for t in transcripts((True,), False, lambda h: positives(h) >= CUTOFF):
        options: Any = {"epsilon": EPSILON, "cutoff": CUTOFF, "sensitivity": DELTA, "noise": "lattice"}
        ours = sg.privacy.log_probability("dwork-roth-2014", QUESTIONS, list(t), threshold=BAR, **options)
        assert math.exp(ours) == pytest.approx(begun((), t), rel=1e-8), t


Loss = Callable[[Fraction, Fraction, int, int], Fraction]
PROVED: dict[tuple[str, bool, str], Loss] = {
    ("laplace", False, "any"): lambda e, r, m, k: min((m + k) * r, e + 2 * k * r, e + 2 * m * r),
    ("laplace", False, "up"): lambda e, r, m, k: min(m * r, e + k * r),
    ("laplace", False, "down"): lambda e, r, m, k: min(k * r, e + m * r),
    ("laplace", True, "any"): lambda e, r, m, k: min((m + k) * r, e + 2 * min(k, (m + k) // 2) * r),
    ("laplace", True, "up"): lambda e, r, m, k: max(min((m + h) * r, e + (k - h) * r) for h in range(k + 1)),
    ("laplace", True, "down"): lambda e, r, m, k: max(min((k - h) * r, e + (m + h) * r) for h in range(k + 1)),
    ("exponential", False, "any"): lambda e, r, m, k: e + k * 2 * r if m else k * r,
    ("exponential", False, "up"): lambda e, r, m, k: e + k * r if m else Fraction(0),
    ("exponential", False, "down"): lambda e, r, m, k: k * r,
    ("exponential", True, "any"): lambda e, r, m, k: (
        e + 2 * k * r if m else max(k * r, e + 2 * (k - 1) * r) if k else Fraction(0)
    ),
    ("exponential", True, "up"): lambda e, r, m, k: e + k * r if m else e + (k - 1) * r if k else Fraction(0),
    ("exponential", True, "down"): lambda e, r, m, k: k * r,
}
"""L(m,k) as laplace_gate.v, laplace_gap.v, exponential_gate.v and exponential_gap.v define it."""


@pytest.mark.parametrize(("noise", "gap", "direction"), PROVED)
@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(5, 2)])
def test_the_losses_of_the_proofs_are_those_that_are_counted(
    noise: str, gap: bool, direction: Direction, rate: Fraction
) -> None:
    e1, p = Fraction(1), Fraction(1, 7)
    for m, k in product(range(7), repeat=2):
        proved = PROVED[noise, gap, direction](e1, rate, m, k)
        rates = Rates(e1, rate, Fraction(0), LAWS[noise.upper()], False, gap)
        assert round_loss(m, k, rates, direction).loss == proved, (m, k)
        # Numbers cost p each at most, as numbered_gap.v has it; where nothing is saved, just that.
        numbered = round_loss(m, k, rates._replace(answer=p), direction).loss
        assert numbered <= proved + k * p
        assert direction == "up" or (direction == "down" and gap and noise == "laplace") or numbered == proved + k * p
