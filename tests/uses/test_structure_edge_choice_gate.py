"""Edges by a gate: every transcript on neighbours, against what the gate says that it has cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sparsegate as sg
from sparsegate.gates.calibration import Calibration
from sparsegate.gates.sparse_vector import gate_calibration
from sparsegate.uses import structure as edge_choice
from sparsegate.uses.structure import gate_forest
from sparsegate.uses.tree_model import SENSITIVITY, Pair, dependences

EPSILON = Fraction(2)
Transcript = tuple[bool, ...]


class Scripted:
    """A gate that answers as it is told, and writes down what it was asked; it costs what the real one would."""

    made: Calibration

    def __init__(self, answers: list[bool], **options: Any) -> None:
        for name in ("source", "not_private"):
            del options[name]
        self.made, self._left = gate_calibration(**options), list(answers)
        self.asked: list[tuple[int, int, bool]] = []

    def ask(self, answer: int, *, threshold: int) -> bool:
        said = self._left.pop(0) if self._left else False
        self.asked.append((answer, threshold, said))
        return said

    @property
    def closed(self) -> bool:
        return sum(said for *_, said in self.asked) == self.made.cutoff

    @property
    def spent(self) -> Fraction:
        above = sum(said for *_, said in self.asked)
        return self.made.spent([(len(self.asked) - above, above)])

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def log_probability(gate: Scripted, factor: float) -> float:
    """Of the answers to what was asked: rho and nu geometric, ABOVE iff q + nu >= T + rho + kappa."""
    assert gate.made.row.noise is sg.variants.Noise.EXPONENTIAL
    first, second = (factor * float(scale) for scale in gate.made.scales[:2] if scale is not None)
    rho = np.arange(math.ceil(60 * first))
    chance = np.exp(-rho / first) * -math.expm1(-1 / first)
    for answer, threshold, said in gate.asked:
        least = threshold + rho + gate.made.shift - answer
        above = np.exp(-np.maximum(least, 0) / second)
        chance = chance * (above if said else 1 - above)
    total = float(chance.sum())
    return math.log(total) if total > 0 else -math.inf


def transcripts(run: Callable[[list[bool]], Scripted]) -> dict[Transcript, Scripted]:
    """Every transcript that production can have, found by answering in every way."""
    found: dict[Transcript, Scripted] = {}
    waiting: list[list[bool]] = [[]]
    while waiting:
        told = waiting.pop()
        gate = run(told)
        said = tuple(answer for *_, answer in gate.asked)
        found[said] = gate
        waiting += [[*said[:place], True] for place in range(len(told), len(said))]
    return found


def asked_of(
    scores: dict[Pair, int], thresholds: tuple[int, ...], patch: pytest.MonkeyPatch
) -> dict[Transcript, Scripted]:
    def run(told: list[bool]) -> Scripted:
        made: list[Scripted] = []

        def scripted(**options: Any) -> Scripted:
            made.append(Scripted(told, **options))
            return made[0]

        patch.setattr(edge_choice, "SparseVector", scripted)
        chosen = gate_forest(scores, 3, thresholds=thresholds, epsilon=EPSILON, source=None)
        assert chosen.spent == made[0].spent
        return made[0]

    return transcripts(run)


def neighbouring_scores() -> tuple[dict[Pair, int], dict[Pair, int]]:
    """Ones that go together in the first two attributes and never with the third; with one row of ones more."""
    rows = np.zeros((10_000, 3), dtype=np.int64)
    rows[:150, :2], rows[150:300, 2] = 1, 1
    more = np.vstack([rows, np.ones((1, 3), dtype=np.int64)])
    return dependences(rows, (2, 2, 2)), dependences(more, (2, 2, 2))


def excesses(thresholds: tuple[int, ...], patch: pytest.MonkeyPatch, factor: float = 1.0) -> list[tuple[float, float]]:
    """For each transcript its loss between the neighbours, either way, and what the gate says that it cost."""
    one, other = (asked_of(scores, thresholds, patch) for scores in neighbouring_scores())
    assert set(one) == set(other)
    assert sum(math.exp(log_probability(gate, factor)) for gate in one.values()) == pytest.approx(1)
    pairs = []
    for said, gate in one.items():
        logs = log_probability(gate, factor), log_probability(other[said], factor)
        bars = [asked[1] for asked in gate.asked]
        assert bars == [asked[1] for asked in other[said].asked] == sorted(bars, reverse=True)
        assert sum(said) < 2 or said[-1], "a third pair would close a cycle: it is not asked about"
        pairs.append((0.0 if logs[0] == logs[1] else abs(logs[0] - logs[1]), float(gate.spent)))
    return pairs


def centre() -> int:
    """The threshold at which the strong pair lies on the noisy one's lower end: there a BELOW tells the most."""
    made = gate_calibration(threshold=1, cutoff=2, sensitivity=SENSITIVITY, epsilon=EPSILON)
    return neighbouring_scores()[0][0, 1] - made.shift


@pytest.mark.parametrize("above", [(), (40,), (150, 3)])
def test_no_transcript_loses_more_than_the_gate_says_it_cost_and_one_nearly_does(
    above: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    thresholds = tuple(sorted({centre() + more for more in above} | {centre(), 5}, reverse=True))
    found = excesses(thresholds, monkeypatch)
    assert len(found) > 10
    assert all(lost <= spent * (1 + 1e-9) <= EPSILON * (1 + 1e-9) for lost, spent in found)
    assert max(lost for lost, _ in found) > 0.98 * EPSILON


def test_noise_that_is_a_fifth_too_small_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = excesses((centre(), 5), monkeypatch, factor=0.8)
    assert max(lost for lost, _ in found) > 1.2 * EPSILON
