"""Alerts: the two ways to watch counts, what fires and costs, and that a restart neither asks, pays nor refunds twice.

Counts are 0 or 10,000 against a threshold of 5,000 at epsilon 5: a wrong answer has a probability below e**-400.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.support.goodness import FALSE_ALARM, chi_square_p, discrete_laplace_mass

import sparsegate as sg
from sparsegate.gates.bounds import tight_loss
from sparsegate.gates.sparse_vector import gate_calibration
from sparsegate.gates.variants import Scales
from sparsegate.ledger.backup import back_up, restore
from sparsegate.ledger.gate import rounded_down
from sparsegate.privacy import loss, worst_case
from sparsegate.privacy.loss import worst_outcome
from sparsegate.privacy.model import build
from sparsegate.uses.alert_plan import AlertPlan


def counts_law(counts: tuple[int, ...], scale: Fraction, said: tuple[int, ...]) -> float:
    """ln of the probability that noisy counts of this scale are ``said``, by the law of discrete Laplace noise."""
    centre = math.log(math.tanh(0.5 / float(scale)))
    return sum(centre - abs(x - q) / float(scale) for q, x in zip(counts, said, strict=True))


@pytest.mark.parametrize("closes", ["above", "rarer"])
def test_the_gate_costs_epsilon_for_a_person_in_every_window_and_a_twin_with_less_noise_more(closes) -> None:
    made = gate_calibration(**AlertPlan.of(0, 2, 1, closes=closes).gate_options)
    public = {"cutoff": 2, "monotonic": True, "scales": made.scales, "noise": "lattice", "sensitivity": 1}
    worst = worst_case(made.row, cutoff=2, monotonic=True, scales=made.scales)
    assert worst.tight == pytest.approx(1)
    assert 0.99 <= worst.loss <= 1 + 1e-9
    # On the lattice, as it runs: forty windows, a person in all of them, the last two fire.
    here, there, said = [0] * 42, [1] * 42, [False] * 40 + [True] * 2
    assert 0.3 < loss(made.row, here, there, said, **public) <= 1 + 1e-9
    twin = Scales(made.scales.threshold, made.scales.query * Fraction(4, 5), None)
    assert tight_loss(made.row, twin, cutoff=2, monotonic=True, queries=None) > Fraction(11, 10)


@pytest.mark.parametrize("moved", [1, 2, 3])
def test_noisy_counts_cost_epsilon_for_a_person_in_w_windows_and_more_in_one_more(moved) -> None:
    windows, scale = moved + 1, Fraction(moved)  # w / epsilon
    for with_person in product((0, 1), repeat=windows):
        here, there = (3,) * windows, tuple(3 + one for one in with_person)
        losses = [
            abs(counts_law(here, scale, said) - counts_law(there, scale, said))
            for said in product((0, 3, 4, 9), repeat=windows)
        ]
        assert max(losses) == pytest.approx(sum(with_person) / moved)
        assert (max(losses) <= 1 + 1e-12) == (sum(with_person) <= moved)
    alert = sg.uses.Alert(threshold=5, cutoff=9, epsilon=1, windows_per_user=moved, method="counts")
    assert [alert._draws.loss(n, 0) for n in (0, 1, 99)] == [0, Fraction(1, moved), 1]


def test_the_second_coupling_holds_on_a_laplace_gate_and_adds_nothing() -> None:
    """A person in one window of four: at most r, whatever the threshold noise; in two windows 2 r."""
    model = build("standard", cutoff=4, monotonic=True, scales=Scales(Fraction(1, 3), Fraction(2), None))
    for moved in (1, 2):
        found = []
        for start in product((0, 6), repeat=4):
            here, there = (model.compare([q + by * (i < moved) for i, q in enumerate(start)], 0, None) for by in (0, 1))
            found += [worst_outcome(here, there).loss, worst_outcome(there, here).loss]
        assert 0.9 * moved / 2 <= max(found) <= moved / 2 + 1e-9


def test_public_numbers_choose_and_the_margins_and_crossings_on_the_page_are_those_of_the_gates() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "alerts.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) \| (\d+) \| ([\d.]+), up to w = (\d+) \|", page, re.MULTILINE)
    assert len(rows) == 6
    for cutoff, margin, crossing, margin_all, crossing_all in rows:
        made = {"threshold": 1, "cutoff": int(cutoff), "epsilon": 0.01}
        gate = sg.uses.Alert.preview(**made, most_windows=288, method="gate")
        assert (round(gate.margin / 100, 1), round(gate.margin_all / 100, 1)) == (float(margin), float(margin_all))
        for bounds, most in ((made, crossing), (made | {"most_windows": 288}, crossing_all)):
            chosen = [sg.uses.Alert.preview(**bounds, windows_per_user=int(most) + more).method for more in (0, 1)]
            assert chosen == ["counts", "gate"]


def test_a_preview_says_what_the_alert_will_and_few_windows_are_planned_for() -> None:
    options = {"threshold": 100, "cutoff": 10, "epsilon": 0.5, "windows_per_user": 2, "ledger": "not looked at"}
    preview = sg.uses.Alert.preview(**options)
    said = "a noisy count of every window: right with 95 % for a count 10 or more from the threshold (gate 43; noisy"
    assert preview.statement.startswith(said)
    assert preview.alternatives == ({"method": "gate", "margin": 43}, {"method": "counts *", "margin": 10})
    assert preview == sg.uses.Alert(**options | {"ledger": None}).plan
    free, few = (
        sg.uses.Alert.preview(threshold=9, cutoff=10, epsilon=1, method="gate", most_windows=n) for n in (None, 12)
    )
    assert few.margin < free.margin
    assert free.margin_all is None
    made = gate_calibration(**AlertPlan.of(100, 10, 1).gate_options)
    assert free.quiet_cost == 1 / made.scales.threshold < Fraction(1, 5)
    assert preview.quiet_cost == preview.epsilon


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
    for options in ({}, {"windows_per_user": 1}):
        alert = sg.uses.Alert(**PUBLIC, fires="below", **options)
        assert [alert.ask(window, count).fired for window, count in enumerate([HIGH, LOW])] == [False, True]
        assert abs(alert.answers[1].estimate - LOW) < 100


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
    with pytest.raises(
        sg.GateClosed,
        match="this alert is closed: it gave its last answer, or was closed by hand; remove the state file",
    ):
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
        assert [first.ask(window, count).fired for window, count in enumerate([LOW, *[HIGH] * 9])] == [False] + [
            True
        ] * 9
        assert not first.closed
    again = sg.uses.Alert(**options)
    assert again.remaining == 1
    assert not again.ask(10, LOW).fired
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


# Cells


CELLS = {"cells": ["Berlin", "Paris", "Rome"], "cells_per_user": 2}


def test_each_cell_fires_by_itself_and_closes_at_its_own_cutoff() -> None:
    alert = sg.uses.Alert(**PUBLIC, **CELLS)
    quiet = alert.ask(0, {})
    both = alert.ask(1, {"Berlin": HIGH, "Rome": HIGH, "Oslo": HIGH})
    assert (quiet.fired, quiet.cells, both.fired) == (False, (), True)
    assert [cell for cell, _ in both.cells] == ["Berlin", "Rome"]
    assert all(abs(estimate - HIGH) < 100 for _, estimate in both.cells)
    assert re.fullmatch(r"window 1: fired: Berlin.*, Rome.*", str(both))
    assert alert.remaining == 4
    assert [cell for cell, _ in alert.ask(2, {"Berlin": HIGH}).cells] == ["Berlin"]
    assert alert.ask(3, {"Berlin": HIGH}).cells == ()  # it is closed, and says nothing
    gates = alert._draws._gates
    assert gates["Paris"]._calibration.loss == Fraction(5, 2)
    assert alert.spent == gates["Berlin"].spent + gates["Rome"].spent < alert.epsilon == 5
    for window in (4, 5):
        alert.ask(window, {"Paris": HIGH, "Rome": HIGH})
    assert alert.closed
    with pytest.raises(sg.GateClosed, match="fired as often as it may"):
        alert.ask(9, {})


def test_rows_of_a_person_count_in_their_first_cells() -> None:
    windows = sg.uses.TimeWindows(width="1h", start=0, until=2 * 3600)
    alert = sg.uses.Alert(**FEWER, **CELLS | {"cells_per_user": 1}, windows=windows)
    alert.add_rows((person, 100, city) for city in ("Rome", "Paris") for person in range(SOME))
    answers = list(alert.advance(2 * 3600))
    assert [[cell for cell, _ in answer.cells] for answer in answers] == [["Rome"], []]


def test_cells_go_on_after_a_restart_each_with_its_noise_and_pay_nothing(ledger, state) -> None:
    options = {**PUBLIC, **CELLS, "ledger": ledger, "state": state}
    first = sg.uses.Alert(**options)
    given = [first.ask(window, counts) for window, counts in enumerate([{}, {"Rome": HIGH}, {"Rome": HIGH}])]
    again = sg.uses.Alert(**options)  # the first is never closed
    assert len(ledger.entries()) == 2
    before, after = first._draws._gates, again._draws._gates
    assert [after[cell]._rho for cell in after.cells] == [before[cell]._rho for cell in before.cells]
    assert [(after[cell]._asked, after[cell].positives) for cell in after.cells] == [(3, 0), (3, 0), (3, 2)]
    assert (dict(again.answers), again.spent, after["Rome"].closed) == (dict(enumerate(given)), first.spent, True)
    assert again.ask(3, {"Rome": HIGH, "Paris": HIGH}).cells[0][0] == "Paris"
    third = sg.uses.Alert(**options)._draws._gates
    assert [(third[cell]._asked, third[cell].positives) for cell in third.cells] == [(4, 0), (4, 1), (3, 2)]
    again.close()
    assert ledger.total_spent().epsilon == 5 - rounded_down(5 - again.spent)
    with pytest.raises(sg.GateClosed):
        sg.uses.Alert(**options)


@pytest.mark.parametrize("changed", [{"cells": ["Berlin", "Paris", "Oslo"]}, {"cells_per_user": 1}, {"cells": None}])
def test_other_cells_under_the_same_name_are_refused(ledger, changed) -> None:
    sg.uses.Alert(**PUBLIC, **CELLS, ledger=ledger)
    changed = CELLS | changed | ({"cells_per_user": None} if "cells" in changed and changed["cells"] is None else {})
    with pytest.raises(sg.ParameterError, match="must be new where cells"):
        sg.uses.Alert(**PUBLIC, **changed, ledger=ledger)
    assert len(ledger.entries()) == 2


def test_an_alert_with_cells_says_before_what_it_is_good_for() -> None:
    public = {"threshold": 130, "cutoff": 1, "epsilon": 1, "cells": 10_000, "cells_per_user": 3}
    preview = sg.uses.Alert.preview(**public, most_windows=24)
    gates = sg.Gates.preview(**public, sensitivity=1, monotonic=True)
    assert (preview.margin, preview.epsilon, preview.cells, preview.cells_per_user) == (gates.margin, 1, 10_000, 3)
    assert preview.margin_all > gates.margin_all
    assert "10,000 cells, a person in 3 of them at most" in preview.statement
    quiet = sg.uses.Alert(**public | {"cells": 4})
    quiet.ask(0, {})
    assert quiet.spent <= quiet.plan.quiet_cost < 1


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"method": "counts"}, "method"),
        ({"windows_per_user": 3}, "windows_per_user"),
        ({"cells_per_user": 0}, "cells_per_user"),
        ({"cells": None}, "cells_per_user"),
        ({"cells": [1.5]}, "cells"),
        ({"cells": ["a", "a"]}, "cells"),
    ],
)
def test_cells_that_cannot_be_are_refused_and_nothing_is_charged(ledger, options, parameter) -> None:
    with pytest.raises(sg.ParameterError) as refused:
        sg.uses.Alert(**PUBLIC | CELLS | options, ledger=ledger)
    assert refused.value.parameter == parameter
    assert len(ledger.entries()) == 1


def test_counts_of_another_kind_are_refused_unseen() -> None:
    alert = sg.uses.Alert(**PUBLIC, **CELLS)
    for count in (7, None, {"Rome": 1.5}, {"Rome": True}, [1, 2, 3]):
        with pytest.raises(sg.ParameterError, match="count must be"):
            alert.ask(0, count)
    assert alert.answers == {}
