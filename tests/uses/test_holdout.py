"""The reusable holdout: what it leaks, answers and refuses, what is paid for after a crash, its bound, its scorer."""

from __future__ import annotations

import copy
import math
import pickle
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement, permutations

import joblib
import numpy as np
import pandas
import polars
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from tests.support.accounts import Noted
from tests.support.goodness import FALSE_ALARM, proportion_p
from tests.support.threads import at_once

import sparsegate as sg
from sparsegate.errors import GateClosed, LedgerError, ParameterError, SparsegateError
from sparsegate.gates.variants import Scales
from sparsegate.ledger.backup import back_up, restore
from sparsegate.privacy import loss
from sparsegate.privacy.loss import worst_outcome
from sparsegate.privacy.model import build
from sparsegate.uses.holdout import ROW, STEPS, Holdout, HoldoutScorer, HoldoutTerms, agreement, far_from_the_truth

RIGHT = np.arange(1000) % 10 < 8  # a model that is right on 80 % of the holdout


def holdout(seed=1, **options):
    """A holdout of 1,000 records, with hardly any noise unless told otherwise."""
    public = {"size": 1000, "threshold": 0.05, "cutoff": 5, "epsilon": 1000} | options
    return Holdout(**public, source=sg.Seeded(seed), not_private=True)


# What it leaks


def test_the_gate_that_is_built_loses_what_it_says_and_no_more():
    """Its own calibration: tight, at the general scale; with the scale of monotonic questions the witness leaks."""
    budget = sg.Budget(threshold_epsilon=0.5, query_epsilon=0.5, answer_epsilon=0.25)
    terms = HoldoutTerms.of(size=50, threshold=0.1, cutoff=2, budget=budget)
    made = terms.calibration(2, not_private=False)
    assert Fraction(made.loss) == terms.epsilon == Fraction(5, 4)
    assert (made.lattice.integers, made.lattice.sensitivity) == (True, STEPS)
    scales = [scale / STEPS for scale in made.scales]
    assert scales == [2, 8, 8]  # 1/eps1, 2c/eps2, c/eps3

    def lost(query, answer):
        told = [False] * 12 + ([True] * 2 if answer is None else [0.0] * 2)
        public = {"threshold": 200, "cutoff": 2, "scales": Scales(scales[0], query, answer)}
        return loss(ROW, [400] * 12 + [0, 0], [401] * 12 + [1, 1], told, estimates=[0] * 12 + [200] * 2, **public)

    assert lost(scales[1], None) == pytest.approx(1.0, abs=1e-6)
    assert lost(scales[1], scales[2]) == pytest.approx(1.25, abs=1e-6)
    assert lost(scales[1] / 2, None) == pytest.approx(1.5, abs=1e-6)


def test_on_every_pair_of_small_neighbours_every_outcome_is_within_epsilon():
    """Records of three kinds, three questions, all holdouts of up to two records: add, remove and replace one."""
    budget = sg.Budget(threshold_epsilon=1, query_epsilon=1, answer_epsilon=1)
    terms = HoldoutTerms.of(size=80, threshold=0.1, cutoff=2, budget=budget)
    made = terms.calibration(2, not_private=False)
    rho, nu, _ = (scale / STEPS for scale in made.scales)
    model = build(ROW, threshold=8.0, cutoff=2, scales=Scales(rho, nu, None))
    near = 8 + round(made.shift / STEPS)  # where a BELOW tells most: T + kappa
    values = {"a": (1.0, 0.0, 0.5), "b": (0.0, 1.0, 0.5), "c": (math.nan, 7.0, -1.0)}
    held = [people for size in range(3) for people in combinations_with_replacement("abc", size)]

    def totals(people):
        return [terms.total([values[kind][question] for kind in people]) / STEPS for question in range(3)]

    def leaving(first, second):
        return sum(max(0, first.count(kind) - second.count(kind)) for kind in "abc")

    pairs = [both for both in permutations(held, 2) if max(leaving(*both), leaving(*both[::-1])) == 1]
    largest = max(
        worst_outcome(*(model.compare(totals(people), 8.0, train) for people in both)).loss
        for both in pairs
        for train in ([near, near + 1, 0], [near, 1, 1], [near + 1, 0, near])
    )
    assert 1.4 < largest <= 2 + 1e-9  # eps1 + eps2; the numbers, eps3, are Laplace noise of their own


@pytest.mark.parametrize("seed", range(20))
def test_one_record_moves_the_sum_by_at_most_its_range_whatever_the_floats(seed):
    """Exactly, where the rounding of a sum of floats would depend on all records."""
    rng = np.random.default_rng(seed)
    terms = HoldoutTerms.of(size=7, threshold=0.5, cutoff=1, epsilon=1, low=-3, high=0.1)
    values = rng.normal(0, 10.0 ** rng.integers(-12, 12), size=30)
    values[rng.integers(0, 30, size=4)] = [math.nan, math.inf, -math.inf, 1e308]
    place, replaced = int(rng.integers(0, 30)), values.copy()
    replaced[place] = rng.choice([math.nan, math.inf, 0.1, -3, 0])
    whole, without, other = (terms.total(each) for each in (values, np.delete(values, place), replaced))
    assert 0 <= whole - without <= STEPS
    assert abs(whole - other) <= STEPS
    assert whole == sum(terms.total([value]) for value in values)


def test_paid_answers_have_fresh_laplace_noise_of_scale_c_over_n_eps3():
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


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore:a paid score lies within")
def test_an_audit_of_whole_holdouts_finds_nothing_and_catches_one_that_costs_more_than_it_says():
    def spending(epsilon):
        def scored(values):
            made = Holdout(size=4, threshold=0.85, cutoff=1, epsilon=epsilon)
            first = made.score(0.0, values)
            return first.paid, not made.closed and made.score(1.0, values).paid

        return scored

    pair = ([1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0])
    options = {"neighbours": [pair], "patterns": False, "samples": 3000, "seed": 1}
    assert not sg.audit(spending(1), epsilon=1, **options).violates
    assert sg.audit(spending(30), epsilon=1, **options).violates


# What it answers


def test_it_answers_from_training_while_the_holdout_agrees_and_pays_where_not():
    made = holdout()
    free, paid = made.score(0.81, RIGHT), made.score(np.ones(37), RIGHT)
    assert dict(free) == {"value": 0.81, "paid": False, "margin": free.margin, "remaining": 5}
    assert (paid.paid, paid.remaining, float(paid)) == (True, 4, paid.value)
    assert paid.value == pytest.approx(0.8, abs=paid.margin)
    # A length other than the size is no error, because that would tell who is there.
    sure = holdout(epsilon=10**6)
    assert (sure.score(0.4, RIGHT[:500]).paid, sure.score(0, []).paid) == (False, False), "the missing ones are at low"
    assert sure.score(1, np.ones(2000)).value == 1, "and a mean stays in the range"


def test_margins_hold_the_mean_of_the_holdout_as_often_as_they_say():
    inside = {True: [], False: []}
    for seed in range(80):
        made = holdout(seed, epsilon=2, cutoff=3, threshold=0.02)
        for train in (0.78, 0.9):
            score = made.score(train, RIGHT)
            inside[score.paid].append(abs(score.value - 0.8) <= score.margin)
    for held in inside.values():
        assert len(held) > 40
        assert np.mean(held) > 0.8  # of 95 %: five standard errors


def test_values_are_read_by_their_range_and_a_gap_is_at_low_whatever_the_column():
    """An error that comes with a gap would tell that there is one."""
    made = holdout(size=4, low=-1, high=3, threshold=0.5, epsilon=10**6)
    paid = made.score(3, [math.nan, -9, 9, 1.0])
    assert paid.value == pytest.approx((-1 - 1 + 3 + 1) / 4, abs=1e-3)
    assert made.score([math.nan, 5], [1, 1, 1, 1]).value == 1  # (-1 + 3) / 2
    gaps = holdout(size=4, threshold=0.1, epsilon=10**6)
    kinds = (list, pandas.Series, lambda v: pandas.Series(v, dtype="boolean"), polars.Series, np.array)
    assert not any(gaps.score(0.5, kind([True, True, False, None])).paid for kind in kinds)
    far = holdout(size=1000, low=1e16, high=1e16 + 64, threshold=0.5, epsilon=10**6)
    assert far.terms.bar == round(0.5 / 64 * STEPS * 1000)  # exact, however far away the range is
    assert not far.score(1e16, [1e16 + 4] * 100).paid


HELD_BAD = [["0.5"], "0.5", [[1.0]], 3.0, [0.5, "private"], np.array([1j]), np.array(["private"])]
TRAIN_BAD = [[], math.nan, 1.5, "0.5", None, [[0.5]]]


def test_a_type_is_refused_and_no_value_is_shown_and_nothing_is_lost():
    made, held = holdout(), [(0.5, bad, "holdout_values") for bad in HELD_BAD]
    for train, values, parameter in [*held, *((bad, RIGHT, "train_values") for bad in TRAIN_BAD)]:
        with pytest.raises(ParameterError) as caught:
            made.score(train, values)
        assert caught.value.parameter == parameter
        assert "private" not in str(caught.value)
    assert (made.remaining, made.spent, made.closed) == (5, 0, False)


def test_threads_never_pay_for_more_than_the_cutoff():
    made = holdout(cutoff=20)

    def ask(_):
        try:
            return [made.score(1, RIGHT).paid for _ in range(2)]
        except GateClosed:
            return []

    at_once(ask, range(40))
    assert (made.remaining, made._gate.positives) == (0, 20)


def test_a_paid_score_that_tells_less_than_a_free_one_is_warned_of_before_anything_is_charged():
    account, terms = Noted(), {"size": 1000, "threshold": 0.02, "cutoff": 20, "epsilon": 1}
    with pytest.raises(sg.errors.SparsegateWarning, match=r"within 0\.182 of .* more than the threshold of 0\.02"):
        Holdout(**terms, ledger=account)
    assert account.charged == []
    with pytest.warns(sg.errors.SparsegateWarning, match="more records") as warned:
        Holdout(**terms)
    assert warned[0].filename == __file__
    Holdout(**terms | {"threshold": math.nextafter(HoldoutTerms.of(**terms).margin(paid=True), 1)})  # not there


# What may still be paid for: after a restart, a crash, beside another process, and where a disk is full


EPSILON = 1000


@pytest.fixture
def ledger(tmp_path):
    with sg.Ledger.create(tmp_path / "labels.ledger", dataset="labels", budget=EPSILON) as made:
        yield made


def on_ledger(ledger, **options):
    """With so little noise that every outcome is known."""
    return Holdout(**{"size": 1000, "threshold": 0.05, "cutoff": 8, "epsilon": EPSILON, "ledger": ledger, **options})


def paid(made, times=1):
    assert all(made.score(1, RIGHT).paid for _ in range(times))


def free(made):
    assert not made.score(0.8, RIGHT).paid


def spent(ledger):
    return ledger.total_spent().epsilon


def test_a_restart_goes_on_with_what_is_left_and_pays_for_a_new_threshold(ledger):
    for _ in range(3):
        with on_ledger(ledger, cutoff=7, name="unused") as made:  # prices that no decimal ends
            assert (made.remaining, spent(ledger)) == (7, made.epsilon)
        assert spent(ledger) == 0
    with on_ledger(ledger) as first:
        free(first)
        paid(first, 3)
    with on_ledger(ledger) as second:
        assert 0 < second.remaining == first.remaining_after_restart < first.remaining == 5
        left = second.remaining
        free(second)
        paid(second, left)
        with pytest.raises(GateClosed):
            free(second)
        assert second.remaining_after_restart == 0
    terms = first.terms
    assert first.spent == terms.cost(3)
    assert spent(ledger) == terms.cost(3) + terms.cost(left) <= terms.epsilon
    assert terms.epsilon - spent(ledger) < terms.cost(1)
    before = ledger.entries()
    with pytest.raises(GateClosed, match="'holdout' is used up"):
        on_ledger(ledger)
    assert ledger.entries() == before


def test_a_crash_costs_one_answer_more_than_was_seen_and_the_sum_stays_within_epsilon(ledger):
    dead = on_ledger(ledger)
    free(dead)
    paid(dead, 2)  # and then nothing: no close
    assert [part["paid"] for part in ledger.release(2).gave] == pytest.approx([0.8, 0.8], abs=0.01)
    real = dead.spent
    made = on_ledger(ledger)
    assert spent(ledger) == dead.terms.cost(3) + dead.terms.cost(made.remaining) <= dead.epsilon
    for opened in range(20):
        free(made)
        paid(made, min(opened % 2, made.remaining))
        real += made.spent
        try:
            made = on_ledger(ledger)
        except GateClosed:
            break
    assert 0 < opened < 20
    assert real <= spent(ledger) <= made.epsilon


def test_a_ledger_that_was_restored_counts_all_that_was_charged_before(ledger, tmp_path):
    on_ledger(ledger)
    place = tmp_path / "labels.ledger"
    back_up(str(place), tmp_path / "copy")
    ledger.close()
    place.unlink()
    restore(str(place), backup=tmp_path / "copy", spent_since=0)
    with sg.Ledger(place) as again, pytest.raises(GateClosed, match="used up"):
        on_ledger(again)


def test_however_often_it_is_opened_no_more_than_the_cutoff_is_ever_paid_for(ledger):
    """Validity counts answers: a gate that gave back its exact loss, without a BELOW, would allow half as many more."""
    paid_for = 0
    for _ in range(20):
        try:
            with on_ledger(ledger) as made:
                paid(made)
                paid_for += 1
        except GateClosed:
            break
    assert 3 <= paid_for <= 8


@pytest.mark.parametrize("place", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)], indirect=True)
def test_another_process_that_still_runs_may_say_free_answers_and_is_refused_a_paid_one(place):
    with sg.Ledger.create(place, dataset="labels", budget=EPSILON) as ledger:
        older = on_ledger(ledger)
        paid(older)
        newer = on_ledger(ledger)
        charged = spent(ledger)
        free(older)
        with pytest.raises(GateClosed, match="goes on in another process"):
            paid(older)
        with pytest.raises(GateClosed, match="counts as given"):
            free(older)
        assert older.spent == older.terms.cost(2), "the refusal told an ABOVE, and that was counted"
        assert spent(ledger) == charged == older.terms.cost(2) + newer.terms.cost(newer.remaining)
        paid(newer)
        newer.close()


def test_a_paid_answer_that_cannot_be_stored_is_not_seen_and_counts(ledger, monkeypatch):
    made = on_ledger(ledger)
    free(made)

    def full(*_, **__):
        raise LedgerError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr("sparsegate.ledger.ledger.add_part", full)
        with pytest.raises(LedgerError, match="full"):
            made.score(1, RIGHT)
    assert (made.closed, made.remaining) == (True, 0)
    assert spent(ledger) == made.terms.cost(1)


@pytest.mark.parametrize("other", [{"cutoff": 9}, {"threshold": 0.06}, {"size": 999}, {"epsilon": 999}, {"high": 2}])
def test_the_same_name_with_other_terms_is_refused_and_nothing_is_spent(ledger, other):
    on_ledger(ledger).close()
    before = ledger.entries()
    with pytest.raises(ParameterError, match="^name must be that of a holdout with the same terms"):
        on_ledger(ledger, **other)
    assert ledger.entries() == before


def test_a_seeded_run_gives_nothing_back_ever(ledger):
    with on_ledger(ledger, source=sg.Seeded(1), not_private=True) as made:
        free(made)
    assert spent(ledger) == made.epsilon
    with pytest.raises(GateClosed, match="used up"):
        on_ledger(ledger)


def test_a_reserved_charge_serves_one_holdout(ledger):
    with ledger.together() as report:
        reserved = report.reserve(epsilon=EPSILON, what="the holdout")
    with on_ledger(reserved) as made:
        free(made)
    with pytest.raises(LedgerError):
        on_ledger(reserved)


# How far a holdout may be from its population


PUBLIC = {"questions": 1000, "cutoff": 20, "values": 1000, "confidence": 0.95}


@pytest.mark.parametrize(
    ("questions", "cutoff", "values"), [(10, 3, 5), (5, 9, 1), (40, 40, 1), (10**9, 20, 1000), (10**400, 20, 1000)]
)
def test_few_answers_count_every_transcript_and_not_many_times_too_many(questions, cutoff, values):
    """Also of more questions than floats tell apart: differences of logarithms of factorials would be all rounding."""
    transcripts = sum(math.comb(questions, j) * values**j for j in range(min(questions, cutoff) + 1))
    t = far_from_the_truth(10**6, epsilon=1e9, questions=questions, cutoff=cutoff, values=values, confidence=0.9)
    least = math.log(2 * questions) + math.log(transcripts) + math.log(10)
    assert least * (1 - 1e-9) <= 2 * 10**6 * t**2 <= least + math.log(cutoff + 1) + 0.1


@pytest.mark.parametrize(("epsilon", "size"), [(0.001, 1000), (0.02, 100_000), (0.1, 1000), (0.1, 100_000)])
def test_private_answers_solve_the_equation_of_the_proof(epsilon, size):
    """The chance to fail, by the best p of the proof found numerically, is the one that was allowed."""
    t = far_from_the_truth(size, epsilon=epsilon, **PUBLIC | {"values": 10**300})
    hoeffding = 2 * size * t**2 - math.log(2 * 1000)
    exponents = np.geomspace(1.0001, 1e7, 200_001)
    bound = exponents * size * epsilon**2 / 8 - hoeffding * (1 - 1 / exponents)
    assert math.exp(bound.min()) == pytest.approx(0.05, rel=1e-3)


# The scorer in searches of scikit-learn


TRAINING = np.zeros((100, 1)), np.arange(100) % 4 == 0
HELD = np.ones((1000, 1)), np.arange(1000) % 4 == 0


class Remembers(ClassifierMixin, BaseEstimator):
    """Says False with every ``share``-th record wrong where X is 1, and knows the training set by heart."""

    def __init__(self, share=1000):
        self.share = share

    def fit(self, records, labels):
        self.classes_, self.known_ = np.unique(labels), labels
        return self

    def predict(self, records):
        if records[0, 0] == 0:
            return self.known_[: len(records)]
        return (np.arange(len(records)) % 4 == 0) != (np.arange(len(records)) % self.share == 0)


def scorer(cutoff=5):
    return HoldoutScorer(Holdout(size=1000, threshold=0.05, cutoff=cutoff, epsilon=10_000), *HELD)


def test_a_grid_search_on_the_training_set_alone_finds_what_is_best_on_the_holdout():
    scoring = scorer()
    search = GridSearchCV(Remembers(), {"share": [2, 4, 8]}, scoring=scoring, cv=scoring.training_only(TRAINING[0]))
    search.fit(*TRAINING)
    assert search.best_params_ == {"share": 8}
    assert search.cv_results_["mean_test_score"] == pytest.approx([0.5, 0.75, 0.875], abs=0.01)
    assert (scoring.holdout.remaining, scoring.last.paid) == (2, True)
    assert cross_val_score(DummyClassifier(), *TRAINING, scoring=scoring, cv=5).tolist() == [0.75] * 5  # five questions
    assert (scoring.holdout.remaining, scoring.last.paid) == (2, False)


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_a_used_up_holdout_is_nan_in_a_search_or_an_error_where_that_is_wanted():
    scoring = scorer(cutoff=1)
    options = {"scoring": scoring, "cv": scoring.training_only(TRAINING[0])}
    with pytest.warns(UserWarning, match="GateClosed"):
        search = GridSearchCV(Remembers(), {"share": [2, 4]}, **options).fit(*TRAINING)
    assert search.cv_results_["mean_test_score"] == pytest.approx([0.5, math.nan], abs=0.01, nan_ok=True)
    with pytest.raises(GateClosed, match="all 1 answers"):
        GridSearchCV(Remembers(), {"share": [2]}, error_score="raise", **options).fit(*TRAINING)


def test_threads_may_share_it_and_processes_may_not():
    scoring = scorer()
    options = {"scoring": scoring, "cv": scoring.training_only(TRAINING[0]), "error_score": "raise", "n_jobs": 2}
    search = GridSearchCV(Remembers(), {"share": [2, 4]}, **options)
    with joblib.parallel_config("threading"):
        search.fit(*TRAINING)
    assert search.best_params_ == {"share": 4}
    for make in (copy.deepcopy, pickle.dumps, clone):
        with pytest.raises(SparsegateError, match="neither copied nor pickled"):
            make(search)


@pytest.mark.parametrize("labels", [None, HELD[1][:-1], HELD[1][:, None]])
def test_labels_of_another_shape_and_what_fails_to_predict_spend_nothing_and_lengths_are_not_told(labels):
    model = DummyClassifier().fit(*TRAINING)
    private, training = HoldoutScorer(scorer().holdout, HELD[0], labels), scorer()
    for scoring, records in ((private, TRAINING), (training, (HELD[0], labels))):
        with pytest.raises(ParameterError, match="^labels must be one label for each record") as caught:
            scoring(model, *records)
        assert "1000" not in str(caught.value)
        with pytest.raises(AttributeError):
            scoring(object(), *TRAINING)
        assert scoring.holdout.spent == 0


@pytest.mark.parametrize(
    ("label", "same", "other"),
    [
        ("cat", ["cat"], ["Cat", " cat", "dog", 1, None]),
        ("1", [1, 1.0, "1.0", True, np.int64(1), np.float32(1), Decimal("1.00")], ["01", 10, -1, "1e0", False]),
        (0, ["0", "-0", -0.0, False, "0.000"], ["", "00", None]),
        ("True", [True, "True", "true", np.bool_(True)], [False, "False", "yes"]),
        ("007", ["007"], ["7", 7]),
        (None, [], [None, "", "None", math.nan]),
        (math.nan, [], [math.nan, "nan"]),
        ("", [], ["", None]),
        ("\ud800", ["\ud800"], ["?"]),
    ],
)
def test_texts_agree_as_they_are_and_numbers_by_their_value(label, same, other):
    guesses = [*same, *other]
    assert agreement([label] * len(guesses), guesses).tolist() == [True] * len(same) + [False] * len(other)
    for wrong in (guesses[1:], [*guesses[1:], ["b"]]):
        with pytest.raises(ParameterError) as refused:
            agreement([label] * len(guesses), wrong)
        assert refused.value.parameter == "predictions"
