"""The reusable holdout: what it leaks, what it answers, what it refuses, and when it stops."""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction
from itertools import combinations_with_replacement, permutations
from typing import Any

import numpy as np
import pytest
from tests.support.accounts import Noted
from tests.support.goodness import FALSE_ALARM, proportion_p
from tests.support.processes import in_forked_child
from tests.support.threads import at_once

import sparsegate as sg
from sparsegate.errors import GateClosed, ParameterError, SparsegateError
from sparsegate.gates.variants import Scales
from sparsegate.privacy import log_probability, loss
from sparsegate.privacy.loss import worst_outcome
from sparsegate.privacy.model import build
from sparsegate.uses.holdout import ROW, STEPS, Holdout, HoldoutTerms

RIGHT = np.arange(1000) % 10 < 8  # a model that is right on 80 % of the holdout


def holdout(seed: int = 1, **options: Any) -> Holdout:
    """A holdout of 1,000 records, with hardly any noise unless told otherwise."""
    given = {"size": 1000, "threshold": 0.05, "cutoff": 5, "epsilon": 1000} | options
    return Holdout(**given, source=sg.Seeded(seed), not_private=True)


# What it leaks


def test_the_gate_that_is_built_loses_what_it_says_and_no_more() -> None:
    """Its own calibration: tight, at the general scale; with the scale of monotonic questions the witness leaks."""
    terms = HoldoutTerms.of(
        size=50,
        threshold=0.1,
        cutoff=2,
        budget=sg.Budget(threshold_epsilon=0.5, query_epsilon=0.5, answer_epsilon=0.25),
    )
    made = terms.calibration(2, not_private=False)
    assert Fraction(made.loss) == terms.epsilon == Fraction(5, 4)
    assert made.lattice.integers
    assert made.lattice.sensitivity == STEPS
    scales = [scale / STEPS for scale in made.scales]  # type: ignore[operator]
    assert scales == [2, 8, 8]  # 1/eps1, 2c/eps2, c/eps3

    def lost(query: Fraction, answer: Fraction | None) -> float:
        below = 12
        return loss(
            ROW,
            [400] * below + [0, 0],
            [401] * below + [1, 1],
            [False] * below + ([True] * 2 if answer is None else [0.0] * 2),
            estimates=[0] * below + [200, 200],
            threshold=200,
            cutoff=2,
            scales=Scales(scales[0], query, answer),
        )

    assert lost(scales[1], None) == pytest.approx(1.0, abs=1e-6)
    assert lost(scales[1], scales[2]) == pytest.approx(1.25, abs=1e-6)
    assert lost(scales[1] / 2, None) == pytest.approx(1.5, abs=1e-6)


def test_on_every_pair_of_small_neighbours_every_outcome_is_within_epsilon() -> None:
    """Records of three kinds, three questions, all holdouts of up to two records: add, remove and replace one."""
    terms = HoldoutTerms.of(
        size=80, threshold=0.1, cutoff=2, budget=sg.Budget(threshold_epsilon=1, query_epsilon=1, answer_epsilon=1)
    )
    made = terms.calibration(2, not_private=False)
    rho, nu, _ = (scale / STEPS for scale in made.scales)  # type: ignore[operator]
    model = build(ROW, threshold=8.0, cutoff=2, scales=Scales(rho, nu, None))
    near = 8 + round(made.shift / STEPS)  # where a BELOW tells most: T + kappa
    values = {"a": (1.0, 0.0, 0.5), "b": (0.0, 1.0, 0.5), "c": (math.nan, 7.0, -1.0)}
    held = [people for size in range(3) for people in combinations_with_replacement("abc", size)]

    def totals(people: tuple[str, ...]) -> list[float]:
        return [terms.total([values[kind][question] for kind in people]) / STEPS for question in range(3)]

    def leaving(one: tuple[str, ...], other: tuple[str, ...]) -> int:
        return sum(max(0, one.count(kind) - other.count(kind)) for kind in "abc")

    largest = 0.0
    for one, other in permutations(held, 2):
        if max(leaving(one, other), leaving(other, one)) == 1:
            for train in ([near, near + 1, 0], [near, 1, 1], [near + 1, 0, near]):
                sides = (model.compare(totals(people), 8.0, train) for people in (one, other))
                largest = max(largest, worst_outcome(*sides).loss)
    assert 1.4 < largest <= 2 + 1e-9  # eps1 + eps2; the numbers, eps3, are Laplace noise of their own


@pytest.mark.parametrize("seed", range(20))
def test_one_record_moves_the_sum_by_at_most_its_range_whatever_the_floats(seed: int) -> None:
    """Exactly, where the rounding of a sum of floats would depend on all records."""
    rng = np.random.default_rng(seed)
    terms = HoldoutTerms.of(size=7, threshold=0.5, cutoff=1, epsilon=1, low=-3, high=0.1)
    values = rng.normal(0, 10.0 ** rng.integers(-12, 12), size=30)
    values[rng.integers(0, 30, size=4)] = [math.nan, math.inf, -math.inf, 1e308]
    place = int(rng.integers(0, 30))
    replaced = values.copy()
    replaced[place] = rng.choice([math.nan, math.inf, 0.1, -3, 0])
    whole, without, other = (terms.total(each) for each in (values, np.delete(values, place), replaced))
    assert 0 <= whole - without <= STEPS
    assert abs(whole - other) <= STEPS
    assert whole == sum(terms.total([value]) for value in values)


def test_a_score_is_paid_for_as_often_as_the_exact_law_of_the_noise_says() -> None:
    questions = 2500
    shares = sg.Budget(threshold_epsilon=1000, query_epsilon=625, answer_epsilon=10**5)  # nu has a scale of 8 records
    made = holdout(size=100, threshold=0.01, cutoff=questions, epsilon=None, budget=shares)
    paid = sum(made.score(0.0, []).paid for _ in range(questions))  # they agree: the gap is 0
    bar, rho = STEPS + made._gate._calibration.shift, made._gate._calibration.scales.threshold
    assert rho == STEPS / Fraction(1000)

    def probability(factor: float) -> float:
        """Pr[nu >= T + kappa + rho]."""
        nu = 8 * STEPS * factor
        return math.exp(-bar / nu) * math.expm1(-1 / rho) / math.expm1(-1 / rho - 1 / nu)

    budget: Any = {"cutoff": questions, "budget": shares, "noise": "lattice", "granularity": 2**-10}
    exact = math.exp(log_probability(ROW, [0.0], [True], estimates=[0.0], threshold=1.0, **budget))
    assert probability(1) == pytest.approx(exact, rel=1e-3)
    assert proportion_p(paid, questions, probability(1)) > FALSE_ALARM
    for off in (0.8, 1.25, 0.5):  # the last is the scale of monotonic questions
        assert proportion_p(paid, questions, probability(off)) < FALSE_ALARM


def test_paid_answers_have_fresh_laplace_noise_of_scale_c_over_n_eps3() -> None:
    cutoff = 2000
    budget = sg.Budget(threshold_epsilon=1000, query_epsilon=10**6, answer_epsilon=1000)  # scale 2 records of 1,000
    made = holdout(cutoff=cutoff, epsilon=None, budget=budget)
    noise = np.array([made.score(1.0, RIGHT[:500]).value - 0.4 for _ in range(cutoff)]) * 1000
    assert made.closed
    assert proportion_p(int((noise > 0).sum()), cutoff, 0.5) > FALSE_ALARM
    within = int((np.abs(noise) <= 2 * math.log(2)).sum())
    assert proportion_p(within, cutoff, 0.5) > FALSE_ALARM
    for factor in (0.8, 1.25):
        assert proportion_p(within, cutoff, 1 - 0.5 ** (1 / factor)) < 1e-3, "the twin, at 2,000 answers"


def wrapped(epsilon: float) -> Any:
    """For the audit: what two questions to a holdout say, of which one can be paid for."""

    def scored(values: Any) -> tuple[bool, bool]:
        made = Holdout(size=4, threshold=0.85, cutoff=1, epsilon=epsilon)
        first = made.score(0.0, values)
        return first.paid, not made.closed and made.score(1.0, values).paid

    return scored


@pytest.mark.soak
def test_an_audit_of_whole_holdouts_finds_nothing_and_catches_one_that_costs_more_than_it_says() -> None:
    pair = ([1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0])
    options: Any = {"neighbours": [pair], "patterns": False, "samples": 3000, "seed": 1}
    assert not sg.audit(wrapped(1), epsilon=1, **options).violates
    assert sg.audit(wrapped(30), epsilon=1, **options).violates


# What it answers


def test_it_answers_from_training_while_the_holdout_agrees_and_pays_where_not() -> None:
    made = holdout()
    free, paid = made.score(0.81, RIGHT), made.score(np.ones(37), RIGHT)
    assert (free.value, free.paid, free.remaining) == (0.81, False, 5)
    assert (paid.paid, paid.remaining) == (True, 4)
    assert paid.value == pytest.approx(0.8, abs=paid.margin)
    assert float(paid) == paid.value
    assert dict(free) == {"value": 0.81, "paid": False, "margin": free.margin, "remaining": 5}
    assert free.to_dict()["schema"] == "sparsegate/holdout/1"


def test_margins_hold_the_mean_of_the_holdout_as_often_as_they_say() -> None:
    inside = {True: [], False: []}  # type: dict[bool, list[bool]]
    for seed in range(80):
        made = holdout(seed, epsilon=2, cutoff=3, threshold=0.02)
        for train in (0.78, 0.9):
            score = made.score(train, RIGHT)
            inside[score.paid].append(abs(score.value - 0.8) <= score.margin)
    for held in inside.values():
        assert len(held) > 40
        assert np.mean(held) > 0.8  # of 95 %: five standard errors


def test_a_range_of_its_own_and_values_outside_of_it() -> None:
    made = holdout(size=4, low=-1, high=3, threshold=0.5, epsilon=10**6)
    paid = made.score(3, [math.nan, -9, 9, 1.0])
    assert paid.value == pytest.approx((-1 - 1 + 3 + 1) / 4, abs=1e-3)
    assert made.score([math.nan, 5], [1, 1, 1, 1]).value == 1  # (-1 + 3) / 2
    assert made.score(-1, []).value == -1


@pytest.mark.parametrize("kind", [list, tuple, np.array, lambda v: np.array(v, dtype=np.float32)])
def test_values_come_as_lists_arrays_truths_and_columns(kind: Any) -> None:
    import pandas

    made = holdout(size=4, threshold=0.1, epsilon=10**6)
    assert made.score(0.5, kind([True, False, True, False])).paid is False
    assert made.score(0.5, pandas.Series([0, 1, 1, 0])).paid is False
    assert made.score(0.25, pandas.Series([0, None, 1, 0], dtype="Int64")).paid is False


def test_a_gap_in_one_record_is_at_low_and_no_error_whatever_the_column() -> None:
    """An error that comes with a gap would tell that there is one."""
    import pandas
    import polars

    made = holdout(size=4, threshold=0.1, epsilon=10**6)
    for values in ([True, True, False, None], [True, True, False, False]):
        kinds = (list, pandas.Series, lambda v: pandas.Series(v, dtype="boolean"), polars.Series, np.array)
        assert not any(made.score(0.5, kind(values)).paid for kind in kinds)  # type: ignore[operator]
    for under in (np.ones(4), np.ones(4, dtype=bool)):
        assert not made.score(0.5, np.ma.masked_array(under, [False, False, True, True])).paid


def test_a_threshold_is_exact_however_far_away_the_range_is() -> None:
    made = holdout(size=1000, low=1e16, high=1e16 + 64, threshold=0.5, epsilon=10**6)
    assert made.terms.bar == round(0.5 / 64 * STEPS * 1000)
    assert not made.score(1e16, [1e16 + 4] * 100).paid


def test_a_length_other_than_the_size_is_no_error_because_that_would_tell_who_is_there() -> None:
    made = holdout(epsilon=10**6)
    assert made.score(0.4, RIGHT[:500]).paid is False, "the missing ones are at low"
    assert made.score(1, np.ones(2000)).value == 1, "and a mean stays in the range"
    assert made.score(0, []).paid is False


# What it refuses


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"size": 0}, "size"),
        ({"size": 2**40}, "size"),
        ({"size": 10.0}, "size"),
        ({"threshold": 0}, "threshold"),
        ({"threshold": 1}, "threshold"),
        ({"threshold": math.nan}, "threshold"),
        ({"cutoff": 0}, "cutoff"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": None}, "epsilon"),
        ({"epsilon": 1e-12}, "epsilon"),
        ({"epsilon": None, "budget": sg.Budget(threshold_epsilon=1, query_epsilon=1)}, "budget"),
        ({"low": 1}, "low"),
        ({"low": -1e308, "high": 1e308}, "low"),
        ({"high": math.nan}, "low"),
        ({"name": ""}, "name"),
        ({"name": "two\nlines"}, "name"),
        ({"ledger": "a path"}, "ledger"),
    ],
)
def test_a_public_number_that_makes_no_sense_is_one_clear_error(options: dict[str, Any], parameter: str) -> None:
    with pytest.raises(ParameterError) as caught:
        holdout(**options)
    assert caught.value.parameter == parameter


@pytest.mark.parametrize(
    "values", [["0.5"], "0.5", [[1.0]], 3.0, [0.5, "private"], np.array([1j]), np.array(["private"])]
)
def test_a_type_is_refused_and_no_value_is_shown_and_nothing_is_lost(values: Any) -> None:
    made = holdout()
    with pytest.raises(ParameterError, match="^holdout_values must be") as caught:
        made.score(0.5, values)
    assert "private" not in str(caught.value)
    assert (made.remaining, made.spent, made.closed) == (5, 0, False)


@pytest.mark.parametrize("train", [[], math.nan, 1.5, "0.5", None, [[0.5]]])
def test_a_training_score_that_is_none_is_refused(train: Any) -> None:
    made = holdout()
    with pytest.raises(ParameterError, match="^train_values must"):
        made.score(train, RIGHT)
    assert made.spent == 0


def test_who_asks_must_be_a_name() -> None:
    made = holdout()
    with pytest.raises(ParameterError, match="^by must be one printable line"):
        made.score(1, RIGHT, by="")
    assert made.spent == 0


# When it stops


def test_after_the_last_paid_answer_it_is_closed() -> None:
    made = holdout(cutoff=2)
    assert [made.score(1, RIGHT).remaining for _ in range(2)] == [1, 0]
    with pytest.raises(GateClosed, match="all 2 answers are paid for"):
        made.score(0.8, RIGHT)
    with holdout() as other:
        other.score(0.8, RIGHT)
    with pytest.raises(GateClosed, match="closed by hand"):
        other.score(0.8, RIGHT)


def test_what_is_spent_follows_what_was_said() -> None:
    made = holdout()
    terms = made.terms
    made.score(0.8, RIGHT)
    assert made.spent == terms.opening
    made.score(1, RIGHT)
    assert made.spent == terms.cost(1)
    assert made.epsilon == terms.cost(5) <= 1000
    assert 1000 - made.epsilon < Fraction(1, 10**9)


def test_in_the_child_of_a_fork_it_is_closed() -> None:
    made = holdout()
    assert isinstance(in_forked_child(lambda: made.score(0.8, RIGHT)), GateClosed)
    assert in_forked_child(made.close) is None
    assert made.score(0.8, RIGHT).value == 0.8


def test_threads_never_pay_for_more_than_the_cutoff() -> None:
    made = holdout(cutoff=20)

    def ask(_: int) -> int:
        paid = 0
        for _ in range(10):
            try:
                paid += made.score(1, RIGHT).paid
            except GateClosed:
                break
        return paid

    assert sum(at_once(ask, range(8))) == 20


def test_no_copy_is_possible_and_no_repr_shows_data() -> None:
    made = holdout()
    for make in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(SparsegateError, match="neither copied nor pickled"):
            make(made)
    assert repr(made) == "<Holdout 'holdout': size 1000, 0 of 5 answers paid for, open>"


def test_a_paid_score_that_tells_less_than_a_free_one_is_warned_of_before_anything_is_charged() -> None:
    account = Noted()
    terms = {"size": 1000, "threshold": 0.02, "cutoff": 20, "epsilon": 1}
    with pytest.raises(
        sg.errors.SparsegateWarning, match=r"within 0\.182 of the holdout .* more than the threshold of 0\.02"
    ):
        Holdout(**terms, ledger=account)
    assert account.charged == []
    with pytest.warns(sg.errors.SparsegateWarning, match="more records") as said:
        Holdout(**terms)
    assert said[0].filename == __file__
    margin = HoldoutTerms.of(**terms).margin(paid=True)
    Holdout(**{**terms, "threshold": math.nextafter(margin, 1)})  # not there
