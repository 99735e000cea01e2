"""What a table gives away group by group: a release for each group of a public list, and one record of them all."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sparsegate.display.chosen import published_items
from sparsegate.display.plain import plain
from sparsegate.display.published_top import SCHEMA, PrintedTop
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Tabular
from sparsegate.mechanisms.accounting import Accountant, composed
from sparsegate.tables.release import Record, TopItems

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True, repr=False)
class GroupedTopItems(Mapping[Hashable, TopItems], Tabular):
    """The release of every group, by group, in the order of the public list: a mapping, and one record.

    ``record.epsilon`` and ``record.delta`` are the cost of all groups together; the record of one of the releases says
    what that one cost, a ``record.groups_per_user``-th: see ``tables.groups``. ``to_pandas``, ``to_polars``,
    ``to_arrow`` and ``to_dict`` convert all groups, with a column for the group; ``plot`` draws them.

    >>> import sparsegate as sg
    >>> columns = ("country", "visitor", "page")
    >>> rows = [("DE", i, "/home") for i in range(50)] + [("FR", i, "/pay") for i in range(50, 90)]
    >>> visits = dict(zip(columns, zip(*rows)))
    >>> asked = {"item": "page", "user": "visitor", "per": "country", "groups": ["DE", "FR"]}
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> top = sg.top_items(visits, count=1, epsilon=2, domain=["/home", "/pay"], **asked, **seeded)
    >>> list(top), top["FR"].items
    (['DE', 'FR'], ('/pay',))
    >>> [(group, item) for group, place, item, estimate in top.rows]
    [('DE', '/home'), ('FR', '/pay')]
    """

    groups: Mapping[Hashable, TopItems]
    """The release of each group."""
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

    def dp_event(self, accountant: Accountant = "rdp") -> Any:
        """This release as an event of Google's ``dp_accounting``: one person is in ``groups_per_user`` groups."""
        first = next(iter(self.groups.values()))
        return composed([first.dp_event(accountant)] * (self.record.groups_per_user or 1))

    def to_dict(self) -> dict[str, Any]:
        """The release as JSON takes it, by the schema "sparsegate/top/1": see docs/reference/json.md."""
        return self.published()

    def published(self) -> dict[str, Any]:
        """The same: what is printed and stored. Items have their group; ``groups`` lists also those without items."""
        tops, record = list(self.groups.values()), self.record
        items = [
            {"group": plain(group), **row}
            for group, top in self.groups.items()
            for row in published_items(top, ranked=record.ordered)
        ]
        wider = [top.error_bar_all for top in tops if top.error_bar_all is not None]
        return {
            "schema": SCHEMA,
            "item": record.item,
            "groups": [plain(group) for group in self.groups],
            "items": items,
            "error_bar": tops[0].error_bar,
            "error_bar_all": max(wider, default=None),
            "confidence": tops[0].confidence,
            "record": record.published(),
        }

    def sheet(self) -> Sheet:
        """All groups as one table."""
        return PrintedTop(kept=self.to_dict()).sheet()

    def plot(self) -> Figure:
        """One bar for each item of each group, with the error bars of each and of all of a group."""
        return PrintedTop(kept=self.to_dict()).plot()
