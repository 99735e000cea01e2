"""The same rows over many runs at once: the auditor and the statistical tests live on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsegate.budget import exact_count
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Printed
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.calibration import Calibration, Integers, aligned, calibrate, compared_value, trusted_source
from sparsegate.mechanisms.gap import Estimator
from sparsegate.mechanisms.setting import RunOptions, only
from sparsegate.mechanisms.variants import Compared, Released, Variant
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
    [[0, 497], [0, 501], [0, 498]]
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
    source: Source | None = None,
    not_private: bool = False,
    **options: Unpack[RunOptions],
) -> Outcomes:
    """Run any row ``runs`` times over the same answers: the same law as ``run``, vectorised over runs.

    Each run costs the row's whole epsilon: on private data the losses of the runs add. The other parameters are
    those of ``run``.

    >>> import sparsegate as sg
    >>> out = sg.run_many("lyu-2017", [0, 5, 9], runs=4, epsilon=1, source=sg.Seeded(1), not_private=True)
    >>> out.asked.tolist()
    [1, 1, 2, 2]
    """
    only("run_many", RunOptions, options)
    runs = exact_count(runs, "runs")
    bars = np.asarray(threshold)
    whole = bars.dtype.kind in "iu" and bars.size > 0
    calibration = calibrate(row, threshold=0 if whole else 0.0, not_private=not_private, **options)
    lattice, row = calibration.lattice, calibration.row
    steps = lattice.private_steps_many(answers, "answers")
    bar = aligned(threshold, steps.size, lambda v: lattice.steps_many(v, "threshold"), "threshold")  # type: ignore[arg-type]
    if (estimates is None) != (row.compared is Compared.ANSWER):
        raise ParameterError(
            "estimates",
            f"must be given exactly where the row compares an error; {row.key} compares {row.compared.value}",
        )
    guess = (
        None
        if estimates is None
        else aligned(
            estimates,
            steps.size,
            lambda v: lattice.steps_many(v, "estimates"),  # type: ignore[arg-type]
            "estimates",
        )
    )
    return _run(calibration, steps, bar, guess, runs, trusted_source(source, not_private))


def _run(
    calibration: Calibration, steps: Integers, bar: Integers, guess: Integers | None, runs: int, source: Source
) -> Outcomes:
    row, scales, questions = calibration.row, calibration.scales, steps.size
    estimator, shape = Estimator.of(row, scales), (runs, questions)
    above, asked = np.empty(shape, dtype=np.bool_), np.empty(runs, dtype=np.int64)
    numeric = estimator is not None or row.released is Released.NOISY_ANSWER
    values = np.zeros(shape, dtype=np.int64) if numeric else None
    gaps = np.zeros(shape, dtype=np.int64) if row.gap else None
    rho_source, nu_source, answer_source = source.stream(), source.stream(), source.stream()
    at_a_time = max(1, _LANES // max(questions, 1))
    for start in range(0, runs, at_a_time):
        stop = min(start + at_a_time, runs)
        count = stop - start
        nu = (
            calibration.sampler.draw(nu_source, scales.query, count * questions).reshape(count, questions)
            if scales.query
            else np.zeros((count, questions), dtype=np.int64)
        )
        surplus = compared_value(row, steps, nu, guess)
        surplus -= bar + calibration.shift
        positive = above[start:stop]
        if row.redraws_threshold:
            _compare_redrawing(calibration, surplus, positive, rho_source)
        else:
            surplus -= _rho(calibration, rho_source, count)[:, None]
            np.greater_equal(surplus, 0, out=positive)
        asked[start:stop] = _stop(positive, calibration)
        if gaps is not None:
            np.multiply(surplus, positive, out=gaps[start:stop])
        if values is not None:
            carried = steps + nu
            if estimator is not None:
                fresh = None
                if scales.answer:
                    fresh = steps + discrete_laplace(answer_source, scales.answer, nu.size).reshape(nu.shape)
                carried = estimator.estimate(surplus + bar + calibration.shift, fresh)
            np.multiply(carried, positive, out=values[start:stop])
    released = (None if numbers is None else calibration.lattice.values(numbers) for numbers in (values, gaps))
    return Outcomes(above, asked, *released)


def _rho(calibration: Calibration, source: Source, count: int) -> Integers:
    scale = calibration.scales.threshold
    drawn: Integers = calibration.sampler.draw(source, scale, count) if scale else np.zeros(count, dtype=np.int64)
    return drawn


def _compare_redrawing(
    calibration: Calibration, surplus: Integers, positive: NDArray[np.bool_], source: Source
) -> None:
    """Question by question, since every positive draws a new rho for the questions after it."""
    rho = _rho(calibration, source, surplus.shape[0])
    for question in range(surplus.shape[1]):
        hit = surplus[:, question] >= rho
        positive[:, question] = hit
        where = np.flatnonzero(hit)
        rho[where] = _rho(calibration, source, where.size)


def _stop(positive: NDArray[np.bool_], calibration: Calibration) -> Integers:
    """Erase what lies behind the last answer allowed; return how many questions each run answered."""
    runs, questions = positive.shape
    if not calibration.row.stops or calibration.cutoff > questions:
        return np.full(runs, questions, dtype=np.int64)
    given = np.cumsum(positive, axis=1, dtype=np.int32) - positive
    beyond = calibration.finished(np.arange(questions, dtype=np.int32) - given, given)
    np.logical_and(positive, ~beyond, out=positive)
    answered: Integers = questions - beyond.sum(axis=1, dtype=np.int64)
    return answered
