"""The one streaming runner: a gate interprets any row, one question at a time.

A gate is a secret. ``ask`` is atomic under threads: a question is either refused before noise is drawn, leaving the
gate as it was, or answered. A gate cannot be copied or pickled, because two copies would answer with the same
noise; after a fork it is dead in the child; its repr shows public numbers only, and no error is raised while noise
stands in a local variable.

A question that is cut short, by Ctrl-C, a signal or a lack of memory, closes the gate, and all of its budget counts as
spent: where the exception arose may tell what the answer was, and the counts may lack it. The gate is marked before
noise is drawn, and the mark goes when all is drawn, closed and counted: whatever comes between, however often, leaves a
gate that answers no more.
"""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsegate.budget import Spender, charge
from sparsegate.errors import GateClosed, ParameterError
from sparsegate.mechanisms.answer import ABOVE, BELOW, Answer
from sparsegate.mechanisms.calibration import Calibration, aligned, compared_value, trusted_source
from sparsegate.mechanisms.gap import Estimator
from sparsegate.mechanisms.lattice import LIMIT
from sparsegate.mechanisms.meter import Meter
from sparsegate.mechanisms.variants import Closes, Compared, Released
from sparsegate.noise import Reservoir, Source
from sparsegate.noise.lineage import MARK, birthmark
from sparsegate.noise.own_settings import own_settings
from sparsegate.noise.uncopied import Uncopied

_CHUNK = 1 << 16
_CUT_SHORT = "a question was cut short, and all of its budget counts as spent"


class Gate(Uncopied):
    """A running row. ``SparseVector`` is the one to use on private data; this class runs the flawed rows as well."""

    _uncopied = "a gate can be neither copied nor pickled: two copies would answer with the same noise; make a new gate"

    __slots__ = (
        "_answer_noise",
        "_asked",
        "_born",
        "_calibration",
        "_closed",
        "_drawing",
        "_estimator",
        "_fast",
        "_lock",
        "_meter",
        "_nu",
        "_positives",
        "_rho",
        "_rho_source",
        "_standard_error",
        "_threshold",
        "_watched",
    )

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
        self._calibration = calibration
        self._threshold = steps
        self._lock = threading.Lock()
        self._born = birthmark()
        self._asked = self._positives = 0
        self._closed = ""
        self._drawing = False
        # The path most questions take: Python ints on an integer gate.
        self._fast = calibration.lattice.integers and calibration.row.compared is Compared.ANSWER
        # One stream for each kind of noise: how many of one kind are drawn never changes another.
        self._rho_source = source.stream()
        self._nu = Reservoir(source.stream(), scales.query, calibration.sampler.fill) if scales.query else None
        self._answer_noise = Reservoir(source.stream(), scales.answer) if scales.answer else None
        self._estimator = Estimator.of(calibration.row, scales)
        self._standard_error = (
            None if self._estimator is None else self._estimator.standard_error * float(calibration.lattice.granularity)
        )
        # Whether a BELOW can close it, too.
        self._watched = calibration.queries is not None or calibration.row.closes is Closes.RARER
        what = f"gate: threshold {threshold}, cutoff {calibration.cutoff}, {calibration.row.key}"
        charged = charge(ledger, epsilon=calibration.budget.total, delta=calibration.budget.delta, what=what)
        # No bound on the loss holds for a run that waived privacy.
        self._meter = Meter(calibration, charged if refund and not not_private else None)
        self._rho = self._draw_rho()

    def _draw_rho(self) -> int:
        """Rho in lattice steps; kappa is in the bar of each question."""
        scale = self._calibration.scales.threshold
        return int(self._calibration.sampler.draw(self._rho_source, scale)) if scale else 0

    def ask(self, answer: Any, *, threshold: Any = None, estimate: Any = None) -> Answer:
        """Is the answer above the threshold? Costs nothing but an ABOVE of the cutoff when it is.

        ``answer`` is the true, private answer q; ``threshold`` replaces the gate's for this question; ``estimate``
        is the public guess e of a row that compares |e - q|. No value of an answer is refused, only a type: see
        ``mechanisms.lattice``.
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
                said = self._decide(steps, bar, guess)
                self._drawing = False
            except BaseException as error:
                self._closed = _CUT_SHORT
                raise error.with_traceback(None) from None  # its frames hold noise
            return said

    def _to_lattice(self, answer: Any, threshold: Any, estimate: Any) -> tuple[int, int, int | None]:
        lattice, row = self._calibration.lattice, self._calibration.row
        if (estimate is None) != (row.compared is Compared.ANSWER):
            need = (
                "must not be given to a row that compares the answer"
                if estimate is not None
                else f"must be given: {row.key} compares {row.compared.value}"
            )
            raise ParameterError("estimate", need, next_step="see `sparsegate variants`")
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
        self._count(1, 1)
        if self._estimator is None:
            noisy = calibration.row.released is Released.NOISY_ANSWER
            return Answer(True, calibration.lattice.value(steps + nu)) if noisy else ABOVE
        fresh = None if self._answer_noise is None else steps + self._answer_noise.take()
        estimate = self._estimator.estimate(compared - rho, fresh)
        return Answer(True, calibration.lattice.value(estimate), self._standard_error)

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
            self._meter.redrawn(self._asked)

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

        The whole input is checked before anything is drawn. ``numeric=True`` gives an array with the fields ``above``,
        ``estimate`` and ``standard_error`` (0 where BELOW), if positives carry a number; it is the default where the
        budget pays for answers.
        """
        if self._born != MARK[0]:  # before the lock: a fork may have left it held for ever
            self._refuse()
        with self._lock:
            if self._closed or self._drawing:
                self._refuse()
            lattice, row = self._calibration.lattice, self._calibration.row
            steps = lattice.private_steps_many(answers, "answers")
            bars = (
                np.broadcast_to(np.int64(self._threshold), steps.shape)
                if threshold is None
                else aligned(
                    threshold,
                    steps.size,
                    lambda v: lattice.steps_many(v, "threshold"),  # type: ignore[arg-type]
                    "threshold",
                )
            )
            if (estimate is None) != (row.compared is Compared.ANSWER):
                self._to_lattice(0, None, estimate)
            guesses = (
                None
                if estimate is None
                else aligned(
                    estimate,
                    steps.size,
                    lambda v: lattice.steps_many(v, "estimate"),  # type: ignore[arg-type]
                    "estimate",
                )
            )
            able = self._estimator is not None or row.released is Released.NOISY_ANSWER
            wanted = not row.gap or self._answer_noise is not None if numeric is None else numeric
            try:
                said = self._decide_many(steps, bars, guesses, able and wanted)
                self._drawing = False
            except BaseException as error:
                if self._drawing:
                    self._closed = _CUT_SHORT
                raise error.with_traceback(None) from None  # its frames hold noise
            return said

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
            raise GateClosed(
                "this gate belongs to another process: its noise died at the fork; make a new gate in this one"
            )
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
        """L(m,k): what the answers drawn so far have cost, exactly; at most the whole budget. See ``meter``.

        Of a gate that was cut short it is the whole budget.
        """
        if self._born != MARK[0]:  # before the lock: a fork may have left it held for ever
            return self._cost()
        with self._lock:
            return self._cost()

    def _cost(self) -> Fraction:
        return self._calibration.budget.total if self._drawing else self._meter.spent(self._asked, self._positives)

    def close(self) -> None:
        """Stop answering, and give back to the ledger what the answers did not cost: epsilon - ``spent``, once.

        Nothing goes back in another process than the gate's own, where it is dead, nor from a gate made with
        ``refund=False``, ``not_private=True`` or a delta, nor from one that was cut short.
        """
        if self._born != MARK[0]:
            return
        with self._lock:
            self._closed = self._closed or "it was closed by hand"
        self._meter.give_back(self._cost())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        row, cutoff = self._calibration.row, self._calibration.cutoff
        state = "closed" if self.closed else "open"
        key = row.key
        if delta := self._calibration.budget.delta:
            key += f" at delta {float(delta):g}"
        given = f"{self._positives} of {cutoff if row.stops else '∞'} positives"
        if row.closes is Closes.RARER:
            given = f"{self._positives} ABOVE and {self._asked - self._positives} BELOW, {cutoff} of each"
        return f"<{type(self).__name__} {key}: {given}, {state}>"
