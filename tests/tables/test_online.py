"""Online answers: what they leak and learn, whom they count, what they refuse, and when they stop."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.accounts import Account, Noted
from tests.support.goodness import FALSE_ALARM, proportion_p
from tests.support.interrupts import interrupt_by_signal, interrupt_everywhere
from tests.support.processes import in_forked_child
from tests.support.threads import at_once
from tests.tables.conftest import table

import sparsegate as sg
from sparsegate.budget import Budget
from sparsegate.errors import BudgetExceeded, GateClosed, ParameterError, TableError
from sparsegate.gates.gate import Answer
from sparsegate.gates.variants import Scales
from sparsegate.noise import Seeded
from sparsegate.privacy import log_probability, loss
from sparsegate.tables.engines.engine import open_engine
from sparsegate.tables.online import (
    BETA,
    ROW,
    SEVERAL_CELLS,
    WEIGHT_BITS,
    Cells,
    Floats,
    Histogram,
    Lesson,
    OnlineAnswer,
    OnlineAnswers,
    UpdateStep,
    _noisy_population,
    count_cells,
    least_cutoff,
)

COLUMNS = {"country": ["DE", "FR", "IT"], "smokes": [0, 1]}
STEP = Fraction(1, 1024)


def people(counts: Any = ((600, 300), (200, 100), (0, 50))) -> Any:
    """A table with this many rows in each cell."""
    country, smokes = (np.repeat(index.reshape(-1), np.reshape(counts, -1)) for index in np.indices((3, 2)))
    return pandas.DataFrame({"country": np.array(["DE", "FR", "IT"])[country], "smokes": smokes})


def online(rows: Any = None, seed: int = 1, **options: Any) -> OnlineAnswers:
    """Online answers over 1,250 people, or over another table."""
    asked = {"unit": "row", "epsilon": 1000, "tolerance": 40, "cutoff": 10, "population": 1250} | options
    asked = {name: value for name, value in asked.items() if value is not None}
    asked = {"source": Seeded(seed), "not_private": True} | asked
    return OnlineAnswers(people() if rows is None else rows, COLUMNS, **asked)


# What it leaks


def gate_loss(query_scale: Fraction, answer_scale: Fraction | None = None) -> float:
    """The exact loss of a witness at eps1 = 1/2, c = 2: all true answers rise, two errors fall and the others rise."""
    below, released = 12, 7.0
    return loss(
        ROW,
        [400] * below + [0, 0],
        [401] * below + [1, 1],
        [False] * below + ([True] * 2 if answer_scale is None else [released - 7] * 2),
        estimates=[0] * below + [200, 200],
        threshold=200,
        cutoff=2,
        scales=Scales(Fraction(2), query_scale, answer_scale),
    )


def test_the_gate_has_the_general_scale_because_an_error_is_not_monotonic() -> None:
    """With the scale of monotonic queries the witness leaks 1.5 where 1.0 is claimed; with ours exactly 1.0."""
    made = online(epsilon=None, budget=Budget(threshold_epsilon=0.5, query_epsilon=0.5, answer_epsilon=0.25), cutoff=2)
    scales = [scale * STEP for scale in made._calibration.scales if scale is not None]
    assert scales == [2, 8, 8]  # 1/eps1, 2c/eps2, c/eps3
    assert gate_loss(scales[1]) == pytest.approx(1.0, abs=1e-6)
    assert gate_loss(scales[1] / 2) == pytest.approx(1.5, abs=1e-6)
    assert gate_loss(scales[1], scales[2]) == pytest.approx(1.25, abs=1e-6)
    assert made.budget.total == made.epsilon == Fraction(5, 4) == Fraction(made._calibration.epsilon)


def test_epsilon_is_the_sum_of_the_count_the_gate_and_the_answers() -> None:
    public, counted = online(epsilon=0.3), online(epsilon=0.3, population=None)
    assert public.budget.total == public.epsilon == counted.epsilon == Fraction(3, 10)
    assert counted.budget.total == Fraction(3, 10) * Fraction(19, 20)
    assert public.budget.answer_epsilon == Fraction(1, 10)


def test_what_is_spent_has_the_count_of_the_people_from_the_start() -> None:
    made = online(population=None)
    assert made.spent == made.epsilon / 20
    made.ask({"country": "DE"})
    assert made.spent == made.epsilon / 20 + made._gate.spent > made.epsilon / 20
    assert online().spent == 0


def test_nothing_is_counted_with_noise_before_it_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_noisy_population", "Gate"):
        monkeypatch.setattr(f"sparsegate.tables.online.{name}", lambda *_, **__: pytest.fail("drew"))
    with pytest.raises(BudgetExceeded):
        online(population=None, ledger=Noted(refuses=BudgetExceeded("nothing is left")))


def unlearning(*_: object) -> None:
    """Instead of ``_learn``: the histogram stays, so that all questions are alike."""


def test_a_question_is_paid_for_as_often_as_the_exact_law_of_the_noise_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OnlineAnswers, "_learn", unlearning)
    questions, cutoff, tolerance = 20_000, 20_000, 12
    budget = Budget(threshold_epsilon=1000, query_epsilon=4000, answer_epsilon=1)
    made = online(epsilon=None, budget=budget, cutoff=cutoff, tolerance=tolerance)
    paid = sum(made.ask(np.zeros(6)).paid for _ in range(questions))  # it counts nobody: its error is 0

    def probability(b: Budget) -> float:
        options = {"cutoff": cutoff, "threshold": tolerance, "budget": b, "noise": "lattice", "granularity": STEP}
        return math.exp(log_probability(ROW, [0.0], [True], estimates=[0.0], **options))  # type: ignore[arg-type]

    # nu of scale 10 reaches 12 + kappa, where kappa puts 5 % of it on each side.
    assert probability(budget) == pytest.approx(math.exp(-1.2) * math.sqrt(0.05 * 0.95), rel=1e-3)
    assert proportion_p(paid, questions, probability(budget)) > FALSE_ALARM
    for factor in (0.8, 1.2, 0.5):  # 20 % off; the scale of monotonic queries is another twin
        other = Budget(threshold_epsilon=1000, query_epsilon=Fraction(4000) / Fraction(str(factor)), answer_epsilon=1)
        assert proportion_p(paid, questions, probability(other)) < FALSE_ALARM


def test_an_error_beyond_what_the_theorem_allows_is_let_through_as_rarely_as_rho_is_large() -> None:
    """nu only raises an error: of the noise nothing but rho can hide it, and that with probability 1/60 at most."""
    budget = Budget(threshold_epsilon=0.05, query_epsilon=1, answer_epsilon=1)
    terms = {"cutoff": 20, "threshold": 500.0, "budget": budget, "noise": "lattice", "granularity": STEP}

    def hidden(error: float) -> float:
        return math.exp(log_probability(ROW, [error], [False], estimates=[0.0], **terms))  # type: ignore[arg-type]

    bound = 500 + ROW.noise.law.shift(Fraction(20), Fraction(40), lattice=False) + 20 * math.log(60)
    assert hidden(bound + 4 / 1024) <= 1 / 60 < hidden(bound - 20 * math.log(4))


def test_paid_answers_have_fresh_laplace_noise_of_scale_c_over_eps3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OnlineAnswers, "_learn", unlearning)
    cutoff, budget = 4000, Budget(threshold_epsilon=1000, query_epsilon=8000, answer_epsilon=400)  # of scale 10
    made, noise = online(epsilon=None, budget=budget, cutoff=cutoff, tolerance=0.01), list[float]()
    while not made.closed:
        answer = made.ask({"country": "DE"})
        noise += [answer.estimate - 900] if answer.paid else []
    assert proportion_p(sum(each > 0 for each in noise), cutoff, 0.5) > FALSE_ALARM
    within = sum(abs(each) <= 10 * math.log(2) for each in noise)
    assert proportion_p(within, cutoff, 0.5) > FALSE_ALARM
    for factor in (0.8, 1.2):
        assert proportion_p(within, cutoff, 1 - 0.5 ** (1 / factor)) < FALSE_ALARM


# What it learns


class Stub:
    """A gate whose answer is fixed."""

    closed, remaining, positives = False, 5, 0

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def ask(self, answer: float, *, estimate: float) -> Answer:
        return self.answer


@pytest.mark.parametrize("released", [0.0, 1250.0])
def test_the_histogram_moves_towards_the_released_answer_wherever_the_truth_is(released: float) -> None:
    """The truth, 900 of 1,250, is above the estimate of 2/7: a sign taken from it would be a leak."""
    made = online()
    before = made.synthetic[0].sum()
    made._gate = Stub(Answer(True, released))  # type: ignore[assignment]
    answer = made.ask({"country": "DE"})
    assert (answer.estimate, answer.paid) == (released, True)
    assert (made.synthetic[0].sum() > before) == (released > before)


def test_one_person_moves_the_true_answer_by_their_weight_however_many_others_there_are() -> None:
    made = online(population=2**39)
    weights = np.full(6, 2**24, dtype=np.int64)
    weights[1] = 2**14  # of a person in that cell: one step of the lattice
    for many in (2**24 + 1, 2**33 + 3, 2**38 + 7):
        counts = np.array([many, 1, 0, 5, many // 3, 2], dtype=np.int64)
        made._counts = counts
        before = made._truth(weights)
        assert Fraction(before) == many + STEP + 5 + many // 3 + 2
        for cell, moved in ((0, Fraction(1)), (1, STEP), (2, Fraction(1))):
            made._counts = counts + np.eye(6, dtype=np.int64)[cell]
            assert Fraction(made._truth(weights)) - Fraction(before) == moved


def test_people_outside_of_the_categories_and_a_population_too_large_are_learned_as_nowhere() -> None:
    made = online(population=4000, cutoff=20)
    for query in ({}, {"country": "DE"}, {"smokes": 1}, {}):
        made.ask(query)
    assert made.ask({}).estimate == pytest.approx(1250, abs=41)
    assert made.synthetic.sum() < 1400


def test_a_noisy_population_is_close_and_hardly_ever_too_small() -> None:
    counts = np.array([900, 300, 50])
    sizes = [_noisy_population(counts, Fraction(1, 10), Seeded(seed), True) for seed in range(300)]
    assert min(sizes) >= 1250
    assert max(sizes) <= 1250 + 150
    assert len(set(sizes)) > 10
    assert online(population=None, epsilon=2).population > 1250


def test_the_derived_cutoff_lasts_for_queries_chosen_to_hurt() -> None:
    generator = np.random.default_rng(3)
    rows = pandas.DataFrame({"a": generator.zipf(1.5, 20_000) % 8, "b": generator.zipf(2.0, 20_000) % 8})
    asked: dict[str, Any] = {"unit": "row", "epsilon": 50, "tolerance": 3000, "population": 20_000}
    made = OnlineAnswers(rows, {"a": range(8), "b": range(8)}, **asked, source=Seeded(2), not_private=True)
    truth = np.zeros((8, 8))
    np.add.at(truth, (rows["a"], rows["b"]), 1)
    for _ in range(200):
        answer = made.ask(truth > made.synthetic)  # the set with the largest error
        assert answer.checked
    assert made.remaining > 0
    assert made.cutoff > 10


# Whom it counts


def named(rows: dict[str, list[Any]], **options: Any) -> OnlineAnswers:
    """With hardly any noise, over the people named in the column "who"."""
    few = {"unit": None, "user": "who", "population": 3, "tolerance": 0.3, "cutoff": 3, "epsilon": 10**6}
    return online(rows, **few | options)


def test_where_people_may_be_in_several_cells_every_answer_says_so_whether_or_not_they_are() -> None:
    """The note is a function of public numbers: one that depended on the rows would tell about them."""
    alone = {"country": ["DE", "FR"], "smokes": [1, 0], "who": ["ann", "bob"]}
    notes = []
    for rows in (alone, alone | {"who": ["ann", "ann"]}):
        made = named(rows)
        notes += [made.ask({"country": "DE"}).note, made.ask({"country": "DE"}).note]
        made.close()
        notes += [made.ask({"country": "DE"}, unchecked=True).note]
        assert named(rows, one_row_per_user=True).ask({"country": "FR"}).note is None
    assert set(notes) == {SEVERAL_CELLS}
    assert named(alone, user=None, unit="row").ask({}).note is None, "every row is another person"


def test_where_one_row_is_required_who_has_several_is_not_counted_and_nothing_is_refused() -> None:
    rows = {"country": ["DE", "FR", "FR", "IT"], "smokes": [1, 0, 0, 1], "who": ["ann", "ann", "bob", "cyd"]}
    counts = {}
    for required in (False, True):
        made = named(rows, one_row_per_user=required)
        counts[required] = [round(made.ask(query).estimate, 1) for query in ({}, {"country": "DE"}, {"country": "FR"})]
    assert counts == {False: [3, 1, 1], True: [2, 0, 1]}


CELLS = Cells.of({"country": ["DE", "FR"], "age": [30, 20]})
ROWS = {
    "country": ["DE", "DE", "FR", "FR", "DE", None, "IT", "FR", "DE"],
    "age": [20, 30, 20, 20, 20, 20, 20, None, 99],
    "visitor": ["ann", "ann", "bob", "bob", "bob", "cyd", "dan", "eve", None],
}


def counted(columns: Any, user: str | None, *, only_one: bool = False) -> list[list[int]]:
    with open_engine(table("pandas", columns)) as opened:
        return count_cells(opened, CELLS, user, only_one=only_one).reshape(CELLS.shape).tolist()


def test_a_person_counts_once_and_other_values_are_in_no_cell() -> None:
    # Ann is in (DE, 20) and (DE, 30), and 30 was listed first; Bob in (FR, 20), twice, and in (DE, 20).
    assert counted(ROWS, "visitor") == [[1, 1], [0, 0]]
    assert counted(ROWS, None) == [[1, 2], [0, 2]]
    # Fay has two rows in one cell, and Gil one in a cell and one in none.
    more = {"country": ["FR", "FR", "DE", "IT"], "age": [30, 30, 20, 20], "visitor": ["fay", "fay", "gil", "gil"]}
    rows = {name: values + more[name] for name, values in ROWS.items()}
    assert counted(rows, "visitor", only_one=True) == [[0, 1], [1, 0]]


@pytest.mark.parametrize("only_one", [False, True])
def test_adding_a_person_moves_one_cell_by_one_or_none(only_one: bool) -> None:
    generator = np.random.default_rng(4)
    for size in generator.integers(4, 12, 6).tolist():
        drawn = (generator.choice(each, size).tolist() for each in (["DE", "FR", "IT"], [20, 30, 40], ["ann", "bob"]))
        rows = list(zip(*drawn, strict=True))
        tables = (rows, [row for row in rows if row[2] != "ann"] or [("IT", 1, "bob")])
        columns = [{name: [row[n] for row in each] for n, name in enumerate(ROWS)} for each in tables]
        with_ann, without = (counted(each, "visitor", only_one=only_one) for each in columns)
        change = np.array(with_ann) - without
        assert change.min() >= 0
        assert change.sum() <= 1


def test_columns_of_another_type_than_their_categories_and_missing_ones_are_refused() -> None:
    with open_engine(table("duckdb", ROWS)) as engine:
        with pytest.raises(ParameterError) as refused:
            count_cells(engine, Cells.of({"country": ["DE"], "age": ["30"]}), None)
        assert refused.value.parameter == "columns"
        for cells, user in ((Cells.of({"land": ["DE"]}), None), (CELLS, "visitors")):
            with pytest.raises(TableError, match="no column"):
                count_cells(engine, cells, user)


# The histogram

SEEDS = st.integers(0, 2**32 - 1)


def entropy(h: Floats, p: Floats) -> float:
    """D(h||p)."""
    there = h > 0
    return float((h[there] * np.log(h[there] / p[there])).sum())


@settings(deadline=None)
@given(SEEDS, st.booleans(), st.floats(0.05, 1))
def test_a_move_towards_the_truth_gains_at_least_twice_its_square(seed: int, sets: bool, part: float) -> None:
    generator = np.random.default_rng(seed)
    h, p = generator.dirichlet(np.full(7, 0.3)), generator.dirichlet(np.full(7, 0.8)) + 1e-9
    p /= p.sum()
    weights = generator.random(6) < 0.5 if sets else generator.random(6)
    estimate, truth = float(p[:-1] @ weights), float(h[:-1] @ weights)
    target = estimate + part * (truth - estimate)
    after = Histogram(p).taught(Lesson(weights, -1, 2), target)
    assert math.isclose(float(after.shares[:-1] @ weights), target, abs_tol=1e-9)
    assert math.isclose(after.shares.sum(), 1)
    assert entropy(h, p) - entropy(h, after.shares) >= 2 * (target - estimate) ** 2 - 1e-9


def test_earlier_lessons_are_gone_through_again() -> None:
    first = Lesson(np.array([True, True, False, False]), 0.6, 0.62)
    second = Lesson(np.array([False, True, True, False]), 0.7, 0.72)
    start = Histogram.uniform(4)
    once = start.taught(first, 0.6)
    forgotten, kept = once.taught(second, 0.7), once.taught(second, 0.7, [first])
    assert not first.low <= float(forgotten.shares[:2].sum()) <= first.high
    assert first.low - 1e-3 <= float(kept.shares[:2].sum()) <= first.high + 1e-3
    assert second.low - 1e-3 <= float(kept.shares[1:3].sum()) <= second.high + 1e-3


# When it stops, and what it refuses


def test_after_the_last_paid_answer_it_is_closed_unless_an_unchecked_answer_will_do() -> None:
    made = online(cutoff=1)
    assert made.ask({"country": "DE"}, unchecked=True).checked
    assert (made.closed, made.remaining) == (True, 0)
    with pytest.raises(GateClosed, match="all 1 answers are paid for; pass unchecked=True"):
        made.ask({"country": "FR"})
    with online() as by_hand:
        assert not by_hand.closed
    assert (by_hand.closed, by_hand.remaining) == (True, 10)
    answer = made.ask({"country": "FR"}, unchecked=True)
    assert answer == OnlineAnswer(estimate=made.synthetic[1].sum(), paid=False, checked=False, margin=None)
    assert made.ask({"country": "FR"}, unchecked=True) == answer


def test_in_the_child_of_a_fork_it_is_closed() -> None:
    made = online()
    made._lock.acquire()  # as another thread would hold it at the moment of the fork
    error = in_forked_child(lambda: made.ask({}))
    assert isinstance(error, GateClosed)
    assert not in_forked_child(lambda: made.ask({}, unchecked=True)).checked
    made._lock.release()
    assert made.ask({}).checked


def test_threads_never_pay_for_more_than_the_cutoff() -> None:
    made = online(epsilon=0.5, tolerance=1, cutoff=40)
    answers: list[OnlineAnswer] = []

    def work(seed: int) -> None:
        generator = np.random.default_rng(seed)
        answers.extend(made.ask(generator.random(6), unchecked=True) for _ in range(200))

    at_once(work, range(4))
    assert len(answers) == 800
    assert sum(answer.paid for answer in answers) == 40
    assert made.remaining == 0


def test_a_refused_question_changes_nothing() -> None:
    asked, untouched = online(seed=5), online(seed=5)
    for query in ({"country": "XX"}, [2.0] * 6, None):
        with pytest.raises(ParameterError, match="^query"):
            asked.ask(query)
    with pytest.raises(ParameterError, match="^unchecked"):
        asked.ask({}, unchecked=1)  # type: ignore[arg-type]
    for country in ("DE", "FR", "IT"):
        assert asked.ask({"country": country}) == untouched.ask({"country": country})


SHARES = Budget(threshold_epsilon=1, query_epsilon=1, answer_epsilon=1)


@pytest.mark.parametrize(
    ("parameter", "options"),
    [
        ("unit", {"user": "who"}),
        ("one_row_per_user", {"one_row_per_user": True}),
        ("one_row_per_user", {"unit": None, "user": "who", "one_row_per_user": 1}),
        ("refund", {"refund": 1}),
        ("epsilon", {"epsilon": None}),
        ("epsilon", {"budget": SHARES}),
        *(("budget", {"epsilon": None, "budget": bad}) for bad in (3, Budget(threshold_epsilon=1, query_epsilon=1))),
        ("population", {"epsilon": None, "budget": SHARES, "population": None}),
        *(("tolerance", {"tolerance": bad}) for bad in (0, math.inf, "2 %")),
        ("cutoff", {"cutoff": 0}),
        ("population", {"population": 2**40}),
        *(("cutoff", {"cutoff": None, **more}) for more in ({"population": None}, {"epsilon": 0.1})),
        ("not_private", {"not_private": False}),
    ],
)
def test_a_bad_parameter_is_refused_by_name(parameter: str, options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError) as refused:
        online(**options)
    assert refused.value.parameter == parameter


# How many answers must be paid for: the bound, the step, and the cutoff derived from them

SCALES = Scales(Fraction(2), Fraction(30), Fraction(10))


def noise(cutoff: int) -> Scales:
    """The scales of epsilon = 3 in equal shares."""
    return Scales(Fraction(1), Fraction(2 * cutoff), Fraction(cutoff))


@given(st.floats(1, 1e6), st.floats(1, 1e6), st.floats(-1, 1), st.floats(0, 1e6))
def test_a_step_never_passes_the_truth_and_goes_at_least_as_far_as_proved(
    error: float, certain: float, off: float, more: float
) -> None:
    truth, step = error + more, UpdateStep(error, certain, True)
    released = truth + off * certain
    if released > 0:
        moved = step.toward(released)
        assert moved <= truth * (1 + 1e-9)
        assert moved >= error * (error - certain) / (error + certain) * (1 - 1e-9)
        assert step.toward(-released) == -moved


def test_the_step_of_a_large_tolerance_is_that_of_the_theorem() -> None:
    step = UpdateStep.of(tolerance=2000, cutoff=20, scales=SCALES)
    assert step.proved
    shift = ROW.noise.law.shift(*SCALES[:2], lattice=False)
    assert shift > 30 * math.log(2) / 2
    assert step.error == pytest.approx(2000 + shift - 30 * math.log(600_000) - 4 / 1024, rel=1e-12)
    assert step.certain == pytest.approx(10 * math.log(3 * 20 / BETA))
    least = step.error * (step.error - step.certain) / (step.error + step.certain)
    assert step.updates(cells=99, population=10**4) == pytest.approx(10**8 * math.log(100) / (2 * least**2))
    step = UpdateStep.of(tolerance=400, cutoff=20, scales=SCALES)  # which the noise drowns: nothing is proved
    assert (step.proved, step.error, step.updates(cells=99, population=10**4)) == (False, 400, math.inf)


@pytest.mark.parametrize("tolerance", [90_000, 400_000])
def test_the_least_cutoff_is_enough_and_one_less_is_not(tolerance: float) -> None:
    public: dict[str, Any] = {"cells": 64, "population": 10**6}
    cutoff = least_cutoff(**public, tolerance=tolerance, scales=noise)

    def lasts(tried: int) -> bool:
        step = UpdateStep.of(tolerance=tolerance, cutoff=tried, scales=noise(tried))
        return step.updates(**public) < tried

    assert lasts(cutoff)
    assert cutoff == 1 or not lasts(cutoff - 1)
    with pytest.raises(
        ParameterError, match=r"^cutoff must be given, or else a tolerance of at least ([0-9,]+):"
    ) as no:
        least_cutoff(**public, tolerance=5000, scales=noise)
    least = str(no.value).split("at least ")[1].split(":")[0].replace(",", "")
    assert least_cutoff(**public, tolerance=int(least), scales=noise) >= 1


ONE = 1 << WEIGHT_BITS
CATEGORIES = {"country": ["DE", "FR", "IT"], "age": [30, 40], "smokes": range(2)}
THREE = Cells.of(CATEGORIES)


def test_cells_are_numbered_as_an_array_of_the_shape_of_the_categories() -> None:
    assert (THREE.shape, THREE.size) == ((3, 2, 2), 12)
    assert THREE.steps({"country": "FR", "age": 40, "smokes": 1}).tolist() == [0] * 7 + [ONE] + [0] * 4


@pytest.mark.parametrize(
    ("query", "chosen"),
    [
        ({}, np.s_[:, :, :]),
        ({"country": "IT"}, np.s_[2, :, :]),
        ({"country": ["IT", "DE"], "smokes": (1,)}, np.s_[::2, :, 1]),
        ({"age": np.array([40])}, np.s_[:, 1, :]),
        ({"age": {30, 40}, "smokes": np.int64(0)}, np.s_[:, :, 0]),
    ],
)
def test_a_mapping_chooses_the_cells_that_hold_a_wanted_category_in_each_column(query: Any, chosen: Any) -> None:
    expected = np.zeros(THREE.shape, dtype=np.int64)
    expected[chosen] = ONE
    assert THREE.steps(query).tolist() == expected.reshape(-1).tolist()


def test_an_array_gives_each_cell_its_weight_flat_or_with_an_axis_for_each_column() -> None:
    weights = np.arange(12) / 12
    expected = np.rint(weights * ONE).astype(int).tolist()
    assert THREE.steps(weights).tolist() == THREE.steps(weights.reshape(3, 2, 2)).tolist() == expected
    assert THREE.steps([True] * 12).tolist() == [ONE] * 12


def test_what_is_bad_is_refused_by_name() -> None:
    queries = [{"counrty": "DE"}, {"country": "DE", 5: 1}, {"country": 30}, {"country": [["DE"]]}, {"country": []}]
    queries += [{"smokes": True}, [0.5] * 11, [[1], [2, 3]], "DE", None, [1.5] * 12, [-0.1] * 12, [float("nan")] * 12]
    listed = [[], "old", 7, {1, 2}, [1, "old"], [True, False], [0.5], [2**70], [1, 1]]
    columns = [None, {}, {3: ["a"]}, {"a": range(2**12), "b": range(2**11)}, *({"age": bad} for bad in listed)]
    for parameter, read, cases in (("query", THREE.steps, queries), ("columns", Cells.of, columns)):
        for bad in cases:
            with pytest.raises(ParameterError) as refused:
                read(bad)
            assert refused.value.parameter == parameter


ERRORS = [KeyboardInterrupt, MemoryError]
GERMANS = duckdb.sql("SELECT 'DE' AS country")
PUBLIC: dict[str, Any] = {"unit": "row", "epsilon": 4000, "tolerance": 2, "cutoff": 2, "population": 10}


class Watched:
    """Answers with their account, and what was said: one that is paid for, and one that is known from it."""

    def __init__(self) -> None:
        self.account = Account()
        with pytest.MonkeyPatch.context() as patch:  # what a table says is known: questions are interrupted, not counts
            patch.setattr("sparsegate.tables.online._counted", lambda *_, **__: np.array([9, 1]))
            self.online = sg.uses.OnlineAnswers(GERMANS, {"country": ["DE", "FR"]}, ledger=self.account, **PUBLIC)
        self.said: list[sg.uses.OnlineAnswer] = []
        self.ask("DE")

    def ask(self, country: str = "DE") -> None:
        self.said.append(self.online.ask({"country": country}))

    def surprise(self) -> None:
        """What the histogram says now is wrong again."""
        self.online._histogram = type(self.online._histogram).uniform(2)
        self.ask()

    def ask_on(self) -> None:
        for _ in range(8):
            self.ask()
        self.surprise()

    @property
    def paid(self) -> int:
        return sum(each.paid for each in self.said)

    def check(self) -> None:
        online = self.online
        for _ in range(4):
            try:
                self.surprise()
            except sg.GateClosed:
                break
        assert online.closed
        assert self.paid <= 2
        cost = online._gate._calibration.spent([(len(self.said) - self.paid, self.paid)])
        assert online.spent >= cost
        online.close()
        assert self.account.spent >= cost
        assert online.synthetic.sum() <= 10.001
        assert not online.ask({"country": "DE"}, unchecked=True).checked


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what cannot be given back is a warning
@pytest.mark.parametrize("every", [2, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("error", ERRORS)
def test_what_was_drawn_counts_wherever_it_is_interrupted(error: type[BaseException], every: int) -> None:
    assert interrupt_everywhere(Watched, Watched.surprise, Watched.check, error=error, every=every) > 50


def test_what_was_drawn_counts_whenever_a_signal_comes() -> None:
    assert interrupt_by_signal(Watched, Watched.ask_on, Watched.check, times=60, within=1e-3) > 10
