"""PrivTree (Zhang, Xiao, Xie 2016) on exact noise: where points are dense, cells are small. docs/pictures/priv_tree.png

    python examples/priv_tree.py [FILE.png]

A cell of the square is cut into four, and those again, while it seems to hold points. A person is in one cell of each
level, so noise on all levels would grow with their number h. PrivTree takes a bias of d off a count at each level, and
then the noise does not. With c the count of a cell of depth i, X discrete Laplace noise of scale 1/r, and whole numbers
theta, d:

    b = max(theta - d, c - i d);     the cell is cut  iff  b + X > theta.

*Theorem.* With q = e^-r, the tree is epsilon-DP for neighbours that differ in one point, added or removed, where

    epsilon = r + rho(0) + rho(d) + rho(2d) + ... + rho((h-2) d),     rho(0) = r,
    rho(j)  = ln[(1 + q - q^(j+1)) / (1 + q - q^j)] <= (1 - q) q^j <= r q^j   for j >= 1,

h the number of levels that may be cut; and with these r and d no smaller epsilon will do. *Proof.* Let D have the
point, D' not. Only the cells on the point's path differ: c by one, and b by one where c - i d > theta - d, else not
at all. Along the path c does not grow, so c - i d falls by d or more: the cells that differ are the first of the
path, and all but the last of them have b >= theta + 1, those further up at least d more each. P[b + X > theta] is
e^-r times as large at b - 1 for b <= theta + 1, and e^-rho(j) times for b = theta + 1 + j: these are the tails of X.
rho falls in b, so a tree is at most e^epsilon times as likely on D as on D'. The other way round, a cut is less
likely on D', and that a cell of the path is not cut, one at most, e^r times as likely. The sum is attained where all
points are the same, as many as it takes: then b falls by d exactly. [] With d >= (ln f)/r, for f children of a cell,
it is below r (1 + f/(f-1)), which is the theorem of the paper, for discrete noise; the sum itself lets r be larger.

The counts of the leaves are told with noise of their own: a person is in one leaf. All this is for one point of each
person; for k points of each, all of it costs k times as much.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import sparsegate as sg

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "priv_tree.png"
FANOUT, LEVELS, THETA = 4, 10, 0
SETTINGS = [(cutoff, times) for cutoff in (30, 100, 300) for times in (2, 4, 8)]  # of a gate; the bar in cutoff/epsilon


def tree_loss(rate: float, decay: int, levels: int) -> float:
    """The epsilon of the theorem, a little rounded up."""
    q = math.exp(-rate)
    further = range(decay, (levels - 1) * decay, decay)
    return (min(levels, 2) * rate + sum(math.log1p(q**j * (1 - q) / (1 + q - q**j)) for j in further)) * (1 + 1e-12)


@lru_cache
def tree_noise(epsilon: Fraction, *, fanout: int = FANOUT, levels: int = LEVELS) -> tuple[Fraction, int]:
    """The largest rate r, of about four digits, and its decay d = ceil(ln(f)/r), that cost at most epsilon."""
    fine = 4096
    for part in range(fine, 0, -1):
        rate = epsilon * part / fine
        decay = math.ceil(math.log(fanout) / rate)
        if tree_loss(float(rate), decay, levels) <= epsilon:
            return rate, decay
    raise AssertionError("a rate of epsilon / levels costs at most epsilon")


class Tree(NamedTuple):
    """The leaves: a row for each with x, y and side; and their noisy counts."""

    leaves: np.ndarray
    counts: np.ndarray


def grow(points: np.ndarray, epsilon: Fraction, *, levels: int = LEVELS, **options: Any) -> Tree:
    """A tree over the unit square, half of epsilon for its shape and half for its counts."""
    rate, decay = tree_noise(epsilon / 2, levels=levels)
    counts, cells, leaves = pyramid(points, levels), np.array([[0.0, 0.0, 1.0]]), []
    for depth in range(levels):
        biased = np.maximum(THETA - decay, held(counts, cells) - depth * decay)
        cut = sg.laplace(biased, epsilon=rate, sensitivity=1, **options) > THETA  # noise of scale 1/r on each
        leaves.append(cells[~cut])
        cells = quarters(cells[cut])
    found = np.concatenate([*leaves, cells])
    return Tree(found, sg.laplace(held(counts, found), epsilon=epsilon / 2, sensitivity=1, **options))


def quarters(cells: np.ndarray) -> np.ndarray:
    """The four cells that each is cut into."""
    x, y, half = cells[:, 0], cells[:, 1], cells[:, 2] / 2
    return np.concatenate([np.stack([x + i * half, y + j * half, half], axis=1) for i in (0, 1) for j in (0, 1)])


def pyramid(points: np.ndarray, levels: int = LEVELS) -> list[np.ndarray]:
    """How many points are in each cell of each size, from the whole square down."""
    across = 2**levels
    # A point outside, or no number at all, is counted at the edge: an error would tell that somebody is there.
    x, y = np.clip(np.nan_to_num(points * across), 0, across - 1).astype(np.int64).T
    counts = [np.bincount(x * across + y, minlength=across**2).reshape(across, across)]
    for _ in range(levels):
        half = len(counts[0]) // 2
        counts.insert(0, counts[0].reshape(half, 2, half, 2).sum(axis=(1, 3)))
    return counts


def held(counts: list[np.ndarray], cells: np.ndarray) -> np.ndarray:
    """How many points are in each of these cells."""
    depths = np.rint(-np.log2(cells[:, 2])).astype(int)
    places = np.rint(cells[:, :2] / cells[:, 2:]).astype(int)
    found = [counts[depth][x, y] for depth, (x, y) in zip(depths, places, strict=True)]
    return np.array(found, dtype=np.int64)


def answer(tree: Tree, low: np.ndarray, high: np.ndarray) -> float:
    """How many points the tree says are in a rectangle: of a leaf that is partly inside, the same part."""
    x, y, side = tree.leaves.T
    wide = np.clip(np.minimum(x + side, high[0]) - np.maximum(x, low[0]), 0, None)
    tall = np.clip(np.minimum(y + side, high[1]) - np.maximum(y, low[1]), 0, None)
    return float(tree.counts @ (wide * tall / side**2))


def grid(points: np.ndarray, epsilon: Fraction, across: int, **options: Any) -> Tree:
    """Cells of one size, with noise: a person is in one cell, so this costs epsilon."""
    places = np.stack(np.meshgrid(np.arange(across), np.arange(across), indexing="ij"), axis=-1).reshape(-1, 2)
    cells = np.hstack([places / across, np.full((across**2, 1), 1 / across)])
    return Tree(cells, sg.laplace(held(pyramid(points), cells), epsilon=epsilon, sensitivity=1, **options))


def gated(points: np.ndarray, epsilon: Fraction, cutoff: int, bar: int, **options: Any) -> Tree:
    """A tree whose cuts a gate decides: it may cut c cells in all, and its noise grows with c."""
    gate = sg.SparseVector(threshold=bar, cutoff=cutoff, epsilon=epsilon / 2, sensitivity=1, monotonic=True, **options)
    counts, cells, leaves = pyramid(points), np.array([[0.0, 0.0, 1.0]]), []
    for _ in range(LEVELS):
        cut = np.array([not gate.closed and bool(gate.ask(int(count))) for count in held(counts, cells)], dtype=bool)
        leaves.append(cells[~cut])
        cells = quarters(cells[cut])
    found = np.concatenate([*leaves, cells])
    return Tree(found, sg.laplace(held(counts, found), epsilon=epsilon / 2, sensitivity=1, **options))


def places(people: int = 100_000) -> np.ndarray:
    """Points in the unit square: three towns, a road, and a few anywhere."""
    generator = np.random.default_rng(2016)
    towns = np.array([[0.2, 0.7, 0.01], [0.65, 0.3, 0.03], [0.8, 0.8, 0.005]])
    chosen = towns[generator.choice(3, people * 8 // 10, p=[0.5, 0.3, 0.2])]
    inside = chosen[:, :2] + chosen[:, 2:] * generator.normal(size=(chosen.shape[0], 2))
    along = generator.random(people // 10)[:, None]
    road = [0.2, 0.7] + along * [0.45, -0.4] + 0.002 * generator.normal(size=(along.size, 2))
    return np.clip(np.concatenate([inside, road, generator.random((people // 10, 2))]), 0, 1 - 1e-9)


def squares(points: np.ndarray, side: float) -> list[tuple[np.ndarray, np.ndarray, int]]:
    """Three hundred squares around people, and how many are in each."""
    centres = points[np.random.default_rng(1).integers(0, len(points), 300)]
    sides = [(np.clip(centre - side / 2, 0, 1), np.clip(centre + side / 2, 0, 1)) for centre in centres]
    return [(low, high, int(np.all((points >= low) & (points < high), axis=1).sum())) for low, high in sides]


def error(tree: Tree, asked: list[tuple[np.ndarray, np.ndarray, int]]) -> float:
    """The mean relative error, counts below 100 taken as 100."""
    return float(np.mean([abs(answer(tree, low, high) - true) / max(true, 100) for low, high, true in asked]))


def draw(path: Path, points: np.ndarray, tree: Tree) -> None:
    """The points, and the leaves by their density."""
    from matplotlib.collections import PatchCollection
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    figure = Figure(figsize=(9.6, 4.7), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.scatter(*points[::5].T, s=0.3, color="#222222", alpha=0.3, linewidths=0)
    density = np.maximum(tree.counts, 1) / tree.leaves[:, 2] ** 2
    cells = [Rectangle((x, y), side, side) for x, y, side in tree.leaves]
    shown = PatchCollection(cells, cmap="viridis", norm=LogNorm(1e3, 1e8), edgecolor="white", linewidth=0.15)
    shown.set_array(density)
    right.add_collection(shown)
    figure.colorbar(shown, ax=right, label="people per unit square, told with noise")
    left.set_title(f"{len(points):,} people (a fifth shown)")
    right.set_title(f"PrivTree, ε = 1: {len(cells):,} leaves")
    for axes in (left, right):
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=[0, 1], yticks=[0, 1])
    figure.savefig(path, dpi=140)


def main(arguments: list[str]) -> None:
    points, sides = places(), (0.01, 0.05, 0.2)
    asked = [squares(points, side) for side in sides]
    print(f"| ε | | leaves | {' | '.join(f'squares of {side:g}' for side in sides)} |")
    print("| ---: | --- | ---: | ---: | ---: | ---: |")
    for epsilon in (Fraction(1, 10), Fraction(1)):
        free: Any = {"source": sg.Seeded(1), "not_private": True}
        rows = {"PrivTree": grow(points, epsilon, **free)}
        rows |= {f"grid of {across}²": grid(points, epsilon, across, **free) for across in (64, 128, 256, 512)}
        errors = {name: [error(tree, each) for each in asked] for name, tree in rows.items()}
        # A gate has a cutoff and a bar, and is given the best of nine, once it is known how they end.
        gates = {(c, times): gated(points, epsilon, c, times * round(c / epsilon), **free) for c, times in SETTINGS}
        by_gate = {setting: [error(tree, each) for each in asked] for setting, tree in gates.items()}
        best = min(by_gate, key=lambda setting: sum(by_gate[setting]))
        name = f"gate, at most {best[0]} cuts"
        rows[name], errors[name] = gates[best], by_gate[best]
        for name, tree in rows.items():
            cells = [f"{100 * each:.1f} %" for each in errors[name]]
            print(f"| {float(epsilon):g} | {name} | {len(tree.leaves):,} | {' | '.join(cells)} |", flush=True)
        rate, decay = tree_noise(epsilon / 2)
        published = epsilon / 2 * (FANOUT - 1) / (2 * FANOUT - 1)
        print(f"noise of scale {float(1 / rate):.2f}, decay {decay}; by the published bound {float(1 / published):.2f}")
    draw(Path(arguments[0]) if arguments else PICTURE, points, rows["PrivTree"])


if __name__ == "__main__":
    main(sys.argv[1:])
