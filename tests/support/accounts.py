"""An account for tests of ``ledger=``: it notes what was charged and kept, in their order, or refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sparsegate.budget import Number, exact_epsilon


@dataclass
class Noted:
    """Charges as (epsilon, delta, what), and what was kept; ``refuses`` is raised instead of charging."""

    refuses: Exception | None = None
    charged: list[tuple[Number, Number, str]] = field(default_factory=list)
    kept: list[Mapping[str, Any]] = field(default_factory=list)

    def spend(self, *, epsilon: Number, delta: Number = 0, what: str) -> int:
        if self.refuses is not None:
            raise self.refuses
        self.charged.append((epsilon, delta, what))
        return len(self.charged)

    def keep(self, entry: int, gave: Mapping[str, Any]) -> None:
        assert entry == len(self.charged)
        self.kept.append(gave)


@dataclass
class Account(Noted):
    """One that also takes back what was not used; ``back`` is that of each entry, which gives back once."""

    back: dict[int, Fraction] = field(default_factory=dict)

    def give_back(self, entry: int, *, epsilon: Number) -> None:
        assert entry not in self.back
        self.back[entry] = exact_epsilon(epsilon)

    @property
    def spent(self) -> Fraction:
        """What was charged and did not come back."""
        return sum((exact_epsilon(epsilon) for epsilon, _, _ in self.charged), Fraction(0)) - sum(self.back.values())
