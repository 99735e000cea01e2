"""A use that is interrupted goes on as before, or answers no more; what was drawn counts, and none is seen unstored."""

from __future__ import annotations

import contextlib
import copy
import pickle
from collections import defaultdict
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.support.accounts import Account
from tests.support.interrupts import interrupt_by_signal, interrupt_everywhere
from tests.support.processes import in_forked_child

import sparsegate as sg
from sparsegate.uses.alerts import AlertState, StateFile
from sparsegate.uses.improvement import Improvement
from sparsegate.uses.records import STEPS
from sparsegate.uses.windows import PeopleInWindows

either_error = pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])


class Watched:
    """A use with its account, and what it has told; two answers that are paid for are all that it may give.

    ``ask``: something that is paid for; ``ask_on``: much that is free, and then that.
    """

    def ask_until_closed(self, *asks):
        with contextlib.suppress(sg.GateClosed):
            for _ in range(4):
                for ask in asks or [self.ask]:
                    ask()


LOW, HIGH = 0, 10_000
ALERT = {"threshold": 5_000, "cutoff": 2, "epsilon": 5}


class WatchedAlert(Watched):
    """``own``: where an account of one's own fails to store something there is a warning, and it is told."""

    def __init__(self, *, own=False, **options):
        self.account, self.own = Account(), own
        self.use = self.alert = sg.uses.Alert(**ALERT, **options, ledger=self.account)
        self.drawn, draw = 0, self.alert._draws.answer

        def drawing(*asked):
            self.drawn += 1
            return draw(*asked)

        self.alert._draws.answer = drawing
        self.told: list[sg.uses.AlertAnswer] = []
        self.ask(LOW)
        self.ask()

    def ask(self, count=HIGH):
        window = self.told[-1].window + 1 if self.told else 0
        self.told.append(self.alert.ask(window, count))

    def ask_on(self):
        for count in [LOW] * 12 + [HIGH]:
            self.ask(count)

    @property
    def ended(self):
        return self.alert._lost

    def check(self):
        alert, loss = self.alert, self.alert._draws.loss
        assert self.drawn == len(alert.answers) or alert.closed, "one that is lost is the last"
        self.ask_until_closed()
        fired = sum(answer.fired for answer in self.told)
        if alert.plan.method == "gate":
            assert fired <= alert.plan.cutoff
        assert alert.spent >= loss(len(self.told) - fired, fired)
        stored = [part["window"] for part in self.account.kept]
        assert self.own or set(stored) >= {answer.window for answer in self.told}
        assert len(stored) == len(set(stored))
        alert.close()
        assert self.account.spent >= loss(len(self.told) - fired, fired)
        if alert._lost:
            assert self.account.spent == alert.epsilon, "nobody knows what was drawn"


RIGHT = np.ones(1000, dtype=bool)
HOLDOUT = {"size": 1000, "threshold": 0.2, "cutoff": 2, "epsilon": 10}


class WatchedHoldout(Watched):
    def __init__(self, ledger=None):
        self.account = ledger or Account()
        self.use = self.holdout = sg.uses.Holdout(**HOLDOUT, ledger=self.account)
        self.told = [self.holdout.score(1, RIGHT), self.holdout.score(0, RIGHT)]

    def ask(self, train=0):
        self.told.append(self.holdout.score(train, RIGHT))

    def ask_on(self):
        for train in (1, 1, 1, 1, 1, 1, 0):
            self.ask(train)

    @property
    def paid(self):
        return sum(score.paid for score in self.told)

    @property
    def ended(self):
        return self.holdout.closed

    def check(self):
        self.ask_until_closed()
        assert self.holdout.closed
        unsaid = self.paid < 2  # one was drawn, and counts as paid for
        cost = self.holdout.terms.cost(self.paid + unsaid)
        assert self.holdout.spent == cost
        self.holdout.close()
        assert self.account.spent >= cost


RECORDS = np.arange(1000)


def improvement(*, patience, ledger=None):
    """As ``improved`` makes it, without the preview, which takes longer than all the rest."""
    gate = sg.SparseVector(threshold=STEPS * 100, cutoff=2, sensitivity=STEPS, epsilon=20, ledger=ledger)
    return Improvement(gate, by=0.1, size=1000, patience=patience, ends=(0.0, 1.0))


class WatchedImprovement(Watched):
    """Candidates that are each better by 200 of 1000 records, or no better."""

    def __init__(self, right=500):
        self.account, self.right = Account(), right
        self.use = self.better = improvement(patience=3, ledger=self.account)
        self.told = [self.better(right > RECORDS) for right in (100, 100, 300)]

    def ask(self):
        self.told.append(self.better(self.right > RECORDS))

    def ask_on(self):
        for right in (300, 310, 500):
            self.told.append(self.better(right > RECORDS))

    @property
    def ended(self):
        return self.better.finished

    def check(self):
        better, before = self.better, len(self.told)
        if not better.finished:
            assert better.seen - before in (0, 1)  # 1: where it was counted, and was on its way
            best = {2: 300, 3: 500}[better.best or 0]
            assert better.best < better.seen
            assert better._best_sum == best * STEPS
            self.told.append(better(best + 200 > RECORDS))
        while not better.finished:
            self.told.append(better(RECORDS < 900))
        above = sum(map(bool, self.told[1:]))
        assert above <= 2
        cost = better._gate.cost(below=len(self.told) - 1 - above, above=above)
        assert better.spent >= cost
        better.close()
        assert self.account.spent >= cost
        with pytest.raises(sg.GateClosed):
            self.ask()


PREDICTOR = {"vocabulary": 3, "threshold": 0.5, "cutoff": 2, "epsilon": 4000, "clip": 5}


class WatchedPredictor(Watched):
    """After a 1 the private records disagree."""

    def __init__(self, token=1):
        self.account, self.token = Account(), token
        private = lambda text: [0, 0, 9] if text == (1,) else [0, 9, 0]  # noqa: E731
        self.use = self.predictor = sg.uses.PrivatePredictor(
            [private] * 3, lambda text: [0, 9, 0], ledger=self.account, **PREDICTOR
        )
        self.told = [self.predictor.predict((0,)), self.predictor.predict((1,))]

    def ask(self, token=None):
        with contextlib.suppress(sg.ParameterError):  # where memory was short to read what the public model said
            self.told.append(self.predictor.predict((self.token if token is None else token,)))

    def ask_on(self):
        for token in (0, 0, 0, 0, 0, 0, 0, 0, 1):
            self.ask(token)

    @property
    def ended(self):
        return self.predictor.closed

    def check(self):
        predictor = self.predictor
        self.ask_until_closed(partial(self.ask, 0), partial(self.ask, 1))
        assert predictor.closed
        paid = sum(each.paid for each in self.told)
        assert paid <= 2
        cost = predictor._gate._calibration.spent([(len(self.told) - paid, paid)])
        cost += paid * predictor.terms.token_epsilon
        assert predictor.spent >= cost
        predictor.close()
        assert self.account.spent >= cost
        assert not predictor.predict((1,), unchecked=True).checked


def counts(**options):
    return WatchedAlert(windows_per_user=3, method="counts", **options)


CASES = {
    "alert": (WatchedAlert, 1),
    "counts": (counts, 1),
    "holdout": (WatchedHoldout, 1),
    "improvement": (WatchedImprovement, 1),
    "no_improvement": (lambda: WatchedImprovement(300), 1),
    "paid_token": (WatchedPredictor, 5),
    "free_token": (lambda: WatchedPredictor(0), 5),
}
"""How each is made, and at every how many lines it is interrupted; the soak takes every line."""


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # what an account of one's own cannot store or take back
@pytest.mark.parametrize("soak", [False, pytest.param(True, marks=pytest.mark.soak)])
@either_error
@pytest.mark.parametrize("case", CASES)
def test_what_was_drawn_counts_wherever_it_is_interrupted(case, error, soak):
    make, every = CASES[case]
    ended = []

    def check(watched):
        ended.append(watched.ended)
        if isinstance(watched, WatchedAlert):
            watched.own = error is MemoryError
        watched.check()

    assert (
        interrupt_everywhere(make, lambda watched: watched.ask(), check, error=error, every=1 if soak else every) > 30
    )
    if case != "free_token":
        assert {True, False} == set(ended)


every_use = pytest.mark.parametrize("make", [WatchedAlert, WatchedHoldout, WatchedImprovement, WatchedPredictor])


@every_use
def test_it_is_not_copied_and_answers_no_more_in_a_forked_child(make):
    watched = make()
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(sg.SparsegateError, match="neither copied nor pickled"):
            copied(watched.use)
    assert isinstance(in_forked_child(watched.ask), sg.GateClosed)
    assert in_forked_child(lambda: (watched.use.close(), watched.account.back)[1]) == {}, "its owner has it still"
    watched.ask()


@every_use
def test_what_was_drawn_counts_whenever_a_signal_comes(make):
    assert interrupt_by_signal(make, make.ask_on, make.check, times=60, within=6e-4) > 10


@pytest.mark.parametrize("every", [19, pytest.param(1, marks=pytest.mark.soak)])
@either_error
def test_what_goes_on_from_its_state_file_fires_no_more_than_was_paid_for(again, error, every):
    told = {}

    def make():
        ledger = again()
        state = Path(f"{ledger.database.shown}.state")
        alert = sg.uses.Alert(**ALERT, ledger=ledger, state=state)
        told[str(state)] = [bool(alert.ask(0, LOW)), bool(alert.ask(1, HIGH))]
        return ledger, alert, state

    def act(made):
        told[str(made[2])].append(bool(made[1].ask(2, HIGH)))

    def check(made):
        ledger, alert, state = made
        answered = told[str(state)]
        alert.pause()
        with sg.uses.Alert(**ALERT, ledger=ledger, state=state) as later:
            kept = [part["fired"] for part in ledger.release(later.entry or 0).gave]
            assert kept[: len(answered)] == answered
            assert len(kept) <= 3
            if not later.closed:
                later.ask(3, HIGH)
            assert sum(answer.fired for answer in later.answers.values()) == 2
            assert later.closed
            later.close()
        assert ledger.total_spent().epsilon == later.epsilon  # both fired: all of it is used
        ledger.close()

    assert interrupt_everywhere(make, act, check, error=error, every=every) > 100


@either_error
def test_a_state_file_is_that_of_before_or_after_and_the_noise_is_in_no_other_file(error, tmp_path):
    first, second = AlertState(2, "visits", {}, b"secret"), AlertState(2, "visits", {}, b"secret", mark="row 7")

    def make():
        file = StateFile(tmp_path / "errors.state")
        file.write(first)
        return file

    def check(file):
        assert file.read() in (first, second)
        assert [path.name for path in tmp_path.iterdir()] == ["errors.state"]

    def forgotten(file):
        assert file.read() in (first, first._replace(noise=b""))

    assert interrupt_everywhere(make, lambda file: file.mark("row 7"), check, error=error) > 15
    assert interrupt_everywhere(make, StateFile.forget, forgotten, error=error) > 15


def test_whoever_waits_is_not_told_that_it_is_finished_while_another_asks(monkeypatch):
    watched, seen, ask = WatchedImprovement(), [], sg.SparseVector.ask
    look = lambda gate, units: seen.append(watched.better.finished) or ask(gate, units)  # noqa: E731
    monkeypatch.setattr(sg.SparseVector, "ask", look)
    watched.ask()
    assert seen == [False]


def test_a_holdout_that_is_interrupted_while_it_stores_an_answer_gives_no_other(monkeypatch):
    watched = WatchedHoldout()

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(watched.account, "keep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            watched.ask()
    with pytest.raises(sg.GateClosed, match="cut short or could not be stored"):
        watched.ask(1)
    assert watched.account.spent == watched.holdout.spent == watched.holdout.terms.cost(2)


@pytest.mark.parametrize("every", [29, pytest.param(1, marks=pytest.mark.soak)])
@either_error
def test_under_one_name_no_more_is_paid_for_wherever_it_is_interrupted(again, error, every):
    def check(watched):
        ledger = watched.account
        total = watched.holdout.epsilon
        del watched.holdout  # nobody closes it
        assert ledger.total_spent().epsilon <= total
        with contextlib.suppress(sg.GateClosed):
            watched.holdout = sg.uses.Holdout(**HOLDOUT, ledger=ledger)
            watched.ask()
        assert watched.paid <= 2
        assert ledger.total_spent().epsilon <= total
        ledger.close()

    make = lambda: WatchedHoldout(again())  # noqa: E731
    assert interrupt_everywhere(make, WatchedHoldout.ask, check, error=error, every=every) > 100


def test_patience_ends_wherever_it_is_interrupted():
    def make():
        better = improvement(patience=2)
        better(RECORDS < 100)
        better(RECORDS < 100)
        return better

    def check(better):
        for _ in range(2):  # the one that was cut short, and one that was on its way
            if not better.finished:
                better(RECORDS < 100)
        assert better.finished

    assert interrupt_everywhere(make, lambda better: better(RECORDS < 100), check) > 30


# Rows in windows: counted or not, and nobody counts in a window too many, at every instruction

WINDOWS = sg.uses.TimeWindows(width="1h", start=0)
LAST = 8
Row = tuple[str, int]

BEFORE = [("ann", 5), ("ann", 6), ("bob", 5), ("bob", 7), ("cem", 6), ("ann", 5)]
NOW = ("ann", 2)  # takes the place of window 6
AFTER = [("ann", 7), ("ann", 1), ("ann", 6), ("ann", 2), ("bob", 2), ("cem", 1)]


def added(counted, rows):
    for person, window in rows:
        counted.add(person, window * 3600)
    return counted


def expected(rows, most):
    """How many people have each window among their first ones."""
    windows = defaultdict(set)
    for person, window in rows:
        windows[person].add(window)
    kept = [sorted(each)[:most] for each in windows.values()]
    return [sum(window in each for each in kept) for window in range(LAST)]


@either_error
@pytest.mark.parametrize("most", [None, 1, 2])
@pytest.mark.parametrize("after", [[], AFTER])
def test_a_row_is_counted_or_not_wherever_it_is_interrupted(after, most, error):
    either = [expected([*BEFORE, *more, *after], most) for more in ([], [NOW])]
    seen = []

    def check(counted):
        added(counted, after)
        seen.append([counted.take(window) for window in range(LAST)])
        assert seen[-1] in either
        assert max(map(len, counted._first.values()), default=0) <= (most or 0)

    for opcodes in (False, True):
        interrupt_everywhere(
            lambda: added(PeopleInWindows(WINDOWS, per_user=most), BEFORE),
            lambda counted: added(counted, [NOW]),
            check,
            error=error,
            opcodes=opcodes,
        )
    assert len(seen) > 100
    assert either[0] in seen


@pytest.mark.parametrize("most", [None, 2])
@pytest.mark.parametrize("window", [5, 7])
def test_a_window_is_open_or_closed_wherever_its_end_is_interrupted(window, most):
    true = expected(BEFORE, most)

    def check(counted):
        added(counted, [("dan", window)])  # late, where it is closed
        if counted._next > window:
            with pytest.raises(sg.ParameterError, match="the others are closed"):
                counted.take(window)
        else:
            assert counted.take(window) == true[window] + 1
        assert [counted.take(later) for later in range(window + 1, LAST)] == true[window + 1 :]

    places = interrupt_everywhere(
        lambda: added(PeopleInWindows(WINDOWS, per_user=most), BEFORE),
        lambda counted: counted.take(window),
        check,
        opcodes=True,
    )
    assert places > 30
