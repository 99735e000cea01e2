"""Before anything is charged: what a release of a table will be good for, by method, from public numbers alone.

No table is opened and nothing is spent. What is promised, and why it holds, is in ``selection.accuracy`` (items) and in
``gates.laplace`` and ``selection.noisy_scores`` (counts). A promise holds for the worst data there are; ``like=`` shows
beside it what the same selection does on PUBLIC data that look like yours, in many runs. Never pass the private counts
themselves: what is shown of them is not private.
"""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sized
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from sparsegate.budget import Cost, Number, exact_count
from sparsegate.display.plain import amount_text
from sparsegate.errors import ParameterError, TableError
from sparsegate.gates.preview import FACTORS, Curve, Preview, figure_text, least_epsilon
from sparsegate.gates.series import Budget
from sparsegate.noise import Seeded
from sparsegate.noise.own_settings import own_settings
from sparsegate.selection.accuracy import check_confidence
from sparsegate.selection.scores import Scores
from sparsegate.selection.select import AUTO, METHODS, Request
from sparsegate.tables.choosing import BOUND, clip_people
from sparsegate.tables.columns import identifier
from sparsegate.tables.domain import read_labels
from sparsegate.tables.observed import CountBar
from sparsegate.tables.question import CONFIDENCE, Question
from sparsegate.tables.weighted import FEW, WeightBar
from sparsegate.tables.workspace import Workspace

RUNS: Final = 200
"""On a stand-in."""

_CURVE_RUNS: Final = 20
_PEOPLE: Final = 1_000_000  # of the paper's Zipf law
_ITEMS: Final = 10_000  # the same
_HISTOGRAM: Final = re.compile(r"\d+:\d+(,\d+:\d+)*", re.ASCII)


@own_settings
def preview(
    *,
    item: str = "item",
    user: str | None = None,
    unit: str | None = None,
    count: int | None = None,
    above: int | None = None,
    value: str | None = None,
    clip: tuple[Number, Number] | Literal["auto"] | None = None,
    granularity: Number | None = None,
    epsilon: Number | None = None,
    domain: Any = None,
    delta: Number = 0,
    method: str = AUTO,
    ordered: bool = False,
    threshold: Number | None = None,
    answers_epsilon: Number = 0,
    max_items_per_user: int | None = None,
    choice_epsilon: Number | None = None,
    dbar: int | None = None,
    where: str | None = None,
    people: int | None = None,
    per: str | None = None,
    groups: Any = None,
    groups_per_user: int | None = None,
    within: int | None = None,
    like: Any = None,
    confidence: float = CONFIDENCE,
    times: int | None = None,
    budget: Budget | None = None,
    ledger: Any = None,
) -> Preview:
    """What ``top_items``, ``items_above`` or ``top_sums`` will be good for, and what it would charge.

    Of the method that would run, ``accuracy`` has ``within``: with this confidence every selected item is at most this
    far below the c-th; ``error_bar`` and ``error_bar_all`` of counts; ``needed_epsilon`` where ``within`` was asked
    for; and ``recall`` and ``like_within``, what was seen on the stand-in. ``alternatives`` has a row for each method:
    the one that is ``chosen`` would run, and the one that ``wins`` was right most often on the stand-in. ``helps`` has
    what would make ``within`` smaller: a delta, a cut of items a person, a set and no order, no counts.

    Parameters
    ----------
    domain: also the number of candidates. It may be left out for ``above``, and where ``like`` says it.
    within: W, in people: asks for the smallest epsilon with which every selected item is within W of the c-th, with the
        given confidence; rounded up to three digits. ``epsilon`` may then be left out.
    people: N, how many people there are in all: says whether the release is hopeless (``tables.question``).
    like: PUBLIC counts that look like yours: "zipf" (proportional to 1/rank, of ``people`` or a million), an array,
        counts by label, a histogram {count: items} or "count:items,...", or a file with the columns ``item`` and
        ``user``, or ``item`` and ``count``.
    confidence: 0.95 unless given.
    times, budget, ledger: what this many such releases cost by either rule, in ``series``; and how large each may be so
        that they fit the budget, an epsilon or an epsilon and a delta, or what an open ledger has left. With a zCDP
        ledger, or such a budget, counts have the noise that they would have there (``tables.answers``).

    All others are those of ``top_items``, of ``items_above`` or of ``top_sums``. Without a ``user`` or a ``unit``,
    people may have many rows. (``value``, ``clip`` and ``granularity`` are those of ``top_sums``. With clip="auto" all
    figures are in units of the clip, and the statement says how many people its choice takes.)

    >>> import sparsegate as sg
    >>> preview = sg.preview(count=50, epsilon=0.5, domain=40_000)
    >>> preview.method, preview.within
    ('subset', 1526)
    >>> print(preview.statement)
    With 95 % confidence each of the 50 items has at most 1,526 fewer people than the item that is truly number ...
    >>> sg.preview(count=50, within=100, domain=40_000, max_items_per_user=1).epsilon
    Fraction(7, 40)
    """
    asked = locals()
    aside = {name: asked.pop(name) for name in ("within", "like", "confidence")}
    for name in ("times", "budget", "ledger"):
        del asked[name]
    if times is None and budget is not None:
        raise ParameterError("budget", "is for a series of releases", next_step="pass times=365, or leave it out")
    if epsilon is None and within is None:
        rule = "must be given, or within for the epsilon that is needed"
        raise ParameterError("epsilon", rule, next_step="pass for instance epsilon=0.5")
    asked["user"] = "user" if user is None and unit is None else user
    if domain is None and above is not None:
        asked["domain"] = "observed"
    elif domain is None and like is not None:
        asked["domain"] = stand_in(like, total=None, people=people, item=item, user=asked["user"]).total
    question = Question.asked(**asked | {"epsilon": 1 if epsilon is None else epsilon}).paid_by(ledger, budget)
    made = preview_of(question, fixed=epsilon is not None, **aside)
    return made if times is None else made.repeated(times, budget=budget, ledger=ledger)


@own_settings
def preview_of(
    question: Question,
    *,
    fixed: bool = True,
    within: int | None = None,
    like: Any = None,
    confidence: float = CONFIDENCE,
) -> Preview:
    """A preview of a question, with groups of one of them; where epsilon is not ``fixed``, at what ``within`` needs."""
    check_confidence(confidence)
    if BOUND in question.choose:
        rule = f'must not be "{AUTO}" in a preview: what would be chosen depends on the private data'
        raise ParameterError(BOUND, rule, AUTO, "preview what you expect it to be")
    if question.choose and within is not None:
        rule = f'must not be given where clip is "{AUTO}": figures are then in units of a clip that nobody knows yet'
        raise ParameterError("within", rule, within, "pass epsilon=, or a clip")
    whole, question = question, replace(question.possible[0], people=question.people)
    question, parts = question.share, question.groups_per_user or 1  # each of the groups has a part of epsilon
    asked = None if within is None else exact_count(within, "within", least=0)
    total, counts = None if question.observed else public_size(question), None
    if like is not None:
        if question.observed or question.sums is not None:
            rule = "is for counts of a public domain: no other selection is simulated"
            raise ParameterError("like", rule, next_step="leave it out")
        counts = stand_in(like, total=total, people=question.people, item=question.item, user=question.user)
        total = counts.total
    if total is not None and question.count is not None and question.count > total:
        raise ParameterError("count", f"must not exceed the number of candidates, {total}", question.count)
    options = _Options(question, total, asked, counts, confidence)
    rows = [] if question.above is not None else options.rows(fixed)
    chosen = next((row for row in rows if row["chosen"]), None)
    if not fixed:
        if chosen is None:
            labels = question.stages is not None
            why = "which labels are found before the selection is private" if labels else "a public threshold may lie "
            rule = f"is promised by no epsilon: {why}" + ("" if labels else "anywhere among the counts")
            step = 'method="exponential"' if labels else "leave the threshold out"
            raise ParameterError("within", rule, within, f"pass epsilon=, or {step}")
        question = replace(question, epsilon=chosen["epsilon"])
    bar = question.bar if question.stages is None else question.stages[0].bar
    if chosen is not None:
        accuracy = {name: chosen[name] for name in _FIGURES}
    else:
        accuracy = {} if question.stages is None else dict.fromkeys(_FIGURES)
        if isinstance(bar, WeightBar):
            accuracy |= {"even_chance_least": bar.even_chance(1), "even_chance_most": bar.above}
        elif bar is not None:
            accuracy |= {"never_below": bar.never_below, "always_from": bar.always_from}
        each, together = question.error_bars(None, confidence) or (None, None)
        accuracy |= {"error_bar": each, "error_bar_all": together}
    reason = question.hopeless(total)
    charged = (whole, 1) if whole.choose else (question, parts)
    return Preview(
        release="top items",
        epsilon=charged[1] * charged[0].total,
        delta=parts * question.total_delta,
        confidence=confidence,
        accuracy=accuracy,
        settings={
            "method": question.request.method if question.bar is None else question.bar.method,
            "count": question.count,
            "above": question.above,
            "answers_epsilon": Fraction(question.answers_epsilon),
            "answers_noise": None if question.answers is None else question.answers.name,
            "domain": "observed" if question.observed else "public",
            "domain_size": total,
            "people": question.people,
            "asked_within": asked,
            **({"choice_epsilon": whole.choices_epsilon} if whole.choose else {}),
        },
        statement=_statement(question, bar, chosen, confidence) + _clip_statement(whole, confidence),
        warning=options.implausible(accuracy.get("within")) if not reason else f"Hopeless: {' '.join(reason)}.",
        alternatives=tuple(rows),
        helps=() if chosen is None or whole.choose else tuple(options.helps(question, chosen["within"])),
        levels={} if question.people is None else {"people in all": question.people},
        make_curves=partial(options.curves, rows),
        cost=charged[1] * charged[0].cost,
        cost_at=partial(_cost_at, charged[0], None if chosen is None else chosen["method"], parts),
    )


_FIGURES: Final = ("within", "error_bar", "error_bar_all", "needed_epsilon", "recall", "like_within")


def _clip_statement(question: Question, confidence: float) -> str:
    if not question.choose:
        return ""
    share = question.choice_share
    needed = ", ".join(f"{clip_people(worth, share, confidence):,} of at most {worth:,}" for worth in (1, 1000, 10**6))
    return (
        f" All of this is in units of the clip, which is chosen with epsilon {amount_text(question.choices_epsilon)}. "
        f"That takes people with values of about one size: {needed}; with fewer the clip often ends at "
        "its least, a millionth, and the sums with it."
    )


def _statement(
    question: Question, bar: CountBar | WeightBar | None, chosen: Mapping[str, Any] | None, confidence: float
) -> str:
    """One honest sentence or two."""
    if isinstance(bar, WeightBar):
        then = "" if question.stages is None else f" Of those that are kept {question.count:,} are then selected."
        return (
            f"An item has an even chance to be kept at {bar.above:,} people who have {bar.max_items_per_user:,} items "
            f"each, and where they have {FEW} at {bar.even_chance(FEW):,}; none is certain to be left out, or kept."
            f"{then}"
        )
    if bar is not None:
        kept = f"What fewer than {bar.never_below:,} people have is never among the items,"
        reach = f" Such a bar may be as low as {lower:,}, by weights." if (lower := question.lower_bar) else ""
        return f"{kept} what {bar.always_from:,} or more have always is.{reach}"
    if chosen is None or chosen["within"] is None:
        return "A public threshold promises nothing about the largest counts: it may lie anywhere among them."
    assert question.count is not None
    count, people, within, sums = question.count, question.people, chosen["within"], question.sums
    statement = (
        f"With {100 * confidence:g} % confidence "
        f"{'the item selected' if count == 1 else f'each of the {count:,} items'} has at most {figure_text(within)} "
        f"fewer {'people' if sums is None else f'of {question.value}'} than the item that is truly number {count:,}, "
        "whatever the data are."
    )
    if people is not None and (sums is None or sums.low >= 0):
        each = question.max_items_per_user
        shared = people if each is None else people * each // question.count
        if within >= (most := question.shown(min(people, shared) * question.sensitivity)):
            statement += f" With {people:,} people that item has at most {most:,}: this promises nothing."
    if (answers := question.answers) is not None and answers.gaussian:
        deviation = answers.deviation * (1.0 if sums is None else float(sums.granularity))
        at = f"epsilon {amount_text(Fraction(question.answers_epsilon))} at delta {float(answers.cost.delta):g}"
        noise = f"Gaussian noise of standard deviation {deviation:,.4g}"
        statement += f" Its count has {noise}: {at}, rho {float(answers.cost.rho):.3g}."
    if question.observed:
        bottom = question.shown((1 + question.accounting.margin) * question.sensitivity)
        statement += f" Fewer may be released: items of less than about {bottom:,} are left out."
    return statement


def public_size(question: Question) -> int:
    """How many candidates a public domain has; a file of them is public, too."""
    domain = question.domain
    if isinstance(domain, os.PathLike):
        return len(set(read_labels(domain, item=question.item)))
    if not isinstance(domain, Sized | int):
        rule = 'must be a number of candidates, the candidates, or "observed"'
        raise ParameterError("domain", rule, domain, "pass for instance domain=10_000")
    return exact_count(len(domain) if isinstance(domain, Sized) else domain, "domain")


@dataclass(frozen=True)
class _Options:
    """The methods that a question leaves open, for ``total`` candidates, and ``counts`` that stand in for the data."""

    question: Question
    total: int | None
    asked: int | None
    counts: Scores | None
    confidence: float

    def rows(self, fixed: bool) -> list[dict[str, Any]]:
        """What each method that fits is good for, in people; what is not known or not asked for is None."""
        question = self.question
        rows: list[dict[str, Any]] = []
        for method in METHODS:
            with suppress(
                ParameterError
            ):  # it does not fit: an order of a set, no delta, no threshold, an observed domain
                needed = None if self.asked is None else least_epsilon(partial(self._keeps, method))
                if needed is None and not fixed:
                    continue
                epsilon = Fraction(question.epsilon) if fixed or needed is None else needed
                of_method = by_method(question, method, epsilon)
                bars = of_method.error_bars(self.total, self.confidence)
                figures = [
                    of_method.within(self.total, self.confidence),
                    *((None, None) if bars is None else map(of_method.shown, bars)),
                    needed,
                    *self._simulated(of_method, RUNS),
                ]
                chosen = replace(question, epsilon=epsilon).request.method == method
                named = dict(zip(_FIGURES, figures, strict=True))
                rows.append({"method": method, "chosen": chosen, "epsilon": epsilon, **named})
        if self.counts is not None:
            most = max((row["recall"] for row in rows if row["recall"] is not None), default=None)
            best = [row for row in rows if row["recall"] == most and most is not None]
            # Of several that are as good the one that would run anyway.
            winner = next(iter(sorted(best, key=lambda row: not row["chosen"])), None)
            rows = [row | {"wins": row is winner} for row in rows]
        if not fixed and question.method == AUTO:
            # At other epsilons "auto" may take others: the least of them is the answer.
            least = min((row["epsilon"] for row in rows if row["chosen"]), default=None)
            rows = [row | {"chosen": row["chosen"] and row["epsilon"] == least} for row in rows]
        return rows

    def helps(self, question: Question, within: float | None) -> Iterator[dict[str, Any]]:
        """The question with one thing changed, where that makes ``within`` smaller: the best method, and its figures.

        A stand-in has counts, and no people whose items could be cut: of a cut only the promise is known.
        """
        for change in _changes(question):
            with suppress(ParameterError):  # it does not go with the rest
                other = replace(question, method=AUTO, threshold=None, **change)
                promised = other.within(self.total, self.confidence)
                if within is None or promised is None or promised >= within:
                    continue
                seen = (None, None) if "max_items_per_user" in change else self._simulated(other, RUNS)
                figures = dict(zip(("recall", "like_within"), seen, strict=True))
                yield {"change": change, "method": other.request.method, "within": promised, **figures}

    def implausible(self, within: float | None) -> str:
        """What to say of a ``within`` that is beyond what the c-th count could well be; nothing where it is not.

        Without a stand-in that is what it would be of so many people with ten items each, if counts fell as 1/rank.
        """
        question, people, total = self.question, self.question.people, self.total
        if within is None or question.sums is not None or question.count is None:
            return ""
        if self.counts is not None:
            count = _last(self.counts, question.count)
            like = f"on the stand-in number {question.count:,} has {count:,}"
        elif people is not None and total is not None:
            count = min(people, round(10 * people / ((math.log(total) + 0.5772) * question.count)))
            like = f"of {people:,} people with ten items each number {question.count:,} would have about {count:,}, if "
            like += "counts fell as 1/rank"
        else:
            return ""
        return f"That promises next to nothing: {like}." if within >= count else ""

    def _keeps(self, method: str, epsilon: Fraction) -> bool:
        """Whether every selected item is within what was asked for, at this epsilon."""
        of_method = by_method(self.question, method, epsilon)
        promise, sums = of_method.promise(self.total), of_method.sums
        assert self.asked is not None
        steps = self.asked if sums is None else sums.place(Fraction(self.asked))
        return promise is not None and promise.beyond(steps + 1) <= 1 - self.confidence

    def _simulated(self, of_method: Question, runs: int) -> tuple[float | None, float | None]:
        if self.counts is None:
            return None, None
        return simulated(of_method.request, self.counts, confidence=self.confidence, runs=runs) or (None, None)

    def curves(self, rows: list[dict[str, Any]]) -> Iterator[Curve]:
        """What each method promises from a tenth of its epsilon to ten times; and its recall on the stand-in."""
        figures: dict[str, Callable[[Question], float | None]] = {
            "within": lambda of_method: of_method.within(self.total, self.confidence),
            "recall": lambda of_method: self._simulated(of_method, _CURVE_RUNS)[0],
        }
        for (figure, height_of), row in itertools.product(figures.items(), rows):
            points = []
            for factor in FACTORS:
                with suppress(ParameterError):  # such an epsilon does not fit
                    of_method = by_method(self.question, row["method"], row["epsilon"] * factor)
                    if (height := height_of(of_method)) is not None:
                        points.append((float(of_method.total), float(height)))
            if points:
                yield Curve(figure=figure, parameter="epsilon", points=tuple(points), label=row["method"])


def _changes(question: Question) -> Iterator[dict[str, Any]]:
    """What may help a selection, one change at a time."""
    assert question.count is not None
    if not question.observed and not question.delta:
        yield {"delta": Fraction(1, 10**6)}
    small = 5 if question.observed or not question.delta else 10  # beside what a delta brings
    cut, most = max(1, question.count // small), question.max_items_per_user
    if question.user is not None and (most is None or most > cut):
        yield {"max_items_per_user": cut}
    if question.ordered:
        yield {"ordered": False}
    if question.answers_epsilon:
        yield {"answers_epsilon": Fraction(0), "epsilon": question.total}


def _cost_at(question: Question, method: str | None, parts: int, total: Fraction) -> Cost:
    """What the same costs by the method that would run, at another epsilon in all, its parts in proportion."""
    share = total / parts / question.total
    epsilon, answers = share * Fraction(question.epsilon), share * Fraction(question.answers_epsilon)
    chosen = share * question.choices_epsilon if question.choose else None
    same = replace(question, epsilon=epsilon, answers_epsilon=answers, choice_epsilon=chosen)
    return parts * (same if method is None else by_method(same, method, epsilon)).cost


def by_method(question: Question, method: str, epsilon: Number) -> Question:
    """The same question for this method; one that it cannot meet raises a ParameterError."""
    row = METHODS[method]
    return replace(
        question,
        method=method,
        epsilon=epsilon,
        delta=question.delta if question.observed or "delta" in row.options or question.answers_delta else 0,
        threshold=question.threshold if "threshold" in row.options else None,
    )


def _last(counts: Scores, count: int) -> int:
    order = np.argsort(counts.values)[::-1]
    return int(counts.values[order[np.searchsorted(np.cumsum(counts.multiplicities[order]), count)]])


def simulated(request: Request, counts: Scores, *, confidence: float, runs: int) -> tuple[float, float] | None:
    """Of many runs on public counts: the mean share of the selected that are right, and how far below the c-th they go.

    The latter is the quantile at the confidence of the lowest item selected. An item tied with the c-th is right, up to
    the number of places that there are for such items. None for methods with a threshold.
    """
    if "threshold" in METHODS[request.method].options:
        return None
    values, sizes = counts.values, counts.multiplicities
    last = _last(counts, request.count)
    places = request.count - int(sizes[values > last].sum())
    source, ready = Seeded(1), request.prepare(counts)
    right, lowest = [], []
    for _ in range(runs):
        drawn = values[ready.draw(source.stream()).groups]
        right.append(int((drawn > last).sum()) + min(int((drawn == last).sum()), places))
        lowest.append(max(last - int(drawn.min()), 0))
    recall = float(np.mean(right)) / request.count
    return recall, float(np.quantile(lowest, confidence, method="higher"))


def stand_in(
    like: Any, *, total: int | None, people: int | None = None, item: str = "item", user: str | None = None
) -> Scores:
    """PUBLIC counts of ``total`` candidates: those of the stand-in, then candidates that nobody has.

    >>> stand_in({5: 2, 1: 3}, total=10), sorted(stand_in({"tea": 5, "milk": 9}, total=3).values.tolist())
    (Scores(3 groups, 10 items), [0, 5, 9])
    """
    try:
        counts = Scores.of(_counts(like, total, people, item, user))
    except ParameterError as error:  # of whatever reads it; its value was shown already
        raise ParameterError("like", str(error).removeprefix(f"{error.parameter} ")) from None
    if counts.values.dtype.kind != "i":
        raise ParameterError("like", "must be whole numbers of people", next_step="round them")
    missing = 0 if total is None else total - counts.total
    if missing < 0:
        rule = f"must not have more items than there are candidates, {total:,}"
        raise ParameterError("like", rule, counts.total, "leave the domain out, or pass its size")
    histogram = dict(zip(counts.values.tolist(), counts.multiplicities.tolist(), strict=True))
    return Scores.histogram(histogram | {0: histogram.get(0, 0) + missing}) if missing else counts


def _counts(like: Any, total: int | None, people: int | None, item: str, user: str | None) -> Any:
    if isinstance(like, str) and like == "zipf":
        # Beyond a million items nobody has one.
        shares = 1 / np.arange(1.0, min(_ITEMS if total is None else total, 10**6) + 1)
        return np.rint(shares * ((people or _PEOPLE) / shares.sum())).astype(np.int64)
    if isinstance(like, str) and _HISTOGRAM.fullmatch(like):
        like = {int(count): int(items) for count, items in (group.split(":") for group in like.split(","))}
    if isinstance(like, str | os.PathLike):
        return _counts_in_file(os.fspath(like), item, user)
    if isinstance(like, Mapping) and any(isinstance(label, str) for label in like):
        like = list(like.values())
    return Scores.histogram(like) if isinstance(like, Mapping) else like


def _counts_in_file(file: str, item: str, user: str | None) -> Scores:
    """How many people have each item of a public file, or what its column ``count`` says."""
    if not Path(file).exists():
        raise ParameterError("like", "must name a file that can be read", file)
    try:
        with Workspace() as workspace:
            rows = workspace.open([file])
            named = item if item in rows.columns else "item"
            person = user if user in rows.columns else "user"
            if named in rows.columns and "count" in rows.columns:
                counted = rows.project('CAST("count" AS BIGINT) AS n')
            elif named in rows.columns and person in rows.columns:
                distinct = f"count(DISTINCT {identifier(person)}) AS n"
                counted = rows.aggregate(f"{identifier(named)}, {distinct}", identifier(named)).project("n")
            else:
                rule = f"must have the columns {item} and {user or 'user'}, or item and count"
                raise ParameterError("like", rule, file)
            return Scores.histogram(dict(counted.aggregate("n, count(*)", "n").fetchall()))
    except TableError as error:
        raise ParameterError("like", f"must be a public file that can be read: {error}", file) from None
