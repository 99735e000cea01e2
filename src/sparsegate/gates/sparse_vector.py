"""The public gate: the best row for it, chosen from public numbers, on private data."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, Literal

from sparsegate.budget import (
    Allocation,
    Budget,
    Number,
    Spender,
    check_choice,
    check_truth,
    exact_count,
    exact_delta,
    exact_epsilon,
)
from sparsegate.errors import ParameterError
from sparsegate.gates.accounting import Accountant, gate_event
from sparsegate.gates.approximate import or_approximate
from sparsegate.gates.bounds import Setting, check_one_of
from sparsegate.gates.calibration import Calibration, calibrate
from sparsegate.gates.gate import Gate
from sparsegate.gates.lattice import Lattice
from sparsegate.gates.per_above import EXPECTED, MOST_EXPECTED, per_above_calibration, per_above_preview
from sparsegate.gates.planning import NoiseName, check_plan_work, plan
from sparsegate.gates.preview import Preview, epsilon_within, gate_preview, previews
from sparsegate.gates.variants import VARIANTS
from sparsegate.noise import Source
from sparsegate.noise.own_settings import own_settings

_MOST_PREVIEWED = 1_000  # positives of another gate that is planned only to be looked at
_ROWS = {"auto": "exponential-gap", "exponential": "exponential-gap", "laplace": "ding-2019"}


class SparseVector(Gate):
    """Says which of a stream of private answers are above a threshold, and pays only for those that are.

    With rho drawn once and nu_i for every question, of scales Delta/eps1 and 2c Delta/eps2 (monotonic: c Delta/eps2),

        ABOVE  iff  q_i + nu_i >= T_i + rho + kappa,     and the gate closes after the c-th ABOVE.

    The noise is exponential, with a public kappa that makes the margin the same on both sides (``gates.laws``); or
    two-sided Laplace, kappa = 0 (Alg. 7). Every ABOVE carries an estimate of its answer, with its standard error.

    **Theorem** (Lyu, Su, Li 2017, Thm. 4 and 5; the gap: Ding et al. 2019; exponential noise: Liu et al. 2024; proven
    in ``gates.bounds``). If adding or removing one person moves every answer by at most Delta, the whole transcript
    with its gaps is (eps1+eps2+eps3)-DP for any number of adaptively chosen questions; with ``monotonic=True`` this
    needs all answers to move in the same direction. With an answers share eps3, every ABOVE also pays for
    q_i + Lap(c Delta/eps3), drawn afresh, and the estimate is the blend of the two (``gates.gate``). Thresholds are
    public. Machine-checked: proofs/README.md.

    **Without a cutoff** the gate pays for each ABOVE when it gives it, on a zCDP ledger, as long as that can pay. Its
    noise is chosen for the margin ``within`` at the least cost of ``expect`` ABOVEs. The opening is charged, and what
    the next ABOVE costs is reserved; ``close`` gives that back; after a crash it counts as spent. A BELOW is free
    (``gates.per_above``). It says ABOVE and BELOW, and no numbers.

    Parameters
    ----------
    threshold : T, a public number; ``ask`` takes another for one question.
    cutoff : c >= 1, how many ABOVE the gate gives before it closes. Left out: it pays for each.
    epsilon : eps > 0, split by ``allocation`` ("optimal", "1:1", "1:3", "1:c" or r for 1:r); or
    budget : a ``Budget`` with its shares; an answers share makes the estimates better.
    sensitivity : Delta > 0, how much one person can move an answer. Required: nobody else can know it.
    noise : "auto", "exponential" or "laplace". Auto is exponential; with ``queries`` the one of less variance.
    closes : "above"; or "rarer" for a two-sided gate, which goes on until both answers were given c times, at the same
        cost, with Laplace noise and without estimates.
    monotonic : True where one person moves all answers in one direction (counting queries).
    delta : 0 < delta < 1 allows an (epsilon, delta) gate, whose noise grows with sqrt(c) and not with c (theorem:
        ``gates.approximate``), without numbers. It is used, and charged, where its margin is less than the pure one's.
    queries : n, plan for at most n questions: the gate uses the scales of least variance for n and closes after them.
        Of a ``budget`` the plan keeps the total and the answers share.
    within : without a cutoff, how far from T an answer must be to be right with 95 % (``margin``).
    expect : without a cutoff, for how many ABOVE the noise is chosen; it may give more, and fewer. By default 10.
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
    <SparseVector exponential-gap: 1 of 2 positives, open>
    >>> 0 < gate.spent < gate.budget.total
    True
    """

    __slots__ = ()

    @own_settings
    def __init__(
        self,
        *,
        threshold: Number,
        cutoff: int | None = None,
        sensitivity: Number,
        epsilon: Number | None = None,
        budget: Budget | None = None,
        allocation: Allocation | None = None,
        monotonic: bool = False,
        delta: Number = 0,
        queries: int | None = None,
        noise: NoiseName = "auto",
        closes: Literal["above", "rarer"] = "above",
        within: Number | None = None,
        expect: int | None = None,
        granularity: Number | None = None,
        ledger: Spender | None = None,
        refund: bool = True,
        source: Source | None = None,
        not_private: bool = False,
    ) -> None:
        calibration = gate_calibration(**gate_numbers(locals()))
        check_truth(refund, "refund")
        super().__init__(
            calibration, threshold=threshold, source=source, not_private=not_private, ledger=ledger, refund=refund
        )

    @staticmethod
    @previews(__init__, threshold=None, confidence=0.95)
    def preview(
        *, threshold: Any, cutoff: Any, within: Any, ledger: object, confidence: float, **numbers: Any
    ) -> Preview:
        """What a gate with these parameters would be good for: nothing is drawn, charged or looked at.

        They are those of the gate, so that ``preview(**numbers)`` can be read before ``SparseVector(**numbers)`` is
        paid for. The threshold may be left out. ``within`` in place of an epsilon asks for the least epsilon, of three
        digits, whose margin is at most that. Without a cutoff it says what the opening and each ABOVE cost, and how
        many of them ``ledger`` would pay for: that alone is read from it.

        >>> import sparsegate as sg
        >>> sg.SparseVector.preview(threshold=1000, cutoff=25, epsilon=0.5, sensitivity=1, monotonic=True)
        <Preview: ε = 0.5, cutoff 25: an answer 92 or more from the threshold 1,000 is right with 95 %; any 25 of
        them at once, 272 or more. An ABOVE carries an estimate with a standard error of 59.>
        >>> sg.SparseVector.preview(cutoff=25, within=200, sensitivity=1, monotonic=True).epsilon
        Fraction(57, 250)
        """
        make = partial(gate_calibration, **gate_numbers(numbers), threshold=0 if threshold is None else threshold)
        if cutoff is None:
            return per_above_preview(make(within=within), threshold=threshold, confidence=confidence, ledger=ledger)
        if within is not None:
            spends = {name: numbers[name] for name in ("epsilon", "budget", "delta")}
            _refuse(spends, "with within, which asks for an epsilon", unless=(None, 0))
            make = partial(
                make, epsilon=epsilon_within(within, confidence=confidence, make=partial(make, cutoff=cutoff))
            )
        at_cutoff = partial(_at_cutoff, make, numbers["queries"])
        return gate_preview(make(cutoff=cutoff), threshold=threshold, confidence=confidence, at_cutoff=at_cutoff)

    @property
    def budget(self) -> Budget:
        """The shares this gate spends, all of them committed when it was made."""
        return self._calibration.budget

    def cost(self, *, below: int, above: int) -> Fraction:
        """L(m,k): what a gate like this one costs that has said m BELOW and k ABOVE."""
        return self._calibration.spent([(exact_count(below, "below", least=0), exact_count(above, "above", least=0))])

    def dp_event(self, accountant: Accountant = "rdp") -> Any:
        """This gate as an event of Google's ``dp_accounting``, for its accountant "rdp" or "pld".

        All of the gate is in it, however little was asked: see ``gates.accounting``.
        """
        return gate_event(self._calibration, accountant)

    def margin(self, confidence: float = 0.95) -> int | float:
        """How far from the threshold an answer must be for its ABOVE or BELOW to be right with this probability.

        The worse of the two sides, from the exact law of rho - nu on the lattice: see ``gates.calibration``.
        """
        return self._calibration.lattice.value(self._calibration.margin(confidence))


def _at_cutoff(make: Callable[..., Calibration], queries: int | None, cutoff: int) -> Calibration:
    check_plan_work(cutoff=cutoff, queries=queries, most=_MOST_PREVIEWED)
    return make(cutoff=cutoff)


def gate_calibration(
    *,
    threshold: Number,
    cutoff: int | None = None,
    sensitivity: Number,
    epsilon: Number | None = None,
    budget: Budget | None = None,
    allocation: Allocation | None = None,
    monotonic: bool = False,
    delta: Number = 0,
    queries: int | None = None,
    noise: NoiseName = "auto",
    closes: Literal["above", "rarer"] = "above",
    within: Number | None = None,
    expect: int | None = None,
    granularity: Number | None = None,
    not_private: bool = False,
) -> Calibration:
    """The row and the noise of a ``SparseVector`` with these parameters, checked; nothing is drawn or charged."""
    check_choice(noise, "noise", _ROWS, 'pass noise="auto"')
    check_choice(closes, "closes", ("above", "rarer"), "leave it out")
    if cutoff is None:  # whatever the theorem of such a gate is not about is refused
        if within is None:
            rule = "must be given, or within= in its place for a gate that pays for each ABOVE"
            raise ParameterError("cutoff", rule, next_step="pass for instance cutoff=25 and epsilon=0.5")
        why = "without a cutoff: each ABOVE is paid for by itself, and carries no number", "leave it out"
        _refuse({"epsilon": epsilon, "budget": budget, "allocation": allocation, "queries": queries}, *why)
        _refuse({"delta": delta, "noise": noise, "closes": closes}, *why, unless=(0, "auto", "laplace", "above"))
        return per_above_calibration(
            lattice=Lattice.fit(sensitivity=sensitivity, threshold=threshold, granularity=granularity),
            monotonic=check_truth(monotonic, "monotonic", "pass True only for one-way changes"),
            within=within,
            expect=EXPECTED if expect is None else exact_count(expect, "expect", most=MOST_EXPECTED),
        )
    step = "leave out the cutoff, or ask SparseVector.preview(within=...)"
    _refuse({"within": within, "expect": expect}, "with a cutoff, whose margin follows from epsilon", step)
    two_sided = closes == "rarer"
    if exact_delta(delta, zero=True):
        why = "with delta, which splits epsilon by itself and pays for no answers", "pass epsilon= and delta= alone"
        _refuse({"budget": budget, "allocation": allocation}, *why)
        if noise == "exponential" or two_sided:
            rule = 'must be "auto" or "laplace", and closes "above", with delta: its bound is of no other gate'
            raise ParameterError("noise", rule, (noise, closes), "leave out delta, or these two")
    if two_sided and noise == "exponential":
        rule = 'must be "auto" or "laplace" where closes="rarer": one-sided noise is not private there'
        raise ParameterError("noise", rule, noise, "leave noise out")
    if two_sided and isinstance(budget, Budget) and budget.answer_epsilon:
        rule = 'must have no answers share where closes="rarer": each of any number of ABOVEs would cost'
        raise ParameterError("budget", rule, float(budget.answer_epsilon), "pass epsilon=, or another budget")
    row, scales = VARIANTS["two-sided" if two_sided else _ROWS[noise]], None
    if queries is not None:
        _refuse({"allocation": allocation}, "with queries: the plan splits epsilon")
        check_one_of(epsilon, budget)
        total, share = (exact_epsilon(epsilon), 0) if budget is None else (budget.total, budget.answer_epsilon)
        planned = plan(
            cutoff=cutoff,
            epsilon=total,
            monotonic=monotonic,
            queries=queries,
            answer_epsilon=share,
            noise="laplace" if two_sided else noise,  # L(m,k) without numbers is symmetric: the same plan serves
        )
        epsilon, budget = None, Budget(threshold_epsilon=0, query_epsilon=total - share, answer_epsilon=share)
        row, scales = row if two_sided else planned.row, planned.scales
    calibration = calibrate(Setting.of(locals()), threshold=threshold, not_private=not_private)
    return or_approximate(calibration, delta) if delta else calibration


def _refuse(parameters: dict[str, Any], why: str, step: str = "", *, unless: tuple[Any, ...] = (None,)) -> None:
    for name, value in parameters.items():
        if value not in unless:
            raise ParameterError(name, f"must not be given {why}", value, step)


_PUBLIC = tuple(inspect.signature(gate_calibration).parameters)


def gate_numbers(scope: dict[str, Any]) -> dict[str, Any]:
    """Of the parameters of a call, its ``locals()``, those that ``gate_calibration`` takes."""
    return {name: scope[name] for name in _PUBLIC if name in scope}
