"""What a table gives away: the chosen items, their noisy counts if asked for, and a record to publish beside them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from sparsegate.budget import Number
from sparsegate.display.chosen import published_items
from sparsegate.display.plain import exact_text
from sparsegate.display.published_top import SCHEMA, TopTable
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.accounting import Accountant, composed, pure_event, selection_event

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
    ``accounting`` how an observed domain spent epsilon and delta: by which theorem of ``tables.observed_domain``. Where
    all items that about ``above`` units have were asked for, those of fewer than ``never_below`` are never among them
    and those of ``always_from`` or more always are. ``ordered`` says whether items are in the
    order selected, ``item`` is the column that was ranked, and ``touched`` says how many of them one unit can have.
    Where sums of the column ``value`` were ranked, clipped to ``clip``, one unit moves each by at most ``sensitivity``,
    and all of them together by at most ``touched`` times that; ``granularity`` is the step of their lattice. Of a
    release for several ``groups``, ``per`` says which group a row is in, ``groups_per_user`` in how many of them a
    person counts, and ``composition`` why epsilon is paid once; ``count``, ``touched`` and the like are then for each
    group. Options that the release did not use are None.
    ``within`` says, from the other entries alone, how good the selection is: with 95 % probability every item selected
    has a score of at least the ``count``-th largest less this much (``mechanisms.selection_accuracy``).
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
    together lie within ``error_bar_all`` with probability ``confidence`` (``mechanisms.laplace``, and for counts that
    came with the selection ``mechanisms.noisy_scores``). Where users were cut to some of their items
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
