"""What a holdout may still be paid for: after a restart, a crash, beside another process, and where a disk is full."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparsegate as sg
from sparsegate.errors import BudgetExceeded, GateClosed, LedgerError, ParameterError
from sparsegate.ledger import backup
from sparsegate.uses.holdout import Holdout

RIGHT = np.arange(1000) % 10 < 8
EPSILON = 1000


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[sg.Ledger]:
    with sg.Ledger.create(tmp_path / "labels.ledger", dataset="labels", budget=EPSILON) as made:
        yield made


def holdout(ledger: Any, **options: Any) -> Holdout:
    """With so little noise that every outcome is known."""
    return Holdout(**{"size": 1000, "threshold": 0.05, "cutoff": 8, "epsilon": EPSILON, "ledger": ledger, **options})


def paid(made: Holdout, times: int = 1) -> None:
    assert all(made.score(1, RIGHT).paid for _ in range(times))


def free(made: Holdout) -> None:
    assert not made.score(0.8, RIGHT).paid


def spent(ledger: sg.Ledger) -> Fraction:
    return ledger.total_spent().epsilon


def test_the_whole_is_charged_before_anything_is_said_and_the_rest_goes_back(ledger: sg.Ledger) -> None:
    made = holdout(ledger)
    assert spent(ledger) == made.epsilon
    free(made)
    paid(made, 3)
    made.close()
    assert spent(ledger) == made.spent == made.terms.cost(3)


def test_one_that_is_opened_and_closed_without_a_question_costs_nothing_and_loses_no_answer(ledger: sg.Ledger) -> None:
    for _ in range(3):
        made = holdout(ledger, cutoff=7)  # prices that no decimal ends
        assert made.remaining == 7
        made.close()
    assert spent(ledger) == 0


def test_a_restart_goes_on_with_what_is_left_and_pays_for_a_new_threshold(ledger: sg.Ledger) -> None:
    with holdout(ledger) as first:
        free(first)
        paid(first, 3)
    with holdout(ledger) as second:
        assert 0 < second.remaining == first.remaining_after_restart < first.remaining == 5
        left = second.remaining
        free(second)
        paid(second, left)
        with pytest.raises(GateClosed):
            free(second)
        assert second.remaining_after_restart == 0
    terms = first.terms
    assert spent(ledger) == terms.cost(3) + terms.cost(left) <= terms.epsilon
    assert terms.epsilon - spent(ledger) < terms.cost(1)
    before = ledger.entries()
    with pytest.raises(GateClosed, match="'holdout' is used up"):
        holdout(ledger)
    assert ledger.entries() == before


def test_a_crash_costs_one_answer_more_than_was_seen_and_never_less(ledger: sg.Ledger) -> None:
    dead = holdout(ledger)
    free(dead)
    paid(dead, 2)  # and then nothing: no close
    second = holdout(ledger)
    terms = dead.terms
    assert spent(ledger) == terms.cost(3) + terms.cost(second.remaining) <= terms.epsilon
    assert [part["paid"] for part in ledger.release(2).gave] == pytest.approx([0.8, 0.8], abs=0.01)


def test_crash_after_crash_the_sum_stays_within_epsilon_and_every_loss_is_covered(ledger: sg.Ledger) -> None:
    real = Fraction(0)
    for opened in range(20):
        try:
            made = holdout(ledger)
        except GateClosed:
            break
        free(made)
        paid(made, min(opened % 2, made.remaining))
        real += made.spent
    assert 3 < opened < 20
    assert real <= spent(ledger) <= made.epsilon


def test_however_often_it_is_opened_no_more_than_the_cutoff_is_ever_paid_for(ledger: sg.Ledger) -> None:
    """Validity counts answers: a gate that gave back its exact loss, without a BELOW, would allow half as many more."""
    given = 0
    for _ in range(20):
        try:
            with holdout(ledger) as made:
                paid(made)
                given += 1
        except GateClosed:
            break
    assert 3 <= given <= 8


def test_a_paid_answer_that_was_interrupted_is_the_last_one(ledger: sg.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash counts one ABOVE that nobody stored; an object that went on after one could have many of them."""
    made = holdout(ledger)
    free(made)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr("sparsegate.uses.holdout.HoldoutTerms.value", interrupted)
        with pytest.raises(KeyboardInterrupt):
            made.score(1, RIGHT)
    with pytest.raises(GateClosed, match="counts as given"):
        made.score(1, RIGHT)
    assert spent(ledger) == made.spent == made.terms.cost(1)


@pytest.mark.parametrize("place", ["sqlite", pytest.param("postgresql", marks=pytest.mark.soak)], indirect=True)
def test_another_process_that_still_runs_may_say_free_answers_and_is_refused_a_paid_one(place: str) -> None:
    ledger = sg.Ledger.create(place, dataset="labels", budget=EPSILON)
    older = holdout(ledger)
    paid(older)
    newer = holdout(ledger)
    charged = spent(ledger)
    free(older)
    with pytest.raises(GateClosed, match="goes on in another process"):
        paid(older)
    with pytest.raises(GateClosed, match="counts as given"):
        free(older)
    assert older.closed
    assert older.spent == older.terms.cost(2), "the refusal told an ABOVE, and that was counted"
    assert spent(ledger) == charged == older.terms.cost(2) + newer.terms.cost(newer.remaining)
    paid(newer)
    newer.close()
    ledger.close()


def test_a_paid_answer_that_cannot_be_stored_is_not_seen_and_counts(
    ledger: sg.Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = holdout(ledger)
    free(made)

    def full(*_: object, **__: object) -> None:
        raise LedgerError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr("sparsegate.ledger.ledger.add_part", full)
        with pytest.raises(LedgerError, match="full"):
            made.score(1, RIGHT)
    assert (made.closed, made.remaining) == (True, 0)
    assert spent(ledger) == made.terms.cost(1)


def test_holdouts_of_other_names_are_accounts_of_their_own(ledger: sg.Ledger) -> None:
    first = holdout(ledger, epsilon=400)
    second = holdout(ledger, epsilon=400, name="final")
    paid(first)
    paid(second)
    assert spent(ledger) == first.epsilon + second.epsilon
    with pytest.raises(BudgetExceeded):
        holdout(ledger, epsilon=400, name="more")


def test_it_is_known_after_a_crash_who_got_the_paid_answers(ledger: sg.Ledger) -> None:
    for opened in range(2):
        made = holdout(ledger)
        assert made.paid_by == ({"ants": 2, "bees": 1} if opened else {})
        for team in ("ants", "bees", "ants") * (1 - opened):
            made.score(1, RIGHT, by=team)
        made.score(0.8, RIGHT, by="bees")
    plain = holdout(None)
    plain.score(1, RIGHT, by="ants")
    assert plain.paid_by == {"ants": 1}


@pytest.mark.parametrize("other", [{"cutoff": 9}, {"threshold": 0.06}, {"size": 999}, {"epsilon": 999}, {"high": 2}])
def test_the_same_name_with_other_terms_is_refused_and_nothing_is_spent(ledger: sg.Ledger, other: Any) -> None:
    holdout(ledger).close()
    before = ledger.entries()
    with pytest.raises(ParameterError, match="^name must be that of a holdout with the same terms"):
        holdout(ledger, **other)
    assert ledger.entries() == before


def test_a_seeded_run_gives_nothing_back_ever(ledger: sg.Ledger) -> None:
    with holdout(ledger, source=sg.Seeded(1), not_private=True) as made:
        free(made)
    assert spent(ledger) == made.epsilon
    with pytest.raises(GateClosed, match="used up"):
        holdout(ledger)


def test_a_ledger_that_was_restored_counts_all_that_was_charged_before(ledger: sg.Ledger, tmp_path: Path) -> None:
    holdout(ledger)
    place = tmp_path / "labels.ledger"
    backup.back_up(str(place), tmp_path / "copy")
    ledger.close()
    place.unlink()
    backup.restore(str(place), backup=tmp_path / "copy", spent_since=0)
    with sg.Ledger(place) as again, pytest.raises(GateClosed, match="used up"):
        holdout(again)


class Purse:
    """An account of the caller's own, which remembers nothing."""

    def __init__(self) -> None:
        self.spent: list[Any] = []

    def spend(self, *, epsilon: Any, delta: Any = 0, what: str) -> int:
        self.spent.append(epsilon)
        return len(self.spent)

    def keep(self, entry: int, gave: Any) -> None:
        self.spent.append(gave["paid"])


def test_an_account_of_ones_own_is_charged_the_whole() -> None:
    purse = Purse()
    made = holdout(purse)
    paid(made)
    assert purse.spent == [made.epsilon, pytest.approx(0.8, abs=0.01)]


def test_a_reserved_charge_serves_one_holdout(ledger: sg.Ledger) -> None:
    with ledger.together() as report:
        reserved = report.reserve(epsilon=EPSILON, what="the holdout")
    with holdout(reserved) as made:
        free(made)
    with pytest.raises(LedgerError):
        holdout(reserved)
