"""Privacy budgets as exact rationals: what a gate spends on its threshold, its comparisons and its numeric answers.

A float epsilon is read as the decimal it prints as, so twenty times 0.1 is 2 and shares never add up to more than
what was given. (A noise *scale* is taken at its exact value.)

Epsilons of what is released one after the other add, whatever the later ones were chosen by, and what is computed from
a release costs nothing more. Deltas add likewise. Machine-checked: proofs/README.md.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from inspect import Parameter, iscoroutinefunction, signature
from numbers import Rational
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sparsegate.errors import ParameterError, SparsegateError

Number = int | float | Fraction | Decimal
Allocation = str | Number
Keep = Callable[[Mapping[str, Any]], None]
"""Stores what a release gave; call it before anybody sees that."""

LONGEST_LINE = 500  # of what a ledger records
_RATIOS = {
    "1:1": lambda c, monotonic: Fraction(1),
    "1:3": lambda c, monotonic: Fraction(3),
    "1:c": lambda c, monotonic: Fraction(c),
    # Irrational: six digits cost less than 1e-12 of the variance.
    "optimal": lambda c, monotonic: Fraction((c if monotonic else 2 * c) ** (2 / 3)).limit_denominator(10**6),
}


def exact_epsilon(value: object, parameter: str = "epsilon", *, zero: bool = False) -> Fraction:
    """Read an epsilon as an exact rational; a float stands for the decimal it prints as.

    >>> 20 * exact_epsilon(0.1)
    Fraction(2, 1)
    """
    exact = exact_decimal(value)
    if exact is None or exact < 0 or (exact == 0 and not zero):
        rule = "must be a finite number of at least 0" if zero else "must be a positive finite number"
        raise ParameterError(parameter, rule, value, f"pass for instance {parameter}=0.5")
    return exact


def exact_delta(value: object, parameter: str = "delta", *, zero: bool = False, example: str = "1e-6") -> Fraction:
    """A probability strictly between 0 and 1, or 0 where that may be, read as an epsilon is."""
    exact = exact_decimal(value)
    if exact is None or not 0 <= exact < 1 or (exact == 0 and not zero):
        rule = "must be at least 0 and less than 1" if zero else "must lie strictly between 0 and 1"
        raise ParameterError(parameter, rule, value, f"pass for instance {parameter}={example}")
    return exact


def exact_decimal(value: object) -> Fraction | None:
    """A finite number as an exact rational, a float as the decimal it prints as; None for anything else."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return Fraction(repr(value)) if math.isfinite(value) else None
    if isinstance(value, Rational | int) and not isinstance(value, bool):
        return Fraction(value)
    if isinstance(value, Decimal):
        return Fraction(value) if value.is_finite() else None
    return None


def exact_count(value: object, parameter: str, *, least: int = 1, most: int | None = None) -> int:
    """Read a whole number of at least 1, or of another least one, and at most ``most``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        rule = f"must be a whole number of at least {least}"
        raise ParameterError(parameter, rule, value, f"pass for instance {parameter}=25")
    if most is not None and value > most:
        raise ParameterError(parameter, f"must be at most {most:,}", value)
    return int(value)


def check_truth(value: object, parameter: str, next_step: str = "") -> bool:
    """Read True or False, of Python or numpy."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(parameter, "must be True or False", value, next_step)
    return bool(value)


def check_choice(value: object, parameter: str, choices: Iterable[str], next_step: str = "") -> None:
    """Refuse what is none of these words."""
    words = list(choices)
    if not isinstance(value, str) or value not in words:
        raise ParameterError(parameter, f"must be one of {', '.join(words)}", value, next_step)


def public_line(text: object, parameter: str, *, most: int = LONGEST_LINE) -> str:
    """Read a text for the record: one printable line of 1 to ``most`` characters."""
    if not (isinstance(text, str) and 0 < len(text) <= most and text.isprintable()):
        raise ParameterError(parameter, f"must be one printable line of 1 to {most} characters", text, "shorten it")
    return text


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Epsilon split into shares: eps1 for the threshold noise, eps2 for the comparisons, eps3 for numeric answers.

    ``delta`` is 0 but for what is (epsilon, delta)-DP and no better.

    A threshold share of zero means no threshold noise at all. Only a gate that is planned for a fixed number of
    questions (``queries=n``) may use that, because then every BELOW costs as much as an ABOVE.

    >>> import sparsegate as sg
    >>> sg.Budget(threshold_epsilon=0.1, query_epsilon=0.4, answer_epsilon=0.5).total
    Fraction(1, 1)
    """

    threshold_epsilon: Fraction
    """eps1, for the noise of the threshold."""
    query_epsilon: Fraction
    """eps2, for the noise of the comparisons."""
    answer_epsilon: Fraction = Fraction(0)
    """eps3, for the estimates; 0 where none are paid for."""
    delta: Fraction = Fraction(0)

    def __init__(
        self, *, threshold_epsilon: Number, query_epsilon: Number, answer_epsilon: Number = 0, delta: Number = 0
    ) -> None:
        shares = {"threshold_epsilon": threshold_epsilon, "query_epsilon": query_epsilon}
        for name, share in {**shares, "answer_epsilon": answer_epsilon}.items():
            object.__setattr__(self, name, exact_epsilon(share, name, zero=name != "query_epsilon"))
        object.__setattr__(self, "delta", exact_delta(delta, zero=True))

    @property
    def total(self) -> Fraction:
        """eps1 + eps2 + eps3."""
        return self.threshold_epsilon + self.query_epsilon + self.answer_epsilon

    @classmethod
    def allocate(
        cls,
        epsilon: Number,
        *,
        cutoff: int,
        monotonic: bool = False,
        allocation: Allocation = "optimal",
        answer_epsilon: Number = 0,
    ) -> Budget:
        """Split epsilon: ``answer_epsilon`` goes to numeric answers, the rest by the ratio eps1 : eps2.

        "optimal" is 1:(2c)**(2/3), monotonic 1:c**(2/3): it minimises the variance 2(Delta/eps1)**2 + 2(2c
        Delta/eps2)**2 of the comparison (the paper, Sec. 4.2). Any positive number r stands for 1:r.

        >>> import sparsegate as sg
        >>> sg.Budget.allocate(1, cutoff=25, allocation="1:3")
        Budget(threshold_epsilon=0.25, query_epsilon=0.75, answer_epsilon=0)
        """
        total, share = exact_epsilon(epsilon), exact_epsilon(answer_epsilon, "answer_epsilon", zero=True)
        cutoff = exact_count(cutoff, "cutoff")
        if share >= total:
            rule = f"must be less than epsilon = {float(total)}"
            raise ParameterError("answer_epsilon", rule, answer_epsilon, "leave something for the gate")
        ratio = allocation_ratio(allocation, cutoff=cutoff, monotonic=monotonic)
        threshold = (total - share) / (1 + ratio)
        return cls(threshold_epsilon=threshold, query_epsilon=total - share - threshold, answer_epsilon=share)

    def __repr__(self) -> str:
        names = ("threshold_epsilon", "query_epsilon", "answer_epsilon", *(["delta"] if self.delta else []))
        shares = (f"{name}={_readable(getattr(self, name))}" for name in names)
        return f"Budget({', '.join(shares)})"


def allocation_ratio(allocation: Allocation, *, cutoff: int, monotonic: bool) -> Fraction:
    """The number r of a split eps1 : eps2 = 1 : r.

    >>> allocation_ratio("1:c", cutoff=25, monotonic=True)
    Fraction(25, 1)
    """
    if not isinstance(allocation, str):
        return exact_epsilon(allocation, "allocation")
    check_choice(allocation, "allocation", _RATIOS, "or pass a positive number r for the split 1:r")
    return _RATIOS[allocation](cutoff, monotonic)


def sequential(*epsilons: Number | Budget) -> Fraction:
    """Sequential composition: epsilons add, also of mechanisms chosen adaptively and interleaved (Vadhan, Wang 2021).

    >>> sequential(*[0.1] * 20)
    Fraction(2, 1)
    """
    for spent in epsilons:
        if isinstance(spent, Budget) and spent.delta:
            rule = "must be 0 to add epsilons alone"
            raise ParameterError("delta", rule, float(spent.delta), "charge a Ledger, which adds both")
    return sum((e.total if isinstance(e, Budget) else exact_epsilon(e, zero=True) for e in epsilons), Fraction(0))


def advanced(epsilon: Number, *, runs: int, delta: float) -> float:
    """Advanced composition for a plan fixed ahead: the epsilon of ``runs`` eps-DP mechanisms, at the cost of delta.

    min(k eps, sqrt(2 k ln(1/delta)) eps + k eps (e**eps - 1)) (Dwork, Rothblum, Vadhan 2010), rounded up.

    >>> round(advanced(0.01, runs=10_000, delta=1e-6), 4)
    6.2615
    """
    exact, k = exact_epsilon(epsilon), exact_count(runs, "runs")
    exact_delta(delta)
    composed = k * exact
    if exact <= 1:  # beyond, e**eps - 1 > 1 makes the other term larger, and it may not fit a float
        eps = float(exact)
        composed = min(composed, Fraction(math.sqrt(2 * k * -math.log(delta)) * eps + k * eps * math.expm1(eps)))
    # Eight roundings of half an ulp each went into the sum; one part in 10^14 covers them upward.
    return float(composed) * (1 + 1e-14)


@runtime_checkable
class Spender(Protocol):
    """What ``ledger=`` takes: a ``sparsegate.Ledger``, a charge reserved on one, or an account of your own.

    An account may also have ``give_back(entry, *, epsilon)``; without it the whole charge of a gate stays spent. One
    whose ``spend`` takes no ``rho`` is not told of it.
    """

    def spend(self, *, epsilon: Number, delta: Number = 0, what: str, rho: Number | None = None) -> Any:
        """Commit the charge and return its entry, or raise ``BudgetExceeded``. Nothing is drawn before this returns.

        The release is (epsilon, delta)-DP and, where ``rho`` is given, delta-approximately rho-zCDP.
        """

    def keep(self, entry: Any, gave: Mapping[str, Any]) -> None:
        """Store what the release of that entry gave."""


@dataclass(frozen=True)
class Charge:
    """A committed charge: what its release gave is stored with it, and what it did not cost goes back.

    Neither fails: the release is paid for and belongs to its owner. What cannot be done is a warning.
    """

    ledger: Spender | None = None
    entry: Any = None
    pure: bool = True

    def keep(self, gave: Mapping[str, Any]) -> None:
        """Store what the release gave."""
        if self.ledger is not None:
            or_warn("this release is paid for, and is not stored", lambda: self.ledger.keep(self.entry, gave))  # type: ignore[union-attr]

    def give_back(self, epsilon: Fraction) -> bool:
        """Give back what the release did not cost; False where that may be tried again: an error of this library came
        before anything was written. After any other nobody knows, and it must not go back twice.

        Nothing goes back where delta > 0, because only pure losses belong to a transcript (``ledger.account``), nor to
        an account that has no ``give_back``.
        """
        giving = getattr(self.ledger, "give_back", None)
        if giving is None or not self.pure or epsilon <= 0:
            return True
        return or_warn("what this did not cost stays spent", lambda: giving(self.entry, epsilon=epsilon))


class Meter(Protocol):
    """What pays for each ABOVE of a gate when it is given: ``ledger.gate`` has the one of a zCDP ledger."""

    def pay(self, count: int) -> tuple[int, bool]:
        """Commit this many ABOVE before they are seen: how many are paid for, and whether one more is held."""

    def give_back(self, unused: Fraction) -> bool:
        """Give back what is held for the next one, if ``unused`` is not 0; False where it may be tried again."""


class Metering(Protocol):
    """A ledger that has such a meter. ``rule`` is "zcdp"."""

    rule: str

    def open_meter(self, *, opening: tuple[Number, Number], each: tuple[Number, Number], what: str) -> Meter:
        """Charge the opening and hold the first ABOVE, both or neither; each amount is an epsilon and a rho."""

    def statement(self) -> Any:
        """What is left."""


@dataclass(frozen=True)
class Prepaid:
    """A charge as the account of a gate that it has paid for: nothing more is spent, and what is not used goes back."""

    paid: Charge

    def spend(self, *, epsilon: Number, delta: Number = 0, what: str, rho: Number | None = None) -> Charge:
        """Nothing: it is paid for."""
        return self.paid

    def keep(self, entry: Charge, gave: Mapping[str, Any]) -> None:
        """Store what the gate gave with the charge."""
        self.paid.keep(gave)


def or_warn(otherwise: str, write: Callable[[], object]) -> bool:
    """Write what must not fail, or warn. Whether it is over: it is written, or nobody knows."""
    try:
        write()
    except Exception as error:
        # The words of another error may hold the result, which a warning must not.
        known = isinstance(error, SparsegateError)
        why = str(error).removesuffix("; nothing was spent") if known else f"{type(error).__name__} in the ledger"
        warnings.warn(f"{otherwise}: {why}", RuntimeWarning, stacklevel=5)
        return not known
    return True


def charge(
    ledger: Spender | None, *, epsilon: Number, delta: Number = 0, what: str, rho: Number | None = None
) -> Charge:
    """Charge a release to its ledger, if it has one: when all parameters are checked and nothing is drawn.

    ``rho`` is the least that is proved for the release, where that is less than epsilon**2 / 2 (``ledger.account``).
    """
    if ledger is None:
        return Charge()
    if isinstance(ledger, Prepaid):  # itself: what cannot be given back now may be tried again
        return ledger.paid
    waits = any(iscoroutinefunction(getattr(ledger, does, None)) for does in ("spend", "keep", "give_back"))
    if not isinstance(ledger, Spender) or isinstance(ledger, type) or waits:
        raise ParameterError("ledger", "must be an open ledger, or a charge reserved on one", ledger, 'sg.Ledger("x")')
    shown = "".join(mark if mark.isprintable() else " " for mark in what)
    takes = {} if rho is None else signature(ledger.spend).parameters
    known = {"rho": rho} if "rho" in takes or any(one.kind is Parameter.VAR_KEYWORD for one in takes.values()) else {}
    entry = ledger.spend(epsilon=epsilon, delta=delta, what=shown[:LONGEST_LINE], **known)
    return Charge(ledger, entry, pure=not delta)


def _readable(share: Fraction) -> str:
    text = f"{float(share):.10g}"
    return text if Fraction(text) == share else f"{float(share):.6g}"
