"""Alerts: the two ways to watch counts, what fires and costs, and that a restart neither asks, pays nor refunds twice.

Counts are 0 or 10,000 against a threshold of 5,000 at epsilon 5: a wrong answer has a probability below e**-400.
"""

from __future__ import annotations

import json
import math
import os
import re
import signal
import stat
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.goodness import FALSE_ALARM, chi_square_p, discrete_laplace_mass
from tests.support.interrupts import interrupt_everywhere

import sparsegate as sg
from sparsegate.gates.bounds import tight_loss
from sparsegate.gates.sparse_vector import gate_calibration
from sparsegate.gates.variants import Scales
from sparsegate.ledger.backup import back_up, restore
from sparsegate.ledger.gate import rounded_down
from sparsegate.ledger.ledger import Ledger
from sparsegate.privacy import loss, worst_case
from sparsegate.uses.alert_plan import AlertPlan

Alert = sg.uses.Alert
LOW, HIGH, SOME = 0, 10_000, 1_000
PUBLIC = {"threshold": 5_000, "cutoff": 2, "epsilon": 5}
FEWER = {**PUBLIC, "threshold": 500}
CELLS = {"cells": ["Berlin", "Paris", "Rome"], "cells_per_user": 2}
KNOWN = {"source": sg.Seeded(1), "not_private": True}


@pytest.fixture
def ledger(tmp_path):
    with Ledger.create(tmp_path / "visits.ledger", dataset="visits", budget=20) as made:
        yield made


@pytest.fixture
def kept(ledger, tmp_path):
    """With a ledger and a state file."""
    return {**PUBLIC, "ledger": ledger, "state": tmp_path / "errors.state"}


def ask(alert, *counts, first=0):
    return [alert.ask(window, count).fired for window, count in enumerate(counts, start=first)]


# What it leaks, and what is chosen


@pytest.mark.parametrize("closes", ["above", "rarer"])
def test_the_gate_costs_epsilon_for_a_person_in_every_window_and_a_twin_with_less_noise_more(closes):
    made = gate_calibration(**AlertPlan.of(0, 2, 1, closes=closes).gate_options)
    public = {"cutoff": 2, "monotonic": True, "scales": made.scales}
    worst = worst_case(made.row, **public)
    assert 0.99 <= worst.loss <= worst.tight + 1e-9 == pytest.approx(1)
    # On the lattice, as it runs: forty windows, a person in all of them, the last two fire.
    fired = [False] * 40 + [True] * 2
    assert 0.3 < loss(made.row, [0] * 42, [1] * 42, fired, **public, noise="lattice", sensitivity=1) <= 1 + 1e-9
    twin = Scales(made.scales.threshold, made.scales.query * Fraction(4, 5), None)
    assert tight_loss(made.row, twin, cutoff=2, monotonic=True, queries=None) > Fraction(11, 10)


@pytest.mark.parametrize("moved", [1, 2, 3])
def test_noisy_counts_cost_epsilon_for_a_person_in_w_windows_and_more_in_one_more(moved):
    windows = moved + 1
    for with_person in product((0, 1), repeat=windows):
        counts = [3] * windows, [3 + there for there in with_person]
        losses = []
        for released in product((0, 3, 4, 9), repeat=windows):  # the scale is w / epsilon
            logs = [-sum(abs(x - q) / moved for q, x in zip(side, released, strict=True)) for side in counts]
            losses.append(abs(logs[0] - logs[1]))
        assert max(losses) == pytest.approx(sum(with_person) / moved)
    alert = Alert(threshold=5, cutoff=9, epsilon=1, windows_per_user=moved, method="counts")
    assert [alert._draws.loss(n, 0) for n in (0, 1, 99)] == [0, Fraction(1, moved), 1]


def test_noisy_counts_have_the_law_that_is_claimed_and_a_twin_is_told_apart():
    public = {"threshold": 50, "cutoff": 9, "epsilon": 1, "windows_per_user": 3, "method": "counts"}
    alert = Alert(**public, source=sg.Seeded(3), not_private=True)
    sample = np.array([alert.ask(window, 40).estimate - 40 for window in range(3_000)])
    assert not alert.closed
    assert all(answer.fired == (answer.estimate >= 50) for answer in alert.answers.values())
    assert chi_square_p(sample, discrete_laplace_mass(3, range(-8, 9))) > FALSE_ALARM
    assert chi_square_p(sample, discrete_laplace_mass(3 * 0.8, range(-8, 9))) < FALSE_ALARM


def test_public_numbers_choose_and_the_margins_and_crossings_on_the_page_are_those_of_the_gates():
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "alerts.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) \| (\d+) \| ([\d.]+), up to w = (\d+) \|", page, re.MULTILINE)
    assert len(rows) == 6
    for cutoff, margin, crossing, margin_all, crossing_all in rows:
        made = {"threshold": 1, "cutoff": int(cutoff), "epsilon": 0.01}
        gate = Alert.preview(**made, most_windows=288, method="gate")
        assert (round(gate.margin / 100, 1), round(gate.margin_all / 100, 1)) == (float(margin), float(margin_all))
        for bounds, most in ((made, crossing), (made | {"most_windows": 288}, crossing_all)):
            chosen = [Alert.preview(**bounds, windows_per_user=int(most) + more).method for more in (0, 1)]
            assert chosen == ["counts", "gate"]


def test_a_preview_says_what_the_alert_will_and_few_windows_are_planned_for():
    options = {"threshold": 100, "cutoff": 10, "epsilon": 0.5, "windows_per_user": 2}
    preview = Alert.preview(**options, ledger="not looked at")
    assert preview.alternatives == ({"method": "gate", "margin": 43}, {"method": "counts *", "margin": 10})
    assert preview == Alert(**options).plan
    assert preview.quiet_cost == preview.epsilon
    free, few = (Alert.preview(threshold=9, cutoff=10, epsilon=1, method="gate", most_windows=n) for n in (None, 12))
    assert few.margin < free.margin
    assert free.margin_all is None
    made = gate_calibration(**AlertPlan.of(100, 10, 1).gate_options)
    assert free.quiet_cost == 1 / made.scales.threshold < Fraction(1, 5)
    public = {"threshold": 130, "cutoff": 1, "epsilon": 1, "cells": 10_000, "cells_per_user": 3}
    cells, gates = Alert.preview(**public, most_windows=24), sg.Gates.preview(**public, sensitivity=1, monotonic=True)
    assert (cells.margin, cells.epsilon, cells.cells, cells.cells_per_user) == (gates.margin, 1, 10_000, 3)
    assert cells.margin_all > gates.margin_all


# What fires


def test_it_fires_where_a_count_is_above_and_closes_at_its_cutoff():
    alert = Alert(**PUBLIC)
    quiet, fired = alert.ask(0, LOW), alert.ask(1, HIGH)
    assert (bool(quiet), quiet.estimate, bool(fired)) == (False, None, True)
    assert abs(fired.estimate - HIGH) < 100
    facts = alert.facts()
    assert (facts["windows_answered"], facts["windows_fired"], facts["epsilon_reserved"]) == (2, 1, 5)
    assert 0 < facts["epsilon_spent"] < 5
    assert alert.margin() == facts["margin"] < min(alert.margin(0.999), alert.margin(windows=288))
    assert ask(alert, LOW, HIGH, first=2) == [False, True]
    assert alert._draws._gate._calibration.loss == alert.epsilon == 5  # the tight loss of the very gate
    assert (alert.closed, alert.remaining) == (True, 0)
    with pytest.raises(sg.GateClosed, match="fired as often as it may"):
        alert.ask(9, LOW)
    assert alert.ask(1, LOW) == fired  # answered before: nothing is asked


@pytest.mark.parametrize("options", [{}, {"windows_per_user": 1}], ids=["gate", "counts"])
def test_it_fires_where_a_count_drops(options):
    alert = Alert(**PUBLIC, fires="below", **options)
    assert ask(alert, HIGH, LOW) == [False, True]
    assert abs(alert.answers[1].estimate - LOW) < 100


def test_rows_are_counted_as_people_and_only_a_public_clock_closes_windows():
    windows = sg.uses.TimeWindows(width="1h", start=0, until=5 * 3600)
    alert = Alert(**FEWER, windows=windows)
    alert.add_rows((person, 100) for person in [*range(SOME), *range(SOME)])
    alert.add("a stranger", "3026-01-01")  # closes nothing
    assert list(alert.advance(3599)) == []
    assert [(each.window, each.fired) for each in alert.advance(2 * 3600)] == [(0, True), (1, False)]
    alert.add_rows((person, 100) for person in range(SOME))  # too late
    assert [each.fired for each in alert.advance(10**9)] == [False] * 3
    assert alert.closed
    by_cell = Alert(**FEWER, **CELLS | {"cells_per_user": 1}, windows=windows)
    by_cell.add_rows((person, 100, city) for city in ("Rome", "Paris") for person in range(SOME))
    assert [[cell for cell, _ in each.cells] for each in by_cell.advance(2 * 3600)] == [["Rome"], []]
    with pytest.raises(sg.ParameterError) as refused:
        Alert(**PUBLIC).add("a", 1)
    assert refused.value.parameter == "windows"


def test_each_cell_fires_by_itself_and_closes_at_its_own_cutoff():
    alert = Alert(**PUBLIC, **CELLS)
    quiet, both = alert.ask(0, {}), alert.ask(1, {"Berlin": HIGH, "Rome": HIGH, "Oslo": HIGH})
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
    ask(alert, *[{"Paris": HIGH, "Rome": HIGH}] * 2, first=4)
    assert alert.closed


@pytest.mark.parametrize("count", [1.0, math.nan, None, "7", True, [1], {"Rome": 1.5}])
@pytest.mark.parametrize("cells", [{}, CELLS], ids=["whole", "cells"])
def test_a_count_of_another_type_is_refused_unseen_and_changes_nothing(count, cells):
    alert = Alert(**PUBLIC, **cells)
    for window, counted, parameter in ((0, count, "count"), (-1, {} if cells else LOW, "window")):
        with pytest.raises(sg.ParameterError) as refused:
            alert.ask(window, counted)
        assert refused.value.parameter == parameter
    assert (alert.spent, dict(alert.answers)) == (0, {})
    most, least = ({"Rome": count} if cells else count for count in (np.int64(HIGH), -(10**30)))
    assert ask(alert, most, least) == [True, False]


# After a restart


def test_an_alert_that_died_goes_on_with_its_noise_and_pays_nothing(ledger, kept):
    first = Alert(**kept, name="errors")
    answers = {window: first.ask(window, count) for window, count in enumerate([LOW, HIGH, LOW])}
    again = Alert(**kept, name="errors")  # the first is never closed
    assert len(ledger.entries()) == 2
    assert again._draws._gate._rho == first._draws._gate._rho
    assert (again.remaining, again.spent, dict(again.answers)) == (1, first.spent, answers)
    assert again.ask(1, LOW) == answers[1]
    assert not again.ask(5, LOW)
    with pytest.raises(sg.ParameterError, match="window must come after window 5"):
        again.ask(4, LOW)
    assert again.ask(6, HIGH)
    assert (again.closed, again.spent) == (True, 5)


@pytest.mark.parametrize(("method", "refund"), [("gate", True), ("gate", False), ("counts", True)])
def test_what_was_closed_does_not_go_on_whether_it_gave_anything_back_or_not(ledger, kept, method, refund):
    options = {**kept, "windows_per_user": 1, "method": method, "refund": refund}
    Alert(**options).close()
    assert json.loads(kept["state"].read_text())["noise"] == ""
    with pytest.raises(sg.GateClosed, match="it gave its last answer, or was closed by hand; remove the state file"):
        Alert(**options)
    assert len(ledger.entries()) == 2 + refund


@pytest.mark.parametrize("closes", ["above", "rarer"])
def test_a_pause_keeps_the_reserve_and_a_restart_gives_back_nothing_of_what_was_answered_before(ledger, kept, closes):
    """Quiet windows cost eps1: a process that goes on and asks nothing knows of them by the ledger alone."""
    with Alert(**kept, closes=closes) as first:  # the block pauses where there is a state
        assert ask(first, LOW, LOW, LOW) == [False] * 3
    with pytest.raises(sg.GateClosed, match="paused"):
        first.ask(3, LOW)
    assert ledger.total_spent().epsilon == 5
    again = Alert(**kept, closes=closes)
    again.close()
    again.close()
    assert again.spent == first.spent == first.plan.quiet_cost < 2
    assert ledger.total_spent().epsilon == 5 - rounded_down(5 - first.spent)
    assert len(ledger.entries()) == 3


def test_a_two_sided_alert_closes_after_a_restart_where_it_would_have(kept):
    with Alert(**kept, closes="rarer") as first:
        assert ask(first, LOW, *[HIGH] * 9) == [False, *[True] * 9]
        assert not first.closed
    again = Alert(**kept, closes="rarer")
    assert again.remaining == 1
    assert not again.ask(10, LOW)
    assert again.closed


def test_noisy_counts_go_on_too(ledger, kept):
    windows = sg.uses.TimeWindows(width="1h", start=0)
    options = {**kept, **FEWER, "windows_per_user": 1, "windows": windows}
    first = Alert(**options)
    first.add_rows((person, 100) for person in range(SOME))
    assert [each.fired for each in first.advance(3600)] == [True]
    again = Alert(**options)
    again.add_rows([(person, time) for time in (100, 3700) for person in range(SOME)])
    assert [(each.window, each.fired) for each in again.advance(7200)] == [(1, False)]  # all have counted before
    assert len(ledger.entries()) == 2
    assert again.spent == 5


def test_cells_go_on_after_a_restart_each_with_its_noise_and_pay_nothing(ledger, kept):
    options = {**kept, **CELLS}
    first = Alert(**options)
    answers = {window: first.ask(window, counts) for window, counts in enumerate([{}, {"Rome": HIGH}, {"Rome": HIGH}])}
    again = Alert(**options)  # the first is never closed
    assert len(ledger.entries()) == 2
    before, after = first._draws._gates, again._draws._gates
    assert [after[cell]._rho for cell in after.cells] == [before[cell]._rho for cell in before.cells]
    assert [(after[cell]._asked, after[cell].positives) for cell in after.cells] == [(3, 0), (3, 0), (3, 2)]
    assert (dict(again.answers), again.spent, after["Rome"].closed) == (answers, first.spent, True)
    assert again.ask(3, {"Rome": HIGH, "Paris": HIGH}).cells[0][0] == "Paris"
    third = Alert(**options)._draws._gates
    assert [(third[cell]._asked, third[cell].positives) for cell in third.cells] == [(4, 0), (4, 1), (3, 2)]
    again.close()
    assert ledger.total_spent().epsilon == 5 - rounded_down(5 - again.spent)


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"threshold": 7}, "name"),
        ({"about": "errors"}, "name"),
        ({"cells_per_user": 1}, "name"),
        ({"cells": ["Berlin", "Paris", "Oslo"]}, "name"),
        ({"cells": None, "cells_per_user": None}, "name"),
        ({"cutoff": 3}, "state"),
        ({"source": None, "not_private": False}, "state"),  # noise that is known does not go on as if it were secret
    ],
    ids=str,
)
def test_another_question_under_the_same_name_or_with_the_same_state_is_refused(ledger, kept, change, parameter):
    options = {**kept, **CELLS, **KNOWN}
    Alert(**options)
    with pytest.raises(sg.ParameterError) as refused:
        Alert(**options | change)
    assert refused.value.parameter == parameter
    assert len(ledger.entries()) == 2
    Alert(**options)


def test_a_restored_ledger_lets_no_alert_go_on(ledger, kept, tmp_path):
    Alert(**kept)
    back_up(ledger.database.shown, tmp_path / "copy")
    restore(str(tmp_path / "again"), backup=tmp_path / "copy", spent_since=1)
    with Ledger(tmp_path / "again") as restored, pytest.raises(sg.GateClosed, match="restored from a backup"):
        Alert(**kept | {"ledger": restored})


def test_a_state_file_is_for_its_owner_and_a_bad_one_costs_nothing(ledger, kept, tmp_path):
    other, state = '{"entry": 1, "dataset": "a", "noise": "", "mark": "", "settings": %s}', kept["state"]
    unreadable = tmp_path / "unreadable"
    for text in ("{}", "[" * 100_000, other % "[1]", other % "null"):
        unreadable.write_text(text)
        for bad in (tmp_path, tmp_path / "no" / "folder", "", unreadable):
            with pytest.raises(sg.ParameterError) as refused:
                Alert(**kept | {"state": bad})
            assert refused.value.parameter == "state"
    assert len(ledger.entries()) == 1
    elsewhere = tmp_path / "elsewhere"
    elsewhere.touch(0o666)
    state.with_name(f"{state.name}.{os.getpid()}.new").symlink_to(elsewhere)
    Alert(**kept)
    assert elsewhere.read_text() == ""  # a link at the place of the draft would have taken the secret away
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    other = Ledger.create(tmp_path / "b", dataset="b", budget=9)
    with other, pytest.raises(sg.ParameterError, match="state must belong to this ledger"):
        Alert(**kept | {"ledger": other})


# Where each alarm is paid for, on a zCDP ledger


PAYING = {"threshold": 1000, "within": 90}
BUSY, QUIET = 10**6, 0


@pytest.fixture
def rho_ledger(tmp_path):
    return Ledger.create(tmp_path / "z.ledger", dataset="site", budget=(1, 1e-6))


@pytest.fixture
def paying(rho_ledger, tmp_path):
    return {**PAYING, "ledger": rho_ledger, "state": tmp_path / "state"}


def spent(ledger):
    return ledger.statement().spent.rho


def price(alert):
    return alert.plan.opening_rho, alert.plan.alarm_rho


@pytest.mark.parametrize(("fires", "counts"), [("above", (QUIET, BUSY)), ("below", (BUSY, QUIET))])
def test_each_alarm_is_paid_for_and_the_next_one_held(rho_ledger, fires, counts):
    quiet, busy = counts
    with Alert(**PAYING, fires=fires, ledger=rho_ledger) as alert:
        opening, each = price(alert)
        assert spent(rho_ledger) == opening + each
        for window, (count, fired) in enumerate([(quiet, 0), (busy, 1), (quiet, 1), (busy, 2)]):
            alert.ask(window, count)
            assert spent(rho_ledger) == opening + (fired + 1) * each
        assert (alert.remaining, alert.closed, alert.rho_spent) == (None, False, opening + 2 * each)
        assert alert.epsilon - alert.spent == Fraction(rho_ledger.statement().entries[-1].amount.epsilon)
    assert spent(rho_ledger) == opening + 2 * each
    again = Alert(**PAYING, fires=fires, ledger=rho_ledger)
    assert again.ask(3, quiet)  # it is read, and costs nothing
    assert spent(rho_ledger) == 2 * opening + 3 * each


def test_it_closes_where_the_ledger_cannot_hold_another_alarm(rho_ledger):
    alert = Alert(**PAYING, ledger=rho_ledger)
    opening, each = price(alert)
    budget: Any = rho_ledger.statement().budget.rho
    for window in range(int((budget - opening) / each)):
        assert not alert.closed
        assert alert.ask(window, BUSY)
    assert alert.closed
    with pytest.raises(sg.GateClosed, match="its ledger cannot pay for another alarm"):
        alert.ask(999, QUIET)
    alert.close()
    assert budget - each < spent(rho_ledger) <= budget


def test_a_paused_alert_gives_back_what_it_holds_and_holds_it_again(rho_ledger, paying):
    with Alert(**paying) as alert:
        opening, each = price(alert)
        alert.ask(0, BUSY)
    assert spent(rho_ledger) == opening + each
    with pytest.raises(sg.ParameterError, match="alarm, epsilon differs"):
        Alert(**paying, expect=500)
    with Alert(**paying) as alert:
        assert spent(rho_ledger) == opening + 2 * each
        ask(alert, QUIET, BUSY, first=1)
        alert.close()
    with pytest.raises(sg.GateClosed):
        Alert(**paying)
    assert spent(rho_ledger) == opening + 2 * each


def test_what_a_killed_alert_held_counts_as_an_alarm(rho_ledger, paying, tmp_path):
    child = os.fork()
    if child == 0:
        own = Alert(**paying | {"ledger": Ledger(tmp_path / "z.ledger")})
        own.ask(0, BUSY)
        own._paid.keep = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign, assignment]
        own.ask(1, BUSY)
        os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    with Alert(**paying) as alert:
        opening, each = price(alert)
        assert spent(rho_ledger) == opening + 3 * each  # an alarm, what was held, and what is held now
        assert list(alert.answers) == [0]
        assert not alert.ask(1, QUIET)
    assert spent(rho_ledger) == opening + 2 * each


def test_of_two_that_go_on_with_one_state_one_is_stopped_and_gives_nothing_back(rho_ledger, paying):
    with Alert(**paying) as alert:
        opening, each = price(alert)
        alert.ask(0, QUIET)
    first, second = Alert(**paying), Alert(**paying)
    assert first.ask(1, BUSY)
    for count in (BUSY, QUIET):
        with pytest.raises(sg.GateClosed):
            second.ask(2, count)
    assert second.closed
    second.pause()
    first.pause()
    assert spent(rho_ledger) == opening + 2 * each


def test_an_answer_that_could_not_be_stored_is_seen_by_nobody_and_stays_paid_for(rho_ledger, monkeypatch):
    alert = Alert(**PAYING, ledger=rho_ledger)
    opening, each = price(alert)

    def fail(*_, **__):
        raise sg.LedgerError("the disk is full; nothing was spent")

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "use_held", fail)
        with pytest.raises(sg.LedgerError, match="disk is full"):
            alert.ask(0, BUSY)
    with pytest.raises(sg.GateClosed, match="could not be stored"):
        alert.ask(0, BUSY)
    alert.close()
    assert spent(rho_ledger) == alert.rho_spent == opening + each
    assert rho_ledger.release(2).gave == ()


@pytest.mark.parametrize("option", [{"refund": False}, KNOWN])
def test_an_owner_who_wants_no_refunds_gets_none(rho_ledger, option):
    with Alert(**PAYING, ledger=rho_ledger, **option) as alert:
        opening, each = price(alert)
    assert spent(rho_ledger) == opening + each


class KeepsNoGates:
    rule = "zcdp"

    def open_meter(self, **_): ...
    def spend(self, **_): ...
    def keep(self, *_): ...


def test_an_interrupt_at_any_line_leaves_every_alarm_paid_for(tmp_path):
    """What was said is stored and paid for; what may have been drawn and not stored is not given back."""
    made: list[Ledger] = []

    class Asked:
        def __init__(self):
            ledger = Ledger.create(tmp_path / f"{len(made)}.ledger", dataset="site", budget=(1, 1e-6))
            made.append(ledger)
            self.ledger, self.alert, self.fired = ledger, Alert(**PAYING, ledger=ledger), 0

        def ask(self):
            self.fired += bool(self.alert.ask(0, BUSY))

        def check(self):
            opening, each = price(self.alert)
            lost = self.alert._unsaid or self.alert._lost
            stored = len(self.ledger.release(2).gave)
            self.alert.close()
            after = spent(self.ledger)
            assert self.fired <= stored
            assert after >= opening + max(stored, int(lost)) * each
            assert lost or after == opening + stored * each

    assert interrupt_everywhere(Asked, Asked.ask, Asked.check, every=37) > 9
