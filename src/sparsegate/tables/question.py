"""What is asked of a table: every parameter but the table and its domain, checked before either is touched."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

from sparsegate.budget import Number, exact_count, exact_decimal, exact_epsilon
from sparsegate.conditions import names_in
from sparsegate.errors import ParameterError
from sparsegate.gates.lattice import LIMIT
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import AUTO, Request
from sparsegate.tables.columns import check_unit
from sparsegate.tables.domain import MOST_CANDIDATES
from sparsegate.tables.observed import Accounting, CountBar, bar_at, best_accounting
from sparsegate.tables.sums import CLIP_STEP, Clip

BASKET: Final = {1: None, 2: 100, 3: 40}
"""Items that a user's basket keeps unless told otherwise, for each size of an itemset."""

DBAR: Final = 10
"""With ``domain="observed"``, how many times ``count`` the list of candidates is long unless told otherwise."""


MOST_SELECTED: Final = 10**7
"""More would be charged, and then be lost for want of memory."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """The public parameters of ``top_items``; see there for what they mean. Options that are not used are None."""

    item: str
    user: str | None
    unit: str | None
    count: int | None
    epsilon: Number
    observed: bool
    delta: Number
    method: str
    threshold: Number | None
    answers_epsilon: Number
    max_items_per_user: int | None
    itemset_size: int
    max_items: int | None
    dbar: int | None
    where: str | None = None
    ordered: bool = False
    above: int | None = None
    value: str | None = None
    clip: tuple[Number, Number] | None = None
    granularity: Number | None = None
    people: int | None = None
    per: str | None = None
    groups_per_user: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact_epsilon(self.epsilon))
        object.__setattr__(self, "answers_epsilon", exact_epsilon(self.answers_epsilon, "answers_epsilon", zero=True))
        self._check_unit()
        self._check_itemsets()
        self._check_sums()
        if self.above is None:
            request = self.request  # checks count, method, delta and threshold
            request.prepare(Scores.histogram({0: 1}))  # and that such noise can be made
            _at_most(MOST_SELECTED, "count", request.count)
            object.__setattr__(self, "count", request.count)
        self._check_observed()
        self._check_above()
        self._check_groups()

    @property
    def share(self) -> Question:
        """What is asked of each group: the same for a ``groups_per_user``-th of the price. Without groups, itself."""
        if self.per is None:
            return self
        parts = self.groups_per_user or 1
        return replace(
            self,
            per=None,
            groups_per_user=None,
            epsilon=Fraction(self.epsilon) / parts,
            delta=Fraction(self.delta) / parts,
            answers_epsilon=Fraction(self.answers_epsilon) / parts,
        )

    @property
    def request(self) -> Request:
        """The selection, for counts: one person moves each by at most one, and all of them in one direction.

        For sums see ``tables.sums``; scores, and a threshold, are then in steps of its lattice.
        """
        if self.count is None:
            raise ParameterError("count", "must be given", next_step="pass count=, or above= for all that many have")
        observed = {"method": "exponential" if self.method == AUTO else self.method}
        public = {"method": self.method, "delta": self.delta, "ordered": self.ordered}
        sums, threshold = self.sums, self.threshold
        if sums is not None and (exact := exact_decimal(threshold)) is not None:
            threshold = sums.place(exact)
        request = Request(
            count=self.count,
            epsilon=self.epsilon,
            sensitivity=self.sensitivity,
            monotonic=sums is None or sums.monotonic,
            max_items_per_user=self.touched,
            threshold=threshold,
            **(observed if self.observed else public),
        )
        return replace(request, epsilon=self.total) if request.estimates else request

    @cached_property
    def sums(self) -> Clip | None:
        """How values are clipped and summed; None where people are counted."""
        if self.value is not None:
            if self.clip is None:
                raise ParameterError("clip", "must be given with value", next_step=f"pass {CLIP_STEP}")
            return Clip.of(self.clip, self.granularity)
        for name in ("clip", "granularity"):
            if (given := getattr(self, name)) is not None:
                raise ParameterError(name, "must not be given without value", given, 'pass for instance value="amount"')
        return None

    @property
    def sensitivity(self) -> int:
        """The most that one unit moves one score: 1, or the steps of the larger side of the clip."""
        return 1 if self.sums is None else self.sums.sensitivity

    def shown(self, score: int) -> int | float:
        """A noisy score in its own units; cut at zero, which reveals nothing more, where scores are never negative."""
        if self.sums is None:
            return max(0, score)
        return self.sums.values(score if self.sums.low < 0 else max(0, score))

    @property
    def columns(self) -> list[str]:
        """The columns that it speaks of."""
        read = [name for text in (self.where, self.per) if text for name in names_in(text)]
        return [*read, *(name for name in (self.user, self.value, self.item) if name is not None)]

    @property
    def total(self) -> Fraction:
        """What is spent: epsilon and answers_epsilon."""
        return Fraction(self.epsilon) + Fraction(self.answers_epsilon)

    @property
    def extra_answers(self) -> Fraction:
        """What is spent on noise for the counts alone.

        Where counts come with the selection, all is spent on that: one noise of scale m / (epsilon + eps3) serves both
        better than two noises would.
        """
        free = self.above is None and self.request.estimates
        return Fraction(0) if free else Fraction(self.answers_epsilon)

    @property
    def total_delta(self) -> Fraction:
        """What is spent of delta: all of it for ``above``, else what each group's selection needs."""
        share, parts = self.share, self.groups_per_user or 1
        return parts * (Fraction(share.delta) if share.above is not None else share.delta_used(share.request))

    def delta_used(self, request: Request) -> Fraction:
        """What a selection costs of delta: all of it for an observed domain, else what its method needs."""
        used = request.prepare(Scores.histogram({0: 1})).delta
        return Fraction(self.delta) if self.observed else used

    @property
    def touched(self) -> int | None:
        """The most candidates that one unit can raise; None where only the number of candidates bounds it."""
        if self.user is None:
            return 1
        if self.max_items is not None:
            return math.comb(self.max_items, self.itemset_size)
        return self.max_items_per_user

    @cached_property
    def accounting(self) -> Accounting:
        """How a selection from an observed domain spends epsilon and delta."""
        assert self.count is not None
        assert self.dbar is not None
        return best_accounting(
            epsilon=Fraction(self.epsilon),
            delta=Fraction(self.delta),
            count=self.count,
            touched=self.dbar if self.touched is None else min(self.dbar, self.touched),
        )

    @cached_property
    def bar(self) -> CountBar | None:
        """Where labels begin to be kept, for ``above``."""
        if self.above is None:
            return None
        if self.touched is None:
            raise ParameterError(
                "max_items_per_user",
                "must be given with above: a person is hidden in each of their items, at a share of epsilon and delta, "
                "and how many items that are must be public",
                next_step="pass for instance max_items_per_user=3",
            )
        epsilon, delta = Fraction(self.epsilon), Fraction(self.delta)
        return bar_at(self.above, epsilon=epsilon, delta=delta, touched=self.touched)

    @property
    def counted(self) -> str | None:
        """Of what the counts are, for whoever reads them, where something is cut away; None where all counts."""
        most, parts = self.max_items or self.max_items_per_user, []
        if most is not None:
            items = "item" if most == 1 else "items"
            parts.append(
                f"at most {most} {items} of each user, chosen by a hash; counts and error bars leave out the others"
            )
        if self.sums is not None:
            low, high = self.sums.ends
            of = "of each row" if self.user is None else "that each user has of an item"
            parts.append(
                f"{self.value} {of}, clipped to {low} and {high}; sums and error bars leave out what is beyond"
            )
        return "; ".join(parts) or None

    def _check_unit(self) -> None:
        if not isinstance(self.item, str):
            rule = "must be the name of a column"
            raise ParameterError("item", rule, self.item, 'pass for instance item="page"')
        if self.user == self.item:
            raise ParameterError(
                "user",
                "must not be the column of the items: each item would then be one person",
                self.user,
                "name the column that says whose row it is",
            )
        check_unit(self.user, self.unit)
        object.__setattr__(self, "unit", "row" if self.user is None else "user")
        if self.max_items_per_user is not None:
            object.__setattr__(self, "max_items_per_user", exact_count(self.max_items_per_user, "max_items_per_user"))
            self._needs_user("max_items_per_user", self.max_items_per_user)

    def _check_itemsets(self) -> None:
        size = self.itemset_size
        if isinstance(size, bool) or size not in tuple(BASKET):
            raise ParameterError("itemset_size", "must be 1, 2 or 3", size)
        if size == 1:
            if self.max_items is not None:
                rule = "must not be given for single items: it cuts the baskets of itemsets"
                raise ParameterError("max_items", rule, self.max_items, "pass max_items_per_user= to bound a user")
            return
        self._needs_user("itemset_size", size)
        most = exact_count(BASKET[size] if self.max_items is None else self.max_items, "max_items")
        if most < size:
            raise ParameterError("max_items", f"must be at least itemset_size = {size}", most)
        object.__setattr__(self, "max_items", most)
        if self.max_items_per_user is not None:
            rule = "must not be given for itemsets"
            raise ParameterError("max_items_per_user", rule, self.max_items_per_user, "pass max_items=")

    def _check_sums(self) -> None:
        if self.sums is None:
            return
        if not isinstance(self.value, str):
            raise ParameterError(
                "value", "must be the name of a column", self.value, 'pass for instance value="amount"'
            )
        if self.above is not None or self.itemset_size > 1:
            name = "itemset_size" if self.above is None else "above"
            rule = "must not be given with value: it counts people, and has no meaning for sums"
            raise ParameterError(name, rule, getattr(self, name), "leave one of them out")
        if self.observed and self.sums.low < 0:
            rule = 'must not reach below 0 for domain="observed", whose proof is for scores that one person only raises'
            raise ParameterError("clip", rule, self.clip, "pass a low of 0 or more, or a public domain")

    def _needs_user(self, name: str, value: object) -> None:
        if self.user is None:
            raise ParameterError(name, "needs a user column", value, "pass user=, or leave it out")

    def _check_observed(self) -> None:
        delta = exact_epsilon(self.delta, "delta", zero=True)
        object.__setattr__(self, "delta", delta)
        if not self.observed:
            if self.dbar is not None:
                rule = 'must not be given with a public domain, which needs none; it is for domain="observed"'
                raise ParameterError("dbar", rule, self.dbar, "leave it out")
            return
        if not 0 < delta < 1:
            raise ParameterError(
                "delta",
                'must lie strictly between 0 and 1 for domain="observed": which items exist is private, and '
                "a person who alone has an item can only be hidden up to a small probability",
                _shown(delta),
                "pass for instance delta=1e-8, or a public domain, which needs no delta",
            )
        if self.above is not None:
            return
        if self.method not in (AUTO, "exponential"):
            rule = 'must be "auto" or "exponential" for domain="observed"'
            raise ParameterError("method", rule, self.method, "pass a public domain for the other methods")
        assert self.count is not None  # checked with the request
        dbar = exact_count(DBAR * self.count if self.dbar is None else self.dbar, "dbar")
        if dbar < self.count:
            raise ParameterError(
                "dbar", f"must be at least count = {self.count}", dbar, "leave it out for ten times that"
            )
        _at_most(MOST_CANDIDATES, "dbar", dbar)
        object.__setattr__(self, "dbar", dbar)
        # An epsilon too small for this delta is refused here, before anything is spent.
        if self.sensitivity * self.accounting.margin > LIMIT:
            raise ParameterError("epsilon", "is too small for this delta and clip: no sum could ever be selected")

    def _check_above(self) -> None:
        if self.above is None:
            return
        others = {"count": None, "dbar": None, "threshold": None, "method": AUTO, "ordered": False}
        for name, unused in others.items():
            if (given := getattr(self, name)) != unused:
                rule = "must not be given with above, which selects all that many have, as a set"
                raise ParameterError(name, rule, given, "leave it out")
        if not self.observed:
            rule = 'must not be given with a public domain; it is for domain="observed"'
            raise ParameterError("above", rule, self.above, 'pass method="sparse-vector" with a threshold and a count')
        object.__setattr__(self, "above", exact_count(self.above, "above"))
        _ = self.bar  # a bar that is too low is refused here

    def _check_groups(self) -> None:
        if self.per is None:
            if self.groups_per_user is not None:
                rule = "must not be given without per: it says in how many groups a person may be"
                raise ParameterError("groups_per_user", rule, self.groups_per_user, "leave it out")
            return
        if not isinstance(self.per, str) or not self.per:
            rule = "must be the name of a column, or an expression of a row"
            raise ParameterError("per", rule, self.per, 'pass for instance per="country" or per="year_month(day)"')
        if self.groups_per_user is not None:
            self._needs_user("groups_per_user", self.groups_per_user)
        elif self.user is not None:
            object.__setattr__(self, "groups_per_user", 1)
        if self.groups_per_user is not None:
            object.__setattr__(self, "groups_per_user", exact_count(self.groups_per_user, "groups_per_user"))
        _ = self.share  # what a part of epsilon and delta cannot pay for is refused here


def _at_most(most: int, name: str, given: int) -> None:
    if given > most:
        raise ParameterError(name, f"must be at most {most}", given, "ask for fewer")


def _shown(value: Any) -> Any:
    return float(value) if isinstance(value, Fraction) else value
