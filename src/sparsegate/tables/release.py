"""What a table gives away: the chosen items, their noisy counts if asked for, and a record to publish beside them.

What a table gives away group by group: a release for each group of a public list, and one record of them all.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsegate.budget import Number
from sparsegate.display.plain import exact_text, plain
from sparsegate.display.published import SCHEMA, PrintedTop, TopTable, published_items
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Tabular
from sparsegate.errors import ParameterError
from sparsegate.gates.accounting import Accountant, composed, pure_event, selection_event

if TYPE_CHECKING:
    from matplotlib.figure import Figure


AMOUNTS = ("epsilon", "delta", "answers_epsilon")


@dataclass(frozen=True, kw_only=True)
class Record:
    """How a release was made. Every entry is a public parameter: none was computed from the private table.

    ``method`` selected the items, at ``threshold`` if it needs one, and ``version`` is that of this library.
    ``itemset_size``, ``max_items``, ``max_items_per_user`` and ``dbar`` are as they were asked for.
    ``epsilon`` and ``delta`` are the cost of the whole release, exactly; ``answers_epsilon`` is the part of epsilon
    that paid for the estimates. ``domain_size`` is the number of public candidates (of itemsets, where they were asked
    for), None for ``domain="observed"``. ``unit`` is what the neighbours of the theorem add or remove: "user" or "row",
    and ``where`` the condition that rows had to meet. ``counted`` says what counts of a user, where users were cut, and
    ``accounting`` how an observed domain spent epsilon and delta: by which theorem of ``tables.observed``. Where
    all items that about ``above`` units have were asked for, those of fewer than ``never_below`` are never among them
    and those of ``always_from`` or more always are. ``ordered`` says whether items are in the
    order selected, ``item`` is the column that was ranked, and ``touched`` says how many of them one unit can have.
    Where sums of the column ``value`` were ranked, clipped to ``clip``, one unit moves each by at most ``sensitivity``,
    and all of them together by at most ``touched`` times that; ``granularity`` is the step of their lattice. Of a
    release for several ``groups``, ``per`` says which group a row is in, ``groups_per_user`` in how many of them a
    person counts, and ``composition`` why epsilon is paid once; ``count``, ``touched`` and the like are then for each
    group. Options that the release did not use are None.
    ``within`` says, from the other entries alone, how good the selection is: with 95 % probability every item selected
    has a score of at least the ``count``-th largest less this much (``selection.accuracy``).
    ``private`` is False where the noise came from a seed.
    """

    epsilon: Fraction
    delta: Fraction
    answers_epsilon: Fraction
    method: str
    ordered: bool
    touched: int | None
    unit: str
    count: int | None
    domain: str
    domain_size: int | None
    within: int | float | None
    threshold: Number | None
    itemset_size: int
    max_items: int | None
    max_items_per_user: int | None
    counted: str | None
    dbar: int | None
    accounting: str | None
    above: int | None
    never_below: int | None
    always_from: int | None
    where: str | None
    value: str | None
    clip: tuple[int | float, int | float] | None
    granularity: int | float | None
    sensitivity: int | float | None
    per: str | None = None
    groups: int | None = None
    groups_per_user: int | None = None
    composition: str | None = None
    private: bool
    version: str
    item: str = "item"

    def published(self) -> dict[str, Any]:
        """The record as JSON takes it: epsilon and delta exact, in text; what was not used is left out."""
        entries = {field.name: getattr(self, field.name) for field in fields(self)}
        entries["clip"] = None if self.clip is None else list(self.clip)
        exact = {name: exact_text(getattr(self, name)) for name in AMOUNTS}
        shown = {
            name: float(value) if isinstance(value, Fraction | Decimal | np.generic) else value
            for name, value in entries.items()
            if value is not None
        }
        return {**shown, **exact}


@dataclass(frozen=True, kw_only=True, repr=False)
class TopItems(TopTable):
    """The chosen items in the order selected, which is part of what may be released; an itemset is a tuple of items.

    What was selected as a set (``record.ordered`` is False) is sorted by label, or the largest estimates come first.
    ``for item, estimate in top`` goes through them, ``top[0]`` is the first; ``to_pandas``, ``to_polars``, ``to_arrow``
    and ``to_dict`` convert them, ``plot`` draws them, and a notebook shows a table.

    ``estimates`` are the noisy counts of the items, or sums where those were ranked, in their order; None where none
    were paid for. Each lies within
    ``error_bar`` of the exact count with probability ``confidence``, before it was cut at zero; counts that came with
    the selection (``record.answers_epsilon`` is 0) do so for at least that share of the items, on average. All of them
    together lie within ``error_bar_all`` with probability ``confidence`` (``gates.laplace``, and for counts that
    came with the selection ``selection.noisy_scores``). Where users were cut to some of their items
    (``record.counted``), the exact count is of what is left of them: how much was cut away is private, and in no error
    bar.

    >>> import sparsegate as sg
    >>> visits = {"visitor": [*range(50), *range(30)], "page": ["/home"] * 50 + ["/pay"] * 30}
    >>> asked = {"item": "page", "user": "visitor", "domain": ["/home", "/pay", "/jobs"], "answers_epsilon": 1}
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> top = sg.top_items(visits, count=2, epsilon=2, **asked, **seeded)
    >>> top.items, top.estimates, top.error_bar
    (('/home', '/pay'), (51, 27), 6)
    >>> top.record.epsilon, top.record.method, top.record.unit
    (Fraction(3, 1), 'subset', 'user')
    """

    items: tuple[Hashable, ...]
    """What was selected."""
    record: Record
    estimates: tuple[int | float, ...] | None = None
    error_bar: int | float | None = None
    error_bar_all: int | float | None = None
    confidence: float = 0.95

    def dp_event(self, accountant: Accountant = "rdp") -> Any:
        """This release as an event of Google's ``dp_accounting``, for its accountant "rdp" or "pld"."""
        record = self.record
        if record.count is None or record.domain == "observed":
            rule = "must be of a public domain: dp_accounting has no event for (epsilon, delta)"
            raise ParameterError("release", rule, next_step="charge it to a Ledger")
        epsilon, answers = record.epsilon - record.answers_epsilon, record.answers_epsilon
        selected = selection_event(
            record.method, epsilon=epsilon, delta=record.delta, count=record.count, accountant=accountant
        )
        return composed([selected, pure_event(answers, accountant)]) if answers else selected

    def to_dict(self) -> dict[str, Any]:
        """The release as JSON takes it, by the schema "sparsegate/top/1": see docs/reference/json.md."""
        return self.published()

    def published(self) -> dict[str, Any]:
        """The same: what is printed, served and stored."""
        record = self.record
        return {
            "schema": SCHEMA,
            "item": record.item,
            "items": published_items(self, ranked=record.ordered),
            "error_bar": self.error_bar,
            "error_bar_all": self.error_bar_all,
            "confidence": self.confidence,
            "record": record.published(),
        }


def installed_version() -> str:
    """The version of this library, for the record."""
    try:
        return version("sparsegate")
    except PackageNotFoundError:  # run from its sources, without being installed
        return "unknown"


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
