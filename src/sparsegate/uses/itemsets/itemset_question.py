"""What is asked of frequent sets of items: every parameter but the table and its domain, checked before either."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

from sparsegate.budget import Number, exact_delta, exact_epsilon
from sparsegate.errors import ParameterError
from sparsegate.mechanisms.scores import Scores
from sparsegate.mechanisms.selection import Request
from sparsegate.mechanisms.selection_methods import AUTO
from sparsegate.noise import exact_scale
from sparsegate.tables.domain import EXPLAINED
from sparsegate.tables.noisy_counts import answer_scale
from sparsegate.tables.question import Question
from sparsegate.tables.release import installed_version
from sparsegate.tables.top import basket_names
from sparsegate.uses.itemsets.levels import LevelPlan, SetQuestion
from sparsegate.uses.itemsets.released_itemsets import ItemsetRecord

SELECTIONS: Final = (AUTO, "subset", "one-shot", "exponential")


@dataclass(frozen=True, kw_only=True)
class ItemsetQuestion:
    """The public parameters of ``frequent_itemsets``; see there for what they mean."""

    item: str | None
    user: str | None
    where: str | None
    sets: SetQuestion
    epsilon: Number
    answers_epsilon: Number
    domain: Any
    delta: Number
    selection: str

    def __post_init__(self) -> None:
        if self.domain is None or (isinstance(self.domain, str) and self.domain != "observed"):
            raise ParameterError("domain", EXPLAINED[0], self.domain, EXPLAINED[1])
        if self.selection not in SELECTIONS:
            raise ParameterError("selection", f"must be one of {', '.join(SELECTIONS)}", self.selection)
        if not self.observed and exact_delta(self.delta, zero=True):
            rule = 'must be 0 for a public domain; it is for domain="observed"'
            raise ParameterError("delta", rule, self.delta, "leave it out")
        _ = self.items, self.scale
        if self.observed:
            self.check(self.sets.plan(None))

    @property
    def observed(self) -> bool:
        """Whether items are whatever the table holds."""
        return isinstance(self.domain, str)

    @property
    def spent(self) -> Fraction:
        """What the levels cost together."""
        return exact_epsilon(self.epsilon)

    @property
    def answers(self) -> Fraction:
        """What the noisy supports cost."""
        return exact_epsilon(self.answers_epsilon, "answers_epsilon", zero=True)

    @cached_property
    def items(self) -> Question:
        """The columns; and the selection of items out of what the table holds, where the domain is not public."""
        named, person = basket_names(self.item, self.user, None)
        if person is None:
            rule = "must name the column that says whose row it is: a set is what one person has, and no row has one"
            raise ParameterError("user", rule, next_step="for a file of baskets leave item= out too")
        plan = self.sets.plan(None) if self.observed else None
        return Question(
            item=named,
            user=person,
            unit=None,
            where=self.where,
            observed=self.observed,
            count=1 if plan is None else plan.pool,
            epsilon=self.spent * (1 if plan is None else plan.shares[0]),
            delta=self.delta,
            method=AUTO,
            threshold=None,
            answers_epsilon=self.answers,
            max_items_per_user=None,
            itemset_size=1,
            max_items=None,
            dbar=None,
        )

    @property
    def scale(self) -> Fraction | None:
        """Of the noise of a support: one person may have all the sets. None where no supports are paid for."""
        if not self.answers:
            return None
        return exact_scale(answer_scale(count=self.sets.count, touched=None, epsilon=self.answers))

    def request(self, count: int, epsilon: Fraction) -> Request:
        """A selection by the number of people, of items or of sets: sensitivity 1, monotonic."""
        return Request(count=count, epsilon=epsilon, sensitivity=1, monotonic=True, method=self.selection)

    def check(self, plan: LevelPlan) -> None:
        """Refuse an epsilon of which a level would get too little for any noise, before anything is charged."""
        most = max(plan.count, plan.pool)  # the first level selects a pool
        for share in filter(None, plan.shares):
            self.request(most, share * self.spent).prepare(Scores.histogram({0: 1}))

    def record(self, plan: LevelPlan, items: int | None, *, private: bool) -> ItemsetRecord:
        """What may be said about the release."""
        return ItemsetRecord(
            epsilon=self.spent + self.answers,
            delta=Fraction(self.items.delta),
            answers_epsilon=self.answers,
            method=plan.method,
            selection=self.request(plan.count, self.spent).method,
            shares=tuple(share * self.spent for share in plan.shares),
            count=plan.count,
            itemset_size=plan.size,
            smallest=plan.smallest,
            pool=plan.pool,
            domain="observed" if items is None else "public",
            domain_size=items,
            where=self.where,
            private=private,
            version=installed_version(),
            item=self.items.item,
        )
