"""Any row, running: as a gate, once over a list of answers, and as a mechanism for an audit.

The same rows over many runs at once: the auditor and the statistical tests live on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsegate.budget import Allocation, Budget, Number, Spender, exact_count
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Printed
from sparsegate.errors import ParameterError
from sparsegate.gates.bounds import Setting
from sparsegate.gates.calibration import Calibration, Integers, aligned, calibrate, compared_value, trusted_source
from sparsegate.gates.gate import Answer, Estimator, Gate
from sparsegate.gates.variants import Closes, Released, Variant
from sparsegate.noise import Source, discrete_laplace
from sparsegate.noise.own_settings import own_settings

_LANES = 1 << 18  # comparisons held at a time: 2 MB of noise


@dataclass(frozen=True, repr=False)
class Outcomes(Printed):
    """What many runs answered: run i said ABOVE to question j where ``above[i, j]``; it answered ``asked[i]`` in all.

    ``values[i, j]`` is the number that a positive carried (0 elsewhere), ``gaps[i, j]`` by how much it was above, which
    its number was made from; None where the row releases no such thing.

    >>> import sparsegate as sg
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> out = sg.run_many("roth-2011", [0, 500], runs=3, threshold=100, epsilon=1, **seeded)
    >>> out.above.tolist(), out.asked.tolist(), out.gaps
    ([[False, True], [False, True], [False, True]], [2, 2, 2], None)
    >>> out.values.tolist()
    [[0, 501], [0, 496], [0, 498]]
    """

    above: NDArray[np.bool_]
    asked: NDArray[np.int64]
    values: NDArray[Any] | None
    gaps: NDArray[Any] | None = None

    def sheet(self) -> Sheet:
        """A row for each question: in how many of the runs it was asked, and in how many it was ABOVE."""
        runs, questions = self.above.shape
        places = np.arange(questions)
        columns = {
            "question": places.tolist(),
            "asked": [int((self.asked > place).sum()) for place in places],
            "above": self.above.sum(axis=0).tolist(),
        }
        return Sheet(title=f"{runs:,} runs, {questions:,} questions", columns=columns, numbers=frozenset(columns))


@own_settings
def run_many(
    row: Variant | str,
    answers: ArrayLike,
    *,
    runs: int,
    threshold: ArrayLike = 0,
    estimates: ArrayLike | None = None,
    cutoff: int = 1,
    sensitivity: Number = 1,
    epsilon: Number | None = None,
    budget: Budget | None = None,
    allocation: Allocation | None = None,
    monotonic: bool = False,
    granularity: Number | None = None,
    source: Source | None = None,
    not_private: bool = False,
) -> Outcomes:
    """Run any row ``runs`` times over the same answers: the same law as ``run``, vectorised over runs.

    Its parameters are those of ``run``. Each run costs the row's whole epsilon: on private data the losses add.

    >>> import sparsegate as sg
    >>> out = sg.run_many("lyu-2017", [0, 5, 9], runs=4, epsilon=1, source=sg.Seeded(1), not_private=True)
    >>> out.asked.tolist()
    [1, 3, 2, 1]
    """
    runs = exact_count(runs, "runs")
    bars = np.asarray(threshold)
    whole = bars.dtype.kind in "iu" and bars.size > 0
    calibration = calibrate(Setting.of(locals()), threshold=0 if whole else 0.0, not_private=not_private)
    lattice = calibration.lattice
    steps = lattice.private_steps_many(answers, "answers")
    bar = aligned(threshold, steps.size, lattice, "threshold")
    calibration.row.check_estimate(estimates, "estimates")
    guess = None if estimates is None else aligned(estimates, steps.size, lattice, "estimates")
    return _run(calibration, steps, bar, guess, runs, trusted_source(source, not_private))


def _run(
    calibration: Calibration, steps: Integers, bar: Integers, guess: Integers | None, runs: int, source: Source
) -> Outcomes:
    row, scales, questions = calibration.row, calibration.scales, steps.size
    estimator, shape = Estimator.of(row, scales), (runs, questions)
    above, asked = np.zeros(shape, dtype=np.bool_), np.zeros(runs, dtype=np.int64)
    numeric = estimator is not None or row.released is Released.NOISY_ANSWER
    values = np.zeros(shape, dtype=np.int64) if numeric else None
    gaps = np.zeros(shape, dtype=np.int64) if row.gap else None
    rho_source, nu_source, answer_source = source.stream(), source.stream(), source.stream()
    # A run that ends at its first ABOVE needs no noise for the questions behind it.
    ends = calibration.cutoff == 1 and row.closes is Closes.ABOVE
    width = 1 if ends else max(questions, 1)
    at_a_time = max(1, _LANES // width)
    for start in range(0, runs, at_a_time):
        rows = np.arange(start, min(start + at_a_time, runs))
        rho = None if row.redraws_threshold and not ends else _rho(calibration, rho_source, rows.size)[:, None]
        for first in range(0, questions, width):
            columns = slice(first, first + width)
            answers, bars = steps[columns], bar[columns] + calibration.shift
            block = rows.size, answers.size
            nu = np.zeros(block, dtype=np.int64)
            if scales.query:
                nu = row.noise.law.draw(nu_source, scales.query, nu.size).reshape(block)
            surplus = compared_value(row, answers, nu, None if guess is None else guess[columns])
            surplus -= bars
            if rho is None:
                positive = _compare_redrawing(calibration, surplus, rho_source)
            else:
                surplus -= rho
                positive = surplus >= 0
            asked[rows] += 1 if ends else _stop(positive, calibration)
            above[rows, columns] = positive
            if gaps is not None:
                gaps[rows, columns] = surplus * positive
            if values is not None:
                carried = answers + nu
                if estimator is not None:
                    fresh = None
                    if scales.answer:
                        fresh = answers + discrete_laplace(answer_source, scales.answer, nu.size).reshape(block)
                    carried = estimator.estimate(surplus + bars, fresh)
                values[rows, columns] = carried * positive
            if ends and rho is not None:
                live = np.flatnonzero(~positive[:, 0])
                rows, rho = rows[live], rho[live]
    released = (None if numbers is None else calibration.lattice.values(numbers) for numbers in (values, gaps))
    return Outcomes(above, asked, *released)


def _rho(calibration: Calibration, source: Source, count: int) -> Integers:
    scale = calibration.scales.threshold
    drawn: Integers = calibration.row.noise.law.draw(source, scale, count) if scale else np.zeros(count, dtype=np.int64)
    return drawn


def _compare_redrawing(calibration: Calibration, surplus: Integers, source: Source) -> NDArray[np.bool_]:
    """Question by question, since every positive draws a new rho for the questions after it."""
    rho, positive = _rho(calibration, source, surplus.shape[0]), np.empty(surplus.shape, dtype=np.bool_)
    for question in range(surplus.shape[1]):
        hit = surplus[:, question] >= rho
        positive[:, question] = hit
        where = np.flatnonzero(hit)
        rho[where] = _rho(calibration, source, where.size)
    return positive


def _stop(positive: NDArray[np.bool_], calibration: Calibration) -> Integers:
    """Erase what lies behind the last answer allowed; return how many questions each run answered."""
    runs, questions = positive.shape
    if not calibration.row.stops or calibration.cutoff > questions:
        return np.full(runs, questions, dtype=np.int64)
    before = np.cumsum(positive, axis=1, dtype=np.int32) - positive
    beyond = calibration.finished(np.arange(questions, dtype=np.int32) - before, before)
    np.logical_and(positive, ~beyond, out=positive)
    answered: Integers = questions - beyond.sum(axis=1, dtype=np.int64)
    return answered


@own_settings
def gate(
    row: Variant | str,
    *,
    threshold: Number,
    sensitivity: Number,
    cutoff: int = 1,
    epsilon: Number | None = None,
    budget: Budget | None = None,
    allocation: Allocation | None = None,
    monotonic: bool = False,
    queries: int | None = None,
    granularity: Number | None = None,
    ledger: Spender | None = None,
    refund: bool = True,
    source: Source | None = None,
    not_private: bool = False,
) -> Gate:
    """A streaming gate for any row, published or your own, with ``ask``, ``ask_many`` and ``close``.

    **Theorem.** Without ``not_private=True`` the whole transcript is epsilon-DP, for any number of adaptively chosen
    questions: the gate is made only where the tight loss of the row, at this cutoff, these shares and this many
    ``queries``, is no more than it is charged. *Proof*: ``gates.bounds``, for every row that a ``Variant`` can be. With
    the waiver a ledger is refused where the loss is more than would be written down. Machine-checked: proofs/README.md.

    The parameters are those of ``SparseVector``. A row that compares errors takes ``ask(q, estimate=e)``; ``queries``
    closes the gate after this many questions, which bounds the loss of a row that never stops by itself.

    >>> import sparsegate as sg
    >>> mine = sg.variants.Variant(key="mine", threshold_noise=sg.variants.Scale(factor=1),
    ...                   query_noise=sg.variants.Scale(factor=3, per_cutoff=True))
    >>> gate = sg.variants.gate(mine, threshold=100, cutoff=3, epsilon=1, sensitivity=1)
    >>> bool(gate.ask(10_000)), gate
    (True, <Gate mine: 1 of 3 positives, open>)
    >>> sg.variants.gate("lee-clifton-2014", threshold=100, epsilon=1, sensitivity=1)
    Traceback (most recent call last):
    sparsegate.errors.ParameterError: not_private must be True to run lee-clifton-2014: its query noise does not ...
    """
    calibration = calibrate(Setting.of(locals()), threshold=threshold, not_private=not_private)
    if ledger is not None and calibration.loss > calibration.budget.total:
        rule = f"must not be charged for {calibration.row.key}, which costs more than the epsilon it says"
        raise ParameterError("ledger", rule, next_step="leave it out, or use another row")
    return Gate(calibration, threshold=threshold, source=source, not_private=not_private, ledger=ledger, refund=refund)


@own_settings
def run(
    row: Variant | str,
    answers: Any,
    *,
    threshold: Any = 0,
    estimates: Any = None,
    cutoff: int = 1,
    sensitivity: Number = 1,
    epsilon: Number | None = None,
    budget: Budget | None = None,
    allocation: Allocation | None = None,
    monotonic: bool = False,
    granularity: Number | None = None,
    source: Source | None = None,
    not_private: bool = False,
) -> tuple[Answer, ...]:
    """Run any row once over the given answers; the tuple ends where the row stopped.

    ``threshold`` is one public number or one for each answer; ``estimates`` are the public guesses of a row that
    compares errors. The other parameters are those of ``SparseVector``.

    >>> import sparsegate as sg
    >>> [a.above for a in sg.run("chen-2015", [9, -9, 9], epsilon=5, source=sg.Seeded(1), not_private=True)]
    [True, False, True]
    """
    answers = list(answers)
    bars, guesses = _each(threshold, len(answers), "threshold"), _each(estimates, len(answers), "estimates")
    # One float: a float lattice.
    first: Any = next((bar for bar in bars if isinstance(bar, float | np.floating)), bars[0] if bars else 0)
    calibration = calibrate(Setting.of(locals()), threshold=first, not_private=not_private)
    running = Gate(calibration, threshold=first, source=source, not_private=not_private)
    transcript = []
    for answer, bar, guess in zip(answers, bars, guesses, strict=True):
        transcript.append(running.ask(answer, threshold=bar, estimate=guess))
        if running.closed:
            break
    return tuple(transcript)


def _each(values: Any, count: int, parameter: str) -> list[Any]:
    listed = [values] * count if values is None or np.ndim(values) == 0 else list(values)
    if len(listed) != count:
        raise ParameterError(parameter, f"must be one number or {count} of them", len(listed), "pass one for each")
    return listed
