"""Alerts on a stream: tell when the number of people in a window passes a threshold, and pay for what fires alone.

``alert_plan`` has the two ways to do that, and the choice between them. An alert on a ledger is a durable gate
(``ledger.gate``): each answer is stored *before* it is said. After a restart a window that was answered is not asked
again; with a state file, which holds the threshold noise, the alert goes on as if it had never stopped; without one it
begins anew, and another epsilon is charged. What goes back, and why: docs/explanation/proofs_in_words/uses.md.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from sparsegate.budget import Number, PaidByKeeper, Spender, check_truth, exact_count, public_line
from sparsegate.display.plain import exact_text, noisy_text
from sparsegate.errors import GateClosed, LedgerError, ParameterError
from sparsegate.gates.calibration import trusted_source
from sparsegate.gates.cells import Gates, resume_cells, threshold_noises
from sparsegate.gates.gate import resume, threshold_noise
from sparsegate.gates.laplace import laplace
from sparsegate.gates.per_above import zcdp_ledger
from sparsegate.gates.preview import Preview, previews
from sparsegate.gates.sparse_vector import SparseVector, gate_calibration
from sparsegate.ledger.gate import AnswerCounts, DurableGate, PaidGate, is_ledger, pay_for_gate
from sparsegate.noise import Source, exact_scale
from sparsegate.noise.own_settings import own_settings
from sparsegate.uses.alert_plan import CONFIDENCE, AlertPlan, Method
from sparsegate.uses.asking import AsksGate
from sparsegate.uses.windows import Moment, PeopleInCells, PeopleInWindows, TimeWindows

_LONGEST_NAME: Final = 100


@dataclass(frozen=True, kw_only=True)
class AlertAnswer:
    """What an alert says of one window. True where it fired; a released answer, that may be shown to anybody.

    ``estimate`` is the noisy count, with the ``standard_error`` of its noise: of a gate where it fired, if at all, and
    of noisy counts always. Of an alert with cells, ``cells`` has those that fired, each with its estimate.

    >>> import sparsegate as sg
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> alert = sg.uses.Alert(threshold=100, cutoff=2, epsilon=1, **seeded)
    >>> quiet, busy = alert.ask(0, 12), alert.ask(1, 900)  # the number of a window, and its people
    >>> bool(quiet), bool(busy)
    (False, True)
    >>> busy.window, busy.estimate, round(busy.standard_error, 1)
    (1, 906, 4.1)
    """

    window: int
    """The number of the window, from 0."""
    fired: bool
    """Whether its count, with noise, passed the threshold, with noise."""
    estimate: int | float | None = None
    standard_error: float | None = None
    cells: tuple[tuple[Hashable, int | float | None], ...] = ()

    def __bool__(self) -> bool:
        return self.fired

    def __str__(self) -> str:
        word = "fired" if self.fired else "quiet"
        text = f"window {self.window:,}: {word}{noisy_text(self.estimate, self.standard_error)}"
        parts = (f"{cell}{noisy_text(estimate, self.standard_error)}" for cell, estimate in self.cells)
        return f"{text}: {', '.join(parts)}" if self.cells else text

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it, and as the ledger keeps it."""
        numbers = {"estimate": self.estimate, "standard_error": self.standard_error}
        answer = {"window": self.window, "fired": self.fired} | {n: v for n, v in numbers.items() if v is not None}
        return answer | ({"cells": [list(cell) for cell in self.cells]} if self.cells else {})

    @classmethod
    def of_dict(cls, part: Mapping[str, Any]) -> AlertAnswer:
        """What ``to_dict`` gave, read again."""
        return cls(**{**part, "cells": tuple((cell, estimate) for cell, estimate in part.get("cells", ()))})


class AlertState(NamedTuple):
    """What a state file holds: the entry that an alert goes on with, its settings, and its noise, if it has any.

    ``mark`` says which rows were counted, to whoever must count them again.
    """

    entry: int
    dataset: str
    settings: dict[str, Any]
    noise: bytes
    mark: str = ""


class _Before(NamedTuple):
    """What an alert that goes on had: its noise, and its answers."""

    secret: bytes
    counts: AnswerCounts
    answers: Mapping[int, AlertAnswer]


class StateFile:
    """A file beside the data, for its owner's eyes alone."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def read(self) -> AlertState | None:
        """What it holds; None where there is none."""
        try:
            held = json.loads(self._path.read_text(encoding="utf-8"))
            settings, noise = dict(**held["settings"]), bytes.fromhex(held["noise"])
            return AlertState(held["entry"], held["dataset"], settings, noise, str(held["mark"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            rule = "must be a readable state file of an alert, or not be there yet"
            raise ParameterError("state", rule, str(self._path), "give another path") from None

    def make_ready(self) -> None:
        """Refuse a place that cannot be written, before anything is charged."""
        try:
            self._write("")
            self._draft.unlink()
        except OSError as error:
            rule = f"must be a path that can be written ({error.strerror})"
            raise ParameterError("state", rule, str(self._path), "give another path") from None

    def write(self, state: AlertState) -> None:
        """Store it, whole or not at all, and on the disk when this returns."""
        from sparsegate.ledger.database import sync_folder

        try:
            try:
                self._write(json.dumps({**state._asdict(), "noise": state.noise.hex()}))
                self._draft.replace(self._path)
            except BaseException:  # an interrupt would leave the noise in a second file
                with suppress(OSError):
                    self._draft.unlink()
                raise
            sync_folder(self._path.parent)
        except OSError as error:
            raise LedgerError(
                f"the state file cannot be written: {error.strerror}; what the alert was charged stays charged"
            ) from None

    def mark(self, mark: str) -> None:
        """Store which rows were counted, before an answer depends on them."""
        if (held := self.read()) is not None:
            self.write(held._replace(mark=mark))

    def forget(self) -> None:
        """Take the noise out of it, if it can be written; that the alert has ended is on the ledger."""
        with suppress(LedgerError, ParameterError):
            if (held := self.read()) is not None:
                self.write(held._replace(noise=b"", mark=""))

    @property
    def _draft(self) -> Path:
        return self._path.with_name(f"{self._path.name}.{os.getpid()}.new")

    def _write(self, text: str) -> None:
        self._draft.unlink(missing_ok=True)  # of a process that died, or a link that somebody laid
        with os.fdopen(os.open(self._draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())


class _Gate:
    """A gate over the counts; over the negated counts where small ones fire, which one person moves one way as well."""

    def __init__(self, plan: AlertPlan, noise: dict[str, Any], before: _Before | None) -> None:
        self._plan, options = plan, {**plan.gate_options, **noise}
        if plan.price is not None:
            options["ledger"] = PaidByKeeper()
        if before is None:
            self._gate = SparseVector(**options)
        else:
            counts = before.counts
            self._gate = resume(SparseVector, before.secret, asked=counts.asked, positives=counts.above, **options)

    @property
    def closed(self) -> bool:
        return self._gate.closed

    @property
    def secret(self) -> bytes:
        return threshold_noise(self._gate)

    def answer(self, window: int, count: int) -> AlertAnswer:
        answer = self._gate.ask(self._plan.sign * count)
        if answer.estimate is None:
            return AlertAnswer(window=window, fired=answer.above)
        error, estimate = round(answer.standard_error or 0.0, 2), self._plan.sign * answer.estimate
        return AlertAnswer(window=window, fired=answer.above, estimate=estimate, standard_error=error)

    def loss(self, quiet: int, fired: int) -> Fraction:
        return self._gate.cost(below=quiet, above=fired)

    def spent(self, counts: AnswerCounts) -> Fraction:
        return counts.cost(self.loss)

    def remaining(self, counts: AnswerCounts) -> int | None:
        if self._plan.price is not None:
            return None
        rarer = self._plan.gate_options["closes"] == "rarer"
        return self._plan.cutoff - (min(counts.above, counts.below) if rarer else counts.above)


class _Counts:
    """A noisy count of every window, of scale w/epsilon for a person in w of them at most."""

    closed, secret = False, b""

    def __init__(self, plan: AlertPlan, noise: dict[str, Any], _: _Before | None) -> None:
        assert plan.moved is not None
        self._plan, self._moved, self._noise = plan, plan.moved, noise
        ratio = math.exp(-1 / exact_scale(plan.moved / plan.epsilon))
        self._standard_error = round(math.sqrt(2 * ratio) / (1 - ratio), 2)

    def answer(self, window: int, count: int) -> AlertAnswer:
        noisy = laplace(count, epsilon=self._plan.epsilon, sensitivity=self._moved, **self._noise)
        fired = self._plan.sign * noisy >= self._plan.gate_options["threshold"]
        return AlertAnswer(window=window, fired=fired, estimate=noisy, standard_error=self._standard_error)

    def loss(self, quiet: int, fired: int) -> Fraction:
        return min(quiet + fired, self._moved) * self._plan.epsilon / self._moved

    def spent(self, counts: AnswerCounts) -> Fraction:
        return counts.cost(self.loss)

    def remaining(self, _: AnswerCounts) -> None:
        return None


class _CellGates:
    """A gate for each public cell, over its counts; all cells whose gates are open are asked of every window."""

    def __init__(self, plan: AlertPlan, noise: dict[str, Any], before: _Before | None) -> None:
        self._sign, self._calibration = plan.sign, gate_calibration(**plan.gate_options)
        options = {**plan.gate_options, "epsilon": plan.epsilon, **noise}
        options |= {"cells": plan.cells, "cells_per_user": plan.cells_per_user}
        if before is None:
            self._gates = Gates(**options)
        else:
            fired = [{cell for cell, _ in answer.cells} for _, answer in sorted(before.answers.items())]
            answered = {cell: self._counts(cell, fired) for cell in set().union(*fired)}
            self._gates = resume_cells(before.secret, asked=len(fired), answered=answered, **options)

    def _counts(self, cell: Hashable, fired: list[set[Hashable]]) -> tuple[int, int]:
        """How often a cell was asked, until its gate closed, and how often it fired."""
        below = above = 0
        for window in fired:
            if self._calibration.finished(below, above):
                break
            below, above = below + (cell not in window), above + (cell in window)
        return below + above, above

    @property
    def closed(self) -> bool:
        return all(self._gates[cell].closed for cell in self._gates.cells)

    @property
    def secret(self) -> bytes:
        return threshold_noises(self._gates)

    def answer(self, window: int, counts: Mapping[Any, int]) -> AlertAnswer:
        answers = self._gates.ask_all({cell: self._sign * count for cell, count in counts.items()})
        fired = {cell: answer for cell, answer in answers.items() if answer}
        error = next((round(answer.standard_error or 0.0, 2) for answer in fired.values()), None) or None
        cells = tuple(
            (cell, None if answer.estimate is None else self._sign * answer.estimate) for cell, answer in fired.items()
        )
        return AlertAnswer(window=window, fired=bool(fired), standard_error=error, cells=cells)

    def spent(self, _: AnswerCounts) -> Fraction:
        return self._gates.spent

    def remaining(self, _: AnswerCounts) -> int:
        return sum(self._gates[cell].remaining or 0 for cell in self._gates.cells)


class Alert(AsksGate):
    """Watches the number of people in each window of a stream, and fires where it passes a threshold.

    **Theorem.** For neighbours that differ in one person, with all their rows in all windows, everything that ever
    leaves this object is epsilon-DP together. *Proof.* One person moves each count by at most 1, all in one direction,
    and those of at most ``windows_per_user`` windows (``windows``). A gate, or a noisy count of every window, is then
    eps-DP: ``alert_plan`` has both proofs, and the choice. Which windows are asked, and when, is the work of a
    public clock. Answers that are read again after a restart are functions of what was released, and what goes on does
    so as if it had never stopped. []

    A person in every window costs a gate no more than a person in one, and a quiet year eps1 (``plan.quiet_cost``).

    Parameters
    ----------
    threshold : T, a public whole number of people.
    cutoff : c, how often it fires at most; a noisy count of every window has no such limit. Left out, with ``within``
        in its place and a zCDP ledger: it has none either, and pays for each alarm.
    epsilon : the privacy loss of all windows together, however many; left out without a cutoff.
    windows : a ``TimeWindows``, for rows (``add``, ``advance``); without it, ``ask`` takes counts that you made.
    windows_per_user : w; a person counts in their w earliest windows alone. Cut where rows are added; where counts are
        asked it is your promise. None: no limit, which a gate does not need.
    most_windows : N; the alert closes after this many windows. By default as many as ``windows`` has.
    fires : "above", where a count is T or more; "below", where it is T or less, as in an outage.
    closes : "rarer" for a gate that goes on until it has fired c times *and* been quiet c times: where you cannot say
        which of the two is the common state. Otherwise choose ``fires`` so that firing is rare: it has less noise.
    method : "auto", "gate" or "counts": see ``alert_plan``.
    cells : PUBLIC labels, texts or whole numbers, for a gate for each of them: cities, say. Then rows have a third
        part, their cell, ``ask`` takes a mapping from cells to counts, and ``cutoff`` is that of each cell.
    cells_per_user : m, 1 unless given; a person counts in their first m cells alone. Cut where rows are added; where
        counts are asked it is your promise. Each cell has epsilon/m.
    within : without a cutoff, how far from T a count must be to be answered rightly with 95 %.
    expect : without a cutoff, for how many alarms the noise is chosen: 10 unless given.
    name : of this alert on its ledger. Windows that an alert of the name has answered are not asked again.
    about : what is counted, in a public line: an alert of the name that counts something else is refused.
    ledger : an open ``sparsegate.Ledger``, charged before anything is drawn; it keeps every answer.
    state : a file for the threshold noise, as secret as the data. With it an alert that is stopped, or dies, goes on
        when it is made again with the same settings, and nothing more is charged. It needs a ledger.
    refund : ``close`` gives back what the answers did not cost, to a ledger that adds epsilons.
    source, not_private : ``Secure()``; a ``Seeded`` source is for tests, and needs not_private=True.

    >>> import sparsegate as sg
    >>> windows = sg.uses.TimeWindows(width="1h", start="2026-03-01T00:00")
    >>> with sg.uses.Alert(threshold=500, cutoff=3, epsilon=1, windows=windows) as alert:
    ...     for visitor in range(2000):
    ...         alert.add(visitor, "2026-03-01T01:30")
    ...     [answer.fired for answer in alert.advance("2026-03-01T03:00")]
    [False, True, False]
    """

    _uncopied = "an alert can be neither copied nor pickled: two copies would answer for one budget"
    _closed_says = "this alert is closed: {}; make another, which spends a new epsilon, to ask on"

    @own_settings
    def __init__(
        self,
        *,
        threshold: int,
        cutoff: int | None = None,
        epsilon: Number | None = None,
        windows: TimeWindows | None = None,
        windows_per_user: int | None = None,
        most_windows: int | None = None,
        fires: Literal["above", "below"] = "above",
        closes: Literal["above", "rarer"] = "above",
        method: Method = "auto",
        cells: Iterable[Hashable] | int | None = None,
        cells_per_user: int | None = None,
        within: Number | None = None,
        expect: int | None = None,
        name: str = "alert",
        about: str = "people",
        ledger: Spender | None = None,
        state: str | Path | None = None,
        refund: bool = True,
        source: Source | None = None,
        not_private: bool = False,
    ) -> None:
        plan = self._plan = AlertPlan.of(**locals())
        if plan.price is not None:
            zcdp_ledger(ledger)
        public_line(name, "name", most=_LONGEST_NAME)
        public_line(about, "about")
        check_truth(refund, "refund")
        super().__init__()
        self.plan: Preview = plan.preview()
        self.threshold, self.fires, self.windows = threshold, fires, windows
        noise: dict[str, Any] = {"source": trusted_source(source, not_private), "not_private": not_private}
        self._people: PeopleInWindows | PeopleInCells | None = None
        if windows is not None and plan.cells:
            self._people = PeopleInCells(windows, cells=frozenset(plan.cells), per_user=plan.cells_per_user)
        elif windows is not None:
            self._people = PeopleInWindows(windows, per_user=windows_per_user)
        self._stopped, self._next, self._refund = "", 0, refund and not not_private
        asks: dict[str, Any] = {"threshold": threshold, "fires": fires, "windows_per_user": windows_per_user}
        asks |= {"about": about, "windows": None if windows is None else windows.settings()}
        asks["cells"] = hashlib.sha256(json.dumps(plan.cells).encode()).hexdigest() if plan.cells else None
        asks["cells_per_user"] = plan.cells_per_user if plan.cells else None
        settings = {**asks, "cutoff": plan.cutoff, "epsilon": exact_text(plan.epsilon), "closes": closes}
        settings |= {"method": plan.method, "moved": plan.moved, "most_windows": plan.most_windows}
        if plan.price is not None:
            settings |= {"cutoff": None, "within": str(within), "alarm": exact_text(plan.price.above)}
        settings |= {"not_private": True} if not_private else {}  # noise that is known protects nobody who comes later
        self._answers: dict[int, AlertAnswer] = {}
        self._file = None if state is None else _state_file(state, ledger)
        earlier = self._earlier(ledger, title := f"alert {name!r}", asks)
        held = None if self._file is None else self._file.read()
        each = None if plan.price is None else (plan.price.above, plan.price.above_rho)
        self._paid: PaidGate
        before = None
        if held is not None:
            self._paid = going_on = _going_on(held, earlier, settings)
            kept = map(AlertAnswer.of_dict, going_on.answers())
            before = _Before(held.noise, going_on.counts, {answer.window: answer for answer in kept})
            if each is not None:
                going_on.ledger.go_on(going_on, each)
        else:
            if self._file is not None:
                self._file.make_ready()
            of_cells = f" of each of {len(plan.cells)} cells, {plan.cells_per_user} a person" if plan.cells else ""
            limit = f"cutoff {plan.cutoff}" if each is None else "each alarm paid for"
            what = f"{plan.method}{of_cells}, fires {fires} {threshold}, {limit}"
            charged: dict[str, Any] = {"cost": plan.cost, "refund": self._refund, "each": each}
            self._paid = pay_for_gate(ledger, title=title, what=what, terms=settings, **charged)
        draws = _CellGates if plan.cells else _Gate if plan.method == "gate" else _Counts
        self._draws: _Gate | _Counts | _CellGates = draws(plan, noise, before)
        if before is None and self._file is not None and isinstance(self._paid, DurableGate):
            entry = self._paid.entry.number
            self._file.write(AlertState(entry, self._paid.ledger.dataset, settings, self._draws.secret))
        self._last = max(self._answers, default=-1)

    @staticmethod
    @previews(__init__)
    def preview(**parameters: Any) -> Preview:
        """What an alert with these parameters would be good for: nothing is drawn, charged or looked at.

        They are those of the alert; the last seven change nothing. ``quiet_cost`` is what windows cost that never
        fire, however many, and ``margin_all`` the margin at which all windows are right at once, with 95 %; None where
        nobody said how many there are.

        >>> import sparsegate as sg
        >>> preview = sg.uses.Alert.preview(threshold=100, cutoff=10, epsilon=0.5, windows_per_user=3)
        >>> preview.method, preview.margin
        ('counts', 15)
        >>> print(preview.statement)
        a noisy count of every window: right with 95 % for a count 15 or more from the threshold (gate 43; noisy ...
        """
        return AlertPlan.of(**parameters).preview()

    def _earlier(self, ledger: Spender | None, title: str, asks: Mapping[str, Any]) -> list[DurableGate]:
        """The gates of alerts of this name; what they answered is answered."""
        if not is_ledger(ledger):
            return []
        with ledger.database.reading() as connection:
            gates = ledger.gates(connection, title)
        for gate in gates:
            if other := [word for word, value in asks.items() if gate.terms.get(word) != value]:
                rule = f"must be new where {', '.join(other)} changes: another alert of this name is on the ledger"
                raise ParameterError("name", rule, title, "pass another name=")
            self._answers |= {part["window"]: AlertAnswer.of_dict(part) for part in gate.answers()}
        return gates

    @own_settings
    def ask(self, window: int, count: int | Mapping[Any, int]) -> AlertAnswer:
        """Does it fire for a window with this many people? Windows come in their order; one may be left out.

        With cells, ``count`` has the people of each; a cell without a count has 0, and what is no cell is left out.

        A window that was answered before, here or by an alert of this name on the ledger, has its answer again: the
        count is not looked at. No value of a count is refused, only a type.
        """
        if isinstance(window, bool) or not isinstance(window, Integral) or window < 0:
            raise ParameterError("window", "must be a whole number of at least 0", window)
        if not self._plan.cells:
            counts: Any = _whole(count)
        else:
            if not isinstance(count, Mapping):
                rule = "must be a mapping from cells to people"
                raise ParameterError("count", rule, next_step='pass for instance {"Berlin": 812}')
            counts = {cell: _whole(people) for cell, people in count.items()}
        return self._in_turn(self._ask, int(window), counts)

    def _ask(self, window: int, counts: Any) -> AlertAnswer:
        if (answered := self._answers.get(window)) is not None:
            return answered
        if not self._ended and window <= self._last:
            raise ParameterError("window", f"must come after window {self._last}, the last answered", window)
        return self._answered(self._draw, window, counts)

    def _draw(self, window: int, counts: Any) -> AlertAnswer:
        answer = self._draws.answer(window, counts)
        self._paid.keep(answer.to_dict(), above=answer.fired)
        self._answers[window] = answer  # from now on it is given again
        self._last = window
        return answer

    def _lose(self) -> None:
        self._stopped = "its last answer was cut short or could not be stored"

    @own_settings
    def add(self, user: Any, time: Any, cell: Any = None) -> None:
        """One row: who, when, and in which cell. What cannot be read is nobody's, or nowhere; nothing is refused.

        After a restart with ``windows_per_user`` or ``cells`` add all rows again, in their order, from the first window
        on: ``windows`` says why.
        """
        self._counted().add(user, time, cell)

    @own_settings
    def add_rows(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Many rows: who and when, and with cells in which of them."""
        counted = self._counted()
        for user, time, *cell in rows:
            counted.add(user, time, *cell[:1])

    @own_settings
    def advance(self, clock: Moment) -> Iterator[AlertAnswer]:
        """Close the windows that are over at this moment of a **public** clock, and answer them, one by one.

        Never the time of a row: see ``windows``. Each is answered as you go through them; windows that were answered
        before a restart are passed over. It ends where the alert is closed.
        """
        counted = self._counted()
        assert self.windows is not None
        counted.latest = self.windows.running(clock) + 1
        return self._due(self.windows.closed_by(clock))

    def _due(self, closed: int) -> Iterator[AlertAnswer]:
        while self._next < closed and not self.closed:
            window, self._next = self._next, self._next + 1
            count = self._counted().take(window)
            if window not in self._answers and window > self._last:
                yield self.ask(window, count)

    def _counted(self) -> PeopleInWindows | PeopleInCells:
        if self._people is None:
            raise ParameterError("windows", "must be given for rows", next_step="pass windows=sg.uses.TimeWindows(...)")
        return self._people

    @property
    def answers(self) -> Mapping[int, AlertAnswer]:
        """Every answer that an alert of this name has given, by its window."""
        return MappingProxyType(self._answers)

    @property
    def next_window(self) -> int:
        """The window that ``advance`` closes next."""
        return self._next

    @property
    def entry(self) -> int | None:
        """The number of its entry on the ledger; None without one."""
        return self._paid.entry.number if isinstance(self._paid, DurableGate) else None

    @property
    def _ended(self) -> str:
        if self._elsewhere:
            return "it belongs to another process"
        most = self._plan.most_windows
        full = f"all {most} windows are answered" if most is not None and self._paid.counts.asked >= most else ""
        fired = "it has fired as often as it may" if self._draws.closed else ""
        return self._stopped or ("its ledger cannot pay for another alarm" if self._paid.exhausted else fired or full)

    @property
    def closed(self) -> bool:
        """Whether it answers no more."""
        return bool(self._ended)

    @property
    def remaining(self) -> int | None:
        """How often it can still fire, of all cells together, of a gate that closes on the rarer answer how often that.

        None: no limit.
        """
        return self._draws.remaining(self._paid.counts)

    @property
    def epsilon(self) -> Fraction:
        """What is charged while it may answer; where each alarm is paid for, so far, with the one that is reserved."""
        price, held = self._plan.price, not self._paid.exhausted
        return self._plan.epsilon + (0 if price is None else (self._paid.counts.above + held) * price.above)

    @property
    def whole(self) -> bool:
        """Whether all of ``epsilon`` counts, whatever was said: on a zCDP ledger."""
        return self._paid.whole

    @property
    def spent(self) -> Fraction:
        """What the answers so far have cost: a function of what was released. On a zCDP ledger, to which nothing goes
        back, all of ``epsilon`` from the start.
        """
        if self._plan.price is not None:
            return self._plan.epsilon + (self._paid.counts.above + self._lost) * self._plan.price.above
        if self._paid.whole:
            return self.epsilon
        return self._draws.spent(self._paid.counts)

    @property
    def rho_spent(self) -> Fraction | None:
        """What the opening and the alarms so far have cost in rho, where each alarm is paid for; else None."""
        price = self._plan.price
        return None if price is None else price.rho(self._paid.counts.above + self._lost)

    def margin(self, confidence: float = CONFIDENCE, *, windows: int | None = None) -> int:
        """How far from the threshold a count must be to be answered rightly with this probability.

        With ``windows`` how far all the counts of this many windows must be, to be answered rightly all of them.
        """
        most = None if windows is None else exact_count(windows, "windows")
        return self._plan.margin(confidence, windows=most)

    def facts(self) -> dict[str, float]:
        """Numbers for whoever watches the alert itself: released facts and public numbers, and nothing else."""
        return {
            "windows_answered": len(self._answers),
            "windows_fired": sum(answer.fired for answer in self._answers.values()),
            "epsilon_reserved": float(self.epsilon),
            "epsilon_spent": float(self.spent),
            "closed": float(self.closed),
            "threshold": self.threshold,
            "margin": self.plan.margin,
        }

    def pause(self) -> None:
        """Stop answering, and give nothing back: with its state file the alert can go on.

        What is reserved for the next alarm, where each is paid for, goes back all the same, and is reserved again then.
        """
        if self._elsewhere:
            return
        with self._lock:
            self._settle()
            self._stopped = self._stopped or "it is paused, and goes on when it is made again with its state file"
        self._let_go()

    def _let_go(self) -> None:
        """What is reserved for the next alarm goes back, unless the last answer was lost, or nothing shall."""
        if self._refund and not self._lost:
            self._paid.let_go()

    def close(self) -> None:
        """Stop for good, and give back to the ledger what the answers did not cost: epsilon - ``spent``, once.

        To a zCDP ledger nothing goes back but what is reserved for the next alarm, where each is paid for.
        """
        if self._elsewhere:
            return
        with self._lock:
            self._settle()
            self._stopped = self._stopped or "it was closed by hand"
            if self._lost:
                return
        if self._file is not None:
            self._file.forget()
        self._paid.close(self.spent)
        self._let_go()

    def __exit__(self, *exc: object) -> None:
        if self._file is None:
            self.close()
        else:
            self.pause()

    def __repr__(self) -> str:
        state, counts = "closed" if self.closed else "open", self._paid.counts
        return f"<Alert: {self._plan.method}, {counts.asked} windows, {counts.above} fired, {state}>"


def _whole(count: Any) -> int:
    if isinstance(count, bool) or not isinstance(count, Integral):
        raise ParameterError("count", "must be a whole number of people", next_step="count different people")
    return int(count)


def _state_file(path: object, ledger: Spender | None) -> StateFile:
    if not isinstance(path, str | Path) or not str(path):
        raise ParameterError("state", "must be the path of a file", path)
    if not is_ledger(ledger):
        raise ParameterError("state", "needs a ledger, which says what was answered", next_step="pass ledger=")
    return StateFile(path)


def _going_on(held: AlertState, earlier: list[DurableGate], settings: Mapping[str, Any]) -> DurableGate:
    """The gate of a state file, which must be one of this alert, and have an end to come."""
    if other := sorted(
        key for key in settings.keys() | held.settings.keys() if settings.get(key) != held.settings.get(key)
    ):
        rule = f"must be that of an alert with the same settings, and {', '.join(other)} differs"
        raise ParameterError("state", rule, next_step="give the settings back, or another state= file")
    gate = next((gate for gate in earlier if gate.entry.number == held.entry), None)
    if gate is None or held.dataset != gate.ledger.dataset:
        raise ParameterError("state", "must belong to this ledger", next_step="give the ledger it was made with")
    gone = settings["method"] == "gate" and not held.noise
    if gate.closed or gate.given_back or gone:
        why = gate.closed or "its noise is gone, or it gave back what it did not cost"
        raise GateClosed(f"this alert is closed: {why}; remove the state file, and a new one is charged")
    return gate
