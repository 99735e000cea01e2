"""The public gate: the standard row (Alg. 7) on private data."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Unpack

import numpy as np

from sparsegate.budget import Budget, Number, Spender, exact_count, exact_delta, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.approximate import or_approximate
from sparsegate.mechanisms.calibration import calibrate
from sparsegate.mechanisms.gate import Answer, Gate
from sparsegate.mechanisms.plan import plan
from sparsegate.mechanisms.setting import RunOptions, Split, check_one_of, only
from sparsegate.mechanisms.variants import Scales, Variant
from sparsegate.noise import Source


class SparseVector(Gate):
    """Says which of a stream of private answers are above a threshold, and pays only for those that are.

    With rho ~ Lap(Delta/eps1) drawn once and nu_i ~ Lap(2c Delta/eps2) fresh for every question (monotonic queries:
    Lap(c Delta/eps2)),

        ABOVE  iff  q_i + nu_i >= T_i + rho,     and the gate closes after the c-th ABOVE.

    **Theorem** (Lyu, Su, Li 2017, Thm. 4 and 5; discrete noise on the lattice changes nothing in the alignment
    argument). If adding or removing one person moves every answer by at most Delta, the whole transcript is
    (eps1+eps2+eps3)-DP for any number of adaptively chosen questions; with ``monotonic=True`` this needs all
    answers to move in the same direction. With an answers share eps3, every ABOVE carries q_i + Lap(c Delta/eps3),
    drawn afresh. Thresholds are public.

    Parameters
    ----------
    threshold : T, a public number; ``ask`` takes another for one question.
    cutoff : c >= 1, how many ABOVE the gate gives before it closes.
    epsilon : eps > 0, split by ``allocation`` ("optimal", "1:1", "1:3", "1:c" or r for 1:r); or
    budget : a ``Budget`` with its shares; an answers share makes every ABOVE carry an estimate.
    sensitivity : Delta > 0, how much one person can move an answer. Required: nobody else can know it.
    monotonic : True where one person moves all answers in one direction (counting queries).
    delta : 0 < delta < 1 allows an (epsilon, delta) gate, whose noise grows with sqrt(c) and not with c: for large c.
        It is used where its margin is less than the pure gate's, as ``budget`` and repr say, and charged only then.
        Its theorem and proof are in ``mechanisms.approximate``; it says ABOVE and BELOW, and no numbers.
    queries : n, plan for at most n questions: the gate uses the scales of least variance for n and closes after them.
        Of a ``budget`` the plan keeps the total and the answers share; the rest it splits by itself.
    granularity : the lattice step, a power of two; by default 1 for ints, else at most Delta/1024.
    ledger : where the whole epsilon is charged, before any noise is drawn: an open ``sparsegate.Ledger``.
    refund : ``close`` gives back to the ledger what the answers did not cost; False: what was charged stays spent.
    source : ``Secure()`` by default; a ``Seeded`` one needs ``not_private=True``.

    >>> import sparsegate as sg
    >>> gate = sg.SparseVector(threshold=1000, cutoff=2, epsilon=1, sensitivity=1, monotonic=True,
    ...                        source=sg.Seeded(7), not_private=True)
    >>> [bool(gate.ask(count)) for count in (812, 4021, 640)]
    [False, True, False]
    >>> gate
    <SparseVector standard: 1 of 2 positives, open>
    >>> 0 < gate.spent < gate.budget.total
    True
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        threshold: Number,
        cutoff: int,
        sensitivity: Number,
        ledger: Spender | None = None,
        refund: bool = True,
        source: Source | None = None,
        not_private: bool = False,
        queries: int | None = None,
        delta: Number = 0,
        **options: Unpack[Split],
    ) -> None:
        only("SparseVector", Split, options)
        if exact_delta(delta, zero=True):
            _refuse_splits(options)
        scales = None
        if queries is not None:
            scales, options["budget"] = _planned(cutoff, exact_count(queries, "queries"), options)
            options["epsilon"] = None
        calibration = calibrate(
            "standard",
            cutoff=cutoff,
            sensitivity=sensitivity,
            threshold=threshold,
            not_private=not_private,
            scales=scales,
            queries=queries,
            **options,
        )
        if delta:
            calibration = or_approximate(calibration, delta)
        if not isinstance(refund, bool):
            raise ParameterError("refund", "must be True or False", refund)
        super().__init__(
            calibration, threshold=threshold, source=source, not_private=not_private, ledger=ledger, refund=refund
        )

    @property
    def budget(self) -> Budget:
        """The shares this gate spends, all of them committed when it was made."""
        return self._calibration.budget

    def cost(self, *, below: int, above: int) -> Fraction:
        """L(m,k): what a gate like this one costs that has said m BELOW and k ABOVE."""
        return self._calibration.spent([(below, above)])

    def margin(self, confidence: float = 0.95) -> int | float:
        """How far from the threshold an answer must be for its ABOVE or BELOW to be right with this probability.

        The smallest a such that Pr[rho - nu <= a - 1 lattice step] >= confidence, from the exact law of the
        difference of two discrete Laplace variables.
        """
        from sparsegate.mechanisms.margin import steps_to_confidence  # mpmath is heavy and only needed here

        scales = self._calibration.scales
        return self._calibration.lattice.value(steps_to_confidence(confidence, scales.threshold, scales.query))


def _refuse_splits(options: Split) -> None:
    """With delta the bound splits epsilon, and knows no numeric answers."""
    for name in ("budget", "allocation"):
        if options.get(name) is not None:
            rule = "must not be given with delta, which splits epsilon by itself and pays for no answers"
            raise ParameterError(name, rule, options[name], "pass epsilon= and delta= alone")


def _planned(cutoff: int, queries: int, options: Split) -> tuple[Scales, Budget]:
    """The scales of least variance for this many questions, and what they are charged.

    A plan is charged its total; how it splits is in the scales, not in shares.
    """
    epsilon, budget = options.get("epsilon"), options.get("budget")
    if (allocation := options.get("allocation")) is not None:
        raise ParameterError("allocation", "must not be given with queries: the plan splits epsilon", allocation)
    check_one_of(epsilon, budget)
    total, share = (epsilon, 0) if budget is None else (budget.total, budget.answers)
    monotonic = options.get("monotonic", False)
    planned = plan(cutoff=cutoff, epsilon=total, monotonic=monotonic, queries=queries, answers=share)  # type: ignore[arg-type]
    return planned.scales, Budget(threshold=0, queries=exact_epsilon(total) - share, answers=share)


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
    compares errors.

    >>> import sparsegate as sg
    >>> [a.above for a in run("chen-2015", [9, -9, 9], epsilon=5, source=sg.Seeded(1), not_private=True)]
    [True, False, True]
    """
    only("run", RunOptions, options)
    answers = list(answers)
    bars, guesses = _each(threshold, len(answers), "threshold"), _each(estimates, len(answers), "estimates")
    # One float: a float lattice.
    first = next((bar for bar in bars if isinstance(bar, float | np.floating)), bars[0] if bars else 0)
    calibration = calibrate(row, threshold=first, not_private=not_private, **options)
    gate = Gate(calibration, threshold=first, source=source, not_private=not_private)
    transcript = []
    for answer, bar, guess in zip(answers, bars, guesses, strict=True):
        transcript.append(gate.ask(answer, threshold=bar, estimate=guess))
        if gate.closed:
            break
    return tuple(transcript)


def _each(values: Any, count: int, parameter: str) -> list[Any]:
    listed = [values] * count if values is None or np.ndim(values) == 0 else list(values)
    if len(listed) != count:
        raise ParameterError(
            parameter, f"must be one number or {count} of them", len(listed), "pass one for each answer"
        )
    return listed
