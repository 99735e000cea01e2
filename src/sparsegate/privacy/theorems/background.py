"""Section 2: the definition, the Laplace mechanism, the exponential mechanism and sequential composition."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from sparsegate.budget import sequential
from sparsegate.privacy.enumeration import log_probabilities
from sparsegate.privacy.laws import NoiseLaw
from sparsegate.privacy.loss import difference
from sparsegate.privacy.model import build
from sparsegate.privacy.theorems.claim import Claim, ClaimPart, ClaimVerdict, Measured, Subject, at_most, equals
from sparsegate.privacy.theorems.measure import ClaimSetting, listed

CROWD = (1, 10**6)
"""One candidate is watched among a million equal ones: its own share of the total is out of sight."""

_EPSILONS = (0.1, 1, 2)
_SEED = 3


def _definition(subject: Subject) -> Measured:
    """Every set of outcomes of Alg. 1 against every single one; then a set that no single real number can stand for."""
    model = build(subject.rows["lyu-2017"], epsilon=1)
    here, there = (np.exp(log_probabilities(model.compare(q, 0, None))) for q in ([3, 2, 1, 0], [4, 1, 2, -1]))
    single = max(np.log(here / there))
    sets = [list(s) for n in range(1, here.size + 1) for s in itertools.combinations(range(here.size), n)]
    largest = max(math.log(here[s].sum() / there[s].sum()) for s in sets)
    law = NoiseLaw(scale=0.1)  # real-valued output: each single value has probability zero, on D and on D'
    point = difference(-math.inf, -math.inf)
    half_line = float(law.log_above(np.array(0.0)) - law.log_above(np.array(1.0)))
    return Measured(
        parts=(
            equals(
                f"largest loss over {len(sets)} sets of Alg. 1's outcomes, against single ones", largest, float(single)
            ),
            equals("loss of a half-line under Lap(Δ/10), against single values", half_line, point),
        ),
        evidence=(
            f"single outcomes {single:.4f}, sets {largest:.4f}; single reals {point:.4f}, a half-line {half_line:.4f}"
        ),
    )


def _laplace(subject: Subject) -> Measured:
    parts = []
    for epsilon, lattice in itertools.product(_EPSILONS, (False, True)):
        law = NoiseLaw(scale=float(subject.laplace_scale(epsilon)), lattice=lattice)
        x = np.arange(-60.0, 61.0) if lattice else np.linspace(-60, 60, 961)
        loss = float((law.log_weight(x) - law.log_weight(x - 1)).max())
        parts.append(at_most(f"loss at ε = {epsilon}, {'lattice' if lattice else 'continuous'}", loss, epsilon))
    return Measured(parts=tuple(parts), evidence=f"loss {listed([p.measured for p in parts[::2]])} at ε = 0.1, 1, 2")


def selection_loss(
    rate: float, here: Sequence[float], there: Sequence[float], sizes: Sequence[int] | None = None
) -> float:
    """ln of the ratio of Pr[the first is selected] by weights exp(rate q); entry i stands for sizes[i] equal ones."""

    def log_share(scores: Sequence[float]) -> float:
        weights = rate * (np.asarray(scores) - scores[0]) + np.log(np.ones(len(scores)) if sizes is None else sizes)
        return -float(np.logaddexp.reduce(weights))

    return log_share(here) - log_share(there)


def _changes(size: int, monotonic: bool) -> Iterator[tuple[int, ...]]:
    """Every way in which one person moves this many scores by at most one."""
    steps = ((0, 1), (-1, 0)) if monotonic else ((-1, 0, 1),)
    for step in steps:
        yield from itertools.product(step, repeat=size)


def _searched(rate: float, monotonic: bool) -> float:
    rng = np.random.default_rng(_SEED)
    scores = [rng.normal(0, spread, 4) for spread in (0, 1, 1, 5, 5, 20)]
    return max(selection_loss(rate, s, s + np.array(c)) for s in scores for c in _changes(4, monotonic))  # type: ignore[arg-type]


def _exponential(monotonic: bool, subject: Subject) -> Measured:
    """The watched candidate falls and, in general, a crowd of others rises."""
    moved = 0 if monotonic else 1
    parts, crossed = [], 0.0
    for epsilon in _EPSILONS:
        rate = float(subject.selection_rate(epsilon=epsilon, count=1, sensitivity=1, monotonic=monotonic))
        witness = selection_loss(rate, [0, 0], [-1, moved], CROWD)
        parts.append(at_most(f"loss at ε = {epsilon}", max(witness, _searched(rate, monotonic)), epsilon))
        crossed = selection_loss(rate, [0, 0], [-1, 1], CROWD) / epsilon
    evidence = f"loss {listed([p.measured for p in parts])} at ε = 0.1, 1, 2"
    if monotonic:
        evidence += f"; on general scores {crossed:.4f}ε"
    return Measured(parts=tuple(parts), evidence=evidence)


def _composition(subject: Subject) -> Measured:
    """A Laplace answer, a selection and a gate on the same neighbours: independent noise, so their losses add."""
    law = NoiseLaw(scale=float(subject.laplace_scale(0.2)))
    answer = float(law.log_weight(np.array(0.0)) - law.log_weight(np.array(1.0)))
    rate = float(subject.selection_rate(epsilon=0.3, count=1, sensitivity=1, monotonic=False))
    choice = selection_loss(rate, [0, 0], [-1, 1], CROWD)
    gate = ClaimSetting(row=subject.rows["lyu-2017"], epsilon=0.5).worst()
    total = float(sequential(0.2, 0.3, 0.5))
    parts: tuple[ClaimPart, ...] = (at_most("loss of the three together", answer + choice + gate, total),)
    return Measured(parts=parts, evidence=f"{listed([answer, choice, gate])} sum to {answer + choice + gate:.4f}")


CLAIMS = (
    Claim(
        key="definition",
        place="Sec. 2, Def. 1",
        expected=ClaimVerdict.OVER_CLAIMS,
        measure=_definition,
        statement="ε-DP compares Pr[A(D) = S] with e^ε Pr[A(D') = S] for every S ∈ Range(A), a single output.",
    ),
    Claim(
        key="laplace-mechanism",
        place="Sec. 2",
        expected=ClaimVerdict.TIGHT,
        measure=_laplace,
        statement="f(D) + Lap(Δ/ε) is ε-DP.",
    ),
    Claim(
        key="em-general",
        place="Sec. 2",
        expected=ClaimVerdict.TIGHT,
        measure=lambda s: _exponential(False, s),
        statement="Selecting r with probability proportional to exp(ε q(D,r) / (2Δ)) is ε-DP.",
    ),
    Claim(
        key="em-monotonic",
        place="Sec. 2",
        expected=ClaimVerdict.TIGHT,
        measure=lambda s: _exponential(True, s),
        statement="Where one person moves all scores one way, exp(ε q(D,r) / Δ) is ε-DP.",
    ),
    Claim(
        key="composition",
        place="Sec. 2",
        expected=ClaimVerdict.TIGHT,
        measure=_composition,
        statement="Mechanisms that are ε₁-, ..., εₘ-DP are (ε₁ + ... + εₘ)-DP together.",
    ),
)
