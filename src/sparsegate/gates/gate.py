"""The life of a gate: what it answers, what an ABOVE carries, what it has cost, and how it goes on after a restart.

A gate interprets any row, one question at a time; ``research`` runs the same rows many times at once.

A gate is a secret. ``ask`` is atomic under threads: a question is either refused before noise is drawn, leaving the
gate as it was, or answered. A gate cannot be copied or pickled; after a fork it is dead in the child; its repr shows
public numbers only, and no error is raised while noise stands in a local variable.

A question that is cut short, by Ctrl-C, a signal or a lack of memory, closes the gate, and all of its budget counts as
spent: where the exception arose may tell what the answer was. The gate is marked before noise is drawn, and the mark
goes when all is drawn, closed and counted: whatever comes between leaves a gate that answers no more.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from contextlib import nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsegate.budget import Spender, charge
from sparsegate.display.plain import noisy_text
from sparsegate.errors import GateClosed, ParameterError, SparsegateError
from sparsegate.gates.accounting import gate_cost
from sparsegate.gates.calibration import Calibration, aligned, compared_value, trusted_source
from sparsegate.gates.lattice import LIMIT
from sparsegate.gates.laws import LAWS
from sparsegate.gates.variants import Closes, Compared, Noise, Released, Scales, Variant
from sparsegate.noise import Reservoir, Source
from sparsegate.noise.own_settings import own_settings
from sparsegate.noise.sources import MARK, Uncopied, birthmark


@dataclass(frozen=True, slots=True)
class Answer:
    """ABOVE or BELOW, and the noisy value where the mechanism releases one. True in a condition where ``above``.

    Equal to every answer on the same side, whatever the estimate. ``standard_error`` is that of the noise in the
    estimate, a public number (``gates.gate`` says what it does not cover).

    >>> import sparsegate as sg
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> gate = sg.SparseVector(threshold=1000, cutoff=2, epsilon=1, sensitivity=1, monotonic=True, **seeded)
    >>> print(gate.ask(12), gate.ask(4021))
    BELOW ABOVE, about 4,021, standard error 4.14
    """

    above: bool
    estimate: int | float | None = field(default=None, compare=False)
    """The noisy answer, where an ABOVE carries one; else None."""
    standard_error: float | None = field(default=None, compare=False)

    def __bool__(self) -> bool:
        return self.above

    def __str__(self) -> str:
        return "ABOVE" * self.above + "BELOW" * (not self.above) + noisy_text(self.estimate, self.standard_error)


ABOVE = Answer(True)
"""The answer "above the threshold": equal to every ABOVE, whatever its estimate; true in a condition.

>>> import sparsegate as sg
>>> gate = sg.SparseVector(threshold=1000, cutoff=1, epsilon=1, sensitivity=1, monotonic=True)
>>> gate.ask(4021) == sg.ABOVE
True
"""

BELOW = Answer(False)
"""The answer "below the threshold": false in a condition, and free.

>>> import sparsegate as sg
>>> gate = sg.SparseVector(threshold=1000, cutoff=1, epsilon=1, sensitivity=1, monotonic=True)
>>> gate.ask(12) == sg.BELOW, gate.remaining
(True, 1)
"""


@dataclass(frozen=True, kw_only=True)
class Estimator:
    """How the number of an ABOVE is made, in lattice steps: from its gap, which is free, and a fresh answer, paid for.

    The gap g = q + nu - T - rho - kappa of a row that releases it gives T + g + kappa - E[nu] + E[rho], of variance
    Var[nu] + Var[rho] and, over all draws, without bias. A fresh answer q + Lap(c Delta/eps3) is independent of it, and
    the two are blended by inverse variance; ``weight`` is that of the gap. The result is rounded to the lattice.

    It is given only where the answer came out ABOVE, which the same nu and rho decided: near the threshold the gap's
    estimate lies too high on average (by how much: docs/explanation/proofs_in_words/core.md). A fresh answer has no
    such bias.
    """

    centre: int
    weight: float
    standard_error: float

    @classmethod
    def of(cls, row: Variant, scales: Scales) -> Self | None:
        """The best estimate from what this row releases; None where an ABOVE releases no more than that."""
        fresh = LAWS["LAPLACE"].moments(scales.answer)[1]
        if not row.gap:
            return cls(centre=0, weight=0.0, standard_error=math.sqrt(fresh)) if scales.answer else None
        (nu, nu_spread), (rho, rho_spread) = map(row.noise.law.moments, (scales.query, scales.threshold))
        spread = nu_spread + rho_spread
        weight = fresh / ((fresh + spread) or 1.0) if scales.answer else 1.0
        return cls(centre=round(nu - rho), weight=weight, standard_error=math.sqrt(weight * spread))

    def estimate(self, value: Any, fresh: Any) -> Any:
        """From q + nu - rho, and from a fresh answer where there is one; ints or arrays of them."""
        if fresh is None:
            return value - self.centre
        toward = self.weight * (value - self.centre - fresh)
        return fresh + (round(toward) if isinstance(toward, float) else np.rint(toward).astype(np.int64))


_CHUNK = 1 << 16
_CUT_SHORT = "a question was cut short, and all of its budget counts as spent"


class Paid(Uncopied, ABC):
    """What was charged for when it was made, and gives back on ``close`` what it did not cost; a context manager."""

    _charges: list[Any]

    @abstractmethod
    def close(self) -> None:
        """Stop answering, and give back."""

    def _give_back(self, unused: Fraction) -> None:
        try:
            charge = self._charges.pop()  # of two threads one gets it
        except IndexError:
            return
        if not charge.give_back(unused):  # the ledger could not be written: it may be tried again
            self._charges.append(charge)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Gate(Paid):
    """A running row. ``SparseVector`` is the one to use on private data; this class runs the flawed rows as well."""

    _uncopied = "a gate can be neither copied nor pickled: two copies would answer with the same noise; make a new gate"

    @own_settings
    def __init__(
        self,
        calibration: Calibration,
        *,
        threshold: object,
        source: Source | None,
        not_private: bool,
        ledger: Spender | None = None,
        refund: bool = True,
    ) -> None:
        scales = calibration.scales
        steps = calibration.lattice.steps(threshold, "threshold")
        source = trusted_source(source, not_private)
        self._calibration, self._threshold = calibration, steps
        self._lock, self._born = threading.Lock(), birthmark()
        self._asked = self._positives = 0
        self._closed, self._drawing = "", False
        # The path most questions take: Python ints on an integer gate.
        self._fast = calibration.lattice.integers and calibration.row.compared is Compared.ANSWER
        # One stream for each kind of noise: how many of one kind are drawn never changes another.
        self._rho_source = source.stream()
        self._nu = Reservoir(source.stream(), scales.query, calibration.row.noise.law.fill) if scales.query else None
        self._answer_noise = Reservoir(source.stream(), scales.answer) if scales.answer else None
        self._estimator = Estimator.of(calibration.row, scales)
        step = float(calibration.lattice.granularity)
        self._standard_error = None if self._estimator is None else self._estimator.standard_error * step
        # Whether a BELOW can close it, too.
        self._watched = calibration.queries is not None or calibration.row.closes is Closes.RARER
        ends = f"cutoff {calibration.cutoff}" if calibration.price is None else "each ABOVE paid for"
        what = f"gate: threshold {threshold}, {ends}, {calibration.row.key}"
        self._meter = None if calibration.price is None else calibration.price.open_meter(ledger, what)
        charged = self._meter or charge(ledger, **vars(gate_cost(calibration)), what=what)
        # What gets back the rest at the end. No bound on the loss holds for a run that waived privacy.
        self._charges = [charged] if refund and not not_private else []
        self._redraws: list[int] = []  # how many were asked at each redraw of rho
        self._rho = self._draw_rho()

    def _draw_rho(self) -> int:
        scale = self._calibration.scales.threshold
        return int(self._calibration.row.noise.law.draw(self._rho_source, scale)) if scale else 0

    def ask(self, answer: Any, *, threshold: Any = None, estimate: Any = None) -> Answer:
        """Is the answer above the threshold? Costs nothing but an ABOVE of the cutoff when it is.

        ``answer`` is the true, private answer q, of which only the type may be refused; ``threshold`` replaces the
        gate's for this question; ``estimate`` is the public guess e of a row that compares |e - q|.
        """
        if self._born != MARK[0]:  # before the lock: a fork may have left it held for ever
            self._refuse()
        with self._lock:
            if self._closed or self._drawing:
                self._refuse()
            bar = self._threshold if threshold is None else threshold
            if self._fast and type(answer) is int and type(bar) is int and -LIMIT <= bar <= LIMIT and estimate is None:
                steps, guess = answer if -LIMIT <= answer <= LIMIT else LIMIT if answer > 0 else -LIMIT, None
            else:
                steps, bar, guess = self._to_lattice(answer, threshold, estimate)
            try:
                self._drawing = True
                answered = self._decide(steps, bar, guess)
                self._drawing = False
            except BaseException as error:
                self._closed = _CUT_SHORT
                raise error.with_traceback(None) from None  # its frames hold noise
            return answered

    def _to_lattice(self, answer: Any, threshold: Any, estimate: Any) -> tuple[int, int, int | None]:
        lattice = self._calibration.lattice
        self._calibration.row.check_estimate(estimate, "estimate")
        return (
            lattice.private_steps(answer, "answer"),
            self._threshold if threshold is None else lattice.steps(threshold, "threshold"),
            None if estimate is None else lattice.steps(estimate, "estimate"),
        )

    def _decide(self, steps: int, bar: int, guess: int | None) -> Answer:
        nu = self._nu.take() if self._nu is not None else 0
        calibration, rho = self._calibration, self._rho
        compared = steps + nu if guess is None else compared_value(calibration.row, steps, nu, guess)  # type: ignore[arg-type]
        above = compared >= bar + rho + calibration.shift
        if not above:
            self._asked += 1
            if self._watched:
                self._count(0, 0)
            return BELOW
        self._pay(1)
        self._count(1, 1)
        if self._estimator is None:
            noisy = calibration.row.released is Released.NOISY_ANSWER
            return Answer(True, calibration.lattice.value(steps + nu)) if noisy else ABOVE
        fresh = None if self._answer_noise is None else steps + self._answer_noise.take()
        estimate = self._estimator.estimate(compared - rho, fresh)
        return Answer(True, calibration.lattice.value(estimate), self._standard_error)

    def _pay(self, positives: int) -> int:
        """How many of these ABOVE may leave: where each is paid for, those that the ledger paid for now."""
        if self._meter is None or not positives:
            return positives
        paid, another = self._meter.pay(positives)
        if not another:
            self._closed = "its ledger cannot pay for another ABOVE"
        return paid

    def _count(self, asked: int, positives: int) -> None:
        """Close the gate where these answers are the last, and count them."""
        calibration = self._calibration
        above, in_all = self._positives + positives, self._asked + asked
        if calibration.finished(in_all - above, above):
            self._closed = f"it has given all {above} of its positive answers"
            if calibration.row.closes is Closes.RARER:
                self._closed = f"it has given both answers {calibration.cutoff} times"
        elif calibration.queries is not None and in_all >= calibration.queries:
            self._closed = "all the questions it was planned for have been asked"
        self._asked, self._positives = in_all, above
        if positives and calibration.row.redraws_threshold:
            self._rho = self._draw_rho()
            self._redraws.append(self._asked)

    @own_settings
    def ask_many(
        self,
        answers: ArrayLike,
        *,
        threshold: ArrayLike | None = None,
        estimate: ArrayLike | None = None,
        numeric: bool | None = None,
    ) -> NDArray[Any]:
        """Ask many at once: a boolean array that ends where the gate closed, the same as asking one by one.

        All is checked before anything is drawn. ``numeric=True``, the default where the budget pays for answers, gives
        the fields ``above``, ``estimate`` and ``standard_error`` (0 where BELOW), if positives carry a number.
        """
        if self._born != MARK[0]:  # before the lock: a fork may have left it held for ever
            self._refuse()
        with self._lock:
            if self._closed or self._drawing:
                self._refuse()
            lattice, row = self._calibration.lattice, self._calibration.row
            steps = lattice.private_steps_many(answers, "answers")
            bars: NDArray[np.int64] = np.broadcast_to(np.int64(self._threshold), steps.shape)
            if threshold is not None:
                bars = aligned(threshold, steps.size, lattice, "threshold")
            row.check_estimate(estimate, "estimate")
            guesses = None if estimate is None else aligned(estimate, steps.size, lattice, "estimate")
            able = self._estimator is not None or row.released is Released.NOISY_ANSWER
            wanted = not row.gap or self._answer_noise is not None if numeric is None else numeric
            try:
                answered = self._decide_many(steps, bars, guesses, able and wanted)
                self._drawing = False
            except BaseException as error:
                if self._drawing:
                    self._closed = _CUT_SHORT
                raise error.with_traceback(None) from None  # its frames hold noise
            return answered

    def _decide_many(
        self, steps: NDArray[np.int64], bars: NDArray[np.int64], guesses: NDArray[np.int64] | None, numeric: bool
    ) -> NDArray[Any]:
        calibration, row, lattice = self._calibration, self._calibration.row, self._calibration.lattice
        limit, estimator = calibration.queries, self._estimator
        total = steps.size if limit is None else min(steps.size, limit - self._asked)
        above = np.zeros(total, dtype=np.bool_)
        released = np.zeros(total, dtype=np.int64)
        start = 0
        self._drawing = True
        while start < total and not self._closed:
            end = min(start + _CHUNK, total)
            nu = self._nu.take_many(end - start) if self._nu is not None else np.zeros(end - start, dtype=np.int64)
            guess = None if guesses is None else guesses[start:end]
            compared = compared_value(row, steps[start:end], nu, guess)
            surplus = compared - bars[start:end] - calibration.shift
            done = 0
            while done < nu.size and not self._closed:
                hits, until = self._until(surplus, done)
                paid = self._pay(hits.size)
                if self._closed:  # nothing is held for another: what follows the last that is paid for is not said
                    hits, until = hits[:paid], int(hits[paid - 1]) + 1
                if numeric:
                    at = start + hits
                    carried = steps[at] + nu[hits]
                    if estimator is not None:
                        fresh = None
                        if self._answer_noise is not None:
                            fresh = steps[at] + self._answer_noise.take_many(hits.size)
                        carried = estimator.estimate(compared[hits] - self._rho, fresh)
                    released[at] = carried
                above[start + hits] = True
                self._count(until - done, hits.size)
                done = until
            start += done
        if not numeric:
            return above[:start]
        fields = [("above", np.bool_), ("estimate", np.int64 if lattice.integers else np.float64)]
        out = np.zeros(start, dtype=[*fields, ("standard_error", np.float64)])
        out["above"], out["estimate"] = above[:start], np.where(above[:start], lattice.values(released[:start]), 0)
        out["standard_error"] = np.where(above[:start], self._standard_error or np.nan, 0)
        return out

    def _until(self, surplus: NDArray[np.int64], done: int) -> tuple[NDArray[np.int64], int]:
        """Where the answers are ABOVE, up to where one rho serves or the gate closes, and where that is."""
        calibration = self._calibration
        over = surplus[done:] >= self._rho
        hits = done + np.flatnonzero(over)
        if calibration.row.closes is Closes.RARER:
            above = self._positives + np.cumsum(over)
            below = self._asked + 1 + np.arange(above.size) - above
            last = np.flatnonzero(calibration.finished(below, above))[:1] + done
        else:
            # To the next positive where rho is redrawn, else to the last one allowed.
            left = hits.size + 1 if self.remaining is None else self.remaining
            if left <= 0:  # it is through, and says nothing
                return hits[:0], done
            room = 1 if calibration.row.redraws_threshold else left
            last = hits[room - 1 : room]
        until = int(last[0]) + 1 if last.size else surplus.size
        return hits[hits < until], until

    def _refuse(self) -> NoReturn:
        if self._born != MARK[0]:
            why = "this gate belongs to another process: its noise died at the fork; make a new gate in this one"
            raise GateClosed(why)
        self._closed = self._closed or _CUT_SHORT
        raise GateClosed(f"this gate is closed: {self._closed}; make a new gate to ask on, which spends a new budget")

    @property
    def closed(self) -> bool:
        """Whether the gate has stopped answering."""
        return bool(self._closed) or self._born != MARK[0]

    @property
    def positives(self) -> int:
        """How many ABOVE were given."""
        return self._positives

    @property
    def remaining(self) -> int | None:
        """How many ABOVE are left, of a two-sided gate how many of the rarer answer; None for one that never stops."""
        row, cutoff = self._calibration.row, self._calibration.cutoff
        rarer = min(self._positives, self._asked - self._positives)
        return cutoff - (rarer if row.closes is Closes.RARER else self._positives) if row.stops else None

    @property
    def spent(self) -> Fraction:
        """L(m,k) of ``bounds``: what the answers so far have cost, exactly; of a gate cut short all of its budget.

        It is at most the budget. ``ledger.account`` proves that the rest may go back when the gate is closed. A gate
        without a cutoff has no budget: one that was cut short counts one more ABOVE, and its ledger counts rho.
        Machine-checked: proofs/README.md.
        """
        # In the child of a fork the lock may be held for ever.
        with self._lock if self._born == MARK[0] else nullcontext():
            return self._cost()

    def _cost(self) -> Fraction:
        calibration, ends = self._calibration, [0, *self._redraws]
        if self._drawing and self._meter is None:
            return calibration.budget.total
        rounds = [(end - start - 1, 1) for start, end in pairwise(ends)]
        above = self._positives + self._drawing - len(rounds)
        return calibration.spent([*rounds, (self._asked - ends[-1] - above + self._drawing, above)])

    def close(self) -> None:
        """Stop answering, and give back to the ledger what the answers did not cost: epsilon - ``spent``, once.

        Of a gate without a cutoff what is reserved for its next ABOVE goes back. Nothing does in another process, nor
        with ``refund=False``, ``not_private=True`` or a delta, nor from a gate that was cut short.
        """
        if self._born != MARK[0]:
            return
        with self._lock:
            self._closed = self._closed or "it was closed by hand"
        unused = self._calibration.budget.total - self._cost()
        if self._meter is not None:
            unused = Fraction(not self._drawing)
        self._give_back(unused)

    def __repr__(self) -> str:
        row, cutoff, delta = self._calibration.row, self._calibration.cutoff, self._calibration.budget.delta
        key = f"{row.key} at delta {float(delta):g}" if delta else row.key
        counts = f"{self._positives} of {cutoff if row.stops else '∞'} positives"
        if row.closes is Closes.RARER:
            counts = f"{self._positives} ABOVE and {self._asked - self._positives} BELOW, {cutoff} of each"
        return f"<{type(self).__name__} {key}: {counts}, {'closed' if self.closed else 'open'}>"


G = TypeVar("G", bound=Gate)

_BYTES: Final = 9  # a lattice value has at most 2^62 steps; and one length for all tells nothing


def threshold_noise(gate: Gate) -> bytes:
    """Rho, in lattice steps, and the mark of its law; refused of a gate that was cut short.

    Whoever calls this encrypts it at once; two gates that live at one time with one rho must share their positives.
    """
    with gate._lock:
        if gate._drawing:
            gate._refuse()
        return gate._rho.to_bytes(_BYTES, "big", signed=True) + gate._calibration.row.noise.law.mark


def read_threshold_noise(secret: bytes) -> tuple[int, Noise]:
    """Rho and its law, from what ``threshold_noise`` returned."""
    rho, mark = int.from_bytes(secret[:_BYTES], "big", signed=True), secret[_BYTES:]
    law = next((noise for noise in Noise if mark == noise.law.mark), None)
    if law is None or (law.one_sided and rho < 0):
        raise SparsegateError("this is no threshold noise of a gate; give what threshold_noise() returned")
    return rho, law


def resume(make: type[G], secret: bytes, *, asked: int, positives: int, **public: Any) -> G:
    """The gate that ``make(**public)`` made, a ``SparseVector``, going on after this many questions and positives.

    **Theorem.** Let a gate be resumed with the rho, the threshold, the scales and the cutoff of one that stopped, and
    with at least as many positives counted as that one gave. Then all answers of both together have the law of one
    gate that never stopped and closed, if anything, early: rho is the same, each question has fresh noise of its own
    in either case, and nothing else of a gate matters. The law of the noise is kept beside rho.
    """
    rho, law = read_threshold_noise(secret)
    if law is Noise.EXPONENTIAL:
        public.pop("delta", None)  # it was as good without
    gate = make(**{**public, "noise": law.name.lower()})
    counted = gate._calibration.row.closes is Closes.ABOVE
    if not 0 <= positives <= asked or (counted and positives > gate._calibration.cutoff):
        raise ParameterError("positives", "must be at most the cutoff and at most what was asked", positives)
    gate._rho = rho
    gate._count(asked, positives)
    return gate
