"""Privacy budgets as exact rationals: what a gate spends on its threshold, its comparisons and its numeric answers.

A float epsilon is read as the decimal it prints as, so twenty times 0.1 is 2 and shares never add up to more than
what was given. (A noise *scale* is taken at its exact value.)

Epsilons of what is released one after the other add, whatever the later ones were chosen by, and what is computed from
a release costs nothing more. Deltas add likewise. Machine-checked: proofs/README.md.

What a release costs is known by two rules (``Cost``): as an epsilon, and as a rho of zCDP, for ledgers that add up that
(``ledger.account``).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from inspect import Parameter, iscoroutinefunction, signature
from numbers import Rational
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sparsegate.errors import ParameterError, SparsegateError

Number = int | float | Fraction | Decimal
Allocation = str | Number
Keep = Callable[[Mapping[str, Any]], None]  # stores what a release gave; call it before anybody sees that

LONGEST_LINE = 500  # of what a ledger records
_SHARES = ("threshold_epsilon", "query_epsilon", "answer_epsilon")
_RATIOS = {
    "1:1": lambda c, monotonic: Fraction(1),
    "1:3": lambda c, monotonic: Fraction(3),
    "1:c": lambda c, monotonic: Fraction(c),
    # Irrational: six digits cost less than 1e-12 of the variance.
    "optimal": lambda c, monotonic: Fraction((c if monotonic else 2 * c) ** (2 / 3)).limit_denominator(10**6),
}


def exact_epsilon(value: object, parameter: str = "epsilon", *, zero: bool = False) -> Fraction:
    """Read an epsilon as an exact rational; a float stands for the decimal it prints as."""
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


def exact_pair(budget: Sequence[object]) -> tuple[Fraction, Fraction]:
    """The epsilon and the delta of a budget for a zCDP ledger; a refusal shows both, and asks for both."""
    exact = [exact_decimal(part) for part in budget]
    if len(exact) != 2 or exact[0] is None or exact[1] is None or not (exact[0] > 0 and 0 < exact[1] < 1):
        rule = "must be a positive finite epsilon, or such an epsilon and a delta strictly between 0 and 1"
        raise ParameterError("budget", rule, budget, "pass for instance budget=(1, 1e-6)")
    return exact[0], exact[1]


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
        raise ParameterError(parameter, f"must be at most {most:,}", value, f"pass for instance {parameter}={most}")
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

    They are ``threshold_epsilon``, ``query_epsilon`` and ``answer_epsilon``, 0 where no estimates are paid for.
    ``delta`` is 0 but for what is (epsilon, delta)-DP and no better.
    A threshold share of zero means no threshold noise at all. Only a gate that is planned for a fixed number of
    questions (``queries=n``) may use that, because then every BELOW costs as much as an ABOVE.

    >>> import sparsegate as sg
    >>> sg.Budget(threshold_epsilon=0.1, query_epsilon=0.4, answer_epsilon=0.5).total
    Fraction(1, 1)
    """

    threshold_epsilon: Fraction
    query_epsilon: Fraction
    answer_epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __init__(
        self, *, threshold_epsilon: Number, query_epsilon: Number, answer_epsilon: Number = 0, delta: Number = 0
    ) -> None:
        for name, share in zip(_SHARES, (threshold_epsilon, query_epsilon, answer_epsilon), strict=True):
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

    def scaled(self, factor: Fraction) -> Budget:
        """The same shares, each this many times as large."""
        return replace(self, **{name: factor * getattr(self, name) for name in _SHARES})

    def __repr__(self) -> str:
        names = (*_SHARES, "delta") if self.delta else _SHARES
        return f"Budget({', '.join(f'{name}={_readable(getattr(self, name))}' for name in names)})"


def allocation_ratio(allocation: Allocation, *, cutoff: int, monotonic: bool) -> Fraction:
    """The number r of a split eps1 : eps2 = 1 : r."""
    if not isinstance(allocation, str):
        return exact_epsilon(allocation, "allocation")
    check_choice(allocation, "allocation", _RATIOS, "or pass a positive number r for the split 1:r")
    return _RATIOS[allocation](cutoff, monotonic)


def sequential(*epsilons: Number | Budget) -> Fraction:
    """Epsilons add, also of mechanisms chosen adaptively and interleaved (Vadhan, Wang 2021)."""
    for spent in epsilons:
        if isinstance(spent, Budget) and spent.delta:
            rule = "must be 0 to add epsilons alone"
            raise ParameterError("delta", rule, float(spent.delta), "charge a Ledger, which adds both")
    return sum((e.total if isinstance(e, Budget) else exact_epsilon(e, zero=True) for e in epsilons), Fraction(0))


def advanced(epsilon: Number, *, runs: int, delta: float) -> float:
    """Advanced composition for a plan fixed ahead: the epsilon of ``runs`` eps-DP mechanisms, at the cost of delta.

    min(k eps, sqrt(2 k ln(1/delta)) eps + k eps (e**eps - 1)) (Dwork, Rothblum, Vadhan 2010), rounded up.
    """
    exact, k = exact_epsilon(epsilon), exact_count(runs, "runs")
    exact_delta(delta)
    composed = k * exact
    if exact <= 1:  # beyond, e**eps - 1 > 1 makes the other term larger, and it may not fit a float
        eps = float(exact)
        composed = min(composed, Fraction(math.sqrt(2 * k * -math.log(delta)) * eps + k * eps * math.expm1(eps)))
    # Eight roundings of half an ulp each went into the sum; one part in 10^14 covers them upward.
    return float(composed) * (1 + 1e-14)


def pure_rho(epsilon: Fraction, parts: int = 1) -> Fraction:
    """The rho of whatever is epsilon-DP, m e tanh(e/2) for m = ``parts`` and e = epsilon/m, rounded up.

    ``parts`` are m independent things of which each is e-DP, such as the counts that one person moves: rhos add.

    **Theorem** (Harrison, Manurangsi 2025). What is e-DP is (e tanh(e/2))-zCDP, which is less than e**2/2; and
    randomised response no less. Proof: docs/explanation/proofs_in_words/core.md.

    >>> [round(float(pure_rho(Fraction(e))), 6) for e in ("0.1", "1", "10")], float(pure_rho(Fraction(1), 10))
    ([0.004996, 0.462117, 9.999092], 0.0499583749578...)
    """
    half = epsilon / parts / 2
    if half < _SMALL:  # tanh(y) <= y
        return epsilon * half
    if half > _LARGE:
        return epsilon
    unit = _SMALL**3  # numbers of few digits, that can be raised to high powers, and recorded
    short = math.ceil(half / unit) * unit
    level = Fraction(2 * _LEVELS - 1)
    for odd in range(2 * _LEVELS - 3, 0, -2):
        level = odd + short**2 / level
    return epsilon * min(math.ceil(short / level / unit) * unit, half, Fraction(1))


_SMALL, _LARGE = Fraction(1, 2**32), 64
_LEVELS = 15  # of the continued fraction; odd
PLACES = 30  # decimal places of a rho at most


def in_decimals(value: Fraction, *, digits: int = 15, up: bool = True) -> Fraction:
    """To so many digits and ``PLACES`` decimal places, so that sums stay short: a charge up, what is allowed down."""
    size = len(str(value.numerator)) - len(str(value.denominator))
    size += value >= Fraction(10) ** size  # now 10**(size - 1) <= value < 10**size
    unit = Fraction(10) ** min(digits - size, PLACES)
    return (math.ceil if up else math.floor)(value * unit) / unit


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a release costs: it is (epsilon, delta)-DP, and ``rho_delta``-approximately ``rho``-zCDP; both are proved.

    A ledger that adds counts epsilon and delta, a zCDP ledger rho and rho_delta. Costs of releases one after the
    other, whatever the later ones were chosen by, add.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rho: Fraction
    rho_delta: Fraction = Fraction(0)

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction = Fraction(0), *, parts: int = 1) -> Cost:
        """Of whatever is (epsilon, delta)-DP; or of ``parts`` things, each an equal share of that.

        That what is (epsilon, delta)-DP is delta-approximately as much zCDP as what is epsilon-DP is shown in
        ``ledger.account``.
        """
        return cls(epsilon=epsilon, delta=delta, rho=pure_rho(epsilon, parts), rho_delta=delta)

    @classmethod
    def most(cls, costs: Iterable[Cost]) -> Cost:
        """What is enough for each of these, and for whichever of them is chosen."""
        several = [vars(cost) for cost in costs]
        return cls(**{name: max(cost[name] for cost in several) for name in several[0]})

    @property
    def in_rho(self) -> str:
        return f"rho {_readable(self.rho)}" + (f", delta {_readable(self.rho_delta)}" if self.rho_delta else "")

    @property
    def in_epsilon(self) -> str:
        return f"epsilon {_readable(self.epsilon)}" + (f", delta {_readable(self.delta)}" if self.delta else "")

    def __add__(self, other: Cost) -> Cost:
        return Cost(**{name: share + getattr(other, name) for name, share in vars(self).items()})

    def __rmul__(self, times: int) -> Cost:
        return Cost(**{name: times * share for name, share in vars(self).items()})


@runtime_checkable
class Spender(Protocol):
    """What ``ledger=`` takes: a ``sparsegate.Ledger``, a charge reserved on one, or an account of your own.

    An account may also have ``give_back(entry, *, epsilon)``; without it the whole charge of a gate stays spent. One
    whose ``spend`` takes no ``rho`` is not told of it. One with a ``conversion_delta`` that is not None adds up rho.
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
    """What pays for each ABOVE of a gate when it is given, by ``open_meter`` of a zCDP ledger.

    It charges the opening and holds the first ABOVE, both or neither; each amount is an epsilon and a rho.
    """

    def pay(self, count: int) -> tuple[int, bool]:
        """Commit this many ABOVE before they are seen: how many are paid for, and whether one more is held."""

    def give_back(self, unused: Fraction) -> bool:
        """Give back what is held for the next one, if ``unused`` is not 0; False where it may be tried again."""


class PaidByKeeper:
    """The ledger and the meter of a gate whose ABOVEs are paid for by its keeper, with each answer that it stores."""

    rule = "zcdp"

    def open_meter(self, **_: object) -> Meter:
        return self

    def pay(self, count: int) -> tuple[int, bool]:
        return count, True

    def give_back(self, unused: Fraction) -> bool:
        return True


@dataclass(frozen=True)
class Prepaid:
    """A charge as the account of a gate that it has paid for: nothing more is spent, and what is not used goes back."""

    paid: Charge

    def spend(self, *, epsilon: Number, delta: Number = 0, what: str, rho: Number | None = None) -> Charge:
        return self.paid

    def keep(self, entry: Charge, gave: Mapping[str, Any]) -> None:
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
    ledger: Spender | None,
    *,
    epsilon: Number,
    delta: Number = 0,
    what: str,
    rho: Number | None = None,
    rho_delta: Number | None = None,
) -> Charge:
    """Charge a release to its ledger, if it has one: when all parameters are checked and nothing is drawn.

    ``rho`` is the least that is proved for the release, where that is less than ``pure_rho(epsilon)``; ``rho_delta``
    is the delta that it has beside that, which is ``delta`` unless given: what a zCDP ledger counts (``Cost``).
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
    known = (
        {"rho": rho}
        if "rho" in takes or any(parameter.kind is Parameter.VAR_KEYWORD for parameter in takes.values())
        else {}
    )
    counted = delta if rho_delta is None or conversion_delta(ledger) is None else rho_delta
    entry = ledger.spend(epsilon=epsilon, delta=counted, what=shown[:LONGEST_LINE], **known)
    return Charge(ledger, entry, pure=not delta)


def conversion_delta(ledger: object) -> Fraction | None:
    """The delta at which a zCDP ledger makes an epsilon of its rho; None where epsilons are added up."""
    at: Fraction | None = getattr(ledger, "conversion_delta", None)
    return at


def _readable(share: Fraction) -> str:
    text = f"{float(share):.10g}"
    return text if Fraction(text) == share else f"{float(share):.6g}"
