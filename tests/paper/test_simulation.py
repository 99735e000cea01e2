"""The grouped simulator: its law against per-item runners, the library's own among them, on data full of ties."""

from __future__ import annotations

import math
import tracemalloc
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.goodness import FALSE_ALARM, law_p
from tests.support.per_item import Outcome, numpy_runs, outcomes, real_runs, two_sample_p
from tests.support.selection_laws import subsets

from sparsegate.errors import ParameterError
from sparsegate.paper import METHODS, Dataset, Ladder, Method, load, measure, simulate, simulation
from sparsegate.paper.simulation import RARE, least_ser, simulated_errors
from sparsegate.paper.statements import VALUES, ReferenceValue
from sparsegate.selection.scores import Scores

SCORES = [30] * 3 + [12] * 5 + [6] * 12 + [0] * 20
LADDER = Ladder.of(SCORES)
COUNT, EPSILON = 6, 2.0
LAWS = (  # one method of each law, and of each way to set one: the others differ from these in their scales alone
    *("svt-dpbook", "svt-s-1:c23", "svt-retr-1d", "svt-s-double-t-retr", "svt-exponential", "alg-5"),
    *("em", "one-shot", "noisy-scores-10"),
)
OWN = ("svt-dpbook", "svt-s-1:c23", "svt-retr-1d", "noisy-scores-10")
"""One of each of the library's own runners for private data; they are slow, and the others are tried by plain numpy."""
REAL_RUNS, SIMULATED_RUNS = 1500, 40_000


def short(key: str) -> Method:
    """The method; a retraversal is cut short, because the per-item runner pays for every pass."""
    method = METHODS[key]
    return replace(method, passes=min(method.passes, 4)) if method.threshold_factor > 1 else method


def budget(key: str) -> float:
    """EPSILON, less where the noise is less at the same epsilon: without mistakes there is nothing to compare."""
    flawed = {"alg-4": 0.4, "alg-5": 0.2, "alg-6": 0.4}  # their noise does not grow with c
    return flawed.get(key, EPSILON * min(METHODS[key].max_items_per_user or COUNT, COUNT) / COUNT)


def simulated(key: str, *, noise: float = 1.0, seed: int = 8) -> Counter[Outcome]:
    """Dividing all scores, and so the threshold, is multiplying all noise."""
    ladder = Ladder.of(LADDER.highest(LADDER.total) / noise)
    public = {"count": COUNT, "epsilon": budget(key), "runs": SIMULATED_RUNS}
    return outcomes(simulate(short(key), ladder, rng=seed, **public), ladder)


@pytest.mark.parametrize("key", LAWS)
def test_selections_have_the_law_of_the_per_item_runner_and_a_fifth_less_noise_gives_another(key: str) -> None:
    run = real_runs if key in OWN else numpy_runs
    real = run(short(key), LADDER, count=COUNT, epsilon=budget(key), runs=REAL_RUNS, seed=7)
    assert two_sample_p(real, simulated(key)) > FALSE_ALARM
    assert two_sample_p(real, simulated(key, noise=0.8)) < FALSE_ALARM


@pytest.mark.parametrize(("epsilon", "right"), [(0.8, True), (1.0, False)])
def test_simulated_sets_follow_the_law_of_sets(epsilon: float, right: bool) -> None:
    scores, law = [5, 3, 3, 1, 0], Counter[tuple[int, ...]]()
    for chosen, chance in subsets(scores, 2, 0.8 / 2).items():
        law[tuple(sorted(Ladder.of(scores).rungs(np.array(chosen)).tolist()))] += chance
    rungs = simulate("subset", scores, count=2, epsilon=epsilon, runs=1500, rng=1)
    assert (law_p(Counter(map(tuple, np.sort(rungs).tolist())), law) > FALSE_ALARM) == right


def test_scores_far_apart_are_no_more_work_than_others() -> None:
    # Ten clear winners, then a gap of hundreds of noises to each of those that a horizon waits for, then a crowd.
    called, candidates = [], simulation._Window._candidates

    def counted(*given: object) -> NDArray[np.int64]:
        called.append(candidates(*given))
        return called[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulation._Window, "_candidates", counted)
        rungs = simulate("em", FAR_APART, count=10, epsilon=1, runs=3, rng=1)
    assert np.sort(rungs).tolist() == [list(range(10))] * 3
    assert sum(each.size for each in called) < 3 * 100


@pytest.mark.parametrize(
    ("key", "constant", "value"),
    [
        *((key, "_SLACK", -2.5) for key in ("svt-s-1:1", "svt-retr-3d", "em")),  # a horizon that is too near
        *((key, "_WIDEST", 8.0) for key in ("svt-dpbook", "svt-s-1:c23", "em")),  # coarser buckets
    ],
)
def test_how_the_work_is_cut_changes_nothing_but_the_time(
    key: str, constant: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, windows, rings = simulated(key, seed=9), [], simulation._Window.rings
    monkeypatch.setattr(simulation._Window, "rings", lambda *given: windows.append(1) or rings(*given))
    monkeypatch.setattr(simulation, constant, value)
    assert two_sample_p(usual, simulated(key)) > FALSE_ALARM
    assert constant != "_SLACK" or len(windows) > 2


@cache
def first_records() -> Dataset:
    return load("kosarak", KOSARAK, scale_to_records=True)


KOSARAK = Path(__file__).parents[3] / "shared" / "data" / "kosarak-first-100k.dat.gz"


@pytest.mark.parametrize(
    "value", [value for value in VALUES if not value.printed], ids=lambda value: value.statement.key
)
def test_score_errors_are_those_of_an_independent_simulation(value: ReferenceValue) -> None:
    if value.dataset == "kosarak" and not KOSARAK.exists():
        pytest.skip("the first 100,000 records of Kosarak are not in ../shared/data")
    data = load("zipf") if value.dataset == "zipf" else first_records()
    ours = simulated_errors(value.method, data.ladder, count=value.count, epsilon=0.1, runs=1000, rng=5).ser
    # Of 30 runs: within five standard errors (6e-7 of correct simulators are not) and the rounding of its digits.
    error = ours.std() * np.sqrt(1 / ours.size + 1 / 30)
    assert abs(ours.mean() - value.ser) < 5 * error + 0.5 * 10**-value.digits


@pytest.mark.parametrize(("key", "published"), [("em", 0.15), ("svt-s-1:c23", 0.59), ("svt-s-1:1", 0.99)])
def test_the_aol_stand_in_has_the_three_values_it_was_fitted_to(key: str, published: float) -> None:
    errors = simulated_errors(key, load("aol").ladder, count=150, epsilon=0.1, runs=1000, rng=5)
    assert errors.ser.mean() == pytest.approx(published, abs=0.02)


@pytest.mark.parametrize("key", METHODS)
def test_a_seed_decides_everything_and_without_noise_to_speak_of_the_top_is_selected(key: str) -> None:
    public = {"count": COUNT, "epsilon": budget(key), "runs": 50}
    first, again, other = (simulate(key, SCORES, **public, rng=seed).tolist() for seed in (1, 1, 2))
    assert first == again != other
    if METHODS[key].threshold_factor <= 1:  # a raised threshold stays below the third score here
        rungs = simulate(key, [900, 800, 700] + [10] * 1000, count=3, epsilon=5, runs=20, rng=1)
        assert np.sort(rungs, axis=1).tolist() == [[0, 1, 2]] * 20


@pytest.mark.parametrize("key", ["em", "svt-dpbook", "subset"])
def test_many_runs_are_made_in_batches(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "PEAK_BYTES", 10_000)
    public = {"count": 6, "epsilon": EPSILON / 4, "runs": 20, "rng": 1}
    rungs = simulate(key, SCORES, **public)
    assert rungs.shape == (20, 6)
    assert len({tuple(np.sort(row)) for row in rungs}) > 4  # a batch is of a few: none repeats another
    assert simulated_errors(key, SCORES, **public).fnr.tolist() == measure(SCORES, rungs, count=6).fnr.tolist()


CROWDED = Ladder.of(np.maximum(np.round(10**6 / np.arange(1, 5001)), 1))
FAR_APART = Ladder.of(Scores.histogram({10**6 - 10**4 * rank: 1 for rank in range(40)} | {1: 2 * 10**6}))


def peak(key: str, ladder: Ladder, *, count: int, epsilon: float, runs: int) -> int:
    """Bytes allocated at the peak of a simulation."""
    tracemalloc.start()
    try:
        simulated_errors(key, ladder, count=count, epsilon=epsilon, runs=runs, rng=1)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("key", "ladder", "count", "runs"),
    [
        ("em", FAR_APART, 25, 1500),
        ("svt-retr-5d", CROWDED, 1, 10_000),  # more buckets than selections
        ("svt-retr-2d", CROWDED, 300, 100),
        ("svt-dpbook", CROWDED, 20, 2000),
    ],
)
def test_memory_is_bounded_however_many_runs_there_are(
    key: str, ladder: Ladder, count: int, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = 2_000_000
    assert peak(key, ladder, count=count, epsilon=1, runs=runs) > 2 * bound
    monkeypatch.setattr(simulation, "PEAK_BYTES", bound)
    assert peak(key, ladder, count=count, epsilon=1, runs=runs) < bound


@given(
    st.dictionaries(st.integers(0, 40), st.integers(1, 9), min_size=2, max_size=6),
    st.sampled_from(sorted(METHODS)),
    st.floats(0.01, 50),
    st.data(),
)
def test_no_item_is_selected_twice(counts: dict[int, int], key: str, epsilon: float, data: st.DataObject) -> None:
    ladder = Ladder.of(Scores.histogram(counts))
    count = data.draw(st.integers(1, ladder.total - 1))
    rungs = simulate(key, ladder, count=count, epsilon=epsilon, runs=5, rng=data.draw(st.integers(0, 2**32)))
    assert rungs.shape == (5, count)
    for row in rungs:
        assert (np.bincount(row[row >= 0], minlength=ladder.values.size) <= ladder.sizes).all()


def test_methods_that_go_on_select_all_and_a_billion_items_are_as_easy_as_a_thousand() -> None:
    for key in ("em", "svt-retr-0d", "svt-retr-5d"):
        assert (simulate(key, SCORES, count=39, epsilon=0.5, runs=200, rng=1) >= 0).all()
    rungs = simulate("em", Scores.histogram({5000: 10, 4000: 40, 10: 10**9}), count=25, epsilon=1, runs=100, rng=1)
    assert (np.sort(rungs, axis=1)[:, [0, 9, 10, 24]] == [0, 0, 1, 1]).all()


BAD = [({"count": 40}, "count"), ({"count": 0}, "count"), ({"runs": 0}, "runs"), ({"epsilon": 0}, "epsilon")]


@pytest.mark.parametrize(("changed", "parameter"), BAD)
def test_what_cannot_be_simulated_is_refused(changed: dict[str, int], parameter: str) -> None:
    with pytest.raises(ParameterError) as refused:
        simulate("svt-dpbook", SCORES, rng=1, **{"count": COUNT, "epsilon": EPSILON, "runs": 5} | changed)
    assert refused.value.parameter == parameter


STEEP = Ladder.of([1000 / rank for rank in range(1, 400)])


@pytest.mark.parametrize("key", ["svt-s-1:1", "svt-s-1:c", "svt-dpbook", "svt-s-double-t", "svt-s-double-t-retr"])
@pytest.mark.parametrize(("ladder", "count"), [(LADDER, COUNT), (STEEP, 10)])
def test_answers_are_no_shorter_than_their_bound_and_what_is_below_the_least_ser_is_nothing(
    key: str, ladder: Ladder, count: int
) -> None:
    """5.5 standard errors for each k: a false alarm in a million. The twin: the bound where everybody is above T."""
    chosen, public, runs = short(key), {"count": count, "epsilon": EPSILON}, 20_000
    errors = simulated_errors(chosen, ladder, **public, runs=runs, rng=5)
    shares = np.array([(errors.selected <= k).mean() for k in range(1, count)])
    for factor, met in ((1.0, True), (0.01, False))[: 2 if ladder is STEEP else 1]:
        other = replace(chosen, threshold_factor=factor * chosen.threshold_factor)
        bounds = simulation._short_tails(other, ladder, ladder.highest(count), other.noise(**public)).clip(0.0, 1.0)
        assert (shares <= bounds + 5.5 * np.sqrt(bounds * (1 - bounds) / runs)).all() == met
    below = np.maximum(least_ser(chosen, ladder, **public) - errors.ser, 0.0)
    assert below.mean() <= RARE + 5.5 * below.std() / math.sqrt(runs)


def test_what_selects_c_whatever_happens_has_no_ser_below_zero_and_of_a_stranger_anything_is_expected() -> None:
    assert least_ser("em", SCORES, count=COUNT, epsilon=EPSILON) == 0
    stranger = lambda scores, count, epsilon, rng: []  # noqa: E731
    best = 1 - COUNT * max(SCORES) / float(LADDER.highest(COUNT).sum())
    assert least_ser(stranger, SCORES, count=COUNT, epsilon=EPSILON) == pytest.approx(best)
