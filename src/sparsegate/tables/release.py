"""What a table gives away: the chosen items, of each group or of all, and a record to publish beside them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from sparsegate.budget import Number, in_decimals
from sparsegate.display.plain import exact_text, plain
from sparsegate.display.published import SCHEMA, TopTable, published_items
from sparsegate.errors import ParameterError
from sparsegate.gates.accounting import Accountant, composed, gaussian_event, pure_event, selection_event
from sparsegate.gates.gaussian import PARTS
from sparsegate.selection.select import METHODS
from sparsegate.tables.observed import CountBar
from sparsegate.tables.question import CONFIDENCE, Question
from sparsegate.tables.sums import plain as plain_number
from sparsegate.tables.weighted import WeightBar

_SHARED = ("epsilon", "delta", "answers_epsilon", "answers_delta", "answers_rho")  # by groups, each its part
AMOUNTS = (*_SHARED, "labels_epsilon", "labels_delta", "choice_epsilon")


@dataclass(frozen=True, kw_only=True)
class Record:
    """How a release was made. Every entry is public: none was computed from the private table but what is ``chosen``.

    ``epsilon`` and ``delta`` are the cost of the whole release, exactly; ``answers_epsilon`` is the part of epsilon
    that paid for the estimates, ``answers_delta`` that of delta, and ``answers_noise`` says which noise they have,
    "laplace" or "gaussian", of the standard deviation ``answers_deviation``; where a zCDP ledger pays for the latter,
    ``answers_rho`` is what it counts, and answers_delta that of the ledger (``tables.answers``). ``method`` selected
    the items, at ``threshold`` if it needs one, and ``ordered`` says whether they are in the order selected. ``item``
    is the column that was ranked, ``where`` the condition that rows had to meet, ``unit`` what the neighbours of the
    theorem add or remove, "user" or "row", ``max_items_per_user`` how many items one of them can have, and ``counted``
    what counts of a user who was cut.

    ``domain_size`` is the number of public candidates, None for ``domain="observed"``; of that, ``accounting`` names
    the theorem of ``tables.observed``, and ``dbar`` is how many of the largest it chose from. Of what about ``above``
    units have, items of fewer than ``never_below`` are never there and those of ``always_from`` or more always are; by
    the method "weighted-gaussian" an item is, half of the time, where the weights of its people, 1/sqrt(w) of one who
    has w items, add up to ``weight``, and ``weight_noise`` is the standard deviation of the noise
    (``tables.weighted``). Where ``labels_epsilon`` and ``labels_delta`` are given, which are parts of epsilon and
    delta, labels were found in this way first, and ``method`` selected from them, with what is left. Of sums of the
    column ``value``, clipped to ``clip``, one unit moves each by at most ``sensitivity``, and ``granularity`` is the
    step of their lattice.

    Of a release for several ``groups``, ``per`` says which group a row is in, ``groups_per_user`` in how many of them a
    person counts, and ``composition`` why epsilon is paid once; ``count`` and the like are then for each group.
    ``within``: with 95 % probability every item selected has a score of at least the ``count``-th largest less this
    much (``selection.accuracy``). ``chosen`` names the entries that were chosen from the data, paid for by
    ``choice_epsilon``, a part of epsilon (``tables.choosing``). ``private`` is False where the noise came from a seed,
    and ``version`` is that of this library. Options that the release did not use are None.
    """

    epsilon: Fraction
    delta: Fraction
    answers_epsilon: Fraction
    answers_delta: Fraction | None = None
    answers_rho: Fraction | None = None
    answers_noise: str | None = None
    answers_deviation: float | None = None
    method: str
    ordered: bool
    max_items_per_user: int | None
    unit: str
    count: int | None
    domain: str
    domain_size: int | None
    within: int | float | None
    threshold: Number | None
    counted: str | None
    dbar: int | None
    accounting: str | None
    above: int | None
    never_below: int | None = None
    always_from: int | None = None
    weight: float | None = None
    weight_noise: float | None = None
    labels_epsilon: Fraction | None = None
    labels_delta: Fraction | None = None
    where: str | None
    value: str | None
    clip: tuple[int | float, int | float] | None = None
    granularity: int | float | None = None
    sensitivity: int | float | None = None
    per: str | None = None
    groups: int | None = None
    groups_per_user: int | None = None
    composition: str | None = None
    chosen: tuple[str, ...] | None = None
    choice_epsilon: Fraction | None = None
    private: bool
    version: str
    item: str = "item"

    @classmethod
    def of(cls, question: Question, size: int | None, *, private: bool) -> Record:
        """What may be said about the release of a question to one table; ``size`` is that of the public domain."""
        bar, sums, observed, stages = question.bar, question.sums, question.observed, question.stages
        method = question.request.method if bar is None else bar.method
        same = (
            "item",
            "unit",
            "count",
            "threshold",
            "max_items_per_user",
            "counted",
            "dbar",
            "above",
            "value",
            "where",
        )
        used: dict[str, Any] = {name: getattr(question, name) for name in same}
        if (answers := question.answers) is not None:
            step = 1.0 if sums is None else float(sums.granularity)
            used |= {"answers_noise": answers.name, "answers_deviation": float(f"{answers.deviation * step:.6g}")}
            if answers.cost.delta:
                rho = None if question.ledger_delta is None else in_decimals(answers.cost.rho)
                used |= {"answers_delta": answers.cost.delta, "answers_rho": rho}
        if isinstance(bar, CountBar):
            used |= {"never_below": bar.never_below, "always_from": bar.always_from}
        if stages is not None:
            used |= {"labels_epsilon": stages[0].cost.epsilon, "labels_delta": stages[0].cost.delta}
            bar = stages[0].bar
        if isinstance(bar, WeightBar):
            used |= {"weight": bar.threshold / 2**PARTS, "weight_noise": bar.sigma / 2**PARTS}
        if sums is not None:
            used |= {"clip": sums.ends, "granularity": plain_number(sums.granularity)}
            used |= {"sensitivity": sums.values(sums.sensitivity)}
        return cls(
            **used,
            epsilon=question.total,
            delta=question.total_delta,
            answers_epsilon=question.extra_answers,
            method=method,
            ordered=question.bar is None and METHODS[method].ordered,
            domain="observed" if observed else "public",
            domain_size=size,
            within=question.within(size),
            accounting=question.accounting.name if observed and bar is None else None,
            private=private,
            version=installed_version(),
        )

    def of_groups(self, question: Question, groups: int) -> Record:
        """What may be said about all groups, from the record of one: at the price of ``groups_per_user`` of them."""
        most = question.groups_per_user or 1
        cut = f"at most {most} {'group' if most == 1 else 'groups'} of each user, chosen by a hash"
        cut = "" if question.groups_per_user in (None, groups) else cut
        paid: dict[str, Any] = {name: most * each for name in _SHARED if (each := getattr(self, name)) is not None}
        return replace(
            self,
            **paid,
            per=question.per,
            groups=groups,
            groups_per_user=most,
            counted="; ".join(filter(None, [self.counted, cut])) or None,
            composition=f"parallel: each {self.unit} is in at most {most} of {groups} groups, "
            "and each group has its own release" + (f", at 1/{most} of epsilon and delta" if most > 1 else ""),
        )

    def of_choices(self, question: Question, **unknown: Any) -> Record:
        """What may be said about a release that some of a question was chosen for; ``unknown`` is not chosen yet."""
        paid: Any = {"epsilon": question.total, "delta": question.total_delta}
        return replace(self, **paid, chosen=question.choose, choice_epsilon=question.choices_epsilon, **unknown)

    @property
    def what(self) -> str:
        """The release in one line, for a ledger."""
        asked = f"{self.item} of {self.above} or more" if self.count is None else f"top {self.count} of {self.item}"
        asked += f", unit {self.unit}, method {self.method}, domain {self.domain}"
        asked += f", sums of {self.value}" if self.value else ""
        asked += f" clipped to {self.clip}" if self.clip else ""
        asked += f", {' and '.join(self.chosen)} chosen privately" if self.chosen else ""
        asked += f", where {self.where}" if self.where else ""
        return asked + (f", per {self.per}, {self.groups} groups" if self.per else "")

    def published(self) -> dict[str, Any]:
        """The record as JSON takes it: epsilon and delta exact, in text; what was not used is left out."""
        shown: dict[str, Any] = {}
        for name, value in ((each.name, getattr(self, each.name)) for each in fields(self)):
            if name in AMOUNTS:
                value = None if value is None else exact_text(value)
            elif isinstance(value, tuple):
                value = list(value)
            elif isinstance(value, Fraction | Decimal | np.generic):
                value = float(value)
            shown |= {} if value is None else {name: value}
        return shown


@dataclass(frozen=True, kw_only=True, repr=False)
class TopItems(TopTable):
    """The chosen items in the order selected, which is part of what may be released.

    What was selected as a set (``record.ordered`` is False) is sorted by label, or the largest estimates come first.
    ``for item, estimate in top`` goes through them, ``top[0]`` is the first; ``to_pandas``, ``to_polars``, ``to_arrow``
    and ``to_dict`` convert them, ``plot`` draws them, and a notebook shows a table.

    ``estimates`` are the noisy counts or sums of the items, in their order; None where none were paid for. Each lies
    within ``error_bar`` of the exact one with probability ``confidence``, before it was cut at zero (counts that came
    with the selection, for which ``record.answers_epsilon`` is 0: at least that share of the items, on average), and
    all of them together within ``error_bar_all`` (``gates.laplace``, ``selection.noisy_scores``). Where users were cut
    to some of their items (``record.counted``), the exact count is of what is left of them: how much was cut away is
    private, and in no error bar.

    With ``per``, ``groups`` has the release of each group, in the order of the public list, also of those without an
    item; ``items`` are those of all groups, one group after the other. ``record.epsilon`` and ``record.delta`` are the
    cost of all groups together; the record of one group says what that one cost: see ``tables.groups``.

    >>> import sparsegate as sg
    >>> visits = {"visitor": [*range(50), *range(30)], "page": ["/home"] * 50 + ["/pay"] * 30}
    >>> asked = {"item": "page", "user": "visitor", "domain": ["/home", "/pay", "/jobs"], "answers_epsilon": 1}
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> top = sg.top_items(visits, count=2, epsilon=2, **asked, **seeded)
    >>> top.items, top.estimates, top.error_bar
    (('/home', '/pay'), (51, 27), 6)
    >>> top.record.epsilon, top.record.method, top.record.unit
    (Fraction(3, 1), 'subset', 'user')
    >>> visits |= {"visitor": [*range(80)], "country": ["DE"] * 50 + ["FR"] * 30}
    >>> top = sg.top_items(visits, count=1, epsilon=2, per="country", groups=["DE", "FR"], **asked, **seeded)
    >>> top.groups["FR"].items, top.items, top.record.groups
    (('/pay',), ('/home', '/pay'), 2)
    """

    items: tuple[Hashable, ...]
    """What was selected."""
    record: Record
    estimates: tuple[int | float, ...] | None = None
    error_bar: int | float | None = None
    error_bar_all: int | float | None = None
    confidence: float = CONFIDENCE
    groups: Mapping[Hashable, TopItems] = field(default_factory=dict)
    """The release of each group; empty where there are none."""

    @classmethod
    def of_groups(cls, groups: Mapping[Hashable, TopItems], record: Record) -> TopItems:
        """The releases of several groups as one."""
        tops = list(groups.values())
        counted = [top.estimates for top in tops if top.estimates is not None]
        return cls(
            items=tuple(item for top in tops for item in top.items),
            record=record,
            estimates=tuple(estimate for estimates in counted for estimate in estimates) if counted else None,
            error_bar=tops[0].error_bar,
            error_bar_all=max((top.error_bar_all for top in tops if top.error_bar_all is not None), default=None),
            groups=groups,
        )

    def dp_event(self, accountant: Accountant = "rdp") -> Any:
        """This release as an event of Google's ``dp_accounting``, for its accountant "rdp" or "pld"."""
        record = self.record
        if self.groups:  # one person is in so many of them
            return composed([next(iter(self.groups.values())).dp_event(accountant)] * (record.groups_per_user or 1))
        if record.count is None or record.domain == "observed":
            rule = "must be of a public domain: dp_accounting has no event for (epsilon, delta)"
            raise ParameterError("release", rule, next_step="charge it to a Ledger")
        answers, choice = record.answers_epsilon, record.choice_epsilon or Fraction(0)
        epsilon, apart = record.epsilon - answers - choice, record.answers_delta or Fraction(0)
        selected = selection_event(
            record.method, epsilon=epsilon, delta=record.delta - apart, count=record.count, accountant=accountant
        )
        others = [pure_event(amount, accountant) for amount in (choice, *([] if apart else [answers])) if amount]
        others += [gaussian_event(answers, apart, accountant)] if apart else []
        return composed([selected, *others]) if others else selected

    def to_dict(self) -> dict[str, Any]:
        """The release as JSON takes it, by the schema "sparsegate/top/1": see docs/reference/json.md."""
        record, groups = self.record, {"groups": [plain(group) for group in self.groups]} if self.groups else {}
        items = [
            {"group": plain(group), **row}
            for group, top in self.groups.items()
            for row in published_items(top, ranked=record.ordered)
        ]
        return {
            "schema": SCHEMA,
            "item": record.item,
            **groups,
            "items": items if groups else published_items(self, ranked=record.ordered),
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
