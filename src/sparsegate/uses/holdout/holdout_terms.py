"""The public terms of a holdout: its size, the range of its values, and what a question may cost. No data is here.

**The statistic.** Each record has a value v, clamped to the public range [low, high] and rounded to whole steps,
x = round(2**20 (v - low) / (high - low)); NaN and a gap are read as low. The mean of the records is low + (high - low)
X / (2**20 n), where X is the sum of the x, exact in integers, and n the PUBLIC size. *Adding or removing one record
moves X by at most 2**20, and so does replacing one*, because n does not follow the data: a holdout of fewer records
than n has its missing ones at low. So no length is refused (that would tell whether somebody is in it), and one epsilon
holds for both kinds of neighbours, without a factor of two. A sum of floats would not do: its rounding depends on all
records.

**The prices.** With one-sided noise a transcript with a BELOW and k ABOVE costs e1 + k p, exactly, however many BELOWs
there are (``mechanisms.bounds``): e1 opens a holdout, and p = eps2/c + eps3/c is the price of a paid answer. Both are
whole multiples of 10**-12, as is all that goes back to a ledger, so that a holdout goes on after a restart to the last
answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Budget, Number, exact_count, exact_epsilon
from sparsegate.display.plain import exact_text
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.calibration import Calibration, calibrate
from sparsegate.mechanisms.laplace import error_bar
from sparsegate.mechanisms.lattice import exact_number
from sparsegate.mechanisms.setting import check_one_of
from sparsegate.mechanisms.variants import VARIANTS, Noise, Released
from sparsegate.uses.holdout.generalisation import far_from_the_truth
from sparsegate.uses.record_values import STEPS, public_range, record_steps

ROW: Final = replace(VARIANTS["hardt-rothblum-2010-repaired"], released=Released.FRESH_ANSWER, noise=Noise.EXPONENTIAL)
"""The gate: |train - holdout| + nu >= T + rho + kappa, where a positive also carries a fresh noisy mean."""

CONFIDENCE: Final = 0.95

_MOST_RECORDS = 2**39  # their sum fits the lattice
_ANSWER_SHARE = Fraction(1, 3)  # of epsilon; the gate has the rest
_COIN = Fraction(1, 10**12)  # what a ledger gives back is rounded down to this


@dataclass(frozen=True, kw_only=True)
class HoldoutTerms:
    """What was agreed before a record was read. Amounts are exact: the whole costs ``opening + cutoff * price``.

    ``size`` is the number of records, each with a value from ``low`` to ``high``; ``threshold`` is how far apart
    training and holdout may be and still agree, and ``cutoff`` how often they may not. The price of a paid answer is
    that of its ``question``, which found them apart, and of its ``answer``, the number.
    """

    size: int
    low: float
    high: float
    threshold: float
    cutoff: int
    opening: Fraction
    question: Fraction
    answer: Fraction

    @classmethod
    def of(
        cls,
        *,
        size: int,
        threshold: Number,
        cutoff: int,
        epsilon: Number | None = None,
        budget: Budget | None = None,
        low: Number = 0,
        high: Number = 1,
    ) -> HoldoutTerms:
        """Check every public number, and split epsilon: 1/3 for answers, the rest as 1:(2c)**(2/3) for the gate."""
        n, c = exact_count(size, "size"), exact_count(cutoff, "cutoff")
        if n > _MOST_RECORDS:
            raise ParameterError("size", "must not exceed 2**39", n)
        ends = public_range(low, high)
        bar = exact_number(threshold)
        if bar is None or not 0 < bar < ends[1] - ends[0]:
            rule = "must be a positive number below the width of the range"
            raise ParameterError("threshold", rule, threshold, "pass for instance 4 / sqrt(size)")
        shares = _shares(epsilon, budget, c)
        opening, answer = _coins(shares.threshold), _coins(shares.answers / c)
        question = 2 * _coins(shares.queries / c / 2)  # even: a question that opens nothing may cost half of it
        if not (opening and question and answer):
            rule = f"must leave at least 2e-12 to the threshold, and to each of {c} questions and answers"
            raise ParameterError("epsilon", rule, float(shares.total), "pass a larger epsilon, or a smaller cutoff")
        return cls(
            size=n,
            low=ends[0],
            high=ends[1],
            threshold=float(bar),
            cutoff=c,
            opening=opening,
            question=question,
            answer=answer,
        )

    @property
    def price(self) -> Fraction:
        """What one paid answer costs: its ABOVE, and its number."""
        return self.question + self.answer

    @property
    def epsilon(self) -> Fraction:
        """What everything costs at most: at most the epsilon that was given, and less by the rounding of prices."""
        return self.cost(self.cutoff)

    def cost(self, paid: int) -> Fraction:
        """What one gate costs that said BELOW and was paid for this many answers."""
        return self.opening + paid * self.price

    def affordable(self, left: Fraction) -> int:
        """How many paid answers a gate that is opened now may give for this much; none where it cannot open."""
        return min(self.cutoff, max(0, math.floor((left - self.opening) / self.price)))

    def calibration(self, cutoff: int, *, not_private: bool) -> Calibration:
        """The gate for this many paid answers. Its noise is the same for any number of them."""
        shares = Budget(threshold=self.opening, queries=cutoff * self.question, answers=cutoff * self.answer)
        bar = self.bar
        return calibrate(ROW, cutoff=cutoff, sensitivity=STEPS, budget=shares, threshold=bar, not_private=not_private)

    def margin(self, *, paid: bool) -> float:
        """How far a score lies from the mean of the holdout at most, with a probability of 0.95 over its noise."""
        steps = _margin(self, paid) + (self._grid // 2 if paid else 0)
        return (0.0 if paid else self.threshold) + self._width * steps / (STEPS * self.size)

    def generalisation(self, *, questions: int, confidence: float = CONFIDENCE) -> float:
        """How far the mean of the holdout lies from that of its population at most, for this many adaptive questions.

        The theorems are in ``generalisation``; where they say nothing, this is the width of the range.
        """
        return self._width * far_from_the_truth(
            self.size,
            epsilon=float(self.epsilon),
            questions=exact_count(questions, "questions"),
            cutoff=self.cutoff,
            values=STEPS * self.size // self._grid + 3,  # both ends, and an answer that was lost
            confidence=confidence,
        )

    @property
    def bar(self) -> int:
        """T as a sum over n records; exact, because low + T as a float may be low."""
        return round(Fraction(self.threshold) / Fraction(self._width) * STEPS * self.size)

    def total(self, values: Any) -> int:
        """X, the sum over the records of the holdout, each rounded by itself; private."""
        return int(self._places(values, "holdout_values").sum())

    def mean(self, values: Any) -> float:
        """The mean on the training set, or the number given for it; public, and refused where it is none."""
        if isinstance(values, np.ndarray) and values.ndim == 0:
            values = values[()]
        if not hasattr(values, "__len__"):
            number = exact_number(values)
            if number is None or not self.low <= number <= self.high:
                rule = f"must be an array, or one number from {self.low:g} to {self.high:g}"
                raise ParameterError("train_values", rule, next_step="pass a value for each training record")
            return float(number)
        places = self._places(values, "train_values")
        if not places.size:
            raise ParameterError("train_values", "must hold at least one value", next_step="pass the training values")
        return self.low + self._width * float(Fraction(int(places.sum()), STEPS * places.size))

    def steps(self, mean: float) -> int:
        """A public mean as a sum over n records."""
        return round((Fraction(mean) - Fraction(self.low)) / Fraction(self._width) * STEPS * self.size)

    def value(self, steps: int | float) -> float:
        """A released sum as a mean, within the range, and with no more digits than its noise leaves of use."""
        rounded = round(Fraction(steps) / self._grid) * self._grid
        return self.low + self._width * float(min(max(Fraction(rounded, STEPS * self.size), Fraction(0)), Fraction(1)))

    def public(self) -> dict[str, Any]:
        """The terms as JSON takes them; two holdouts with the same have the same noise."""
        exact = {name: exact_text(getattr(self, name)) for name in ("opening", "question", "answer")}
        return {name: exact.get(name, getattr(self, name)) for name in self.__dataclass_fields__}

    @property
    def _grid(self) -> int:
        """An eighth of the noise of a paid answer, or less: fewer digits tell less to fit a model by."""
        return 1 << max(0, math.floor(STEPS / self.answer / 8).bit_length() - 1)

    @property
    def _width(self) -> float:
        return self.high - self.low

    def _places(self, values: Any, parameter: str) -> NDArray[np.int64]:
        return record_steps(values, parameter, low=self.low, high=self.high)


@lru_cache(maxsize=64)
def _margin(terms: HoldoutTerms, paid: bool) -> int:
    """In steps, of the noise alone."""
    made = terms.calibration(1, not_private=False)
    assert made.scales.answer is not None
    return error_bar(made.scales.answer, CONFIDENCE) if paid else made.margin(CONFIDENCE)


def _shares(epsilon: Number | None, budget: Budget | None, cutoff: int) -> Budget:
    check_one_of(epsilon, budget)
    if budget is None:
        total = exact_epsilon(epsilon)
        return Budget.allocate(total, cutoff=cutoff, answers=total * _ANSWER_SHARE)
    if not isinstance(budget, Budget) or budget.delta or not (budget.threshold and budget.answers):
        rule = "must be a Budget with a share for the threshold, the queries and the answers each, and no delta"
        raise ParameterError("budget", rule, budget, "pass sg.Budget(threshold=0.1, queries=0.5, answers=0.4)")
    return budget


def _coins(amount: Fraction) -> Fraction:
    return math.floor(amount / _COIN) * _COIN
