"""The public gate: the best row for it, chosen from public numbers, on private data."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
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
            for name in ("epsilon", "budget", "delta"):
                _refuse(numbers, name, "with within, which asks for an epsilon", unless=(None, 0))
            least = epsilon_within(within, confidence=confidence, make=partial(make, cutoff=cutoff))
            make = partial(make, epsilon=least)
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


_OTHERS = ("ledger", "refund", "source")
_SHAPE = inspect.Signature([p for p in inspect.signature(SparseVector).parameters.values() if p.name not in _OTHERS])


def gate_numbers(scope: dict[str, Any]) -> dict[str, Any]:
    """Of the parameters of a call, its ``locals()``, those that ``gate_calibration`` takes."""
    return {name: scope[name] for name in _SHAPE.parameters if name in scope}


def gate_calibration(**numbers: Any) -> Calibration:
    """The row and the noise of a ``SparseVector`` with these parameters, checked; nothing is drawn or charged."""
    bound = _SHAPE.bind(**numbers)
    bound.apply_defaults()
    public = bound.arguments
    asked = SimpleNamespace(**public)
    check_choice(asked.noise, "noise", _ROWS, 'pass noise="auto"')
    check_choice(asked.closes, "closes", ("above", "rarer"), "leave it out")
    if asked.cutoff is None:  # whatever the theorem of such a gate is not about is refused
        if asked.within is None:
            rule = "must be given, or within= in its place for a gate that pays for each ABOVE"
            raise ParameterError("cutoff", rule, next_step="pass for instance cutoff=25 and epsilon=0.5")
        without = "without a cutoff: each ABOVE is paid for by itself, and carries no number", "leave it out"
        for name in ("epsilon", "budget", "allocation", "queries"):
            _refuse(public, name, *without)
        for name in ("delta", "noise", "closes"):
            _refuse(public, name, *without, unless=(0, "auto", "laplace", "above"))
        return per_above_calibration(
            lattice=Lattice.fit(
                sensitivity=asked.sensitivity, threshold=asked.threshold, granularity=asked.granularity
            ),
            monotonic=check_truth(asked.monotonic, "monotonic", "pass True only for one-way changes"),
            within=asked.within,
            expect=EXPECTED if asked.expect is None else exact_count(asked.expect, "expect", most=MOST_EXPECTED),
        )
    for name in ("within", "expect"):
        step = "leave out the cutoff, or ask SparseVector.preview(within=...)"
        _refuse(public, name, "with a cutoff, whose margin follows from epsilon", step)
    two_sided, budget = asked.closes == "rarer", asked.budget
    if exact_delta(asked.delta, zero=True):
        for name in ("budget", "allocation"):
            why = "with delta, which splits epsilon by itself and pays for no answers"
            _refuse(public, name, why, "pass epsilon= and delta= alone")
        if asked.noise == "exponential" or two_sided:
            rule = 'must be "auto" or "laplace", and closes "above", with delta: its bound is of no other gate'
            raise ParameterError("noise", rule, (asked.noise, asked.closes), "leave out delta, or these two")
    if two_sided and asked.noise == "exponential":
        rule = 'must be "auto" or "laplace" where closes="rarer": one-sided noise is not private there'
        raise ParameterError("noise", rule, asked.noise, "leave noise out")
    if two_sided and isinstance(budget, Budget) and budget.answer_epsilon:
        rule = 'must have no answers share where closes="rarer": each of any number of ABOVEs would cost'
        raise ParameterError("budget", rule, float(budget.answer_epsilon), "pass epsilon=, or another budget")
    chosen: dict[str, Any] = {"row": VARIANTS["two-sided" if two_sided else _ROWS[asked.noise]]}
    if asked.queries is not None:
        _refuse(public, "allocation", "with queries: the plan splits epsilon")
        check_one_of(asked.epsilon, budget)
        total, share = (exact_epsilon(asked.epsilon), 0) if budget is None else (budget.total, budget.answer_epsilon)
        planned = plan(
            cutoff=asked.cutoff,
            epsilon=total,
            monotonic=asked.monotonic,
            queries=asked.queries,
            answer_epsilon=share,
            noise="laplace" if two_sided else asked.noise,  # L(m,k) without numbers is symmetric: the same plan serves
        )
        shares = Budget(threshold_epsilon=0, query_epsilon=total - share, answer_epsilon=share)
        chosen = {"row": planned.row, **(chosen if two_sided else {})}
        chosen |= {"epsilon": None, "budget": shares, "scales": planned.scales}
    calibration = calibrate(Setting.of(public | chosen), threshold=asked.threshold, not_private=asked.not_private)
    return or_approximate(calibration, asked.delta) if asked.delta else calibration


def _refuse(public: dict[str, Any], name: str, why: str, step: str = "", *, unless: tuple[Any, ...] = (None,)) -> None:
    if public[name] not in unless:
        raise ParameterError(name, f"must not be given {why}", public[name], step)
