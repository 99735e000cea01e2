"""Rows sampled from a tree of dependencies: the shares of each attribute beside plain histograms of the same epsilon.

Invented tables of 8,124 rows and 23 attributes of 2 to 12 categories, epsilon 1: people of a few kinds, so that most
cells of a pair are empty, or attributes that depend on each other along a random tree. The error of an attribute is the
total variation distance between its shares and the true ones; a figure is the mean over attributes and runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Result
from sparsegate.gates.laplace import laplace
from sparsegate.noise import Seeded
from sparsegate.uses.structure import dependency_tree
from sparsegate.uses.tree_model import Codes, Fitted, NoisyTables, fitted

SIZES = (2, 6, 4, 10, 2, 9, 2, 2, 2, 12, 2, 5, 4, 4, 9, 9, 2, 4, 3, 5, 9, 6, 7)
ROWS, RUNS = 8_124, 16
EPSILON = Fraction(1)
COLUMNS = {f"q{place}": list(range(size)) for place, size in enumerate(SIZES)}


def kinds(seed: int, count: int) -> Codes:
    """People of so many kinds, and as many again to hold out; most attributes are settled by the kind."""
    generator = np.random.default_rng(seed)
    kind = generator.choice(count, 2 * ROWS, p=generator.dirichlet(np.ones(count)))
    rows = np.zeros((2 * ROWS, len(SIZES)), dtype=np.int64)
    rows[:, 0] = kind % 2
    for place, size in enumerate(SIZES[1:], 1):
        usual = generator.dirichlet(np.full(size, 0.5))
        mixed = 0.7 * generator.dirichlet(np.full(size, 0.15), count) + 0.3 * usual
        settled = np.eye(size)[generator.choice(size, count, p=usual)]
        laws = np.where((generator.random(count) < 0.3)[:, None], mixed, settled)
        rows[:, place] = _drawn(generator, laws, kind)
    return rows


def along_a_tree(seed: int, concentration: float) -> Codes:
    """People whose attributes depend on each other along a random tree, and as many again to hold out."""
    generator = np.random.default_rng(seed)
    rows = np.zeros((2 * ROWS, len(SIZES)), dtype=np.int64)
    rows[:, 0] = generator.random(2 * ROWS) < 0.48
    for place, size in enumerate(SIZES[1:], 1):
        parent, strength = int(generator.integers(max(0, place - 6), place)), generator.uniform(0.2, 0.8)
        usual = generator.dirichlet(np.full(size, concentration))
        special = generator.dirichlet(np.full(size, 0.3), size=SIZES[parent])
        rows[:, place] = _drawn(generator, (1 - strength) * usual + strength * special, rows[:, parent])
    return rows


def _drawn(generator: np.random.Generator, laws: NDArray[np.float64], given: Codes) -> Codes:
    """A category for each row, by the law of what it depends on."""
    upto = laws.cumsum(axis=1)[:, :-1]
    drawn: Codes = (generator.random(len(given))[:, None] >= upto[given]).sum(axis=1)
    return drawn


TABLES: dict[str, Callable[[], Codes]] = {
    "23 kinds of people": lambda: kinds(5, 23),
    "60 kinds of people": lambda: kinds(9, 60),
    "along a tree": lambda: along_a_tree(7, 0.6),
    "along a tree, skewed": lambda: along_a_tree(11, 0.3),
}


def results() -> Iterator[Result]:
    for name, make in TABLES.items():
        rows = make()
        codes, held_out = rows[:ROWS], rows[ROWS:]
        true = [np.bincount(codes[:, place], minlength=size) / ROWS for place, size in enumerate(SIZES)]
        ours, plain, fits = [], [], []
        for run in range(RUNS):
            tree = dependency_tree(codes, COLUMNS, epsilon=EPSILON, unit="row", source=Seeded(run), not_private=True)
            ours.append(_apart([tree.share(name) for name in COLUMNS], true))
            plain.append(_apart(_histograms(codes, Seeded(run + RUNS)).shares, true))
            fits.append(tree.log_likelihood(held_out))
        yield Result(
            benchmark=f"trees: {name}",
            ours=float(f"{np.mean(ours):.3g}"),
            peer=float(f"{np.mean(plain):.3g}"),
            unit="distance",
            ratio=float(f"{np.mean(ours) / np.mean(plain):.3g}"),
            target="<= 2",
            details={"peer_name": "plain histograms", "log_likelihood": round(float(np.mean(fits)), 3)},
        )


def _histograms(codes: Codes, source: Seeded) -> Fitted:
    """Every attribute alone, each with an equal part of epsilon, made shares as those of a tree are."""
    share = EPSILON / len(SIZES)
    noisy: dict[tuple[int, ...], Codes] = {}
    for place, size in enumerate(SIZES):
        counts = np.bincount(codes[:, place], minlength=size)
        noisy[place,] = laplace(counts, epsilon=share, sensitivity=1, source=source, not_private=True)
    return fitted(NoisyTables(noisy, dict.fromkeys(noisy, float(1 / share))), SIZES)


def _apart(shares: Sequence[NDArray[np.float64]], true: Sequence[NDArray[np.float64]]) -> float:
    """How far the shares are from the true ones, on average."""
    return float(np.mean([np.abs(ours - theirs).sum() / 2 for ours, theirs in zip(shares, true, strict=True)]))
