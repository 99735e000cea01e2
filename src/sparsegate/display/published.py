"""A private top-c as it is published: one form for JSON, ledgers, HTTP and Python, and what is shown of it.

Everything here was released by a mechanism or is a public parameter. What was read, dropped or ignored is nowhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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

    def _labels(self) -> Sequence[Any]:
        """The items, in their order."""
        return self.items  # type: ignore[attr-defined, no-any-return]

    def _estimates(self) -> Sequence[Any] | None:
        return self.estimates  # type: ignore[attr-defined, no-any-return]

    def __len__(self) -> int:
        return len(self._labels())

    @overload
    def __getitem__(self, place: int) -> Chosen: ...
    @overload
    def __getitem__(self, place: slice) -> list[Chosen]: ...
    def __getitem__(self, place: int | slice) -> Chosen | list[Chosen]:
        if isinstance(place, slice):
            return [self[at] for at in range(len(self))[place]]
        estimates = self._estimates()
        return Chosen(self._labels()[place], None if estimates is None else estimates[place])

    def __iter__(self) -> Iterator[Chosen]:
        return (self[place] for place in range(len(self)))


def published_items(chosen: Iterable[Chosen], *, ranked: bool) -> list[dict[str, Any]]:
    """The rows of a selection as JSON takes them: a rank where the order means something, an estimate if there is one.

    >>> published_items([Chosen("/home", 37)], ranked=True), published_items([Chosen(("a", "b"))], ranked=False)
    ([{'rank': 1, 'item': '/home', 'estimate': 37}], [{'item': ['a', 'b']}])
    """
    return [
        ({"rank": rank} if ranked else {})
        | {"item": plain_label(one.item)}
        | ({} if one.estimate is None else {"estimate": plain(one.estimate)})
        for rank, one in enumerate(chosen, start=1)
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
    def item(self) -> str:
        """The column that was ranked."""
        return str(self.kept.get("item", "item"))

    @property
    def size(self) -> int:
        """How many items the largest set has; 1 where items are no sets."""
        return int(self.kept["record"].get("itemset_size", 1))

    @property
    def estimated(self) -> bool:
        """Whether the items have noisy counts."""
        return self.kept.get("error_bar") is not None

    @property
    def measure(self) -> str:
        """What the estimates are numbers of: people, rows, or the column that was summed."""
        record = self.kept["record"]
        return printable(record["value"]) if "value" in record else f"{record['unit']}s"

    @property
    def headings(self) -> list[str]:
        """One heading for each part of an item: a set of two has two."""
        name = "item" if self.item in ("rank", "estimate") else self.item
        return [name] if self.size == 1 else [f"{name} {part}" for part in range(1, self.size + 1)]

    @property
    def groups(self) -> list[Any]:
        """The group of each item; nothing where there are none. Groups without an item are in ``kept`` alone."""
        return [row["group"] for row in self.kept["items"]] if "groups" in self.kept else []

    @property
    def group_heading(self) -> str:
        """What tells the group of a row."""
        per = str(self.kept["record"].get("per"))
        return "group" if per in ("rank", "estimate", *self.headings) else per

    @property
    def places(self) -> list[int]:
        """The place of each item, from 1 on, in its group."""
        seen: Counter[Any] = Counter()
        places = []
        for group in self.groups or [None] * len(self.kept["items"]):
            seen[group] += 1
            places.append(seen[group])
        return places

    @property
    def ranked(self) -> bool:
        """Whether the place of an item means something: what was selected as a set is in the order of its labels."""
        record = self.kept["record"]
        return bool(record.get("ordered", "above" not in record))

    @property
    def chosen(self) -> list[Chosen]:
        """The items in their order, a set of them as a tuple."""
        single, rows = self.size == 1, self.kept["items"]
        return [Chosen(row["item"] if single else tuple(row["item"]), row.get("estimate")) for row in rows]

    @property
    def rows(self) -> list[tuple[tuple[Any, ...], Any]]:
        """The parts of each item, and its noisy count where there is one. A set with fewer parts has blanks."""
        if self.size == 1:
            return [((item,), estimate) for item, estimate in self.chosen]
        return [((*item, *[""] * (self.size - len(item))), estimate) for item, estimate in self.chosen]

    @property
    def record(self) -> dict[str, Any]:
        """What may be published beside the items: public parameters, epsilon and delta as exact decimals."""
        return {**self.kept["record"], **({"recorded": self.recorded} if self.recorded else {})}

    @property
    def bars(self) -> dict[str, Any]:
        """The error bars and their confidence, where there are counts."""
        names = ("error_bar", "error_bar_all", "confidence")
        return {name: self.kept[name] for name in names if self.kept.get(name) is not None} if self.estimated else {}

    @property
    def json(self) -> dict[str, Any]:
        """The release by the schema."""
        bars = {name: self.kept.get(name) for name in ("error_bar", "error_bar_all")}
        items = self.kept["items"] if self.groups else published_items(self.chosen, ranked=self.ranked)
        sure = {"confidence": self.kept["confidence"]}
        listed = {"groups": self.kept["groups"]} if "groups" in self.kept else {}
        return {"schema": SCHEMA, "item": self.item, **listed, "items": items, **bars, **sure, "record": self.record}

    @property
    def asked(self) -> str:
        """What was asked for, in a few words."""
        record = self.record
        per = f" for each of {len(self.kept['groups']):,} groups" if "groups" in self.kept else ""
        count = record["count"] if per and "count" in record else len(self.chosen)
        return (f"about {record['above']:,} {record['unit']}s or more" if "above" in record else f"top {count}") + per

    @property
    def cost(self) -> str:
        """Epsilon and delta, for a title."""
        record = self.record
        return f"ε = {record['epsilon']}" + ("" if record["delta"] == "0" else f", δ = {record['delta']}")

    @property
    def bars_said(self) -> str:
        """What the error bars say; nothing where there are no counts."""
        if not self.estimated:
            return ""
        sure = f"{100 * self.kept['confidence']:g} %"
        fresh = self.record["answers_epsilon"] != "0"
        what, bar = "sum" if "value" in self.record else "count", self.kept["error_bar"]
        each = f"each {what}, {sure} confidence" if fresh else f"{sure} of the {what}s"
        said = f"± {rounded(bar, bar)} for {each}"
        if (wider := self.kept.get("error_bar_all")) is not None:
            all_of = "all of a group" if "groups" in self.kept else "all"
            said += f"; ± {rounded(wider, bar)} for {all_of} at once, {sure} confidence"
        return said

    @property
    def notes(self) -> dict[str, str]:
        """What is worth saying beside a table."""
        shown = {
            name.replace("_", " "): _said(value)
            for name, value in self.record.items()
            if (name, value) not in UNREMARKABLE and name != "item"
        }
        if "within" in shown:
            shown["within"] += (
                f" {self.measure} of the true number {self.record['count']:,}, 95 % confidence, all items"
            )
        return {**shown, **({"error bar": self.bars_said} if self.estimated else {})}

    def sheet(self) -> Sheet:
        """The release as a table."""
        rows = self.rows
        columns: dict[str, list[Any]] = {self.group_heading: self.groups} if "groups" in self.kept else {}
        columns |= {"rank": self.places} if self.ranked else {}
        columns |= {heading: [parts[place] for parts, _ in rows] for place, heading in enumerate(self.headings)}
        if self.estimated:
            columns["estimate"] = [estimate for _, estimate in rows]
        return Sheet(
            title=f"{self.item}: {self.asked}, {self.cost}",
            brief=self.bars_said,
            columns=columns,
            numbers=frozenset({"rank", "estimate"} & set(columns)),
            bars="estimate" if self.estimated else None,
            precision=self.kept["error_bar"],
            about={name: said for name, said in self.notes.items() if name != "error bar"},
        )

    def plot(self) -> Figure:
        """One bar for each item in the order of the release, with the error bars of each and of all."""
        if not self.estimated:
            raise ParameterError("plot", "needs noisy counts to draw", next_step="pay for them with answers_epsilon")
        record, rows = self.record, self.chosen
        sure = f"{100 * self.kept['confidence']:g} %"
        all_of = "all of a group" if "groups" in self.kept else "all"
        both = f"{all_of} at once (thin) and for each (thick)" if "error_bar_all" in self.bars else "each"
        said = [
            f"{self.measure}, noisy; bars hold for {both}, {sure}",
            *([record["counted"]] if record.get("counted") else []),
        ]
        return bar_chart(
            [
                " + ".join(map(str, item if isinstance(item, tuple) else [item])) + (f" ({group})" * bool(self.groups))
                for group, (item, _) in zip(self.groups or [None] * len(rows), rows, strict=True)
            ],
            [estimate for _, estimate in rows],
            error_bar=self.kept["error_bar"],
            error_bar_all=self.kept.get("error_bar_all"),
            title=(self.item, ", ".join([self.asked, self.cost, *([self.recorded] if self.recorded else [])])),
            caption="\n".join(said),
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


def _said(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.15g}"
