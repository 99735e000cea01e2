"""Alerts: what fires, what it costs, and that a restart neither asks twice, nor pays twice, nor gives back wrongly.

Counts are 0 or 10,000 against a threshold of 5,000 at epsilon 5: a wrong answer has a probability below e**-400.
"""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
import stat
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.support.goodness import FALSE_ALARM, chi_square_p, discrete_laplace_mass

import sparsegate as sg
from sparsegate.ledger.backup import back_up, restore
from sparsegate.ledger.gate import rounded_down

PUBLIC = {"threshold": 5_000, "cutoff": 2, "epsilon": 5}
LOW, HIGH = 0, 10_000
FEWER, SOME = {**PUBLIC, "threshold": 500}, 1_000
WINDOWS = sg.uses.TimeWindows(width="1h", start=0)


@pytest.fixture
def ledger(tmp_path: Path):
    with sg.Ledger.create(tmp_path / "visits.ledger", dataset="visits", budget=20) as made:
        yield made


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "errors.state"


def test_it_fires_where_a_count_is_above_and_closes_at_its_cutoff() -> None:
    alert = sg.uses.Alert(**PUBLIC)
    said = [alert.ask(window, count) for window, count in enumerate([LOW, HIGH, LOW, HIGH])]
    assert [bool(answer) for answer in said] == [False, True, False, True]
    assert said[0].estimate is None
    assert abs(said[1].estimate - HIGH) < 100
    assert said[1].standard_error > 0
    assert alert._draws._gate._calibration.loss == alert.epsilon == 5  # the tight loss of the very gate
    assert alert.closed
    assert alert.remaining == 0
    with pytest.raises(sg.GateClosed, match="fired as often as it may"):
        alert.ask(9, LOW)
    assert alert.ask(1, LOW) == said[1]  # answered before: nothing is asked


def test_it_fires_where_a_count_drops() -> None:
    with sg.uses.Alert(**PUBLIC, fires="below") as alert:
        said = [alert.ask(window, count) for window, count in enumerate([HIGH, LOW])]
    assert [answer.fired for answer in said] == [False, True]
    assert abs(said[1].estimate - LOW) < 100
    counts = sg.uses.Alert(**PUBLIC, fires="below", windows_per_user=1)
    assert [counts.ask(window, count).fired for window, count in enumerate([HIGH, LOW])] == [False, True]


def test_a_two_sided_gate_stays_open_while_one_side_is_rare() -> None:
    alert = sg.uses.Alert(**PUBLIC, closes="rarer")
    assert all(alert.ask(window, HIGH) for window in range(20))
    assert not alert.ask(20, LOW)
    assert not alert.closed
    assert alert.remaining == 1
    assert not alert.ask(21, LOW)
    assert alert.closed


def test_rows_are_counted_as_people_and_only_a_public_clock_closes_windows() -> None:
    windows = sg.uses.TimeWindows(width="1h", start=0, until=5 * 3600)
    alert = sg.uses.Alert(**FEWER, windows=windows)
    alert.add_rows((person, 100) for person in [*range(SOME), *range(SOME)])
    alert.add("a stranger", "3026-01-01")  # closes nothing
    assert list(alert.advance(3599)) == []
    assert [(said.window, said.fired) for said in alert.advance(2 * 3600)] == [(0, True), (1, False)]
    alert.add_rows((person, 100) for person in range(SOME))  # too late
    assert [said.fired for said in alert.advance(10**9)] == [False] * 3
    assert alert.closed
    with pytest.raises(sg.ParameterError, match="windows must be given for rows"):
        sg.uses.Alert(**PUBLIC).add("a", 1)


def test_noisy_counts_have_the_law_that_is_claimed_and_a_twin_is_told_apart() -> None:
    alert = sg.uses.Alert(
        threshold=50, cutoff=9, epsilon=1, windows_per_user=3, method="counts", source=sg.Seeded(3), not_private=True
    )
    sample = np.array([alert.ask(window, 40).estimate - 40 for window in range(3_000)])
    assert not alert.closed
    assert all(answer.fired == (answer.estimate >= 50) for answer in alert.answers.values())
    assert chi_square_p(sample, discrete_laplace_mass(3, range(-8, 9))) > FALSE_ALARM
    assert chi_square_p(sample, discrete_laplace_mass(3 * 0.8, range(-8, 9))) < FALSE_ALARM


def test_a_quiet_alert_gives_back_all_but_the_share_of_the_threshold(ledger) -> None:
    with sg.uses.Alert(**PUBLIC, ledger=ledger) as alert:
        for window in range(6):
            alert.ask(window, LOW)
        assert alert.spent == alert.plan.quiet_cost < 2
    assert ledger.total_spent().epsilon == 5 - rounded_down(5 - alert.spent)
    alert.close()
    assert len(ledger.entries()) == 3


def test_noisy_counts_give_back_what_windows_did_not_cost(ledger) -> None:
    with sg.uses.Alert(**PUBLIC, windows_per_user=2, method="counts", ledger=ledger) as alert:
        alert.ask(0, LOW)
        assert alert.spent == Fraction(5, 2)
    assert ledger.total_spent().epsilon == Fraction(5, 2)


def test_an_alert_that_died_goes_on_with_its_noise_and_pays_nothing(ledger, state) -> None:
    first = sg.uses.Alert(**PUBLIC, ledger=ledger, state=state, name="errors")
    said = [first.ask(window, count) for window, count in enumerate([LOW, HIGH, LOW])]
    again = sg.uses.Alert(**PUBLIC, ledger=ledger, state=state, name="errors")  # the first is never closed
    assert len(ledger.entries()) == 2
    assert again._draws._gate._rho == first._draws._gate._rho
    assert (again.remaining, again.spent, dict(again.answers)) == (1, first.spent, dict(enumerate(said)))
    assert again.ask(1, LOW) == said[1]
    assert not again.ask(5, LOW)
    with pytest.raises(sg.ParameterError, match="window must come after window 5"):
        again.ask(4, LOW)
    assert again.ask(6, HIGH)
    assert again.closed
    assert again.spent == 5


def test_two_processes_cannot_go_on_with_one_alert(ledger, state) -> None:
    sg.uses.Alert(**PUBLIC, ledger=ledger, state=state).ask(0, LOW)
    one, other = (sg.uses.Alert(**PUBLIC, ledger=ledger, state=state) for _ in range(2))
    one.ask(1, HIGH)
    with pytest.raises(sg.GateClosed, match="goes on in another process"):
        other.ask(1, HIGH)
    assert other.closed
    assert 1 not in other.answers
    other.close()  # gives nothing back: what it drew, nobody saw
    assert ledger.total_spent().epsilon == 5
    one.ask(2, LOW)
    one.close()
    late = [part["window"] for part in ledger.release(2).gave]
    assert late == [0, 1, 2]
    with pytest.raises(sg.GateClosed, match="this alert is closed"):
        sg.uses.Alert(**PUBLIC, ledger=ledger, state=state)


@pytest.mark.parametrize("method", ["gate", "counts"])
@pytest.mark.parametrize("refund", [True, False])
def test_what_was_closed_does_not_go_on_whether_it_gave_anything_back_or_not(ledger, state, refund, method) -> None:
    options = {**PUBLIC, "windows_per_user": 1, "method": method, "ledger": ledger, "state": state, "refund": refund}
    sg.uses.Alert(**options).close()
    assert json.loads(state.read_text())["noise"] == ""
    with pytest.raises(sg.GateClosed, match="this alert is closed: it was closed by hand; remove the state file"):
        sg.uses.Alert(**options)
    assert len(ledger.entries()) == 2 + refund


def test_noise_that_is_known_does_not_go_on_as_if_it_were_secret(ledger, state) -> None:
    known = {"source": sg.Seeded(1), "not_private": True}
    sg.uses.Alert(**PUBLIC, ledger=ledger, state=state, **known).ask(0, LOW)
    with pytest.raises(sg.ParameterError, match="state must be .* not_private differs"):
        sg.uses.Alert(**PUBLIC, ledger=ledger, state=state)
    sg.uses.Alert(**PUBLIC, ledger=ledger, state=state, **known).ask(1, LOW)


def test_a_pause_keeps_the_reserve_and_the_block_pauses_where_there_is_a_state(ledger, state) -> None:
    with sg.uses.Alert(**PUBLIC, ledger=ledger, state=state) as alert:
        alert.ask(0, LOW)
    with pytest.raises(sg.GateClosed, match="paused"):
        alert.ask(1, LOW)
    assert ledger.total_spent().epsilon == 5
    with sg.uses.Alert(**PUBLIC, ledger=ledger, state=state) as again:
        again.ask(1, LOW)
        again.close()
    assert ledger.total_spent().epsilon == 5 - rounded_down(5 - again.spent)


@pytest.mark.parametrize("closes", ["above", "rarer"])
def test_a_restart_gives_back_nothing_of_what_was_answered_before(ledger, state, closes) -> None:
    """Quiet windows cost eps1: a process that goes on and asks nothing knows of them by the ledger alone."""
    options = {**PUBLIC, "ledger": ledger, "state": state, "closes": closes}
    with sg.uses.Alert(**options) as first:
        said = [first.ask(window, LOW).fired for window in range(3)]
    assert said == [False] * 3
    sg.uses.Alert(**options).close()
    assert first.spent > 0
    assert ledger.total_spent().epsilon == 5 - rounded_down(5 - first.spent)


def test_a_two_sided_alert_closes_after_a_restart_where_it_would_have(ledger, state) -> None:
    options = {**PUBLIC, "ledger": ledger, "state": state, "closes": "rarer"}
    with sg.uses.Alert(**options) as first:
        assert [first.ask(window, count).fired for window, count in enumerate([LOW, LOW, HIGH])] == [False, False, True]
    again = sg.uses.Alert(**options)
    assert again.remaining == 1
    assert again.ask(3, HIGH).fired
    assert again.closed


def test_without_a_state_a_restart_pays_again_and_asks_no_window_twice(ledger) -> None:
    said = sg.uses.Alert(**PUBLIC, ledger=ledger).ask(0, HIGH)
    again = sg.uses.Alert(**PUBLIC, ledger=ledger)
    assert ledger.total_spent().epsilon == 10
    assert again.ask(0, LOW) == said
    assert again.remaining == 2
    again.close()
    assert ledger.total_spent().epsilon == 5  # nothing of the first one goes back


def test_noisy_counts_go_on_too(ledger, state) -> None:
    given = {**FEWER, "windows_per_user": 1, "ledger": ledger, "state": state, "windows": WINDOWS}
    first = sg.uses.Alert(**given)
    first.add_rows((person, 100) for person in range(SOME))
    assert [said.fired for said in first.advance(3600)] == [True]
    again = sg.uses.Alert(**given)
    rows = [(person, time) for time in (100, 3700) for person in range(SOME)]
    again.add_rows(rows)
    assert [(said.window, said.fired) for said in again.advance(7200)] == [(1, False)]  # all have counted before
    assert len(ledger.entries()) == 2
    assert again.spent == 5


def test_an_answer_that_cannot_be_stored_is_not_said(ledger, monkeypatch) -> None:
    alert = sg.uses.Alert(**PUBLIC, ledger=ledger)
    alert.ask(0, LOW)
    spent = alert.spent

    def full(*_: object, **__: object) -> None:
        raise sg.LedgerError("the disk is full")

    monkeypatch.setattr(ledger, "count_answer", full)
    with pytest.raises(sg.LedgerError):
        alert.ask(1, HIGH)
    monkeypatch.undo()
    with pytest.raises(sg.GateClosed, match="could not be stored"):
        alert.ask(1, HIGH)
    assert (alert.spent, alert.remaining, alert.facts()["windows_fired"]) == (spent, 2, 0)  # as before
    alert.close()
    assert ledger.total_spent().epsilon == 5


def test_another_question_under_the_same_name_is_refused(ledger, state) -> None:
    sg.uses.Alert(**PUBLIC, ledger=ledger, state=state)
    with pytest.raises(sg.ParameterError, match="name must be new where threshold changes"):
        sg.uses.Alert(**{**PUBLIC, "threshold": 7}, ledger=ledger)
    with pytest.raises(sg.ParameterError, match="name must be new where about changes"):
        sg.uses.Alert(**PUBLIC, about="errors", ledger=ledger)
    with pytest.raises(sg.ParameterError, match="and cutoff differs"):
        sg.uses.Alert(**{**PUBLIC, "cutoff": 3}, ledger=ledger, state=state)
    assert len(ledger.entries()) == 2


def test_a_restored_ledger_lets_no_alert_go_on(ledger, state, tmp_path) -> None:
    sg.uses.Alert(**PUBLIC, ledger=ledger, state=state)
    copied, place = tmp_path / "copy", tmp_path / "restored.ledger"
    back_up(str(tmp_path / "visits.ledger"), copied)
    restore(str(place), backup=copied, spent_since=1)
    with sg.Ledger(place) as restored, pytest.raises(sg.GateClosed, match="restored from a backup"):
        sg.uses.Alert(**PUBLIC, ledger=restored, state=state)


def test_a_state_file_is_for_its_owner_and_a_bad_one_costs_nothing(ledger, state, tmp_path) -> None:
    for bad in (tmp_path, tmp_path / "no" / "folder", ""):
        with pytest.raises(sg.ParameterError, match="state must be"):
            sg.uses.Alert(**PUBLIC, ledger=ledger, state=bad)
    other = '{"entry": 1, "dataset": "a", "noise": "", "mark": "", "settings": %s}'
    for text in ("{}", "[" * 100_000, other % "[1]", other % "null"):
        state.write_text(text)
        with pytest.raises(sg.ParameterError, match="state must be a readable"):
            sg.uses.Alert(**PUBLIC, ledger=ledger, state=state)
    assert len(ledger.entries()) == 1
    state.unlink()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.touch(0o666)
    state.with_name(f"{state.name}.{os.getpid()}.new").symlink_to(elsewhere)
    sg.uses.Alert(**PUBLIC, ledger=ledger, state=state)
    assert elsewhere.read_text() == ""  # a link at the place of the draft would have taken the secret away
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    with pytest.raises(sg.ParameterError, match="state needs a ledger"):
        sg.uses.Alert(**PUBLIC, state=state)
    other = sg.Ledger.create(tmp_path / "b", dataset="b", budget=9)
    with other, pytest.raises(sg.ParameterError, match="state must belong to this ledger"):
        sg.uses.Alert(**PUBLIC, ledger=other, state=state)


BAD = [
    ({"name": ""}, "name"),
    ({"name": "a\nb"}, "name"),
    ({"about": ""}, "about"),
    ({"refund": 1}, "refund"),
    ({"source": sg.Seeded(1)}, "not_private"),
    ({"epsilon": math.nan}, "epsilon"),
]


def test_bad_settings_spend_nothing(ledger) -> None:
    for options, parameter in BAD:
        with pytest.raises(sg.ParameterError) as refused:
            sg.uses.Alert(**{**PUBLIC, **options}, ledger=ledger)
        assert refused.value.parameter == parameter
    with pytest.raises(sg.BudgetExceeded):
        sg.uses.Alert(**{**PUBLIC, "epsilon": 21}, ledger=ledger)
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize("count", [1.0, math.nan, None, "7", True, [1]])
def test_a_count_of_another_type_is_refused_unseen_and_changes_nothing(count) -> None:
    alert = sg.uses.Alert(**PUBLIC)
    with pytest.raises(sg.ParameterError, match="count must be a whole number of people; count different people$"):
        alert.ask(0, count)
    with pytest.raises(sg.ParameterError, match="window must be"):
        alert.ask(-1, LOW)
    assert alert.spent == 0
    assert alert.ask(0, np.int64(HIGH))
    assert not alert.ask(1, -(10**30))


def test_an_alert_is_not_copied_and_dies_in_a_fork() -> None:
    alert = sg.uses.Alert(**PUBLIC)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(sg.SparsegateError, match="neither copied nor pickled"):
            copied(alert)
    assert repr(alert) == "<Alert: gate, 0 windows, 0 fired, open>"
    alert._born = -1
    with pytest.raises(sg.GateClosed, match="another process"):
        alert.ask(0, LOW)


def test_facts_are_released_or_public() -> None:
    alert = sg.uses.Alert(**PUBLIC)
    alert.ask(0, HIGH)
    facts = alert.facts()
    assert (facts["windows_answered"], facts["windows_fired"], facts["epsilon_reserved"]) == (1, 1, 5)
    assert 0 < facts["epsilon_spent"] < 5
    assert alert.margin() == alert.plan.margin == facts["margin"] < alert.margin(0.999)
    assert alert.plan.margin_all is None
    assert alert.margin() < alert.margin(windows=288) == sg.uses.Alert(**PUBLIC, most_windows=288).plan.margin_all
    with pytest.raises(sg.ParameterError, match="windows must be"):
        alert.margin(windows=0)
