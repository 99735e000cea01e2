"""The two ways to answer a window: a gate, and a noisy count; made from a plan, and alike to whoever asks.

``alert_plan`` has their theorems. Both take true counts and give what may be released. What the answers so far cost is
a function of how many windows were asked, and of how many fired.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Protocol

from sparsegate.budget import Charge, Prepaid
from sparsegate.mechanisms.laplace import laplace
from sparsegate.mechanisms.margin import steps_to_confidence
from sparsegate.mechanisms.resume import resume, threshold_noise
from sparsegate.mechanisms.sparse_vector import SparseVector, gate_calibration
from sparsegate.noise import exact_scale
from sparsegate.uses.alerts.alert_plan import AlertPlan
from sparsegate.uses.alerts.alert_record import AlertAnswer


class Draws(Protocol):
    """Answers windows at random."""

    @property
    def closed(self) -> bool:
        """Whether it answers no more."""

    @property
    def secret(self) -> bytes:
        """What must be kept to go on later; as secret as the data."""

    def answer(self, window: int, count: int) -> AlertAnswer:
        """The answer to a window with this many people."""

    def cost(self, *, asked: int, fired: int) -> Fraction:
        """What so many answers cost."""

    def margin(self, confidence: float, *, windows: int | None) -> int:
        """How far from the threshold a count must be to be answered rightly, alone or with so many others."""

    def close(self, *, asked: int, fired: int) -> None:
        """Answer no more, and give back what the answers did not cost, once."""


class GateDraws:
    """A gate over the counts; over the negated counts where small ones fire, which one person moves one way as well."""

    def __init__(
        self, plan: AlertPlan, *, sign: int, paid: Charge, refund: bool, noise: dict[str, Any], held: dict[str, Any]
    ) -> None:
        """``held`` goes on with a gate that was: its ``secret``, how many it was ``asked``, and its ``positives``."""
        self._plan, self._sign = plan, sign
        public = {**plan.gate_options, "threshold": sign * plan.gate_options["threshold"], **noise}
        options: dict[str, Any] = {**public, "ledger": Prepaid(paid), "refund": refund}
        self.gate = resume(held.pop("secret"), **held, **options) if held else SparseVector(**options)

    @property
    def closed(self) -> bool:
        return self.gate.closed

    @property
    def secret(self) -> bytes:
        return threshold_noise(self.gate)

    def answer(self, window: int, count: int) -> AlertAnswer:
        said = self.gate.ask(self._sign * count)
        if said.estimate is None:
            return AlertAnswer(window=window, fired=said.above)
        error, estimate = round(said.standard_error or 0.0, 2), self._sign * said.estimate
        return AlertAnswer(window=window, fired=said.above, estimate=estimate, standard_error=error)

    def cost(self, *, asked: int, fired: int) -> Fraction:
        return self.gate.cost(below=asked - fired, above=fired)

    def margin(self, confidence: float, *, windows: int | None) -> int:
        return gate_calibration(**self._plan.gate_options).margin(confidence, answers=windows)

    def close(self, *, asked: int, fired: int) -> None:
        self.gate.close()


class CountDraws:
    """A noisy count of every window, of scale w/epsilon for a person in w of them at most."""

    closed, secret = False, b""

    def __init__(self, plan: AlertPlan, *, sign: int, paid: Charge, refund: bool, noise: dict[str, Any]) -> None:
        assert plan.moved is not None
        self._plan, self._sign, self._noise, self._paid = plan, sign, noise, paid
        self._moved, self._scale = plan.moved, exact_scale(plan.moved / plan.epsilon)
        self._refund = refund and not noise["not_private"]

    def answer(self, window: int, count: int) -> AlertAnswer:
        noisy = laplace(count, epsilon=self._plan.epsilon, sensitivity=self._moved, **self._noise)
        ratio = math.exp(-1 / self._scale)
        error = round(math.sqrt(2 * ratio) / (1 - ratio), 2)
        fired = self._sign * noisy >= self._sign * self._plan.gate_options["threshold"]
        return AlertAnswer(window=window, fired=fired, estimate=noisy, standard_error=error)

    def cost(self, *, asked: int, fired: int) -> Fraction:
        return self._plan.cost(asked=asked)

    def margin(self, confidence: float, *, windows: int | None) -> int:
        return steps_to_confidence(confidence, None, self._scale, answers=windows)

    def close(self, *, asked: int, fired: int) -> None:
        if self._refund:
            self._refund = not self._paid.give_back(self._plan.epsilon - self.cost(asked=asked, fired=fired))
