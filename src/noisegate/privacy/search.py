"""A search for the largest privacy loss that knows nothing of the bounds: it only climbs.

Outcomes are all those of up to ten queries. For each, coordinate ascent from random starts moves one query at a time, on both
datasets at once, to the pair of answers within the sensitivity that raises ln Pr_D - ln Pr_D' most; answers come from a
grid with fine steps around the threshold and values far away on both sides. Queries under one rho are exchangeable, so only how many
are BELOW and how many ABOVE matters, and rounds with rho of their own are independent: their losses add.

With the tables of ln Pr[BELOW | z] and ln Pr[ABOVE | z] at every grid value, the probability at all candidates for one coordinate
is one matrix product.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from noisegate.budget import Number, exact_count
from noisegate.mechanisms.variants import Compared, Released, Variant
from noisegate.privacy.enumeration import _spans, possible_outcomes, rho_grid
from noisegate.privacy.laws import Floats
from noisegate.privacy.model import Model, build

Direction = Literal["any", "up", "down"]


@dataclass(frozen=True, kw_only=True)
class Found:
    """The largest loss met, and where. A number in the outcome is what that positive released."""

    answers: tuple[float, ...]
    neighbour: tuple[float, ...]
    threshold: tuple[float, ...]
    outcome: tuple[Any, ...]
    loss: float


@dataclass(frozen=True)
class _Moves:
    """What a query of one kind may do: a table row on D, one on D', and what the released number adds; -inf bars a pair."""

    table: Floats
    bonus: Floats
    numbers: Floats | None
    @cached_property
    def linear(self): return np.exp(self.table)


class Climber:
    def __init__(self, model: Model, queries: int, thresholds=(0.0,), values=None, fine=4) -> None:
        self.model = model
        step = model.sensitivity
        if values is None:
            b = model.nu.scale if model.nu else 0
            s = model.rho.scale if model.rho else 0
            f = (b + s)
            base = [0, 1*step, 2*step, 8*(b+s), 30*(b+s)]
            base = sorted({x for v in base for x in (v, -v)})
            values = sorted({round(v / step) * step + k * step / fine for v in base for k in range(-fine, fine+1)})
        if model.lattice is not None:
            values = sorted({float(math.floor(v)) for v in values})
        vt = [(v, t) for t in thresholds for v in values]
        q = np.array([v for v, _ in vt]); t = np.array([t for _, t in vt])
        est = None if model.row.compared is Compared.ANSWER else 0.0
        if model.lattice is not None:
            g = float(model.lattice.granularity)
            self.points = model.compare((q*g) if not model.lattice.integers else q.astype(int), (t*g) if not model.lattice.integers else t.astype(int), None if est is None else 0)
        else:
            self.points = model.compare(q, t, est)
        self.q, self.t = q, t
        self.z, self.logw = rho_grid(model, self.points.breaks(), queries)
        self.tb = np.maximum(self.points.log_below(self.z), -1e5)
        self.ta = np.maximum(self.points.log_above(self.z), -1e5)
        self.eb, self.ea = np.exp(self.tb), np.exp(self.ta)
        diff = q[None, :] - q[:, None]   # D' - D
        self.same = (t[None, :] == t[:, None])
        tol = 1e-9*step
        self.mask = {"any": self.same & (np.abs(diff) <= step+tol), "up": self.same & (diff >= 0) & (diff <= step+tol), "down": self.same & (diff <= 0) & (diff >= -step-tol)}
        if model.fresh is not None:
            w = model.fresh.log_weight(q[None, :] - q[:, None])  # [x, a]
            self.V = np.array([[ (w[i] - w[j]).max() for j in range(q.size)] for i in range(q.size)])
        else:
            self.V = np.zeros((q.size, q.size))
        self.noisy = model.row.released is Released.NOISY_ANSWER
        if self.noisy:
            if self.points.inside:
                cut = np.abs(q) - t
            else:
                cut = q - t
            self.ea = (self.z[None, :] <= cut[:, None]).astype(float)
            self.ta = np.where(self.ea > 0, 0.0, -1e5)
            w = model.nu.log_weight(q[None, :] - q[:, None])  # [x,a]
            self.bonus_a = {}
            for d, mk in self.mask.items():
                g = np.where(mk[:, :, None], w[:, None, :] - w[None, :, :], -np.inf)
                self.bonus_a[d] = g.max(axis=(0, 1))

    def climb(self, m, k, direction, rng, sweeps=30):
        n = m + k
        above = np.array([False]*m + [True]*k)
        P = [np.flatnonzero(self.mask[direction].ravel())][0]
        pairs = rng.choice(P, n)
        x, y = pairs // self.q.size, pairs % self.q.size
        if self.noisy:
            y = np.where(above, x, y)
        best = -np.inf
        for _ in range(sweeps):
            before = best
            for i in rng.permutation(n):
                tab = lambda j, a: self.ta[j] if a else self.tb[j]
                lin = self.ea if above[i] else self.eb
                r = self.logw.copy(); s = self.logw.copy()
                for j in range(n):
                    if j != i:
                        r = r + tab(x[j], above[j]); s = s + tab(y[j], above[j])
                rm, sm = r.max(), s.max()
                with np.errstate(divide="ignore"):
                    pd = np.log(lin @ np.exp(r - rm)) + rm
                    pe = np.log(lin @ np.exp(s - sm)) + sm
                bonus_others = sum((self.bonus_a[direction][x[j]] if self.noisy else self.V[x[j], y[j]]) for j in range(n) if j != i and above[j])
                if self.noisy and above[i]:
                    val = pd - pe + self.bonus_a[direction]
                    val = np.where(np.isfinite(pd), val, -np.inf)
                    b = int(np.argmax(val)); nx = ny = b; v = val[b]
                else:
                    with np.errstate(invalid="ignore"):
                        val = pd[:, None] - pe[None, :] + (self.V if above[i] else 0)
                    val = np.where(self.mask[direction] & np.isfinite(pd)[:, None], val, -np.inf)
                    b = int(np.argmax(val)); nx, ny = divmod(b, self.q.size); v = val[nx, ny]
                v = v + bonus_others
                if v > best + 1e-12 or not np.isfinite(best):
                    x[i], y[i], best = nx, ny, v
            if not best > before + 1e-12:
                break
        return best, self.q[x], self.q[y], self.t[x], above
