"""A private top-c as it is published: one form for JSON, ledgers, HTTP and Python, and what is shown of it.

Everything here was released by a mechanism or is a public parameter. What was read, dropped or ignored is nowhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple, overload

from sparsegate.display.charts import bar_chart
from sparsegate.display.plain import plain, plain_label, printable, rounded
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Tabular
from sparsegate.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Chosen(NamedTuple):
    """A chosen item, and its noisy count where there is one."""

    item: Any
    estimate: Any = None


class ChosenTable(Tabular):
    """Chosen items, to go through and to index: ``for page, visitors in top``, ``top[0].item``, ``top[:3]``."""

    __slots__ = ()

    def __len__(self) -> int:
        return len(self._labels())

    def _labels(self) -> Sequence[Any]:
        return self.items  # type: ignore[attr-defined, no-any-return]

    def _estimates(self) -> Sequence[Any] | None:
        return self.estimates  # type: ignore[attr-defined, no-any-return]

    @overload
    def __getitem__(self, place: int) -> Chosen: ...
    @overload
    def __getitem__(self, place: slice) -> list[Chosen]: ...
    def __getitem__(self, place: int | slice) -> Chosen | list[Chosen]:
        if isinstance(place, slice):
            return [self[at] for at in range(len(self))[place]]
        estimates = self._estimates()
        estimate: Any = None if estimates is None else estimates[place]
        # A number of Python's own, which JSON takes.
        return Chosen(self._labels()[place], estimate.item() if hasattr(estimate, "item") else estimate)

    def __iter__(self) -> Iterator[Chosen]:
        return (self[place] for place in range(len(self)))


def published_items(chosen: Iterable[Chosen], *, ranked: bool) -> list[dict[str, Any]]:
    """The rows of a selection as JSON takes them: a rank where the order means something, an estimate if there is one.

    >>> published_items([Chosen("/home", 37)], ranked=True), published_items([Chosen(("a", "b"))], ranked=False)
    ([{'rank': 1, 'item': '/home', 'estimate': 37}], [{'item': ['a', 'b']}])
    """
    return [
        ({"rank": rank} if ranked else {})
        | {"item": plain_label(item)}
        | ({} if estimate is None else {"estimate": plain(estimate)})
        for rank, (item, estimate) in enumerate(chosen, start=1)
    ]


SCHEMA: Final = "sparsegate/top/1"

UNREMARKABLE = (("itemset_size", 1), ("ordered", True), ("private", True), ("answers_epsilon", "0"))
"""Entries of a record that are not shown beside a table, because they are what one expects."""


@dataclass(frozen=True, kw_only=True)
class PrintedTop:
    """A release of top items as it was published, to be shown: fresh, from a ledger or from a service.

    ``recorded`` says where it is recorded.
    """

    kept: Mapping[str, Any]
    recorded: str = ""

    @property
    def estimated(self) -> bool:
        return self.kept["error_bar"] is not None

    @property
    def record(self) -> dict[str, Any]:
        """What may be published beside the items: public parameters, epsilon and delta as exact decimals."""
        return {**self.kept["record"], **({"recorded": self.recorded} if self.recorded else {})}

    @property
    def measure(self) -> str:
        """What the estimates are numbers of: people, rows, or the column that was summed."""
        return printable(self.record["value"]) if "value" in self.record else f"{self.record['unit']}s"

    @property
    def chosen(self) -> list[Chosen]:
        """The items in their order, a set of them as a tuple."""
        sets = self.record.get("itemset_size", 1) > 1
        return [Chosen(tuple(row["item"]) if sets else row["item"], row.get("estimate")) for row in self.kept["items"]]

    @property
    def bars(self) -> dict[str, Any]:
        names = ("error_bar", "error_bar_all", "confidence") if self.estimated else ()
        return {name: self.kept[name] for name in names if self.kept[name] is not None}

    @property
    def json(self) -> dict[str, Any]:
        return {**{name: part for name, part in self.kept.items() if name != "release"}, "record": self.record}

    @property
    def title(self) -> str:
        record, per, size = self.record, "", len(self.kept["items"])
        if "groups" in self.kept:
            size, per = record.get("count", size), f" for each of {len(self.kept['groups']):,} groups"
        what = f"about {record['above']:,} {record['unit']}s or more" if "above" in record else f"top {size}"
        delta = "" if record["delta"] == "0" else f", δ = {record['delta']}"
        return f"{what}{per}, ε = {record['epsilon']}{delta}"

    @property
    def brief(self) -> str:
        """What the error bars say; nothing where there are no counts."""
        if not self.estimated:
            return ""
        sure = f"{100 * self.kept['confidence']:g} %"
        what, bar = "sum" if "value" in self.record else "count", self.kept["error_bar"]
        fresh = self.record["answers_epsilon"] != "0"
        text = f"± {rounded(bar, bar)} for {f'each {what}, {sure} confidence' if fresh else f'{sure} of the {what}s'}"
        if (wider := self.kept["error_bar_all"]) is not None:
            text += f"; ± {rounded(wider, bar)} for {self._all} at once, {sure} confidence"
        return text

    @property
    def _all(self) -> str:
        return "all of a group" if "groups" in self.kept else "all"

    @property
    def notes(self) -> dict[str, str]:
        notes = {
            name.replace("_", " "): _text(value)
            for name, value in self.record.items()
            if (name, value) not in UNREMARKABLE and name != "item"
        }
        if "within" in notes:
            number, sets = f"number {self.record['count']:,}", "itemset_size" in self.record
            of = f"{number} of the sets counted" if sets else f"the true {number}"
            notes["within"] += f" {self.measure} of {of}, 95 % confidence, all {'sets' if sets else 'items'}"
        if chosen := self.record.get("chosen"):
            words = [name.replace("_", " ") + ("" if name in self.record else ": no cut") for name in chosen]
            notes["chosen"] = ", ".join(words)
        return {**notes, **({"error bar": self.brief} if self.estimated else {})}

    def sheet(self) -> Sheet:
        """The release as a table: groups, ranks within them, a column for each part of an item, and estimates."""
        rows, record = self.kept["items"], self.record
        size, item = record.get("itemset_size", 1), self.kept["item"]
        name = "item" if item in ("rank", "estimate") else item
        headings = [name] if size == 1 else [f"{name} {part}" for part in range(1, size + 1)]
        columns: dict[str, list[Any]] = {}
        groups = [row.get("group") for row in rows]
        if "groups" in self.kept:
            per = str(record["per"])
            columns["group" if per in ("rank", "estimate", *headings) else per] = groups
        if record.get("ordered", "above" not in record):  # what was selected as a set is in the order of its labels
            ranks: defaultdict[Any, count[int]] = defaultdict(lambda: count(1))
            columns["rank"] = [next(ranks[group]) for group in groups]
        for place, heading in enumerate(headings):  # a set with fewer parts has blanks
            parts = [[row["item"]] if size == 1 else row["item"] for row in rows]
            columns[heading] = [part[place] if place < len(part) else "" for part in parts]
        if self.estimated:
            columns["estimate"] = [row["estimate"] for row in rows]
        return Sheet(
            title=f"{item}: {self.title}",
            brief=self.brief,
            columns=columns,
            numbers=frozenset({"rank", "estimate"} & set(columns)),
            bars="estimate" if self.estimated else None,
            precision=self.kept["error_bar"],
            about={name: text for name, text in self.notes.items() if name != "error bar"},
        )

    def plot(self) -> Figure:
        """One bar for each item in the order of the release, with the error bars of each and of all."""
        if not self.estimated:
            raise ParameterError("plot", "needs noisy counts to draw", next_step="pay for them with answers_epsilon=")
        rows, counted = self.kept["items"], self.record.get("counted")
        both = f"{self._all} at once (thin) and for each (thick)" if "error_bar_all" in self.bars else "each"
        caption = f"{self.measure}, noisy; bars hold for {both}, {100 * self.kept['confidence']:g} %"
        return bar_chart(
            [
                " + ".join(map(str, item if isinstance(item, tuple) else [item]))
                + (f" ({row['group']})" if "group" in row else "")
                for row, (item, _) in zip(rows, self.chosen, strict=True)
            ],
            [row["estimate"] for row in rows],
            error_bar=self.kept["error_bar"],
            error_bar_all=self.kept["error_bar_all"],
            title=(self.kept["item"], ", ".join([self.title, *([self.recorded] if self.recorded else [])])),
            caption=f"{caption}\n{counted}" if counted else caption,
        )


class TopTable(ChosenTable):
    """Top items as a result of rows: what it shows is what ``to_dict`` publishes."""

    __slots__ = ()

    @property
    def _published(self) -> PrintedTop:
        return PrintedTop(kept=self.to_dict())

    def sheet(self) -> Sheet:
        """The release as a table."""
        return self._published.sheet()

    def plot(self) -> Figure:
        """One bar for each item in the order of the release, with the error bars of each and of all."""
        return self._published.plot()


def _text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.15g}"
