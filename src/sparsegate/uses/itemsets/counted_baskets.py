"""Baskets in the engine they live in: how many people have each item, and who has which of a few.

Nothing leaves the engine before a draw but a histogram of the counts of items. Once some items are released, each
person becomes a few whole numbers in the engine, with a bit for each of those items that the person has, and what comes
out is how many people have the same numbers. Every engine that ``top_items`` knows can do that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw

from sparsegate.mechanisms.scores import Scores
from sparsegate.mechanisms.selection import Request, by_label
from sparsegate.noise import Source
from sparsegate.tables.columns import read_columns
from sparsegate.tables.counting import Pick, count_items, name_picks
from sparsegate.tables.domain import Domain, Listed, public_domain
from sparsegate.tables.engines.engine import Engine, different
from sparsegate.tables.observed_domain import Accounting, pick_observed
from sparsegate.uses.itemsets.candidate_sets import MASK_ITEMS, ItemBits


class CountedBaskets:
    """The items of a table, counted; ``domain`` is None where it is what the table holds.

    Items are cells of the engine here (``tables.label_kinds``), in the order of their labels; ``label`` reads them.
    """

    def __init__(self, engine: Engine, *, item: str, user: str | None, domain: Any) -> None:
        self._engine = engine
        self._rows, kind = read_columns(engine, item, user)
        self._domain: Domain | None = None
        if domain is not None:
            self._domain = public_domain(engine, domain, item=item, kind=kind)
        given = self._domain.given if isinstance(self._domain, Listed) else None
        self.label = kind.read if given is None else given.__getitem__
        self._counted = count_items(engine, self._rows, self._domain, None)

    @property
    def size(self) -> int | None:
        """How many public items there are."""
        return None if self._domain is None else self._domain.size

    def everything(self) -> list[Any]:
        """All public items, which tells nothing."""
        if isinstance(self._domain, Listed):
            return _by_label([cell for (cell,) in self._engine.rows(self._domain.frame.select("item"))])
        return list(range(self.size or 0))

    def pick(self, request: Request, noise: Source) -> list[Any]:
        """Select from the public items, by how many people have each."""
        assert self._domain is not None
        absent = self._domain.size - self._counted.total
        histogram: Mapping[int, int] = ({0: absent} if absent else {}) | dict(self._counted.histogram)
        picks, scores = request.pick(Scores.histogram(histogram), noise.stream()), list(histogram)
        members = zip(picks.groups.tolist(), picks.members.tolist(), strict=True)
        return self._named([(scores[group], member) for group, member in members])

    def pick_observed(self, accounting: Accounting, dbar: int, noise: Source) -> list[Any]:
        """Select from whatever the table holds; see ``tables.observed_domain``. There may be fewer."""
        return self._named(pick_observed(noise, self._counted.histogram, dbar=dbar, accounting=accounting))

    def _named(self, picks: Sequence[Pick]) -> list[Any]:
        # Sorted: the order of a set is nobody's business, and candidates are numbered by it.
        return _by_label(name_picks(self._engine, self._counted, self._domain, picks))

    def bits(self, items: Sequence[Any]) -> ItemBits:
        """Who has which of these items, which are released."""
        if not items:
            return ItemBits.of_masks(0, [])
        places = range(len(items))
        words = [f"word {word}" for word in range(-(-len(items) // MASK_ITEMS))]
        known = self._engine.bring(
            {
                "item": list(items),
                "word": [place // MASK_ITEMS for place in places],
                "bit": [1 << place % MASK_ITEMS for place in places],
            }
        )
        # Each item of a person once, so that the sum of their bits has each of them once.
        rows = different(self._rows, "user", "item").join(known, on="item", how="inner")
        mine = [
            nw.when(nw.col("word") == word).then(nw.col("bit")).otherwise(0).alias(name)
            for word, name in enumerate(words)
        ]
        people = rows.select("user", *mine).group_by("user").agg(*(nw.col(name).sum() for name in words))
        alike = people.group_by(*words).agg(nw.len().alias("people"))
        return ItemBits.of_masks(len(items), self._engine.rows(alike.select(*words, "people")))


def _by_label(cells: list[Any]) -> list[Any]:
    return [cells[place] for place in by_label(cells)]
