"""Alerts on a stream: tell when the number of people in a window passes a threshold, and pay for what fires alone."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from numbers import Integral
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NoReturn, Self

from sparsegate.budget import LONGEST_LINE, Charge, Number, Spender, exact_count
from sparsegate.display.plain import exact_text
from sparsegate.errors import GateClosed, ParameterError
from sparsegate.mechanisms.calibration import trusted_source
from sparsegate.noise import Source
from sparsegate.noise.lineage import MARK, birthmark
from sparsegate.noise.own_settings import own_settings
from sparsegate.noise.uncopied import Uncopied
from sparsegate.uses.alerts.alert_draws import CountDraws, Draws, GateDraws
from sparsegate.uses.alerts.alert_plan import CONFIDENCE, AlertPlan, Method, plan_alert
from sparsegate.uses.alerts.alert_record import AlertAnswer, AlertRecord, StateFile
from sparsegate.uses.alerts.windows import Moment, PeopleInWindows, TimeWindows

_SIGNS: Final = {"above": 1, "below": -1}
_LONGEST_NAME: Final = 100


class Alert(Uncopied):
    """Watches the number of people in each window of a stream, and fires where it passes a threshold.

    **Theorem.** For neighbours that differ in one person, with all their rows in all windows, everything that ever
    leaves this object is epsilon-DP together. *Proof.* One person moves each count by at most 1, all in one direction,
    and those of at most ``windows_per_user`` windows (``windows``). A gate, or a noisy count of every window, is then
    eps-DP: ``alert_plan`` has both proofs, and the choice, which public numbers make. Which windows are asked, and
    when, is the work of a public clock. Answers that are read again after a restart are functions of what was
    released, and what goes on does so as if it had never stopped (``alert_record``). []

    So a person in every window costs a gate no more than a person in one, and a year in which nothing happens costs
    eps1 (``plan.quiet_cost``), not epsilon.

    Parameters
    ----------
    threshold : T, a public whole number of people.
    cutoff : c, how often it fires at most; a noisy count of every window has no such limit.
    epsilon : the privacy loss of all windows together, however many.
    windows : a ``TimeWindows``, for rows (``add``, ``advance``); without it, ``ask`` takes counts that you made.
    windows_per_user : w; a person counts in their w earliest windows alone. Cut where rows are added; where counts are
        asked it is your promise. None: no limit, which a gate does not need.
    most_windows : N; the alert closes after this many windows. By default as many as ``windows`` has.
    fires : "above", where a count is T or more; "below", where it is T or less, as in an outage.
    closes : "rarer" for a gate that goes on until it has fired c times *and* been quiet c times: where you cannot say
        which of the two is the common state. Otherwise choose ``fires`` so that firing is rare: it has less noise.
    method : "auto", "gate" or "counts": see ``alert_plan``.
    name : of this alert on its ledger. Windows that an alert of the name has answered are not asked again.
    about : what is counted, in a public line: an alert of the name that counts something else is refused.
    ledger : an open ``sparsegate.Ledger``, charged before anything is drawn; it keeps every answer.
    state : a file for the threshold noise, as secret as the data. With it an alert that is stopped, or dies, goes on
        when it is made again with the same settings, and nothing more is charged. It needs a ledger.
    refund : ``close`` gives back what the answers did not cost.
    source, not_private : ``Secure()``; a ``Seeded`` source is for tests, and needs not_private=True.

    >>> import sparsegate as sg
    >>> windows = sg.TimeWindows(width="1h", start="2026-03-01T00:00")
    >>> with sg.Alert(threshold=500, cutoff=3, epsilon=1, windows=windows) as alert:
    ...     for visitor in range(2000):
    ...         alert.add(visitor, "2026-03-01T01:30")
    ...     [answer.fired for answer in alert.advance("2026-03-01T03:00")]
    [False, True, False]
    """

    _uncopied = "an alert can be neither copied nor pickled: two copies would answer for one budget"

    @own_settings
    def __init__(
        self,
        *,
        threshold: int,
        cutoff: int,
        epsilon: Number,
        windows: TimeWindows | None = None,
        windows_per_user: int | None = None,
        most_windows: int | None = None,
        fires: Literal["above", "below"] = "above",
        closes: Literal["above", "rarer"] = "above",
        method: Method = "auto",
        name: str = "alert",
        about: str = "people",
        ledger: Spender | None = None,
        state: str | Path | None = None,
        refund: bool = True,
        source: Source | None = None,
        not_private: bool = False,
    ) -> None:
        if windows is not None and not isinstance(windows, TimeWindows):
            raise ParameterError("windows", "must be a TimeWindows", windows, 'sg.TimeWindows(width="5m", start=...)')
        if not isinstance(fires, str) or fires not in _SIGNS:
            raise ParameterError("fires", 'must be "above" or "below"', fires, "leave it out")
        for word, text, most in (("name", name, _LONGEST_NAME), ("about", about, LONGEST_LINE)):
            if not (isinstance(text, str) and 0 < len(text) <= most and text.isprintable()):
                raise ParameterError(word, f"must be one printable line of 1 to {most} characters", text)
        if not isinstance(refund, bool):
            raise ParameterError("refund", "must be True or False", refund)
        if most_windows is None and windows is not None:
            most_windows = windows.count
        self.plan: AlertPlan = plan_alert(
            threshold=threshold,
            cutoff=cutoff,
            epsilon=epsilon,
            windows_per_user=windows_per_user,
            most_windows=most_windows,
            closes=closes,
            method=method,
        )
        self.threshold, self.fires, self.windows = threshold, fires, windows
        self._sign, self._most, self._refund, self._rarer = _SIGNS[fires], most_windows, refund, closes == "rarer"
        self._noise: dict[str, Any] = {"source": trusted_source(source, not_private), "not_private": not_private}
        self._people = None if windows is None else PeopleInWindows(windows, per_user=windows_per_user)
        self._lock, self._born, self._stopped, self._next = threading.Lock(), birthmark(), "", 0
        self._unsaid = self._lost = False
        asks: dict[str, Any] = {"threshold": threshold, "fires": fires, "windows_per_user": windows_per_user}
        asks["about"], asks["windows"] = about, None if windows is None else windows.settings()
        settings = {**asks, "cutoff": self.plan.cutoff, "epsilon": exact_text(self.plan.epsilon), "closes": closes}
        settings |= {"method": self.plan.method, "moved": self.plan.moved, "most_windows": most_windows}
        settings |= {"not_private": True} if not_private else {}  # noise that is known protects nobody who comes later
        self._record = AlertRecord(ledger, name=name, settings=settings, asks=asks)
        self._file = None if state is None else self._state_file(state)
        self._charge, self._draws = self._begin()
        self._last = max(self._record.answers, default=-1)

    def _state_file(self, path: object) -> StateFile:
        if not isinstance(path, str | Path) or not str(path):
            raise ParameterError("state", "must be the path of a file", path)
        if not self._record.can_resume:
            raise ParameterError("state", "needs a ledger, which says what was answered", next_step="pass ledger=")
        return StateFile(path)

    def _begin(self) -> tuple[Charge, Draws]:
        """Go on where a state file says so; or charge the ledger and begin."""
        held = None if self._file is None else self._file.read()
        if held is not None:
            paid = self._record.go_on(held)
            return paid, self._made(paid, secret=held.noise, asked=self._record.asked, positives=self._record.fired)
        if self._file is not None:
            self._file.make_ready()
        side = f"{self.plan.method}, fires {self.fires} {self.threshold}, cutoff {self.plan.cutoff}"
        paid = self._record.begin(epsilon=self.plan.epsilon, what=side)
        draws = self._made(paid)
        if self._file is not None:
            self._file.write(self._record.state(draws.secret))
        return paid, draws

    def _made(self, paid: Charge, **held: Any) -> Draws:
        options: dict[str, Any] = {"sign": self._sign, "paid": paid, "refund": self._refund, "noise": self._noise}
        if self.plan.method == "gate":
            return GateDraws(self.plan, held=held, **options)
        return CountDraws(self.plan, **options)

    @own_settings
    def ask(self, window: int, count: int) -> AlertAnswer:
        """Does it fire for a window with this many people? Windows come in their order; one may be left out.

        A window that was answered before, here or by an alert of this name on the ledger, has its answer again: the
        count is not looked at. No value of a count is refused, only a type.
        """
        if isinstance(window, bool) or not isinstance(window, Integral) or window < 0:
            raise ParameterError("window", "must be a whole number of at least 0", window)
        if isinstance(count, bool) or not isinstance(count, Integral):
            raise ParameterError("count", "must be a whole number of people", next_step="count different people")
        if self._born != MARK[0]:  # before the lock: a fork may have left it held for ever
            self._refuse()
        with self._lock:
            self._stop_if_lost()
            if (given := self._record.answers.get(int(window))) is not None:
                return given
            if self.closed:
                self._refuse()
            if window <= self._last:
                raise ParameterError("window", f"must come after window {self._last}, the last answered", window)
            try:
                self._unsaid = True  # from before it is drawn until it is stored
                answer = self._draws.answer(int(window), int(count))
                self._record.keep(answer)
                self._last = int(window)
                self._unsaid = False
            finally:
                self._stop_if_lost()
            return answer

    def _stop_if_lost(self) -> None:
        """Nobody may see an answer that was drawn and not stored, and nothing follows it here."""
        if self._unsaid:
            self._lost, self._stopped = True, "its last answer was cut short or could not be stored"

    @own_settings
    def add(self, user: Any, time: Any) -> None:
        """One row: who, and when. What cannot be read is nobody's, or in no window; nothing is refused.

        After a restart with ``windows_per_user`` add all rows again, from the first window on: ``windows`` says why.
        """
        self._counted().add(user, time)

    @own_settings
    def add_rows(self, rows: Iterable[tuple[Any, Any]]) -> None:
        """Many rows: pairs of who and when."""
        counted = self._counted()
        for user, time in rows:
            counted.add(user, time)

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
            if window not in self._record.answers and window > self._last:
                yield self.ask(window, count)

    def _counted(self) -> PeopleInWindows:
        if self._people is None:
            raise ParameterError("windows", "must be given for rows", next_step="pass windows=sg.TimeWindows(...)")
        return self._people

    @property
    def answers(self) -> Mapping[int, AlertAnswer]:
        """Every answer that an alert of this name has given, by its window."""
        return MappingProxyType(self._record.answers)

    @property
    def next_window(self) -> int:
        """The window that ``advance`` closes next."""
        return self._next

    @property
    def entry(self) -> int | None:
        """The number of its entry on the ledger; None without one."""
        number = getattr(self._charge.entry, "number", None)
        return number if isinstance(number, int) else None

    @property
    def closed(self) -> bool:
        """Whether it answers no more."""
        full = self._most is not None and self._record.asked >= self._most
        return bool(self._stopped) or full or self._born != MARK[0] or self._draws.closed

    @property
    def remaining(self) -> int | None:
        """How often it can still fire, of a gate that closes on the rarer answer how often that; None: no limit."""
        asked, fired = self._record.asked, self._record.fired
        if self.plan.method == "counts":
            return None
        return self.plan.cutoff - (min(fired, asked - fired) if self._rarer else fired)

    @property
    def epsilon(self) -> Fraction:
        """What is charged while it may answer."""
        return self.plan.epsilon

    @property
    def spent(self) -> Fraction:
        """What the answers so far have cost: a function of what was released."""
        return self._draws.cost(asked=self._record.asked, fired=self._record.fired)

    def margin(self, confidence: float = CONFIDENCE, *, windows: int | None = None) -> int:
        """How far from the threshold a count must be to be answered rightly with this probability.

        With ``windows`` how far all the counts of this many windows must be, to be answered rightly all of them.
        """
        most = None if windows is None else exact_count(windows, "windows")
        return self._draws.margin(confidence, windows=most)

    def facts(self) -> dict[str, float]:
        """Numbers for whoever watches the alert itself: released facts and public numbers, and nothing else."""
        record = self._record
        return {
            "windows_answered": len(record.answers),
            "windows_fired": sum(answer.fired for answer in record.answers.values()),
            "epsilon_reserved": float(self.epsilon),
            "epsilon_spent": float(self.spent),
            "closed": float(self.closed),
            "threshold": self.threshold,
            "margin": self.plan.margin,
        }

    def pause(self) -> None:
        """Stop answering, and give nothing back: with its state file the alert can go on."""
        with self._lock:
            self._stopped = self._stopped or "it is paused, and goes on when it is made again with its state file"

    def close(self) -> None:
        """Stop for good, and give back to the ledger what the answers did not cost: epsilon - ``spent``, once."""
        if self._born != MARK[0]:
            return
        with self._lock:
            self._stop_if_lost()
            self._stopped = self._stopped or "it was closed by hand"
            if self._lost:
                return
        if self._file is not None:
            self._file.end()
        self._draws.close(asked=self._record.asked, fired=self._record.fired)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._file is None:
            self.close()
        else:
            self.pause()

    def _refuse(self) -> NoReturn:
        why = self._stopped
        if self._born != MARK[0]:
            why = "it belongs to another process"
        elif not why:
            why = "it has fired as often as it may" if self._draws.closed else f"all {self._most} windows are answered"
        raise GateClosed(f"this alert is closed: {why}; make another, which spends a new epsilon, to ask on")

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        return f"<Alert: {self.plan.method}, {self._record.asked} windows, {self._record.fired} fired, {state}>"
