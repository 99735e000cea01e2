"""What is released of frequent sets of items: the sets, their noisy supports if paid for, and a record."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from sparsegate.display.chosen import published_items
from sparsegate.display.plain import exact_text, plain
from sparsegate.display.published_top import SCHEMA, TopTable


@dataclass(frozen=True, kw_only=True)
class ItemsetRecord:
    """How sets of items were selected. Every entry is a public parameter: none was computed from the private table.

    ``epsilon`` and ``delta`` are the cost of the whole release, exactly; ``answers_epsilon`` is the part of epsilon
    that paid for the estimates, and ``shares`` are the epsilons of the levels: of the items, and then of the sets.
    ``pool`` is how many items the first level selected (or all, where that cost nothing), ``domain_size`` the number of
    public items, None for ``domain="observed"``. ``count`` sets of ``smallest`` to ``itemset_size`` items were asked
    for, by ``method`` over the levels and ``selection`` in each of them; ``ordered`` says whether they are in the order
    selected. ``item`` is the column that they are made of, ``where`` the condition that rows had to meet, and ``unit``
    what the neighbours of the theorem add or remove. ``version`` is that of this library. ``private`` is False where
    the noise came from a seed.
    """

    epsilon: Fraction
    delta: Fraction
    answers_epsilon: Fraction
    method: str
    selection: str
    shares: tuple[Fraction, ...]
    count: int
    itemset_size: int
    smallest: int
    pool: int
    domain: str
    domain_size: int | None
    unit: str = "user"
    ordered: bool = False
    where: str | None = None
    private: bool
    version: str
    item: str

    def published(self) -> dict[str, Any]:
        """The record as JSON takes it: amounts exact, in text; what was not used is left out."""
        entries = {entry.name: plain(getattr(self, entry.name)) for entry in fields(self)}
        entries["shares"] = ", ".join(map(exact_text, self.shares))
        return {name: value for name, value in entries.items() if value is not None}


@dataclass(frozen=True, kw_only=True, repr=False)
class FrequentItemsets(TopTable):
    """The chosen sets, each a tuple of its items; by size and label, or the largest estimates first.

    ``for items, estimate in found`` goes through them, ``found[0]`` is the first; ``to_pandas``, ``to_polars``,
    ``to_arrow`` and ``to_dict`` convert them, ``plot`` draws them, and a notebook shows a table.

    ``estimates`` are the noisy supports, in their order; None where none were paid for. Each lies within ``error_bar``
    of the exact one with probability ``confidence``, before it was cut at zero, and all of them together within
    ``error_bar_all``.

    >>> import sparsegate as sg
    >>> baskets = {"shopper": [i for i in range(400) for _ in "ab"], "article": ["bread", "salt"] * 400}
    >>> asked = {"item": "article", "user": "shopper", "domain": ["bread", "salt", "tea"], "size": 2}
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> found = sg.frequent_itemsets(baskets, count=3, epsilon=2, answers_epsilon=1, **asked, **seeded)
    >>> found.items, found.sizes, found.estimates
    ((('bread',), ('salt',), ('bread', 'salt')), (1, 1, 2), (402, 396, 395))
    >>> float(found.record.epsilon), [float(share) for share in found.record.shares]
    (3.0, [0.0, 2.0])
    """

    items: tuple[tuple[Any, ...], ...]
    """The sets, each a tuple of items."""
    record: ItemsetRecord
    """How they were selected, and what that cost."""
    estimates: tuple[int, ...] | None = None
    error_bar: int | None = None
    error_bar_all: int | None = None
    confidence: float = 0.95

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many items each set has."""
        return tuple(map(len, self.items))

    def to_dict(self) -> dict[str, Any]:
        """The release as JSON takes it, by the schema "sparsegate/top/1", in which an itemset is a list."""
        return {
            "schema": SCHEMA,
            "item": self.record.item,
            "items": published_items(self, ranked=False),
            "error_bar": self.error_bar,
            "error_bar_all": self.error_bar_all,
            "confidence": self.confidence,
            "record": self.record.published(),
        }
