"""Did validation improve? A metered gate over a private validation set, for early stopping and for tuning."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from inspect import Parameter
from typing import Any, Final, Literal, NamedTuple
from warnings import warn

from numpy.typing import ArrayLike

from sparsegate.budget import Budget, Number, Spender, exact_count
from sparsegate.errors import ParameterError, SparsegateWarning
from sparsegate.gates.gate import Answer
from sparsegate.gates.lattice import exact_number
from sparsegate.gates.preview import Curve, Preview, previews
from sparsegate.gates.sparse_vector import SparseVector
from sparsegate.noise import Source
from sparsegate.noise.own_settings import own_settings
from sparsegate.selection.accuracy import check_confidence
from sparsegate.uses.asking import AsksGate
from sparsegate.uses.records import STEPS, public_range, record_steps

_MOST: Final = 1 << 40  # records, so that the sum of their steps fits int64


@own_settings
def improved(
    *,
    by: Number,
    size: int,
    epsilon: Number,
    cutoff: int,
    patience: int | None = None,
    low: Number = 0,
    high: Number = 1,
    queries: int | None = None,
    closes: Literal["above", "rarer"] = "above",
    ledger: Spender | None = None,
    refund: bool = True,
    source: Source | None = None,
    not_private: bool = False,
) -> Improvement:
    """Ask of one candidate after another: is it better than the best so far, by more than ``by``, on private records?

    What is returned takes a candidate's value for each record and says ABOVE or BELOW (``Improvement``). The first
    candidate is the first best, for nothing. From then on an ABOVE makes a candidate the best; a BELOW changes nothing,
    and is free.

    Parameters
    ----------
    by : tau > 0, in units of the mean value: 0.01 of accuracy is one percent.
    size : n, a public number: about how many records there are. The mean is the sum divided by this.
    epsilon : what all the answers together may cost.
    cutoff : how many improvements are told, at most; with ``closes="rarer"`` how many of both answers.
    patience : stop after this many candidates in a row without an improvement; None: never for that reason.
    low, high : the public range of one record's value; what lies outside counts as its nearer end, NaN as low. For a
        loss, which should fall, pass its negative.
    queries : at most this many candidates after the first, if that is known: the gate is then planned for them.
    closes : "rarer" where most candidates improve, as in the first half of a training: see ``SparseVector``.
    ledger, refund : where epsilon is charged when this is made; what the answers did not cost goes back at the end.
    source, not_private : ``Secure()``; a ``Seeded`` source is for tests, and needs not_private=True.

    >>> import numpy as np, sparsegate as sg
    >>> better = sg.uses.improved(by=0.05, size=1000, epsilon=1, cutoff=3, source=sg.Seeded(7), not_private=True)
    >>> [bool(better(np.arange(1000) < right)) for right in (500, 510, 700, 705)]
    [True, False, True, False]
    >>> better
    <Improvement by 0.05: 4 candidates, the best was number 2; 1 of 3 improvements, open>
    """
    asked = _Asked.of(by=by, size=size, patience=patience, low=low, high=high)
    planned = asked.gate(epsilon=epsilon, cutoff=cutoff, queries=queries, closes=closes)
    if warning := asked.warning(SparseVector.preview(**planned).margin):  # before anything is charged: may be an error
        warn(warning, SparsegateWarning, stacklevel=3)
    gate = SparseVector(ledger=ledger, refund=refund, source=source, not_private=not_private, **planned)
    return Improvement(gate, by=float(asked.by), size=asked.size, patience=asked.patience, ends=asked.ends)


class _Asked(NamedTuple):
    """The public numbers of the question, checked."""

    by: Fraction
    size: int
    patience: int | None
    ends: tuple[float, float]

    @classmethod
    def of(cls, *, by: Number, size: int, patience: int | None, low: Number, high: Number) -> _Asked:
        tau, ends = exact_number(by), public_range(low, high)
        if tau is None or not 0 < tau < Fraction(ends[1]) - Fraction(ends[0]):
            rule = "must be a positive number below high - low, in units of the mean value: no mean rises by more"
            raise ParameterError("by", rule, by, "pass e.g. by=0.01, or the range of the values")
        records = exact_count(size, "size", most=_MOST)
        return cls(tau, records, None if patience is None else exact_count(patience, "patience"), ends)

    @property
    def units(self) -> Fraction:
        """In a mean of one."""
        return self.size * STEPS / (Fraction(self.ends[1]) - Fraction(self.ends[0]))

    def gate(self, **options: Any) -> dict[str, Any]:
        """The parameters of the gate that is asked."""
        return {"threshold": math.ceil(self.by * self.units), "sensitivity": STEPS, **options}

    def warning(self, margin: float) -> str:
        """Why a gate of this margin, in units, would be of little use; empty where it would be of use."""
        mean = margin / float(self.units)
        if mean <= self.by:
            return ""
        return (
            f"an answer is right with 95 % only {mean:.3g} or more from the bar, which is {float(self.by):g} above the "
            "best: a candidate that is no better will often pass; take more records, a larger epsilon, a larger by or "
            "a smaller cutoff"
        )


class Improvement(AsksGate):
    """Made by ``improved``: call it with a candidate's values; it remembers the best candidate, not the records.

    With u_i(t) in {0, ..., STEPS} the value of record i for candidate t, on the scale from low to high (``ends``), and
    b the best candidate so far, the question is that of a gate (``SparseVector``, of general scale, on whole numbers):

        sum over records of u_i(t) - u_i(b)   against   tau n STEPS / (high - low)

    **Theorem.** For neighbours that differ in one record, added or removed, all answers together are epsilon-DP, if the
    candidates depend on the validation records through earlier answers alone. What ``spent`` says is enough for the
    answers given so far. Proof: docs/explanation/proofs_in_words/uses.md.

    - Stopping after ``patience`` BELOWs, and what is told about the best, follow from the answers.
    - One *record* is protected. Where a person has several, pass one value for each person, such as their mean.
    - To *replace* a record is to remove one and to add one: 2 epsilon.
    - n is not counted: ``size`` is a number you choose. No length is refused but one that changes between calls. How
      long a call takes does tell roughly how many records there are.
    - Training data are not protected by this; only the records behind the values are.

    >>> import numpy as np, sparsegate as sg
    >>> seeded = {"source": sg.Seeded(7), "not_private": True}  # for an example that repeats itself; leave it out
    >>> better = sg.uses.improved(by=0.05, size=1000, epsilon=1, cutoff=3, patience=2, **seeded)
    >>> for right in (500, 700, 702, 701, 900):  # of the 1000 records, how many a model has right
    ...     if better.finished:
    ...         break
    ...     answer = better(np.arange(1000) < right)
    >>> better.best, better.seen, better.improvements
    (1, 4, 1)
    >>> float(better.spent), round(better.margin(), 3)
    (0.48830263618165104, 0.014)
    """

    _uncopied = "this can be neither copied nor pickled: it holds a gate; make a new one"
    _closed_says = "this asks no more: {}; make a new one, which spends a new budget"

    @own_settings
    def __init__(
        self, gate: SparseVector, *, by: float, size: int, patience: int | None, ends: tuple[float, float]
    ) -> None:
        super().__init__()
        self._gate, self._ends, self._why = gate, ends, ""
        self.by, self.size, self.patience = by, size, patience
        self._length: int | None = None
        self._best = self._best_sum = self._seen = self._in_vain = 0

    @staticmethod
    @previews(improved, by=Parameter.empty, confidence=0.95)
    def preview(*, confidence: float, **numbers: Any) -> Preview:
        """What ``improved`` with these parameters would cost and be good for: nothing is drawn, charged or looked at.

        They are those of ``improved``; the last four before ``confidence`` change nothing. The figures are those of
        ``SparseVector.preview``, in units of the mean: an improvement ``margin`` from ``by`` is answered rightly.

        >>> import sparsegate as sg
        >>> preview = sg.uses.Improvement.preview(by=0.01, size=5_000, epsilon=1, cutoff=5)
        >>> round(preview.margin, 4), round(preview.margin_all, 4)
        (0.0042, 0.0084)
        """
        asked = _Asked.of(**{name: numbers[name] for name in ("by", "size", "patience", "low", "high")})
        planned = asked.gate(**{name: numbers[name] for name in ("epsilon", "cutoff", "queries", "closes")})
        gate = SparseVector.preview(**planned, confidence=check_confidence(confidence))
        each = float(asked.units)
        means = {name: value and value / each for name, value in gate.accuracy.items() if name != "answers"}
        warning = asked.warning(gate.margin)

        def curves() -> Iterator[Curve]:
            for curve in gate.curves:
                yield replace(curve, points=tuple((place, margin / each) for place, margin in curve.points))

        return replace(
            gate,
            release="improvement",
            accuracy={**means, "answers": gate.answers},
            settings={**gate.settings, "threshold": float(asked.by), "size": asked.size, "patience": asked.patience},
            statement=f"An improvement {means['margin']:.3g} or more from {float(asked.by):g} is answered rightly with "
            f"{100 * confidence:g} %; any {gate.answers:,} of them at once, {means['margin_all']:.3g} or more.",
            warning=warning and f"{warning[0].upper()}{warning[1:]}.",
            levels={"by": float(asked.by)},
            make_curves=curves,
        )

    @own_settings
    def __call__(self, values: ArrayLike) -> Answer:
        """Whether this candidate is better than the best so far by more than tau; if so, it is the best from now on.

        ``values`` has one number or truth value for each validation record, always of the same records. An ABOVE
        carries an estimate of the improvement and its standard error, in units of the mean, where the gate gives one.
        """
        units = record_steps(values, "values", low=self._ends[0], high=self._ends[1])
        return self._in_turn(self._ask, int(units.sum()), units.size)

    def _ask(self, total: int, length: int) -> Answer:
        if not self._ended and self._length not in (None, length):
            # Not the lengths: they would tell how many records there are.
            raise ParameterError("values", "must be of the same records each time", next_step="pass all of them")
        return self._answered(self._draw, total, length)

    def _draw(self, total: int, length: int) -> Answer:
        answer = Answer(True) if self._length is None else self._gate.ask(total - self._best_sum)
        shown = answer
        if answer.estimate is not None and answer.standard_error is not None:
            shown = Answer(True, self._mean(answer.estimate), self._mean(answer.standard_error))
        if answer:
            self._best, self._best_sum, self._in_vain = self._seen, total, 0
        else:
            self._in_vain += 1
        self._length = length
        self._seen += 1
        if self._gate.closed:
            self._finish("it has given all its answers")
        elif self._in_vain == self.patience:
            self._finish(f"{self.patience} candidates in a row brought no improvement")
        return shown

    def _lose(self) -> None:
        """Nobody knows which candidate is the best after it."""
        self._finish("its last answer was cut short")

    def _mean(self, units: float) -> float:
        low, high = self._ends
        return units / STEPS * (high - low) / self.size

    @property
    def _ended(self) -> str:
        return self._why or ("its gate is closed, or belongs to another process" if self._gate.closed else "")

    def _finish(self, why: str) -> None:
        self._why = self._why or why
        self._gate.close()

    @property
    def finished(self) -> bool:
        """Whether no more candidates are taken: patience ran out, all answers were given, or it was closed."""
        return bool(self._ended)

    @property
    def best(self) -> int | None:
        """Which candidate is the best so far, counted from 0; None before the first."""
        return self._best if self._seen else None

    @property
    def seen(self) -> int:
        """How many candidates there were, the first one included."""
        return self._seen

    @property
    def improvements(self) -> int:
        """How many of them were told to be an improvement, without the first."""
        return self._gate.positives

    @property
    def budget(self) -> Budget:
        """The shares that were charged when this was made."""
        return self._gate.budget

    @property
    def spent(self) -> Fraction:
        """What the answers so far have cost, exactly."""
        return self._gate.spent

    def margin(self, confidence: float = 0.95) -> float:
        """How far from ``by`` an improvement must be, in units of the mean, to be answered rightly that often."""
        return self._mean(self._gate.margin(confidence))

    def close(self) -> None:
        """Take no more candidates, and give back to the ledger what the answers did not cost."""
        if self._gate.closed:  # before the lock: a fork may have left it held for ever
            self._gate.close()  # again, where the ledger could not be written
            return
        with self._lock:
            self._finish("it was closed by hand")

    def __repr__(self) -> str:
        best = f", the best was number {self._best}" if self._seen else ""
        state = "closed" if self.finished else "open"
        counted = repr(self._gate).partition(": ")[2].rpartition(",")[0].replace("positives", "improvements")
        return f"<Improvement by {self.by:g}: {self._seen} candidates{best}; {counted}, {state}>"
