"""What the best of K runs costs: held against the exact law of the best of tiny runs, and against what is published."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from tests.support.goodness import FALSE_ALARM, chi_square_p, excess

from sparsegate.gates.approximate import zcdp_rho
from sparsegate.noise import Seeded
from sparsegate.uses.run_cost import RunCost, RunLaw, best_of

DELTA = Fraction(1, 10**6)
LAWS = {
    "logarithmic": RunLaw.of("logarithmic", 10),
    "geometric": RunLaw.of("geometric", 10),
    "poisson": RunLaw.of("poisson", 6),
    "negative-binomial": RunLaw.of("negative-binomial", 10, 0.5),
}
each_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)


def masses(law, most=1500):
    """P[K = k] for k = 0, 1, ..., by the recurrence of its definition and a sum of its own."""
    if law.eta is None:
        return stats.poisson.pmf(np.arange(most), float(law.mean))
    weights = [0.0, 1.0]
    for k in range(1, most - 1):
        weights.append(weights[-1] * float(1 - law.gamma) * (k + float(law.eta)) / (k + 1))
    return np.array(weights) / sum(weights)


def best(run, counts):
    """The law of the best of K: outcome number s has score s; "none" where there is no run."""
    below = np.concatenate([[0.0], np.cumsum(run)]).clip(0, 1)
    most = np.array([float(counts @ x ** np.arange(counts.size)) for x in below])
    return {"none": float(counts[0]), **{s: most[s + 1] - most[s] for s in range(len(run))}}


def gaussian_cells(sigma, *, cells=60):
    """N against N + 1/sigma, in cells that tell losses about as finely as the noise does."""
    ends = np.concatenate([[-np.inf], np.linspace(-6, 6, cells), [np.inf]])
    return [np.diff(stats.norm.cdf(ends - shift)).tolist() for shift in (0, 1 / sigma)]


def adversarial(kind):
    """Runs of two neighbours, as bad as they may be, whose scores follow the loss, run against it, or hide it.

    Worst is what tells most just below what is likelier on the other side; of pure runs, that reaches the bound.
    """
    if kind == "pure":
        for e in (0.2, 3.0):
            up, tiny = 1 / (1 + math.exp(-e)), 1e-4
            rare = (1 - up) * tiny, up * tiny
            yield [RunCost.pure(e)], [up - rare[1], rare[1], 1 - up], [1 - up - rare[0], rare[0], up]
            yield [RunCost.pure(e)], [1 - tiny, tiny], [1 - tiny * math.exp(e), tiny * math.exp(e)]
            yield [RunCost.pure(e)], [tiny, 1 - tiny], [tiny * math.exp(-e), 1 - tiny * math.exp(-e)]
        return
    for sigma in (0.7, 4.5):
        one, other = gaussian_cells(sigma)
        cells = list(range(len(one)))
        between = [[*cells[a:b], *cells[:a], *cells[b:]] for a in (10, 16) for b in (32, 42, 52)]
        for order in (cells, cells[::-1], np.random.default_rng(1).permutation(cells), *between):
            law, neighbour = ([side[s] for s in order] for side in (one, other))
            yield [RunCost.gaussian(sigma), RunCost.zcdp(1 / (2 * sigma**2))], law, neighbour


@each_law
@pytest.mark.parametrize(("kind", "delta"), [("pure", Fraction(0)), ("gaussian", DELTA)])
def test_the_best_of_tiny_runs_is_as_private_as_it_costs(law, kind, delta):
    reached, counts = 0.0, masses(law)
    costs = {}
    for runs, one, other in adversarial(kind):
        pair = best(one, counts), best(other, counts)
        for run in runs:
            cost = costs[run.what] = costs.get(run.what) or best_of(run, law, delta)
            for left, right in (pair, pair[::-1]):
                epsilon = float(cost.epsilon)
                assert excess(left, right, epsilon) <= float(delta) + 1e-13
                reached = max(reached, excess(left, right, epsilon * 0.9) - float(delta))
                for order in (1.01, 2.0, 20.0):  # and on a zCDP ledger
                    terms = [p**order * right[y] ** (1 - order) for y, p in left.items() if p > 0 and right[y] > 0]
                    assert math.log(sum(terms)) / (order - 1) <= float(cost.rho) * order + 1e-9
    assert reached > 1e-9, "a bound that is a tenth too small would be noticed"


@each_law
def test_the_law_of_the_number_of_runs_is_drawn_exactly_and_another_mean_is_noticed(law):
    source, draws = Seeded(3), 10_000
    sample = np.array([law.draw(source) for _ in range(draws)])
    off = masses(RunLaw.of(law.name, law.mean * Fraction(6, 5), law.eta if law.name == "negative-binomial" else None))
    for mass, fits in ((masses(law), True), (off, False)):
        cells = {k: float(mass[k]) for k in range(60) if mass[k] * draws >= 5}
        assert (chi_square_p(sample, cells) > FALSE_ALARM) is fits


@each_law
def test_generating_function_mean_and_the_chance_of_one_run_are_those_of_the_law(law):
    mass = masses(law)
    for x in (0.0, 0.3, 0.99, 1.0):
        assert law.generating(x) == pytest.approx(float(mass @ x ** np.arange(mass.size)), rel=1e-9, abs=1e-12)
    mean = float(mass @ np.arange(mass.size))
    assert mean * (1 - 1e-12) <= float(law.mean) <= mean * (1 + 3e-6)
    assert law.at_most_one() == pytest.approx(mass[0] + mass[1], rel=1e-5)
    assert law.generating(1 - law.top(0.95)) == pytest.approx(0.05)


def test_a_draw_that_its_digits_do_not_decide_takes_more_of_them():
    class Scripted(Seeded):
        asked: list[int]

        def integer(self, bits):
            self.asked.append(bits)
            return (1 << bits) - 1 if len(self.asked) < 4 else 1 << (bits - 1)

    source = Scripted(1)
    source.asked = []
    assert RunLaw.of("geometric", 2).draw(source) >= 128  # U = 1 - 2**-256: about 256 tails
    assert len(source.asked) >= 4


def test_the_figures_of_theorem_2_are_met_and_undercut():
    run = RunCost.zcdp(zcdp_rho(epsilon=Fraction(1), delta=DELTA))
    published = {"logarithmic": (1.67, 1.83, 1.97), "geometric": (2.00, 2.25, 2.49)}
    for name, figures in published.items():
        for mean, figure in zip((10, 30, 100), figures, strict=True):
            law = RunLaw.of(name, mean)
            rho, inverse = float(run.rho or 0), -math.log(float(law.gamma))
            orders = 1 + np.geomspace(0.1, 1e4, 4000)
            other = float(1 + law.eta) * (2 * math.sqrt(rho * inverse) - rho)  # the best second order, in closed form
            bounds = rho * orders + other + math.log(mean) / (orders - 1)
            theorem = bounds + (math.log(1e6) - np.log(orders)) / (orders - 1) + np.log1p(-1 / orders)
            assert round(float(theorem.min()), 2) == figure
            assert float(best_of(run, law, DELTA).epsilon) < 0.92 * figure
    assert [round(run.composed(times, DELTA), 2) for times in (10, 30, 100)] == [3.49, 6.48, 13.16]


@pytest.mark.parametrize("by", ["noise_multiplier", "rho", "epsilon"])
def test_the_solver_gives_the_least_noise_that_keeps_to_epsilon(by):
    law = RunLaw.of("logarithmic", 100)
    run = RunCost.within(by, epsilon=2, delta=1e-6, runs="logarithmic", mean=100)
    assert 2 * (1 - 1e-5) < float(best_of(run, law, DELTA).epsilon) <= 2
    less = {
        "noise_multiplier": lambda: RunCost.gaussian((run.noise_multiplier or 0) * 0.99),
        "rho": lambda: RunCost.zcdp((run.rho or 0) * Fraction(102, 100)),
        "epsilon": lambda: RunCost.pure((run.pure_epsilon or 0) * Fraction(102, 100)),
    }[by]()
    assert float(best_of(less, law, DELTA).epsilon) > 2


def test_an_event_costs_about_what_its_own_law_says():
    events = pytest.importorskip("dp_accounting")
    law, sigma = RunLaw.of("geometric", 30), 4.5
    by_law = float(best_of(RunCost.gaussian(sigma), law, DELTA).epsilon)
    by_event = float(best_of(RunCost.event(events.GaussianDpEvent(sigma)), law, DELTA).epsilon)
    assert by_law == pytest.approx(by_event, rel=1e-3)
    rate = RunCost.event(events.ZCDpEvent(1 / (2 * sigma**2)))  # Google's exact accountant has no such event
    assert by_law < float(best_of(rate, law, DELTA).epsilon) < by_law * 1.2
    one_batch = RunCost.dp_sgd(sigma, sample_rate=0.01, steps=1000)
    whole = best_of(one_batch, law, DELTA)
    assert float(whole.epsilon) < by_law
    assert whole.rho_delta == DELTA, "no rho is known of it: a zCDP ledger is charged as for (epsilon, delta)"
    curve = RunCost.renyi(dict(zip(one_batch.orders.tolist(), one_batch.divergences.tolist(), strict=True)))
    assert float(best_of(curve, law, DELTA).epsilon) >= float(whole.epsilon)
