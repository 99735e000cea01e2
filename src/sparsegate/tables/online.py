"""Online answers: counting queries answered from what earlier answers taught, and paid for only where that fails.

**What is asked.** The domain is public: the product of some columns' categories. A cell is one category for each
column; cells are numbered as numpy numbers an array of the shape (categories of the first column, of the second, ...).
A query gives each cell a weight from 0 to 1, in steps of 2**-24, and its answer is the sum of the weights of the
people, computed in integers: one person moves it by at most one exactly.

**Whom they count.** A row lies in a cell where each of its columns holds a public category; other rows, also those with
a null, lie in none. A person with rows in several cells counts in the first of them, in the order in which the
categories were listed; or, where one cell for each is required, in none.

*Theorem.* Adding or removing one person, with all their rows, moves one cell by one, or none. *Proof.* Either rule
looks at the least and the largest of the cells of that person's own rows, at public lists and at a public choice of
the rule: so everybody else stays where they were, and this person is in one cell or in none. [] Nothing is refused
because of what rows hold: a refusal would tell that somebody has such rows.

**What they learn.** The histogram is a probability p over the cells and over one more, "nowhere", where those of the n
people stand who are in no cell; so people outside of the categories, and an n that is only an upper bound, need no
special case. It starts uniform. A query w with a released answer moves it to

    p'(x) = p(x) exp(eta w(x)) / sum_y p(y) exp(eta w(y)),    eta such that  sum_x p'(x) w(x) = t,

the distribution nearest to p, in relative entropy, of those that give the query the share t. How many answers must be
paid for, and the proof: docs/explanation/proofs_in_words/table_releases.md.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Budget, Cost, Number, Prepaid, Spender, charge, check_truth, exact_count, exact_epsilon
from sparsegate.display.charts import bar_chart
from sparsegate.display.plain import plain
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Single
from sparsegate.errors import GateClosed, ParameterError, unknown_key
from sparsegate.gates.bounds import Setting, check_one_of
from sparsegate.gates.calibration import Calibration, calibrate, trusted_source
from sparsegate.gates.gate import Gate
from sparsegate.gates.laplace import error_bar, laplace
from sparsegate.gates.lattice import exact_number
from sparsegate.gates.preview import Preview, previews
from sparsegate.gates.variants import VARIANTS, Noise, Released, Scales
from sparsegate.noise import Source
from sparsegate.noise.own_settings import own_settings
from sparsegate.noise.sources import Uncopied
from sparsegate.selection.accuracy import check_confidence
from sparsegate.tables.columns import MOST_LABEL, as_labels, as_people, check_columns, check_unit, label_kind
from sparsegate.tables.engines.engine import Engine, guarded, open_engine
from sparsegate.tables.opening import OpenedTable, open_table
from sparsegate.tables.prepared import TableInPlace

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Integers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Label: TypeAlias = int | str

WEIGHT_BITS: Final = 24
"""A weight is a whole number of steps of 2**-24; 2**39 people at weight one fit 64 bits."""

MOST_CELLS: Final = 2**22
"""The histogram is held in memory: eight bytes a cell, a few times over."""

_SEE: Final = "see what was passed as columns="
_EXAMPLE: Final = 'for instance columns={"country": ["DE", "FR"], "age": range(100)}'


@dataclass(frozen=True, kw_only=True)
class Cells:
    """The domain: by the name of each column its different categories, in the order of the list, with their places.

    >>> cells = Cells.of({"country": ["DE", "FR"], "smokes": [0, 1]})
    >>> cells.size, cells.steps({"country": "FR"}).tolist() == [0, 0, 2**24, 2**24]
    (4, True)
    """

    codes: Mapping[str, Mapping[Label, int]]

    @classmethod
    def of(cls, columns: Any) -> Cells:
        """Check a mapping from the names of columns to their public categories."""
        if not isinstance(columns, Mapping) or not columns:
            rule = "must map the name of each column to its public list of categories"
            raise ParameterError("columns", rule, columns, f"pass {_EXAMPLE}")
        categories = {name: category_labels(name, listed) for name, listed in columns.items()}
        cells = cls(codes={name: {label: n for n, label in enumerate(each)} for name, each in categories.items()})
        if cells.size > MOST_CELLS:
            rule = f"must span at most 2**22 cells, and these span {cells.size:,}"
            raise ParameterError("columns", rule, next_step="leave a column out, or merge categories")
        return cells

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(len, self.codes.values()))

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def steps(self, query: Any) -> Integers:
        """The weight of each cell, in steps of 2**-24: of a mapping to wanted categories, or of an array of weights."""
        if not isinstance(query, Mapping):
            return self._weights(query)
        for name in query:
            if name not in self.codes:
                raise unknown_key("query", "must name columns of the domain", name, self.codes, _SEE)
        chosen = np.ones(1, dtype=np.bool_)
        for name, codes in reversed(list(self.codes.items())):  # so that what is copied comes in ever longer runs
            mask = _mask(name, codes, query[name]) if name in query else np.ones(len(codes), dtype=np.bool_)
            chosen = np.multiply.outer(mask, chosen).reshape(-1)
        return chosen.astype(np.int64) << WEIGHT_BITS

    def _weights(self, query: Any) -> Integers:
        rule = f"must map columns to categories, or be an array of {self.size} weights from 0 to 1, one for each cell"
        try:
            array = np.asarray(query)
        except ValueError:  # ragged nesting
            array = np.empty(0)
        if array.dtype.kind not in "biuf" or array.shape not in ((self.size,), self.shape):
            raise ParameterError("query", rule, query, 'pass for instance {"country": ["DE", "FR"]}')
        weights = array.reshape(-1).astype(np.float64)
        if not ((weights >= 0) & (weights <= 1)).all():
            raise ParameterError("query", rule, next_step="a count of people weighs none more than one; rescale")
        return np.rint(np.ldexp(weights, WEIGHT_BITS)).astype(np.int64)


def _mask(name: str, codes: Mapping[Label, int], wanted: Any) -> NDArray[np.bool_]:
    several = isinstance(wanted, Iterable) and not isinstance(wanted, str | bytes | Mapping)
    labels = list(wanted) if several else [wanted]
    if not labels:
        raise ParameterError("query", f"must name at least one category of {name!r}", wanted, "or leave it out")
    mask = np.zeros(len(codes), dtype=np.bool_)
    for label in labels:
        label = label.item() if isinstance(label, np.generic) else label
        code = codes.get(label) if isinstance(label, int | str) and not isinstance(label, bool) else None
        if code is None:
            raise unknown_key("query", f"must name categories of {name!r}", label, map(str, codes), _SEE)
        mask[code] = True
    return mask


def category_labels(name: Any, listed: Any) -> tuple[Label, ...]:
    """The public categories of a column, checked: whole numbers of 64 bits or strings, each of them once."""
    if not isinstance(name, str):
        raise ParameterError("columns", "must have names of columns as keys", name, f"pass {_EXAMPLE}")
    unlisted = isinstance(listed, str | bytes | Mapping | set | frozenset)
    if unlisted or not isinstance(listed, Collection | np.ndarray) or not len(listed):
        rule = f"must list the categories of {name!r}, in an order, which a set has not"
        raise ParameterError("columns", rule, listed, f"pass {_EXAMPLE}")
    labels = tuple(label.item() if isinstance(label, np.generic) else label for label in listed)
    whole = all(isinstance(label, int) and not isinstance(label, bool) and abs(label) <= MOST_LABEL for label in labels)
    if not whole and not all(isinstance(label, str) for label in labels):
        rule = f"must list whole numbers of 64 bits or strings, and not both, as categories of {name!r}"
        raise ParameterError("columns", rule, listed)
    if len(set(labels)) != len(labels):
        raise ParameterError("columns", f"must list each category of {name!r} once", listed)
    return labels


@dataclass(frozen=True, slots=True, kw_only=True)
class OnlineAnswer(Single):
    """An estimate of how many people a query counts, and where it comes from.

    ``paid``: it is a fresh noisy answer, and used up one of the cutoff. ``checked``: the gate held it against the data;
    False where the checks were used up and the public histogram answered alone. ``margin``: how far from the truth it
    lies at most, with a probability of 0.95 over the noise of this question; None for an unchecked answer. ``note``:
    what to know about everybody it counts, None where there is nothing; it is a function of public numbers.

    >>> import sparsegate as sg
    >>> people = {"country": ["DE"] * 6000 + ["FR"] * 3000}
    >>> asked = {"unit": "row", "epsilon": 1, "tolerance": 500, "cutoff": 10, "population": 9000}
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> online = sg.uses.OnlineAnswers(people, {"country": ["DE", "FR"]}, **asked, **seeded)
    >>> answer = online.ask({"country": "DE"})
    >>> answer.paid, round(answer.estimate, 1), round(answer.margin, 1)
    (True, 6016.4, 89.9)
    >>> again = online.ask({"country": "DE"})  # answered from what is known by now
    >>> again.paid, again.checked
    (False, True)
    """

    estimate: float
    """About how many people the query counts."""
    paid: bool
    checked: bool
    margin: float | None
    note: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON takes it, by the schema "sparsegate/online/1": see docs/reference/json.md."""
        return {"schema": "sparsegate/online/1", **{name: plain(self[name]) for name in self.keys()}}

    def sheet(self) -> Sheet:
        """One row."""
        columns = {name: [self[name]] for name in self.keys() if name != "note"}
        numbers = frozenset({"estimate", "margin"})
        return Sheet(title="online answer", brief=self.note or "", columns=columns, numbers=numbers)

    def plot(self) -> Figure:
        """The estimate, with its margin where it has one."""
        kind = f"{'paid' if self.paid else 'free'}, {'checked' if self.checked else 'not checked'}"
        caption = "people" + ("" if self.margin is None else "; the bar holds with 95 % probability")
        bars = {"error_bar": self.margin, "error_bar_all": None}
        return bar_chart(["estimate"], [self.estimate], **bars, title=("online answer", kind), caption=caption)


def count_cells(engine: Engine, cells: Cells, user: str | None, *, only_one: bool = False) -> Integers:
    """The number of people in each cell; private. ``user`` None: every row is another person.

    ``only_one``: whoever has rows in several cells is in none of them.
    """
    named = {f"c{place}": name for place, name in enumerate(cells.codes)} | ({} if user is None else {"user": user})
    check_columns(engine.names, list(named.values()))
    rows = engine.select(named).drop_nulls()
    if user is not None:
        rows = as_people(rows, engine.types[user], user)
    stride = cells.size
    for place, (name, labels) in enumerate(cells.codes.items()):
        kind = label_kind(engine.types[name], name)
        try:
            written = list(kind.cells(labels, "columns"))
        except ParameterError:
            written = []
        if len(written) < len(labels):
            rule = f"must list {kind} as categories of {name!r}, as the table's column holds, each of them once"
            raise ParameterError("columns", rule, list(labels), "cast one of the two")
        stride //= len(labels)
        codes: dict[str, Any] = {f"c{place}": written, f"k{place}": [code * stride for code in range(len(labels))]}
        rows = as_labels(rows, kind, f"c{place}").join(engine.bring(codes), f"c{place}")
    rows = rows.with_columns(cell=" + ".join(f"k{place}" for place in range(len(cells.codes))))
    if user is not None:
        rows = rows.group("user", cell="min(cell)", last="max(cell)")
        if only_one:
            rows = rows.where("cell = last")
    histogram = np.zeros(cells.size, dtype=np.int64)
    for index, people in engine.rows(rows.group("cell", people="count(*)")):
        histogram[int(index)] = int(people)
    return histogram


_ROUNDS: Final = 5
_MOST_ETA: Final = 64.0  # only a share that is all but impossible asks for more in one move
_HALVINGS: Final = 60
_TINY: Final = 1e-300  # no weight is lost to underflow for ever


@dataclass(frozen=True, eq=False, repr=False)
class Lesson:
    """A query whose answer was released: its weights, a set of cells as booleans, and the shares it is certain to."""

    weights: NDArray[np.bool_] | Floats
    low: float
    high: float

    @classmethod
    def of(cls, steps: Integers, *, low: float, high: float) -> Lesson:
        if (steps & ((1 << WEIGHT_BITS) - 1)).any():
            return cls(np.ldexp(steps.astype(np.float64), -WEIGHT_BITS), low, high)
        return cls(steps.astype(np.bool_), low, high)


@dataclass(frozen=True, eq=False, repr=False)
class Histogram:
    """The share of people in each cell and, last, nowhere; they sum to one. Public, and never changed in place."""

    shares: Floats

    @classmethod
    def uniform(cls, cells: int) -> Histogram:
        """Nothing is known: every cell, and nowhere, weighs the same."""
        return cls(np.full(cells + 1, 1 / (cells + 1)))

    def share(self, steps: Integers) -> float:
        """The share of people that a query of such weights, in steps of 2**-24, counts."""
        # Not @: it starts threads, which is slower for a few thousand products, and sums in an order of its own.
        return math.ldexp(float(np.einsum("i,i->", steps.astype(np.float64), self.shares[:-1])), -WEIGHT_BITS)

    def taught(self, lesson: Lesson, target: float, earlier: Iterable[Lesson] = ()) -> Histogram:
        """The histogram after a lesson, moved to the share ``target``, and after the earlier ones were gone through."""
        shares = self.shares.copy()
        _move(shares, lesson, target)
        for _ in range(_ROUNDS):
            away = False
            for each in (*earlier, lesson):
                share = float((shares[:-1] * each.weights).sum())
                if not each.low <= share <= each.high:
                    _move(shares, each, each.low if share < each.low else each.high)
                    away = True
            if not away:
                break
        return Histogram(shares / shares.sum())


def _move(shares: Floats, lesson: Lesson, target: float) -> None:
    """Tilt the shares, in place, until the lesson's query has the share ``target``, or as near as one move can."""
    target, cells = min(max(target, 0.0), 1.0), shares[:-1]
    if lesson.weights.dtype == np.bool_:
        # A set of cells: all that matters is how much is inside.
        inside = float((cells * lesson.weights).sum())
        outside = float(shares.sum()) - inside
        inner, outer = target / max(inside, _TINY), (1 - target) / max(outside, _TINY)
        cells *= np.where(lesson.weights, inner, outer)
        shares[-1] *= outer
    else:
        weights, low, high = np.append(lesson.weights.astype(np.float64), 0.0), -_MOST_ETA, _MOST_ETA
        for _ in range(_HALVINGS):  # the mean rises with eta
            eta = (low + high) / 2
            tilted = shares * np.exp(eta * weights - max(eta, 0.0))
            mean = float((tilted * weights).sum()) / max(float(tilted.sum()), _TINY)
            low, high = (eta, high) if mean < target else (low, eta)
        eta = (low + high) / 2
        shares *= np.exp(eta * weights - max(eta, 0.0))
    shares /= shares.sum()
    np.maximum(shares, _TINY, out=shares)


ROW: Final = replace(VARIANTS["hardt-rothblum-2010-repaired"], released=Released.FRESH_ANSWER, noise=Noise.EXPONENTIAL)
"""The gate: |estimate - truth| + nu >= T + rho + kappa, where a positive also carries a fresh noisy answer."""

BETA: Final = 0.05
"""The probability with which the bounds above may fail."""

PLANNED: Final = 10_000
"""k: the number of questions that a cutoff is derived for. Privacy has no such limit."""

STEP: Final = Fraction(1, 1024)
"""The lattice that answers, estimates, the tolerance and all noise live on, in people."""

MOST_PEOPLE: Final = 2**39
"""This many at the largest weight of a query fit 64 bits."""

CONFIDENCE: Final = 0.95
_COUNT_CONFIDENCE = 0.999
_COUNT_SHARE = Fraction(1, 20)  # of epsilon, where a noisy count of the people is needed
_ANSWER_SHARE = Fraction(1, 3)  # of what is left; the gate has the rest
_MOST_CUTOFF: Final = 10**6
_REMEMBERED = 100  # lessons that are gone through again: it bounds time and memory for large cutoffs


@dataclass(frozen=True)
class UpdateStep:
    """How far an update goes: ``error`` is d, ``certain`` is z, ``proved`` whether d > z holds as in the theorem."""

    error: float
    certain: float
    proved: bool

    @classmethod
    def of(cls, *, tolerance: float, cutoff: int, scales: Scales) -> UpdateStep:
        _, b2, b3 = (float(scale or 0) for scale in scales)
        shift = ROW.noise.law.shift(*scales[:2], lattice=False)
        error = tolerance + shift - b2 * math.log(3 * PLANNED / BETA) - 4 * float(STEP)
        certain = b3 * math.log(3 * cutoff / BETA)
        if error > certain:
            return cls(error, certain, True)
        return cls(tolerance, b3 * math.log(1 / BETA), False)

    def toward(self, gap: float) -> float:
        """By how much to move for a gap between the estimate and a released answer."""
        return math.copysign(max(abs(gap) * self.error / (self.error + self.certain), abs(gap) - self.certain), gap)

    def updates(self, *, cells: int, population: int) -> float:
        """The most positives there can be, with probability 1 - beta; infinity where nothing is proved."""
        if not self.proved:
            return math.inf
        least = self.error * (self.error - self.certain) / (self.error + self.certain)
        return population**2 * math.log(cells + 1) / (2 * least**2)


def least_cutoff(*, cells: int, population: int, tolerance: float, scales: Callable[[int], Scales]) -> int:
    """The smallest cutoff that is never reached; a ParameterError that names a feasible tolerance where there is none.

    More positives mean more noise, and more noise means more positives: the smallest fixed point, from below.
    """

    def fixed_point(tolerance: float) -> int | None:
        cutoff = 1
        while cutoff <= _MOST_CUTOFF:
            step = UpdateStep.of(tolerance=tolerance, cutoff=cutoff, scales=scales(cutoff))
            most = step.updates(cells=cells, population=population)
            if most < cutoff:
                return cutoff
            if math.isinf(most):
                return None
            cutoff = max(cutoff + 1, math.floor(most) + 1)
        return None

    if (cutoff := fixed_point(tolerance)) is not None:
        return cutoff
    low, high = tolerance, max(tolerance, 1.0)
    while fixed_point(high) is None:
        low, high = high, 2 * high
    while high > 1.01 * low:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fixed_point(middle) is None else (low, middle)
    rule = f"must be given, or else a tolerance of at least {math.ceil(high):,}: below that no cutoff is sure to last"
    raise ParameterError("cutoff", rule, next_step="pass for instance cutoff=50; most data need far fewer updates")


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What was agreed before a row was read: ``total`` is the epsilon of everything, ``count`` that of a noisy count.

    ``population`` is None where a noisy count takes its place, and ``step`` how far an update of the histogram goes.
    """

    calibration: Calibration
    tolerance: Fraction
    population: int | None
    total: Fraction
    count: Fraction
    step: UpdateStep

    @classmethod
    def of(
        cls, *, cells: int, tolerance: Any, epsilon: Any, budget: Any, cutoff: Any, population: Any, not_private: bool
    ) -> Terms:
        """Check the parameters of ``OnlineAnswers``; where no cutoff is given, derive it."""
        people = None if population is None else exact_count(population, "population", most=MOST_PEOPLE)
        exact = exact_number(tolerance)
        if exact is None or not 0 < exact <= MOST_PEOPLE:
            rule = "must be a positive number of people, at most 2**39"
            raise ParameterError("tolerance", rule, tolerance, "pass for instance 2 % of the population")
        check_one_of(epsilon, budget)
        if budget is None:
            total = exact_epsilon(epsilon)
            count = total * _COUNT_SHARE if people is None else Fraction(0)
        elif not isinstance(budget, Budget) or not (budget.threshold_epsilon and budget.answer_epsilon):
            rule = "must be a Budget with a share for the threshold, the queries and the answers each"
            hint = "pass sg.Budget(threshold_epsilon=0.1, query_epsilon=0.5, answer_epsilon=0.4)"
            raise ParameterError("budget", rule, budget, hint)
        elif people is None:
            rule = "must be given with a budget, which has no share for a count of the people"
            raise ParameterError("population", rule, next_step="pass epsilon=, or pay for a count with sg.laplace")
        else:
            total, count = budget.total, Fraction(0)

        def shares(cutoff: int) -> Budget:
            left = total - count
            return budget or Budget.allocate(left, cutoff=cutoff, answer_epsilon=left * _ANSWER_SHARE)

        def scales(cutoff: int) -> Scales:
            return ROW.scales(shares(cutoff), cutoff=cutoff, monotonic=False)

        if cutoff is None:
            if people is None:
                rule = "must be given where population is not: what is sure to last depends on a public population"
                raise ParameterError("cutoff", rule, next_step="pass for instance cutoff=50, or population=")
            cutoff = least_cutoff(cells=cells, population=people, tolerance=float(exact), scales=scales)
        cutoff = exact_count(cutoff, "cutoff")
        setting = Setting(row=ROW, cutoff=cutoff, budget=shares(cutoff), granularity=STEP)
        calibration = calibrate(setting, threshold=exact, not_private=not_private)
        step = UpdateStep.of(tolerance=float(exact), cutoff=cutoff, scales=scales(cutoff))
        return cls(calibration=calibration, tolerance=exact, population=people, total=total, count=count, step=step)

    def cost_at(self, total: Fraction) -> Cost:
        """What this costs, the gate and a count of the people, at an epsilon in all, its parts in proportion."""
        counted = total * self.count / self.total
        return Cost.of(total - counted) + Cost.of(counted)

    def margins(self, confidence: float) -> tuple[float, float]:
        """How far off a free answer is at most, and a paid one, each with this probability."""
        answer = self.calibration.scales.answer
        assert answer is not None
        free = self.tolerance + STEP * (1 + self.calibration.margin(confidence))
        return float(free), float(STEP * (1 + error_bar(answer, confidence)))


SEVERAL_CELLS: Final = (
    "NOTE: a person with rows in several cells counts in the first of them alone, so this is not the number of people "
    "with a matching row; make one row of each person, or pass one_row_per_user=True"
)
"""Said with every answer where people may have such rows. Whether they do is private; that they may is not."""


class OnlineAnswers(Uncopied):
    """Answers any number of counting queries over a categorical domain, and pays only where history does not help.

    A public histogram p over the cells, made from nothing but earlier releases, gives each query a free estimate e.
    With q the true answer, rho ~ Exp(1/eps1) drawn once, nu ~ Exp(2c/eps2) fresh for every query, both at least 0, and
    a public kappa that puts the middle of rho - nu at zero (``gates.laws``),

        |e - q| + nu < T + rho + kappa:   the answer is e, and costs nothing more;
        otherwise:                        the answer is a = q + Lap(c/eps3), and p moves towards a; c times at most.

    **Theorem** (privacy: Hardt, Rothblum 2010 with the noise outside of the absolute value, as Lyu, Su, Li 2017 repair
    it, and one-sided as in Liu et al. 2024). For neighbours that differ in one person, with all their rows, everything
    that ever leaves this object is (eps0+eps1+eps2+eps3)-DP together, for any number of queries, chosen adaptively;
    eps0 pays for a noisy count of the people, and is 0 where ``population`` is given. The scale
    of nu is the general one, 2c/eps2: when a person comes, |e - q| rises for one query and falls for another, so an
    error is not monotonic; with the scale c/eps2 of monotonic queries the gate would leak eps1 + 2 eps2.

    **Theorem** (accuracy). Whatever the data, if n is no less than the number of people: with probability 0.95, of ten
    thousand queries no more than n**2 ln(cells + 1) / (2 x**2) are paid for, x = d (d-z)/(d+z), where d is T less what
    nu may add to an error and z < d the noise of the answers; and while the gate is open every estimate it lets through
    lies within T plus what rho may add to the threshold. Proofs: docs/explanation/proofs_in_words/table_releases.md.

    Parameters
    ----------
    data: a table, or files by their paths, as ``top_items`` takes them; counted once, here.
    columns: name of a column -> its PUBLIC list of categories, whole numbers or strings; their product is the domain,
        of at most 2**22 cells. Rows with another value or a null are in no cell: no query counts them.
    user: the column that says whose row it is. A person with rows in several cells is in the first of them by the order
        of the lists, and every answer has a ``note`` that says so. Or unit="row", where every row is another person.
    one_row_per_user: True where each person has one row, or rows in one cell alone: then an answer counts the people
        with a matching row, and has no note. It is held, not believed, and by a rule on each person's own rows: whoever
        has rows in several cells is in none of them, and no query counts them.
    epsilon: the privacy loss of everything, split as 1/20 for the count of people where one is needed, and of the rest
        1/3 for answers and 2/3 for the gate, there as 1:(2c)**(2/3). Or
    budget: a ``Budget`` with three shares of your own; it needs ``population``.
    tolerance: T > 0 in people, a public number: how far off an estimate may be and still be good enough.
    cutoff: c, how many answers can be paid for. By default the smallest that is never reached, whatever the data, with
        probability 0.95; it needs ``population``. Most data need far fewer than that.
    population: n, a public number of people or an upper bound on it; by default a noisy count, paid from epsilon.
    ledger: an open ``sparsegate.Ledger``, charged with the whole epsilon before anything is drawn.
    refund: ``close`` gives back what the answers did not cost; False: what was charged stays spent.
    source, not_private: ``Secure()``; a ``Seeded`` source is for tests, and needs not_private=True.

    >>> import pandas, sparsegate as sg
    >>> people = pandas.DataFrame({"country": ["DE"] * 6000 + ["FR"] * 3000, "smokes": [0, 0, 1] * 3000})
    >>> online = sg.uses.OnlineAnswers(people, {"country": ["DE", "FR", "IT"], "smokes": [0, 1]}, unit="row", epsilon=1,
    ...                           tolerance=500, cutoff=10, population=9000, source=sg.Seeded(1), not_private=True)
    >>> online.ask({"country": "DE"})
    OnlineAnswer(estimate=6016.384765625, paid=True, checked=True, margin=89.873046875, note=None)
    >>> online.ask({"country": ["DE", "FR"], "smokes": 1}).paid, online
    (True, <OnlineAnswers: 6 cells, 2 of 10 answers paid for, open>)
    """

    cutoff: int
    """How many answers could be paid for at the start."""
    budget: Budget
    """The shares of the gate and of the answers, all of them committed when this was made."""
    epsilon: Fraction
    """The privacy loss of everything: the budget's total, and the count of people where that was paid for."""
    population: int
    """The n that shares are multiplied with: the public number, or the noisy count with its error bar added."""

    _uncopied = (
        "online answers can be neither copied nor pickled: two copies would answer with the same noise; make new ones"
    )

    @own_settings
    def __init__(
        self,
        data: Any,
        /,
        columns: Any,
        *,
        tolerance: Number,
        user: str | None = None,
        unit: str | None = None,
        one_row_per_user: bool = False,
        epsilon: Number | None = None,
        budget: Budget | None = None,
        cutoff: int | None = None,
        population: int | None = None,
        ledger: Spender | None = None,
        refund: bool = True,
        source: Source | None = None,
        not_private: bool = False,
    ) -> None:
        check_truth(refund, "refund")
        _check_people(user, unit, one_row_per_user)
        cells = Cells.of(columns)
        asked: Any = {"tolerance": tolerance, "epsilon": epsilon, "budget": budget, "cutoff": cutoff}
        terms = Terms.of(cells=cells.size, **asked, population=population, not_private=not_private)
        noise = trusted_source(source, not_private)
        names = [*cells.codes, *([] if user is None else [user])]
        with open_table(data, columns=names, user=user) as opened:
            counts = opened.run(lambda: _counted(opened, cells, only_one=one_row_per_user))
        self._margins, self._step = terms.margins(CONFIDENCE), terms.step
        self._cells, self._counts = cells, counts
        self._note = SEVERAL_CELLS if user is not None and not one_row_per_user and cells.size > 1 else None
        self._calibration, self.epsilon = terms.calibration, terms.total
        self.cutoff, self.budget = terms.calibration.cutoff, terms.calibration.budget
        self._histogram = Histogram.uniform(cells.size)
        self._lessons: deque[Lesson] = deque(maxlen=_REMEMBERED)
        self._lock = threading.Lock()
        what = f"online answers: tolerance {float(terms.tolerance):g}, cutoff {self.cutoff}, {cells.size} cells"
        paid = Prepaid(charge(ledger, **vars(terms.cost_at(terms.total)), what=what))
        self.population = terms.population or _noisy_population(counts, terms.count, noise, not_private)
        gated: Any = {"source": noise, "not_private": not_private, "ledger": paid, "refund": refund}
        self._gate = Gate(terms.calibration, threshold=terms.tolerance, **gated)

    @staticmethod
    @own_settings
    @previews(partial(__init__, None), confidence=CONFIDENCE)  # type: ignore[arg-type]
    def preview(
        columns: Any,
        *,
        user: str | None,
        unit: str | None,
        one_row_per_user: bool,
        confidence: float,
        ledger: object,
        refund: object,
        source: object,
        not_private: object,
        **asked: Any,
    ) -> Preview:
        """What online answers with these parameters would cost and be good for: nothing is drawn, charged or read.

        They are those of ``OnlineAnswers`` but for the data; ledger, refund, source and not_private change nothing.
        ``paid_margin`` is how far off an answer that is paid for is at most, ``free_margin`` one of the histogram.

        >>> import sparsegate as sg
        >>> asked = {"unit": "row", "epsilon": 1, "tolerance": 500, "cutoff": 10}
        >>> preview = sg.uses.OnlineAnswers.preview({"country": ["DE", "FR"], "smokes": [0, 1]}, **asked)
        >>> round(preview.paid_margin), round(preview.free_margin)
        (95, 559)
        """
        _check_people(user, unit, one_row_per_user)
        cells = Cells.of(columns).size
        terms = Terms.of(cells=cells, **asked, not_private=False)
        bar, most = float(terms.tolerance), terms.calibration.cutoff
        free, paid = terms.margins(check_confidence(confidence))
        noisy = f"a paid answer is within {paid:,.4g} of the truth, which is more than the tolerance, {bar:,.15g}"
        close = f"a histogram that is right often counts as wrong, for the margin of the gate is {free - bar:,.4g}"
        reasons = "; ".join(reason for reason, large in ((noisy, paid), (close, free - bar)) if large > bar)
        return Preview(
            release="online answers",
            epsilon=terms.total,
            confidence=confidence,
            accuracy={"paid_margin": paid, "free_margin": free},
            settings={"tolerance": bar, "cutoff": most, "cells": cells, "population": terms.population},
            statement=f"{most:,} answers can be paid for, each within {paid:,.4g} people of the truth with "
            f"{100 * confidence:g} %; a free one, of the histogram, is within {free:,.4g}.",
            warning=reasons and f"Of little use: {reasons}. Take a larger epsilon or tolerance, or a smaller cutoff.",
            cost=terms.cost_at(terms.total),
            cost_at=terms.cost_at,
        )

    @own_settings
    def ask(self, query: Any, *, unchecked: bool = False) -> OnlineAnswer:
        """How many people does the query count?

        ``query`` maps columns to one category or several, as {"country": ["DE", "FR"], "age": 30}; columns left out
        may hold any category. Or it is an array of weights from 0 to 1, one for each cell, rounded to 2**-24; flat or
        with one axis for each column. Once the checks are used up this raises ``GateClosed``, unless
        ``unchecked=True``: then the histogram answers as it stands, and the answer says so.
        """
        unchecked, steps = check_truth(unchecked, "unchecked"), self._cells.steps(query)
        if not self._gate.closed:  # before the lock: a fork may have left it held for ever
            with self._lock:
                if not self._gate.closed:
                    return self._checked(steps)
        if unchecked:
            return self._answer(self.population * self._histogram.share(steps), margin=None)
        spent = f"all {self.cutoff} answers are paid for"
        reason = "they were closed by hand, or belong to another process" if self.remaining else spent
        raise GateClosed(
            f"these online answers are closed: {reason}; pass unchecked=True for answers from the histogram as it "
            "stands, or make new ones, which spend a new budget"
        )

    def _checked(self, steps: Integers) -> OnlineAnswer:
        estimate = self.population * self._histogram.share(steps)
        outcome = self._gate.ask(self._truth(steps), estimate=estimate)
        if outcome.estimate is None:
            return self._answer(estimate, margin=self._margins[0])
        released = min(max(float(outcome.estimate), 0.0), float(self.population))
        self._learn(steps, estimate, released)
        return self._answer(released, paid=True, margin=self._margins[1])

    def _answer(self, estimate: float, *, paid: bool = False, margin: float | None) -> OnlineAnswer:
        return OnlineAnswer(estimate=estimate, paid=paid, checked=margin is not None, margin=margin, note=self._note)

    def _learn(self, steps: Integers, estimate: float, released: float) -> None:
        """Move the histogram; no argument but the released answer was made from data."""
        people, certain = self.population, self._step.certain
        target = (estimate + self._step.toward(released - estimate)) / people
        lesson = Lesson.of(steps, low=(released - certain) / people, high=(released + certain) / people)
        self._histogram = self._histogram.taught(lesson, target, self._lessons)
        self._lessons.append(lesson)

    def _truth(self, steps: Integers) -> float:
        """The true answer rounded down to the lattice, in integers up to there: it moves by at most 1, exactly."""
        return math.ldexp(int(steps @ self._counts) >> (WEIGHT_BITS - 10), -10)

    @property
    def closed(self) -> bool:
        """Whether the checks are over."""
        return self._gate.closed

    @property
    def remaining(self) -> int:
        """How many answers can still be paid for."""
        remaining = self._gate.remaining
        assert remaining is not None
        return remaining

    @property
    def synthetic(self) -> NDArray[np.float64]:
        """The public histogram, in people: one axis for each column, in the order of its categories."""
        return (self._histogram.shares[:-1] * self.population).reshape(self._cells.shape)

    @property
    def spent(self) -> Fraction:
        """What everything said so far has cost, exactly: the gate's answers, and the count of people."""
        return self.epsilon - self.budget.total + self._gate.spent

    def close(self) -> None:
        """Stop checking, and give back to the ledger what the answers did not cost (``Gate.close``)."""
        self._gate.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        paid = f"{self._gate.positives} of {self.cutoff} answers paid for"
        return f"<OnlineAnswers: {self._cells.size} cells, {paid}, {'closed' if self.closed else 'open'}>"


def _check_people(user: str | None, unit: str | None, one_row_per_user: object) -> None:
    if check_truth(one_row_per_user, "one_row_per_user") and user is None:
        rule = "must be True only with user: without, every row is another person"
        raise ParameterError("one_row_per_user", rule, one_row_per_user, "leave it out, or pass user=")
    check_unit(user, unit)


def _counted(opened: OpenedTable, cells: Cells, *, only_one: bool) -> Integers:
    if isinstance(opened.table, TableInPlace):
        raise ParameterError("data", "must not stay in a database here", next_step=opened.table.elsewhere)
    numbers = [name for name, labels in cells.codes.items() if isinstance(next(iter(labels)), int)]
    opening = guarded("the engine of the table", lambda: open_engine(opened.numbers(numbers)))
    with opening as engine, opened.explained():
        return guarded(engine.name, lambda: count_cells(engine, cells, opened.user, only_one=only_one))


def _noisy_population(counts: Integers, epsilon: Fraction, noise: Source, not_private: bool) -> int:
    """A noisy count of the people in the cells, raised by its error bar, so that it is hardly ever too small."""
    noisy = laplace(int(counts.sum()), epsilon=epsilon, sensitivity=1, source=noise, not_private=not_private)
    return max(1, int(noisy) + error_bar(1 / epsilon, _COUNT_CONFIDENCE))
