"""What a table gives away group by group: a release for each group of a public list, and one record of them all."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sparsegate.tables.release import Record, TopItems


@dataclass(frozen=True, kw_only=True)
class GroupedTopItems(Mapping[Hashable, TopItems]):
    """The release of every group, by group, in the order of the public list: a mapping, and one record.

    ``record.epsilon`` and ``record.delta`` are the cost of all groups together; the record of one of the releases says
    what that one cost, a ``record.groups_per_user``-th: see ``tables.groups``.
    """

    groups: Mapping[Hashable, TopItems]
    record: Record

    def __getitem__(self, group: Hashable) -> TopItems:
        return self.groups[group]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def rows(self) -> Iterator[tuple[Hashable, int, Hashable, int | float | None]]:
        """The group, the place in it from 1 on, the item and its noisy count, or None, of all that was selected."""
        for group, top in self.groups.items():
            for place, item in enumerate(top.items):
                yield group, place + 1, item, None if top.estimates is None else top.estimates[place]

    def published(self) -> dict[str, Any]:
        """The release as JSON takes it."""
        parts = []
        for group, top in self.groups.items():
            part = top.published()
            del part["record"]
            parts.append({"group": group if isinstance(group, str | int) else str(group), **part})
        return {"groups": parts, "record": self.record.published()}
