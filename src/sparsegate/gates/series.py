"""What a series of equal releases costs by either rule, and how large each may be so that all of them fit a budget."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any, Final

from sparsegate.budget import Cost, Number, exact_count, exact_epsilon, exact_pair, in_decimals
from sparsegate.display.plain import amount_text
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Printed
from sparsegate.errors import ParameterError
from sparsegate.gates.approximate import zcdp_epsilon, zcdp_rho

DELTA: Final = Fraction(1, 10**6)  # at which a rho is made an epsilon, unless a budget or a ledger says another

_DIGITS: Final = 4  # of an epsilon that is shown
_AROUND: Final = 4  # powers of ten around an epsilon in which the largest is looked for

Budget = Number | tuple[Number, Number]


@dataclass(frozen=True, kw_only=True, repr=False)
class Series(Printed):
    """What ``times`` releases cost, each of them alike: ``cost`` in all, ``epsilon`` by adding, ``rho`` by zCDP.

    ``zcdp_epsilon`` is the epsilon of that rho at ``delta``. ``largest`` has, by the rule of a budget that was given,
    the largest epsilon of a release of which so many fit it, None where none does.

    >>> import sparsegate as sg
    >>> daily = {"count": 10, "epsilon": 0.1, "domain": 1000, "method": "exponential"}
    >>> print(sg.preview(**daily, times=365, budget=(1, 1e-6)).series.statement)
    365 of them cost epsilon 36.5 by adding, and rho 0.045625 on a zCDP ledger, which is epsilon 1.401 at delta 1e-06:
    a zCDP ledger is better. So that they fit epsilon 1 at delta 1e-06 each may have epsilon 0.073 at most on a zCDP
    ledger, and 0.00273 by adding.
    """

    times: int
    cost: Cost
    delta: Fraction = DELTA
    limit: str = ""
    """The budget that they should fit, in words; empty where none was given."""
    largest: Mapping[str, Fraction | None] = field(default_factory=dict)
    included: str = ""
    """A parameter of the release that is a part of that epsilon, beside its epsilon."""

    @property
    def zcdp_epsilon(self) -> float:
        """The epsilon of all of them at ``delta``, by their rho; rounded up."""
        return zcdp_epsilon(rho=self.cost.rho, delta=self.delta)

    @property
    def better(self) -> str:
        """The rule that makes the smaller epsilon of them: "epsilon", by adding, or "zcdp"."""
        return "zcdp" if self.zcdp_epsilon < self.cost.epsilon else "epsilon"

    @property
    def statement(self) -> str:
        """The series in a sentence or two."""
        own = f" + {float(self.cost.rho_delta):g}" if self.cost.rho_delta else ""
        at = f"epsilon {rounded_up(self.zcdp_epsilon)} at delta {float(self.delta):g}{own}"
        rule = {"zcdp": "a zCDP ledger is better", "epsilon": "adding is better"}[self.better]
        text = f"{self.times:,} of them cost {self.cost.in_epsilon} by adding, and {self.cost.in_rho} on a zCDP ledger,"
        text += f" which is {at}: {rule}."
        words = {"zcdp": "on a zCDP ledger", "epsilon": "by adding"}
        deltas = {"zcdp": self.cost.rho_delta, "epsilon": self.cost.delta}
        words |= {rule: f"{words[rule]} (budget_delta {float(most):g})" for rule, most in deltas.items() if most}
        at_most = f" at most, {self.included} included," if self.included else " at most"
        shares = [
            f"{'' if number else 'each may have epsilon '}{float(most):g}{'' if number else at_most} {words[name]}"
            for number, (name, most) in enumerate((n, m) for n, m in self.largest.items() if m is not None)
        ]
        if shares:
            return f"{text} So that they fit {self.limit} {', and '.join(shares)}."
        return f"{text} However small, they do not fit {self.limit}." if self.largest else text

    def to_dict(self) -> dict[str, Any]:
        """The series as JSON takes it."""
        return {
            "times": self.times,
            "epsilon": amount_text(self.cost.epsilon),
            "delta": amount_text(self.cost.delta),
            **zcdp_texts(self.cost),
            "conversion_delta": amount_text(self.delta),
            "zcdp_epsilon": self.zcdp_epsilon,
            "better": self.better,
            "largest_epsilon": {
                name: None if most is None else amount_text(most) for name, most in self.largest.items()
            },
        }

    def sheet(self) -> Sheet:
        """A row for each rule."""
        columns: dict[str, list[Any]] = {
            "rule": ["epsilon", "zcdp"],
            "epsilon": [float(self.cost.epsilon), self.zcdp_epsilon],
            "delta": [float(self.cost.delta), float(self.delta + self.cost.rho_delta)],
        }
        if self.largest:
            each = [self.largest.get(rule) for rule in columns["rule"]]
            columns["largest epsilon of each"] = [None if most is None else float(most) for most in each]
        numbers = frozenset(columns) - {"rule"}
        return Sheet(title=f"{self.times:,} releases", brief=self.statement, columns=columns, numbers=numbers)


def zcdp_texts(cost: Cost) -> dict[str, str]:
    """What a zCDP ledger counts, as JSON has it."""
    return {"rho": amount_text(in_decimals(cost.rho)), "rho_delta": amount_text(cost.rho_delta)}


def series_of(
    cost: Cost,
    times: object,
    *,
    budget: Budget | None = None,
    ledger: Any = None,
    cost_at: Callable[[Fraction], Cost] | None = None,
) -> Series:
    """What ``times`` releases of that cost are together; ``cost_at`` says what one costs that has another epsilon.

    ``budget`` is an epsilon, or an epsilon and a delta for a zCDP ledger; of an open ``ledger`` what it has left
    counts, by its rule. Nothing is charged.
    """
    several = exact_count(times, "times")
    if budget is not None and ledger is not None:
        raise ParameterError(
            "budget", "must not be given with a ledger, which has one", budget, "leave one of them out"
        )
    at, words, limits = _limits(budget, ledger)

    def fits(rule: str, make: Callable[[Fraction], Cost], epsilon: Fraction) -> bool:
        (most, spare), every = limits[rule], several * make(epsilon)
        spent, extra = (every.epsilon, every.delta) if rule == "epsilon" else (every.rho, every.rho_delta)
        return spent <= most and (spare is None or extra <= spare)

    largest = {}
    if cost_at is not None:
        largest = {rule: _largest(partial(fits, rule, cost_at), cost.epsilon) for rule in limits}
    return Series(times=several, cost=several * cost, delta=at, limit=words, largest=largest)


# By rule: how much epsilon or rho there is, and how much delta that releases have of their own, None: any.
Limits = dict[str, tuple[Fraction, Fraction | None]]


def _limits(budget: Budget | None, ledger: Any) -> tuple[Fraction, str, Limits]:
    """The delta of the conversion, the budget in words, and what it allows by each rule that it is for."""
    if ledger is not None:
        statement = ledger.statement()
        left, at = statement.remaining, ledger.conversion_delta
        limits: Limits = {"epsilon": (left.epsilon, left.delta)} if at is None else {"zcdp": (left.rho, left.delta)}
        return at or DELTA, f"what the ledger has left, {statement.says(left)},", limits
    if budget is None:
        return DELTA, "", {}
    if not isinstance(budget, tuple | list):
        whole = exact_epsilon(budget, "budget")
        return DELTA, f"epsilon {amount_text(whole)}", {"epsilon": (whole, None)}
    whole, at = exact_pair(budget)
    rho = zcdp_rho(epsilon=whole, delta=at)
    words = f"epsilon {amount_text(whole)} at delta {float(at):g}"
    return at, words, {"zcdp": (rho, None), "epsilon": (whole, None)}


def _largest(fits: Callable[[Fraction], bool], near: Fraction) -> Fraction | None:
    """The largest epsilon of three digits that fits, around this one; None where none does.

    This one can be had. Of others some are too small for what is asked, such as a low bar, or too large for noise.
    """
    power = math.floor(math.log10(near))

    def over(epsilon: Fraction) -> bool:
        try:
            return not fits(epsilon)
        except ParameterError:
            return epsilon >= near

    passed = first_decimal(over, power - _AROUND, power + _AROUND)
    largest = decimal(passed - 1)
    try:
        return largest if passed > 900 * (power - _AROUND) and fits(largest) else None
    except ParameterError:
        return None


def decimal(place: int) -> Fraction:
    """The decimals of three digits in their order: ..., 0.998, 0.999, 1, 1.01, ...; place 0 is 1."""
    power, digits = divmod(place, 900)
    return (100 + digits) * Fraction(10) ** (power - 2)


def first_decimal(true_of: Callable[[Fraction], bool], least: int, most: int) -> int:
    """The place of the first decimal from 10**least to below 10**most from which on this is true; else 900 most."""
    return 900 * least + bisect_left(range(900 * least, 900 * most), True, key=lambda place: true_of(decimal(place)))


def rounded_up(epsilon: float) -> str:
    """An epsilon to be shown: four digits, and never less than it is."""
    unit = 10.0 ** (math.floor(math.log10(epsilon)) + 1 - _DIGITS) if epsilon > 0 else 1.0
    return f"{math.ceil(epsilon / unit * (1 - 1e-12)) * unit:.{_DIGITS}g}"
