"""The same release by another road: plain Python over all rows, every candidate listed. Only for small tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from sparsegate.noise import Source
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import METHODS, Request
from sparsegate.tables.engines.engine import digest

Row = tuple[Any, Any]


def baskets(rows: Iterable[Row], domain: Iterable[Hashable], most: int | None) -> list[set[Any]]:
    """Each user's different candidates, cut to ``most`` by a hash of the whole basket and the label."""
    candidates, users = set(domain), defaultdict(set)
    for item, user in rows:
        if item is not None and user is not None and item in candidates:
            users[user].add(item)
    return [_cut(items, most) for items in users.values()]


def _cut(items: set[Any], most: int | None) -> set[Any]:
    seed = sum(digest(item) >> 28 for item in items)
    return set(sorted(items, key=lambda item: (digest(seed, item), item))[:most])


def scores(rows: Iterable[Row], domain: Sequence[Any], *, most: int | None = None) -> dict[Hashable, int]:
    """The score of every candidate, in the order of the labels."""
    counted: Counter[Hashable] = Counter()
    for basket in baskets(rows, domain, most):
        counted.update(basket)
    return {label: counted[label] for label in sorted(set(domain))}


def select(scored: dict[Hashable, int], request: Request, source: Source) -> tuple[Hashable, ...]:
    """Pick from the histogram and name each member by counting through the candidates of its score."""
    groups: dict[int, list[Hashable]] = {}
    for score in sorted(set(scored.values())):
        groups[score] = [label for label, value in scored.items() if value == score]
    histogram = Scores.histogram({score: len(members) for score, members in groups.items()})
    picks = request.pick(histogram, source.stream())
    members = list(groups.values())
    chosen = [members[g][m] for g, m in zip(picks.groups.tolist(), picks.members.tolist(), strict=True)]
    return tuple(chosen if METHODS[request.method].ordered else sorted(chosen))
