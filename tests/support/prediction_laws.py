"""The exact law of private prediction over a few tokens, from its definition: floats, and a sum over all rho."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.support.goodness import Law

import sparsegate as sg
from sparsegate.uses.prediction import PredictionTerms

Logits = Sequence[float]
Says = Callable[[tuple[int, ...]], Logits | None]

_STEPS = 1024  # of the gate's lattice, for one batch


@dataclass(frozen=True)
class Toy:
    """A public model and the numbers of a predictor.

    ``gate_noise`` and ``token_noise`` make twins that have that part of the noise.
    """

    public: Says
    terms: PredictionTerms
    clip: float
    gate_noise: float = 1.0
    token_noise: float = 1.0

    def law(self, private: Sequence[Says], length: int) -> Law:
        """The probability of every transcript, a tuple of (paid, token)."""
        rho, _ = self._scales
        mass = _tail(np.arange(math.ceil(40 * rho)), rho) * -math.expm1(-1 / rho)
        found: dict[Any, float] = {}
        self._extend(found, (), mass, private, length)
        return found

    @property
    def _scales(self) -> tuple[float, float]:
        scales = self.terms.calibration.scales
        assert scales.threshold is not None
        assert scales.query is not None
        return float(scales.threshold) * self.gate_noise, float(scales.query) * self.gate_noise

    def _extend(
        self,
        found: dict[Any, float],
        said: tuple[tuple[bool, int], ...],
        mass: NDArray[np.float64],
        private: Sequence[Says],
        length: int,
    ) -> None:
        if len(said) == length or sum(paid for paid, _ in said) == self.terms.cutoff:
            found[said] = float(mass.sum())
            return
        text = tuple(token for _, token in said)
        public, answers = _softmax(self.public(text)), [says(text) for says in private]
        shares = [public if answer is None else _softmax(answer) for answer in answers]
        distance = math.floor(_STEPS * np.abs(np.mean(shares, axis=0) - public).sum() / 2 * len(shares) + 1e-9)
        bar = math.floor(_STEPS * self.terms.batches * self.terms.threshold) + self.terms.calibration.shift
        above = _tail(bar + np.arange(mass.size) - distance, self._scales[1])
        for paid, part, tokens in ((True, mass * above, self._tokens(answers)), (False, mass * (1 - above), public)):
            for token, share in enumerate(tokens):
                self._extend(found, (*said, (paid, token)), part * share, private, length)

    def _tokens(self, answers: Sequence[Logits | None]) -> NDArray[np.float64]:
        """The exponential mechanism over the sums of clipped logits."""
        clipped = [
            np.zeros(len(_softmax(self.public(())))) if answer is None else self._clipped(answer) for answer in answers
        ]
        return _softmax(np.sum(clipped, axis=0) / (self.terms.batches * self.terms.temperature * self.token_noise))

    def _clipped(self, answer: Logits) -> NDArray[np.float64]:
        moved = np.asarray(answer, dtype=float) - np.max(answer) + self.clip
        return np.asarray(np.floor(np.maximum(moved, 0) / self.clip * 2**16 + 1e-9) * self.clip / 2**16)


def _softmax(logits: Any) -> NDArray[np.float64]:
    weights = np.exp(np.asarray(logits, dtype=float) - np.max(logits))
    return np.asarray(weights / weights.sum())


def _tail(x: NDArray[np.int64], scale: float) -> NDArray[np.float64]:
    """Pr[nu >= x] of one-sided geometric noise."""
    return np.asarray(np.exp(-np.maximum(x, 0) / scale))


SURE = 30.0
OPINIONS: dict[str, list[float] | None] = {
    "a": [SURE, 0, 0],
    "b": [0, SURE, 0],
    "c": [0, 0, SURE],
    "p": [0, 0, 3],
    "-": None,
}
NUMBERS: dict[str, Any] = {"threshold": 0.5, "cutoff": 2, "epsilon": 16, "clip": 4, "temperature": 0.25}


def public(text: tuple[int, ...]) -> list[float]:
    return [0, 0, 3]


def says(first: str, then: str) -> Says:
    """One opinion about the first token and another about what follows."""
    return lambda text: OPINIONS[then if text else first]


def predictor(private: Sequence[Any] | None = None, seed: int = 1, **options: Any) -> sg.uses.PrivatePredictor:
    given: dict[str, Any] = {"vocabulary": 3, "source": sg.Seeded(seed), "not_private": True} | NUMBERS | options
    return sg.uses.PrivatePredictor(
        [says("b", "p")] * 8 if private is None else private, given.pop("public", public), **given
    )
