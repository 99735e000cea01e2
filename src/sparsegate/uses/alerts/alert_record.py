"""What an alert has answered, on its ledger, and how it goes on after a restart.

Each answer is a part of the alert's entry, stored **before** it is said. So after a crash the ledger has every answer
that anybody saw, and perhaps one that nobody saw. From that follows what a restart may do:

- *A window that was answered is not asked again.* Its answer is read, at no cost.
- *With a state file the alert goes on.* The file holds the threshold noise rho, which is as secret as the data; the
  ledger holds how many windows were asked and how many fired. **Theorem** (``mechanisms.resume``): a gate with the same
  rho, and with all that were stored counted, answers as one that never stopped. An answer that was drawn and not
  stored was seen by nobody: summed over both its outcomes, the transcript has the probability that it has without it.
  Noisy counts have no secret; the file says which entry to go on with.
- *Without one the alert begins anew*: another epsilon is charged to what the ledger has left. What a process that died
  had reserved stays spent, because nobody can tell that it is dead.
- *Two processes with one state file* are told apart by the store: an answer is stored only as the part that follows
  all that its writer knows of, and only while the entry has given nothing back (``Ledger.keep``). The other one stops.
- *What goes back*: nothing when an alert is paused; when it is closed for good, epsilon - L(m,k), once. Then no state
  file brings it back: the file says that the alert has ended, and the noise is gone from it. (m,k) are all answers of
  the entry: a process that does not know all of them, because another one went on, gives nothing back
  (``Ledger.give_back``).

A ledger that was restored from a backup may lack answers that were seen, so no entry from before goes on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sparsegate.budget import Charge, Number, Spender, charge
from sparsegate.display.plain import noisy_text
from sparsegate.errors import GateClosed, LedgerError, ParameterError


@dataclass(frozen=True, kw_only=True)
class AlertAnswer:
    """What an alert says of one window. True where it fired; a released answer, that may be shown to anybody.

    ``estimate`` is the noisy count, with the ``standard_error`` of its noise: of a gate where it fired, if at all, and
    of noisy counts always.

    >>> import sparsegate as sg
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> alert = sg.Alert(threshold=100, cutoff=2, epsilon=1, **seeded)
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

    def __bool__(self) -> bool:
        return self.fired

    def __str__(self) -> str:
        said = "fired" if self.fired else "quiet"
        return f"window {self.window:,}: {said}{noisy_text(self.estimate, self.standard_error)}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it, and as the ledger keeps it."""
        numbers = {"estimate": self.estimate, "standard_error": self.standard_error}
        return {"window": self.window, "fired": self.fired} | {n: v for n, v in numbers.items() if v is not None}


class AlertState(NamedTuple):
    """What a state file holds: the entry that an alert goes on with, its settings, and its noise, if it has any.

    One that ``ended`` does not go on, whether it gave anything back or not, and holds no secret any more. ``mark`` says
    which rows were counted, to whoever must count them again.
    """

    entry: int
    dataset: str
    settings: dict[str, Any]
    noise: bytes
    ended: bool = False
    mark: str = ""


class AlertRecord:
    """The answers of one alert. Without a ledger they are in memory alone."""

    def __init__(
        self, ledger: Spender | None, *, name: str, settings: Mapping[str, Any], asks: Mapping[str, Any]
    ) -> None:
        """``asks`` is what makes two alerts of one name the same one; ``settings`` is all that is public."""
        self._name, self._settings, self._asks = name, dict(settings), dict(asks)
        # What can be read again: a ledger, and not one charge of it, or somebody's own account.
        account: Any = ledger
        self._ledger: Any = account if callable(getattr(account, "release", None)) else None
        self._account = ledger
        self._charge = Charge()
        self._parts = 0
        self.answers: dict[int, AlertAnswer] = {}
        self.asked = self.fired = 0
        for entry in self._entries():
            self._read(self._gave(entry))

    def _entries(self) -> list[Any]:
        if self._ledger is None:
            return []
        entries = self._ledger.statement().entries
        return [entry for entry in entries if entry.kind.spends and entry.what.startswith(self._title)]

    def _gave(self, entry: Any) -> tuple[dict[str, Any], ...]:
        return self._ledger.release(entry.number).gave  # type: ignore[no-any-return]

    @property
    def _title(self) -> str:
        return f"alert {self._name!r}: "

    @property
    def can_resume(self) -> bool:
        """Whether there is a ledger that holds what was answered."""
        return self._ledger is not None

    def _read(self, gave: tuple[dict[str, Any], ...]) -> list[AlertAnswer]:
        """Learn what an entry gave; its first part says what it was about."""
        for other in (part.get("asks", {}) for part in gave[:1]):
            for name in self._asks.keys() | other.keys():
                if self._asks.get(name) != other.get(name):
                    rule = f"must be new where {name} changes: another alert of this name is on the ledger"
                    raise ParameterError("name", rule, self._name, "pass another name=")
        known = AlertAnswer.__dataclass_fields__
        found = [AlertAnswer(**{name: part[name] for name in part.keys() & known.keys()}) for part in gave[1:]]
        self.answers |= {answer.window: answer for answer in found}
        return found

    def begin(self, *, epsilon: Number, what: str) -> Charge:
        """Charge the ledger."""
        paid = charge(self._account, epsilon=epsilon, what=self._title + what)
        self._charge = paid if self._ledger is None else self._paid_by(paid.entry)
        self._store({"release": "alert", "asks": self._asks, "settings": self._settings})
        return self._charge

    def go_on(self, state: AlertState) -> Charge:
        """Go on with the entry of a state file, which must be that of this alert, and have an end to come."""
        if state.settings != self._settings:
            keys = self._settings.keys() | state.settings.keys()
            other = sorted(key for key in keys if self._settings.get(key) != state.settings.get(key))
            rule = f"must be that of an alert with the same settings, and {', '.join(other)} differs"
            raise ParameterError("state", rule, next_step="give the settings back, or another state= file")
        statement = self._ledger.statement()
        entry = next((entry for entry in self._entries() if entry.number == state.entry), None)
        if entry is None or state.dataset != self._ledger.dataset:
            raise ParameterError("state", "must belong to this ledger", next_step="give the ledger it was made with")
        if statement.restored_after(entry.number):
            raise LedgerError(
                "the ledger was restored from a backup, and may lack answers of this alert; nothing was spent; remove "
                "the state file, and a new one is charged"
            )
        if statement.refund_of(entry.number) is not None:
            raise GateClosed(
                "this alert was closed, and gave back what it did not cost; remove the state file, and a new one is "
                "charged"
            )
        if state.ended:
            raise GateClosed("this alert was closed; remove the state file, and a new one is charged")
        gave = self._gave(entry)
        found = self._read(gave)
        self.asked, self.fired, self._parts = len(found), sum(answer.fired for answer in found), len(gave)
        self._charge = self._paid_by(entry)
        return self._charge

    def _paid_by(self, entry: Any) -> Charge:
        account: Any = self
        return Charge(account, entry)

    def give_back(self, entry: Any, *, epsilon: Number) -> None:
        """Give back what was not used, if this process knows all that the entry gave; as the account of its charge."""
        self._ledger.give_back(entry, epsilon=epsilon, after=self._parts)

    def state(self, noise: bytes) -> AlertState:
        """What a state file of this alert holds."""
        return AlertState(self._charge.entry.number, self._ledger.dataset, self._settings, noise)

    def keep(self, answer: AlertAnswer) -> None:
        """Store an answer before anybody sees it. Where that fails nobody may see it."""
        self._store(answer.to_dict())
        self.asked, self.fired = self.asked + 1, self.fired + answer.fired
        self.answers[answer.window] = answer  # last: from now on it is given again

    def _store(self, part: Mapping[str, Any]) -> None:
        if self._ledger is None:
            self._charge.keep(part)
        else:
            self._ledger.keep(self._charge.entry, part, after=self._parts)
        self._parts += 1


class StateFile:
    """A file beside the data, for its owner's eyes alone."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    def read(self) -> AlertState | None:
        """What it holds; None where there is none."""
        try:
            held = json.loads(self._path.read_text(encoding="utf-8"))
            settings = dict(**held["settings"])
            noise, ended = bytes.fromhex(held["noise"]), bool(held.get("ended"))
            return AlertState(held["entry"], held["dataset"], settings, noise, ended, str(held.get("mark", "")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            rule = "must be a readable state file of an alert, or not be there yet"
            raise ParameterError("state", rule, str(self._path), "give another path") from None

    def make_ready(self) -> None:
        """Refuse a place that cannot be written, before anything is charged."""
        self._write("")
        self._draft.unlink()

    def write(self, state: AlertState) -> None:
        """Store it, whole or not at all, and on the disk when this returns."""
        try:
            try:
                self._write(json.dumps({**state._asdict(), "noise": state.noise.hex()}))
                self._draft.replace(self._path)
            except BaseException:  # an interrupt would leave the noise in a second file
                with suppress(OSError):
                    self._draft.unlink()
                raise
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                with suppress(OSError):  # not every system can
                    os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise LedgerError(
                f"the state file cannot be written: {error.strerror}; what the alert was charged stays charged"
            ) from None

    def mark(self, mark: str) -> None:
        """Store which rows were counted, before an answer depends on them."""
        if (held := self.read()) is not None and not held.ended:
            self.write(held._replace(mark=mark))

    def end(self) -> None:
        """Let no alert go on with it, and forget the noise; where it cannot be written, a refund on the ledger does."""
        with suppress(LedgerError, ParameterError):
            if (held := self.read()) is not None:
                self.write(held._replace(noise=b"", ended=True, mark=""))

    @property
    def _draft(self) -> Path:
        return self._path.with_name(f"{self._path.name}.{os.getpid()}.new")

    def _write(self, text: str) -> None:
        try:
            self._draft.unlink(missing_ok=True)  # of a process that died, or a link that somebody laid
            with os.fdopen(os.open(self._draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            rule = f"must be a path that can be written ({error.strerror})"
            raise ParameterError("state", rule, str(self._path), "give another path") from None
