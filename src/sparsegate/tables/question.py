"""What is asked of a table: every parameter but the table, checked once, and what these public numbers promise.

``selection.accuracy`` proves the promise for a public domain. For ``domain="observed"`` the same promise holds of the
items released, with dbar in place of the number of candidates: the race is among the dbar largest scores, which hold
the c largest, and bottom only takes items away that come after it.

*Hopeless* is, for N people in all (a public number), whatever they have:

- a selection where even c items that all N have, beside others that nobody has, are more likely than not selected with
  a wrong one among them: by the theorem no table of N people does better;
- an observed domain where bottom, or the bar of the first of two stages, is at least N: an item that all N have is more
  likely than not left out;
- ``above``, where what N people have is never kept, or, by weights, more likely than not left out;
- counts whose error bar is at least N.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, NoReturn

import numpy as np

from sparsegate.budget import (
    Cost,
    Number,
    conversion_delta,
    exact_count,
    exact_decimal,
    exact_delta,
    exact_epsilon,
    exact_pair,
)
from sparsegate.conditions import names_in
from sparsegate.errors import ParameterError
from sparsegate.gates.lattice import LIMIT
from sparsegate.gates.preview import least_epsilon
from sparsegate.selection.accuracy import Promise, peeled_case
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import AUTO, METHODS, WORTHWHILE, Request
from sparsegate.tables.answers import AnswerNoise, answer_noise
from sparsegate.tables.choosing import BOUND, BOUNDS, CHOICES, CLIP, FINENESS, LEAST_EPSILON, SHARE, choice_rho
from sparsegate.tables.columns import check_unit
from sparsegate.tables.domain import EXPLAINED, MOST_CANDIDATES
from sparsegate.tables.groups import public_groups
from sparsegate.tables.labels import STRING
from sparsegate.tables.observed import Accounting, CountBar, bar_at, best_accounting
from sparsegate.tables.sums import Clip
from sparsegate.tables.weighted import FEW, WeightBar, lowest_bar

CONFIDENCE: Final = 0.95
"""With which promises and error bars hold, unless another is asked for."""

DBAR: Final = 10
"""With ``domain="observed"``, how many times ``count`` the list of candidates is long unless told otherwise."""

MOST_SELECTED: Final = 10**7
"""More would be charged, and then be lost for want of memory."""

HOPELESS: Final = 0.5


@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """The public parameters of ``top_items``, ``items_above`` and ``top_sums``; see there for what they mean.

    Options that are not used are None. ``max_items_per_user`` is the most candidates that one unit can raise: 1 where
    rows are people, None where only the number of candidates bounds it. ``choose`` names what is chosen from the data
    (``tables.choosing``), of clip and max_items_per_user, which are then None: the question is about each that may be
    chosen, ``possible``.
    """

    item: str
    user: str | None = None
    unit: str | None = None
    epsilon: Number
    domain: Any = None
    delta: Number = 0
    count: int | None = None
    method: str = AUTO
    ordered: bool = False
    threshold: Number | None = None
    answers_epsilon: Number = 0
    max_items_per_user: int | None = None
    dbar: int | None = None
    above: int | None = None
    value: str | None = None
    clip: tuple[Number, Number] | None = None
    granularity: Number | None = None
    where: str | None = None
    people: int | None = None
    per: str | None = None
    groups: Any = None
    groups_per_user: int | None = None
    choose: tuple[str, ...] = ()
    choice_epsilon: Number | None = None
    ledger_delta: Fraction | None = None
    """The delta at which a zCDP ledger that pays makes an epsilon of its rho; None without one (``paid_by``)."""

    @classmethod
    def asked(cls, **parameters: Any) -> Question:
        """The question with these parameters, in which "auto" may stand for a bound or a clip."""
        choose = tuple(name for name in CHOICES if isinstance(parameters.get(name), str) and parameters[name] == AUTO)
        return cls(**parameters | dict.fromkeys(choose), choose=choose)

    def paid_by(self, ledger: object, budget: object = None) -> Question:
        """The same, charged to this ledger, or to one of such a budget: where rho is added up, counts need no delta."""
        at = exact_pair(budget)[1] if isinstance(budget, tuple | list) else conversion_delta(ledger)
        return self if at == self.ledger_delta else replace(self, ledger_delta=at)

    def __post_init__(self) -> None:
        self._set(
            epsilon=exact_epsilon(self.epsilon),
            answers_epsilon=exact_epsilon(self.answers_epsilon, "answers_epsilon", zero=True),
            delta=exact_delta(self.delta, zero=True),
        )
        if self.domain is None or (isinstance(self.domain, str) and self.domain != "observed"):
            self._refuse("domain", *EXPLAINED)
        for name in ("people", "max_items_per_user", "above", "groups_per_user"):
            if (number := getattr(self, name)) is not None:
                self._set(**{name: exact_count(number, name)})
        self._check_choices()
        self._check_unit()
        self._check_sums()
        if self.above is None:
            if self.count is None:
                raise ParameterError("count", "must be given", next_step="pass for instance count=50")
            self._set(count=exact_count(self.count, "count", most=MOST_SELECTED))
            _ = self.request  # checks method, delta, threshold
        self._check_domain()
        self._check_groups()
        _ = self.answers  # an answers_epsilon that no noise can be made for is refused here
        _ = self.possible  # so is what could not be released of every choice

    def _set(self, **checked: object) -> None:
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _refuse(self, name: str, rule: str, next_step: str = "leave it out") -> NoReturn:
        value = getattr(self, name)
        raise ParameterError(name, rule, float(value) if isinstance(value, Fraction) else value, next_step)

    @property
    def observed(self) -> bool:
        return isinstance(self.domain, str)

    @cached_property
    def share(self) -> Question:
        """What is asked of each group: the same for a ``groups_per_user``-th of the price. Without groups, itself."""
        if self.per is None:
            return self
        parts = self.groups_per_user or 1
        return replace(
            self,
            per=None,
            groups=None,
            groups_per_user=None,
            epsilon=Fraction(self.epsilon) / parts,
            delta=Fraction(self.delta) / parts,
            answers_epsilon=Fraction(self.answers_epsilon) / parts,
            ledger_delta=None if self.ledger_delta is None else self.ledger_delta / parts,
        )

    @cached_property
    def possible(self) -> tuple[Question, ...]:
        """The question for each bound that may be chosen, at the epsilon that is left then; else this one alone.

        A clip is one of many alike: noise and promises are in steps, and each clip has the same number of them.
        """
        if not self.choose:
            return (self,)
        if BOUND not in self.choose:
            return (self.settled(self.max_items_per_user),)
        if self.above is None:
            assert self.count is not None
            helpful = [bound for bound in BOUNDS if bound <= self.count * WORTHWHILE["subset"]]
            return tuple(self.settled(bound) for bound in [*helpful, None])
        possible = [self.settled(1)]  # a bar that is too low for one item is too low
        with suppress(ParameterError):
            possible += (self.settled(bound) for bound in BOUNDS[1:])
        return tuple(possible)

    def settled(self, bound: int | None, clip: Fraction | None = None) -> Question:
        """The question when these were chosen; ``people`` were looked at before."""
        changes: dict[str, Any] = {"choose": (), "choice_epsilon": None, "people": None, "max_items_per_user": bound}
        if CLIP in self.choose:
            high = Fraction(1) if clip is None else clip
            changes |= {"clip": (0, high), "granularity": high / FINENESS}
        return replace(self, epsilon=Fraction(self.epsilon) - self.choices_epsilon, **changes)

    @property
    def looks(self) -> bool:
        """Whether it is first seen if counts need no cut: where "auto" would take "subset" without one."""
        if BOUND not in self.choose or self.method != AUTO or self.above is not None or self.sums is not None:
            return False
        return not self.observed and self.possible[-1].request.method == "subset"

    @property
    def choices_epsilon(self) -> Fraction:
        return Fraction(self.choice_epsilon or 0)

    @property
    def choice_share(self) -> Fraction:
        """What each choice, and a look, has of that."""
        return self.choices_epsilon / (len(self.choose) + self.looks)

    @cached_property
    def request(self) -> Request:
        """The selection, for counts: one person moves each by at most one, and all of them in one direction.

        For sums see ``tables.sums``; scores, and a threshold, are then in steps of its lattice. Where counts come with
        the selection it has all of epsilon: one noise of scale m / (epsilon + eps3) serves both better than two would.
        """
        if self.stages is not None:
            return self.stages[1].request
        assert self.count is not None
        sums, threshold = self.sums, self.threshold
        if sums is not None and (exact := exact_decimal(threshold)) is not None:
            threshold = sums.place(exact)
        row = METHODS.get(self.method) if isinstance(self.method, str) else None
        # A method that reads no delta gets none where counts do.
        unread = self.observed or (self.answers_delta and row is not None and "delta" not in row.options)
        request = Request(
            count=self.count,
            epsilon=self.epsilon,
            delta=0 if unread else self.selection_delta,
            sensitivity=self.sensitivity,
            monotonic=sums is None or sums.monotonic,
            max_items_per_user=self.max_items_per_user,
            threshold=threshold,
            method="exponential" if self.observed and self.method == AUTO else self.method,
            ordered=self.ordered and not self.observed,
        )
        together = request.estimates and self.answers_epsilon
        return replace(request, epsilon=self.total) if together else request

    @cached_property
    def sums(self) -> Clip | None:
        """How values are clipped and summed; None where people are counted."""
        if self.value is not None:
            return Clip.of(*((0, 1), Fraction(1, FINENESS)) if CLIP in self.choose else (self.clip, self.granularity))
        for name in ("clip", "granularity"):
            if getattr(self, name) is not None:
                self._refuse(name, "must not be given without value", 'pass for instance value="amount"')
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
        read = [name for text in (self.where, self.per) if text for name in names_in(text)]
        return [*read, *(name for name in (self.user, self.value, self.item) if name is not None)]

    @property
    def total(self) -> Fraction:
        return Fraction(self.epsilon) + Fraction(self.answers_epsilon)

    @property
    def total_delta(self) -> Fraction:
        """What is spent of delta: all of it for an observed domain, else what the method of each group needs."""
        return self.cost.delta

    @cached_property
    def cost(self) -> Cost:
        """What is spent, by either rule: on choices, at most on what may be chosen, and on counts: they all add."""
        if self.per is not None:
            return (self.groups_per_user or 1) * self.share.cost
        if self.choose:
            rho = choice_rho(self.choices_epsilon, len(self.choose), self.looks)
            return Cost(epsilon=self.choices_epsilon, rho=rho) + Cost.most(each.cost for each in self.possible)
        if self.stages is not None:
            return self.stages[0].cost + self.stages[1].cost
        if self.bar is not None:
            cost = self.bar.cost(Fraction(self.epsilon), self.selection_delta)
        else:
            cost = self.accounting.cost if self.observed else self.request.checked.cost
        return cost if self.answers is None else cost + self.answers.cost

    @property
    def estimated(self) -> bool:
        """Whether counts come with the selection, whatever is chosen."""
        return self.above is None and all(each.share.request.estimates for each in self.possible)

    @property
    def extra_answers(self) -> Fraction:
        """What is spent on noise for the counts alone: nothing where they come with the selection."""
        return Fraction(0 if self.above is None and self.request.estimates else self.answers_epsilon)

    @cached_property
    def answers(self) -> AnswerNoise | None:
        """The noise that counts get of their own; None where they get none."""
        return self._answers if self.extra_answers else None

    @cached_property
    def _answers(self) -> AnswerNoise | None:
        """The noise that counts would get, from what was asked alone: the method may hang on what is left of delta."""
        if self.stages is not None:
            return self.stages[1]._answers
        moved = [bound for bound in (self.count, self.max_items_per_user) if isinstance(bound, int | np.integer)]
        if not self.answers_epsilon or not moved or min(moved) < 1:
            return None
        return answer_noise(
            moved=int(min(moved)),
            sensitivity=self.sensitivity,
            epsilon=Fraction(self.answers_epsilon),
            delta=Fraction(self.delta) / 2 if self.ledger_delta is None else self.ledger_delta,
        )

    @property
    def answers_delta(self) -> Fraction:
        """What counts would have of delta: nothing where they have that of the ledger."""
        return Fraction(0) if self._answers is None or self.ledger_delta is not None else self._answers.cost.delta

    @property
    def selection_delta(self) -> Fraction:
        """What is left of delta for the selection."""
        return Fraction(self.delta) - self.answers_delta

    @property
    def cut(self) -> int | None:
        """How many items of each user are counted; None where all are."""
        return None if self.user is None else self.max_items_per_user

    @cached_property
    def accounting(self) -> Accounting:
        """How a selection from an observed domain spends epsilon and delta."""
        assert self.count is not None
        assert self.dbar is not None
        return best_accounting(
            epsilon=Fraction(self.epsilon),
            delta=self.selection_delta,
            count=self.count,
            max_items_per_user=min(self.dbar, self.max_items_per_user or self.dbar),
        )

    @cached_property
    def stages(self) -> tuple[Question, Question] | None:
        """Labels by weights, and then a selection from those, where that reaches lower: see ``tables.weighted``.

        Not where it was asked for one selection, by ``dbar`` or a method, nor for sums, groups, or a chosen bound.
        """
        most, others = self.max_items_per_user, (self.dbar, self.above, self.value, self.per, self.threshold)
        if not self.observed or self.method != AUTO or self.choose or others != (None,) * len(others):
            return None
        if not self.delta or most is None or most <= FEW:
            return None
        with suppress(ParameterError):  # half of epsilon or delta is too little
            half: dict[str, Any] = {"epsilon": Fraction(self.epsilon) / 2, "people": None}
            second = replace(self, domain=self.count, delta=Fraction(self.delta) / 2, **half)
            shown = Fraction(0) if second.answers is None or self.ledger_delta is None else second.answers.cost.delta
            half |= {"delta": Fraction(self.delta) - (second.cost.delta - shown)}
            lowest = lowest_bar(epsilon=half["epsilon"], delta=half["delta"], max_items_per_user=most)
            if lowest is not None and lowest.even_chance(most // 2) <= self.at_once.accounting.margin:
                alone: dict[str, Any] = {"count": None, "ordered": False, "answers_epsilon": 0}
                first = replace(self, above=lowest.above, **alone, **half)
                return (first, second) if first.bar == lowest else None
        return None

    @property
    def at_once(self) -> Question:
        assert self.count is not None
        return replace(self, dbar=self.dbar or DBAR * self.count)

    @cached_property
    def bar(self) -> CountBar | WeightBar | None:
        """Where labels begin to be kept, for ``above``."""
        if self.above is None:
            return None
        most = 1 if BOUND in self.choose else self.max_items_per_user
        if most is None:
            rule = (
                "must be given with above: a person is hidden in each of their items, at a share of epsilon and delta"
            )
            self._refuse("max_items_per_user", rule, "pass for instance max_items_per_user=3")
        return bar_at(self.above, epsilon=Fraction(self.epsilon), delta=self.selection_delta, max_items_per_user=most)

    @property
    def lower_bar(self) -> int | None:
        """How low a bar may be by weights, where they reach below the one that was asked for."""
        most = self.max_items_per_user
        if not isinstance(self.bar, CountBar) or most is None or most <= FEW:
            return None
        weighted = lowest_bar(epsilon=Fraction(self.epsilon), delta=self.selection_delta, max_items_per_user=most)
        return None if weighted is None or weighted.above >= self.bar.above else weighted.above

    @property
    def counted(self) -> str | None:
        """Of what the counts are, for whoever reads them, where something is cut away; None where all counts."""
        parts = []
        if self.cut is not None:
            items = "1 item" if self.cut == 1 else f"{self.cut} items"
            parts += [f"at most {items} of each user, chosen by a hash; counts and error bars leave out the others"]
        if self.sums is not None:
            of = "of each row" if self.user is None else "that each user has of an item"
            ends = f"{self.value} {of}, clipped to {self.sums.ends[0]} and {self.sums.ends[1]}"
            parts += [f"{ends}; sums and error bars leave out what is beyond"]
        return "; ".join(parts) or None

    def promise(self, total: int | None) -> Promise | None:
        """The promise for this many candidates, None for an observed domain; in steps of a score."""
        if self.above is not None or self.stages is not None:
            return None
        if not self.observed:
            assert total is not None
            return self.request.promise(total)
        assert self.dbar is not None
        rate = self.accounting.rate / self.sensitivity
        return peeled_case(rate=rate, count=self.accounting.count, total=self.dbar)

    def within(self, total: int | None, confidence: float = CONFIDENCE) -> int | float | None:
        """With this probability every selected item is within this many people of the c-th; None: nothing is said."""
        promise = self.promise(total)
        steps = None if promise is None else promise.within(confidence)
        return None if steps is None else self.shown(steps)

    def error_bars(
        self, total: int | None, confidence: float = CONFIDENCE, *, items: int | None = None
    ) -> tuple[int, int] | None:
        """How far noisy scores are off: each, and all ``items`` at once; in steps, None where none are released."""
        if self.answers is not None:
            return self.answers.error_bars(confidence, self.count or 1 if items is None else items)
        if self.observed or total is None or not self.request.estimates:
            return None
        estimated = self.request.prepare(Scores.histogram({0: total})).estimated
        assert estimated is not None
        return int(estimated.error_bar(confidence)), int(estimated.error_bar_all(confidence))

    def hopeless(self, total: int | None) -> tuple[str, str] | None:
        """Why a release for ``people`` is hopeless, as the parameter to change and the rule; None if it is not.

        >>> asked = {"item": "page", "user": "visitor", "count": 50, "epsilon": 0.1, "domain": 40_000}
        >>> Question(**asked, people=1_000).hopeless(40_000)[0], Question(**asked, people=10**5).hopeless(40_000)
        ('epsilon', None)
        """
        if (people := self.people) is None:
            return None
        low, high = (0, 1) if self.sums is None else self.sums.steps
        # How far apart one person can bring two scores, in steps: a sum that may fall and rise has both sides.
        span, everybody = people * (max(high, 0) - min(low, 0)), f"an item that all {people:,} people have"
        if self.bar is not None and self.bar.beyond(people):
            how = "more likely than not be left out" if isinstance(self.bar, WeightBar) else "never be kept"
            return "above", f"must be lower for {people:,} people: {everybody} would {how}"
        labels = self.stages[0].bar if self.stages is not None else None
        if labels is not None:
            left_out = labels.beyond(people)
        else:
            left_out = self.observed and self.above is None and self.accounting.margin + 1 >= people
        if left_out:
            rule = f"must be larger for {people:,} people: {everybody} would more likely than not be left out"
            return "epsilon", rule
        promise = None if self.observed else self.promise(total)
        if promise is not None and (wrong := promise.least_wrong(span)) > HOPELESS:
            rule = f"must be larger for {people:,} people: even if {self.count:,} items had all of them, and the others"
            return "epsilon", f"{rule} nobody, a wrong item would be selected with probability {wrong:.3g}"
        bars = self.error_bars(total)
        if bars is not None and bars[0] >= span:
            name = "answers_epsilon" if self.extra_answers else "epsilon"
            return name, f"must be larger for {people:,} people: the error bar of a count would be {bars[0]:,}"
        return None

    def refuse_hopeless(self, total: int | None) -> None:
        """Raise a ParameterError, before anything is charged, where the release is hopeless."""
        if (reason := self.hopeless(total)) is None:
            return
        name, rule = reason
        hint = "leave out people= to release it all the same"
        if name != "above":

            def enough(amount: Fraction) -> bool:
                return replace(self, **{name: amount}).hopeless(total) is None  # type: ignore[arg-type]

            if (needed := least_epsilon(enough)) is not None:
                hint = f"pass {float(needed):g} or more, or {hint}"
        self._refuse(name, rule, hint)

    def _check_choices(self) -> None:
        if not self.choose:
            if self.choice_epsilon is not None:
                rule = 'must not be given where nothing is chosen; it is for clip="auto" and max_items_per_user="auto"'
                self._refuse("choice_epsilon", rule)
            return
        if BOUND in self.choose and (self.user is None or self.count == 1):
            rule = 'must not be "auto" without a user column, or for a count of 1: it does not help there'
            raise ParameterError(BOUND, rule, AUTO, "leave it out")
        if CLIP in self.choose and self.value is None:
            raise ParameterError(CLIP, "must not be given without value", AUTO, 'pass for instance value="amount"')
        for name in ("per", "granularity", "threshold") if CLIP in self.choose else ("per",):
            if getattr(self, name) is not None:
                self._refuse(name, f'must not be given where {" and ".join(self.choose)} is "auto"')
        share = Fraction(self.epsilon) * SHARE if self.choice_epsilon is None else self.choice_epsilon
        self._set(choice_epsilon=exact_epsilon(share, "choice_epsilon"))
        if not LEAST_EPSILON <= self.choices_epsilon < Fraction(self.epsilon):
            rule = f"must be less than epsilon, of which it is a part, and at least {float(LEAST_EPSILON):g}"
            self._refuse("choice_epsilon", rule, "leave it out for a tenth of epsilon")

    def _check_unit(self) -> None:
        if not isinstance(self.item, str):
            self._refuse("item", "must be the name of a column", 'pass for instance item="page"')
        if self.user == self.item:
            rule = "must not be the column of the items: each item would then be one person"
            self._refuse("user", rule, "name the column that says whose row it is")
        check_unit(self.user, self.unit)
        self._set(unit="row" if self.user is None else "user")
        if self.user is None:
            if self.max_items_per_user not in (None, 1):
                self._refuse("max_items_per_user", "needs a user column", "pass user=, or leave it out")
            self._set(max_items_per_user=1)

    def _check_sums(self) -> None:
        if self.sums is None:
            return
        if not isinstance(self.value, str):
            self._refuse("value", "must be the name of a column", 'pass for instance value="amount"')
        if self.above is not None:
            self._refuse("above", "must not be given with value: it counts people, and has no meaning for sums")
        if self.observed and self.sums.low < 0:
            rule = 'must not reach below 0 for domain="observed", whose proof is for scores that one person only raises'
            self._refuse("clip", rule, "pass a low of 0 or more, or a public domain")

    def _check_domain(self) -> None:
        if self.observed and self.delta == 0:
            rule = 'must lie strictly between 0 and 1 for domain="observed": which items exist is private, and '
            rule += "a person who alone has an item can only be hidden up to a small probability"
            self._refuse("delta", rule, "pass for instance delta=1e-8, or a public domain, which needs no delta")
        if not self.observed and self.dbar is not None:
            rule = 'must not be given with a public domain, which needs none; it is for domain="observed"'
            self._refuse("dbar", rule)
        if self.above is not None:
            others = {"count": None, "dbar": None, "threshold": None, "method": AUTO, "ordered": False}
            for name, unused in others.items():
                if getattr(self, name) != unused:
                    self._refuse(name, "must not be given with above, which selects all that many have, as a set")
            if not self.observed:
                rule = 'must not be given with a public domain; it is for domain="observed"'
                self._refuse("above", rule, 'pass method="sparse-vector" with a threshold and a count')
            _ = self.bar  # a bar that is too low is refused here
        elif self.observed:
            self._check_observed()

    def _check_observed(self) -> None:
        if self.method not in (AUTO, "exponential"):
            rule = 'must be "auto" or "exponential" for domain="observed"'
            self._refuse("method", rule, "pass a public domain for the other methods")
        if self.stages is not None:
            return
        assert self.count is not None
        dbar = DBAR * self.count if self.dbar is None else self.dbar
        if exact_count(dbar, "dbar", most=MOST_CANDIDATES) < self.count:
            self._refuse("dbar", f"must be at least count = {self.count}", "leave it out for ten times that")
        self._set(dbar=int(dbar))
        # An epsilon too small for this delta is refused here, before anything is spent.
        if self.sensitivity * self.accounting.margin > LIMIT:
            self._refuse("epsilon", "is too small for this delta and clip: no sum could ever be selected", "pass more")

    def _check_groups(self) -> None:
        if self.per is None:
            for name in ("groups", "groups_per_user"):
                if getattr(self, name) is not None:
                    self._refuse(name, "must not be given without per, which says in which group a row is")
            return
        if not isinstance(self.per, str) or not self.per:
            rule = "must be the name of a column, or an expression of a row"
            self._refuse("per", rule, 'pass for instance per="country" or per="year_month(day)"')
        if self.user is not None:
            self._set(groups_per_user=self.groups_per_user or 1)
        elif self.groups_per_user is not None:
            self._refuse("groups_per_user", "needs a user column", "pass user=, or leave it out")
        if not isinstance(self.groups, os.PathLike):
            public_groups(self.groups, self.per, STRING)  # refuses what is no list of them
        _ = self.share  # what a part of epsilon and delta cannot pay for is refused here
