"""Any row, running: as a gate, once over a list of answers, and as a mechanism for an audit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Unpack

import numpy as np

from sparsegate.budget import Number, Spender
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.answer import Answer
from sparsegate.mechanisms.batch import run_many
from sparsegate.mechanisms.calibration import calibrate
from sparsegate.mechanisms.gate import Gate
from sparsegate.mechanisms.setting import Options, RunOptions, Split, only
from sparsegate.mechanisms.variants import Compared, Variant
from sparsegate.noise import Source
from sparsegate.noise.own_settings import own_settings

_FAR: Final = 1000  # noise units: an estimate that far below makes |estimate - answer| have one sign


@own_settings
def gate(
    row: Variant | str,
    *,
    threshold: Number,
    sensitivity: Number,
    cutoff: int = 1,
    queries: int | None = None,
    ledger: Spender | None = None,
    refund: bool = True,
    source: Source | None = None,
    not_private: bool = False,
    **options: Unpack[Split],
) -> Gate:
    """A streaming gate for any row, published or your own, with ``ask``, ``ask_many`` and ``close``.

    **Theorem.** Without ``not_private=True`` the whole transcript is epsilon-DP, for any number of adaptively chosen
    questions: the gate is made only where the tight loss of the row, at this cutoff, these shares and this many
    ``queries``, is no more than it is charged. *Proof*: ``mechanisms.bounds``, for every row that a ``Variant`` can be.
    So a flawed row, a row of your own that costs more than its epsilon, and a ``Seeded`` source are refused without
    the waiver; and with it a ledger is refused where the loss is more than would be written down.

    The analyst may toss coins. Of the standard row, Machine-checked: `coined_gate_is_private`,
    `coined_monotonic_gate_is_private` (proofs/standard_gate.v). With gaps, numbers, exponential noise, or two-sided,
    Machine-checked: `coins_keep_whole_laws`, `coined_numeric_gate_is_private`,
    `coined_monotonic_numeric_gate_is_private`, `coined_exponential_gap_is_private`, `coined_laplace_gap_is_private`,
    `coined_numbered_gap_is_private`, `coined_two_sided_gate_is_private` (proofs/coined_gates.v).

    The parameters are those of ``SparseVector``. A row that compares errors takes ``ask(q, estimate=e)``; ``queries``
    closes the gate after this many questions, which bounds the loss of a row that never stops by itself.

    >>> import sparsegate as sg
    >>> mine = sg.Variant(key="mine", threshold_noise=sg.Scale(factor=1),
    ...                   query_noise=sg.Scale(factor=3, per_cutoff=True))
    >>> gate = sg.gate(mine, threshold=100, cutoff=3, epsilon=1, sensitivity=1)
    >>> bool(gate.ask(10_000)), gate
    (True, <Gate mine: 1 of 3 positives, open>)
    >>> sg.gate("lee-clifton-2014", threshold=100, epsilon=1, sensitivity=1)
    Traceback (most recent call last):
    sparsegate.errors.ParameterError: not_private must be True to run lee-clifton-2014: its query noise does not ...
    """
    only("gate", Split, options)
    run_options: Options = {"cutoff": cutoff, "sensitivity": sensitivity, "queries": queries, **options}
    calibration = calibrate(row, threshold=threshold, not_private=not_private, **run_options)
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
    source: Source | None = None,
    not_private: bool = False,
    **options: Unpack[RunOptions],
) -> tuple[Answer, ...]:
    """Run any row once over the given answers; the tuple ends where the row stopped.

    ``threshold`` is one public number or one for each answer; ``estimates`` are the public guesses of a row that
    compares errors. The options are those of a ``Setting``, such as epsilon and cutoff; ``source`` and ``not_private``
    are as in ``gate``.

    >>> import sparsegate as sg
    >>> [a.above for a in sg.run("chen-2015", [9, -9, 9], epsilon=5, source=sg.Seeded(1), not_private=True)]
    [True, False, True]
    """
    only("run", RunOptions, options)
    answers = list(answers)
    bars, guesses = _each(threshold, len(answers), "threshold"), _each(estimates, len(answers), "estimates")
    # One float: a float lattice.
    first: Any = next((bar for bar in bars if isinstance(bar, float | np.floating)), bars[0] if bars else 0)
    given: RunOptions = {"sensitivity": 1, **options}
    running = gate(row, threshold=first, source=source, not_private=not_private, **given)
    transcript = []
    for answer, bar, guess in zip(answers, bars, guesses, strict=True):
        transcript.append(running.ask(answer, threshold=bar, estimate=guess))
        if running.closed:
            break
    return tuple(transcript)


def _each(values: Any, count: int, parameter: str) -> list[Any]:
    listed = [values] * count if values is None or np.ndim(values) == 0 else list(values)
    if len(listed) != count:
        raise ParameterError(
            parameter, f"must be one number or {count} of them", len(listed), "pass one for each answer"
        )
    return listed


def row_mechanism(
    row: Variant,
    *,
    epsilon: float,
    cutoff: int = 1,
    sensitivity: float = 1,
    monotonic: bool = False,
    centre: float = 0,
    source: Source | None = None,
) -> Callable[[Any, int], Any]:
    """A row as a batch mechanism: what was ABOVE the threshold ``centre``, and the numbers that a positive released.

    It is for audits, whose answers are made up: a flawed row runs without a waiver. A row that compares errors gets
    public estimates far below ``centre`` and a threshold that is as large: then |estimate - answer| >= threshold + rho
    says answer >= centre + rho, and the same inputs tell as much about every row.
    """
    plain = row.compared is Compared.ANSWER
    far = centre if plain else _FAR * max(1, round(sensitivity / epsilon))

    def mechanism(answers: Any, n: int) -> Any:
        given = {} if plain else {"estimates": np.full_like(answers, centre - far)}
        out = run_many(
            row,
            answers,
            runs=n,
            threshold=far if answers.dtype.kind == "i" else float(far),
            cutoff=cutoff,
            sensitivity=sensitivity,
            epsilon=epsilon,
            monotonic=monotonic,
            not_private=True,
            source=source,
            **given,
        )
        if out.values is None:
            return out.above
        return out.above, out.values.sum(axis=1) if cutoff == 1 else out.values

    mechanism.__module__, mechanism.__qualname__ = "sparsegate", row.key
    return mechanism
