"""The state machine of proofs/ledger.v, with the losses of ledger_losses.v and ledger_gap_losses.v, line by line.

An event that is refused raises ``Refused``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import floor

PLACES = 10**12


class Refused(Exception):
    """The model has no such transition here."""


@dataclass
class Gate:
    """Each ask is the outcome that its row holds now, and the one that it ever held."""

    e1: Fraction
    r: Fraction
    cutoff: int
    two_sided: bool
    one_sided_noise: bool
    gap: bool
    most: int | None = None
    asks: list[tuple[bool | None, bool | None]] = field(default_factory=list)
    because: bool = False
    refunds: bool = True

    @property
    def epsilon(self) -> Fraction:
        return self.e1 + self.cutoff * self.r

    def said(self, column: int) -> tuple[int, int, int]:
        held = [ask[column] for ask in self.asks]
        return held.count(False), held.count(True), held.count(None)

    def loss(self, m: int, k: int) -> Fraction:
        e1, r = self.e1, self.r
        if self.one_sided_noise:
            if self.gap and not m and k:
                return max(k * r, e1 + (k - 1) * r)
            return e1 * (m > 0) + k * r
        rising = range(k + 1 if self.gap else 1)
        up = max(min((m + h) * r, e1 + (k - h) * r) for h in rising)
        down = max(min((k - h) * r, e1 + (m + h) * r) for h in rising)
        return max(up, down)

    def worst(self, column: int) -> Fraction:
        below, above, lost = self.said(column)
        return max(self.loss(below + i, above + lost - i) for i in range(lost + 1))

    @property
    def closed(self) -> bool:
        below, above, lost = self.said(0)
        rarer = min(len(self.asks) // 2, below + lost, above + lost)
        asked_out = self.most is not None and len(self.asks) >= self.most
        return self.because or asked_out or (rarer if self.two_sided else above + lost) >= self.cutoff

    @property
    def unused(self) -> Fraction:
        return Fraction(floor((self.epsilon - min(self.worst(0), self.epsilon)) * PLACES), PLACES)


@dataclass
class Line:
    """An entry with what the other tables say of it."""

    kind: str
    amount: Fraction
    paid_for: Fraction | Gate | None = None
    back: Fraction | None = None


@dataclass
class Model:
    """What is spent, for what, and what of it has left."""

    budget: Fraction
    lines: list[Line] = field(default_factory=list)
    restored: int = 0

    @property
    def spent(self) -> Fraction:
        return sum((line.amount - (line.back or 0) for line in self.lines), Fraction(0))

    @property
    def loss(self) -> Fraction:
        since = [line.paid_for for line in self.lines[self.restored :]]
        return sum((one.worst(1) if isinstance(one, Gate) else one or Fraction(0) for one in since), Fraction(0))

    def charge(self, kind: str, amount: Fraction, paid_for: Fraction | Gate | None) -> int:
        require(self.spent + amount <= self.budget)
        self.lines.append(Line(kind, amount, paid_for))
        return len(self.lines) - 1

    def begin_release(self, n: int, cost: Fraction) -> None:
        line = self.lines[n]
        require((line.kind, line.paid_for, line.back) == ("reserve", None, None) and cost <= line.amount)
        require(n >= self.restored)
        line.paid_for = cost

    def gate(self, n: int) -> Gate:
        held = self.lines[n].paid_for
        assert isinstance(held, Gate)
        return held

    def intend(self, n: int) -> int:
        require(not self.gate(n).closed)
        self.gate(n).asks.append((None, None))
        return len(self.gate(n).asks) - 1

    def settle(self, n: int, k: int, outcome: bool) -> None:
        require(self.lines[n].back is None and self.gate(n).asks[k] == (None, None))
        self.gate(n).asks[k] = outcome, outcome

    def void(self, n: int, k: int, why: bool) -> None:
        self.gate(n).asks[k] = None, self.gate(n).asks[k][1]
        self.gate(n).because |= why

    def give_back(self) -> None:
        for n, line in enumerate(self.lines):
            held = line.paid_for
            if isinstance(held, Gate) and line.back is None and held.closed and held.refunds and n >= self.restored:
                line.back = held.unused or None

    def raise_budget(self, budget: Fraction) -> None:
        require(budget > self.budget)
        self.budget = budget

    def restore(self, since: Fraction | None) -> None:
        for line in self.lines:
            if isinstance(line.paid_for, Gate):
                line.paid_for.because, line.paid_for.refunds = True, False
        self.lines.append(Line("restore", max(self.budget - self.spent, Fraction(0)) if since is None else since))
        self.restored = len(self.lines)

    @property
    def held(self) -> set[tuple[int, int, bool]]:
        """Entry, ask and outcome of all that was ever settled."""
        gates = [(n, line.paid_for) for n, line in enumerate(self.lines) if isinstance(line.paid_for, Gate)]
        return {(n, k, ever) for n, gate in gates for k, (_, ever) in enumerate(gate.asks) if ever is not None}


def require(true: bool) -> None:
    if not true:
        raise Refused
