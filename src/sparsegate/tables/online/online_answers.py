"""Online answers: counting queries answered from what earlier answers taught, and paid for only where that fails."""

from __future__ import annotations

import math
import threading
from collections import deque
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Budget, Number, Prepaid, Spender, charge
from sparsegate.errors import GateClosed, ParameterError
from sparsegate.mechanisms.calibration import trusted_source
from sparsegate.mechanisms.gate import Gate
from sparsegate.mechanisms.laplace import error_bar, laplace
from sparsegate.mechanisms.variants import VARIANTS, Noise, Released
from sparsegate.noise import Source
from sparsegate.noise.own_settings import own_settings
from sparsegate.noise.uncopied import Uncopied
from sparsegate.tables.columns import check_columns
from sparsegate.tables.engines.engine import guarded, open_engine
from sparsegate.tables.given import Given, given
from sparsegate.tables.in_place import TableInPlace
from sparsegate.tables.online.accuracy import STEP
from sparsegate.tables.online.categories import WEIGHT_BITS, Cells, Integers
from sparsegate.tables.online.cell_counts import count_cells
from sparsegate.tables.online.histogram import Histogram, Lesson
from sparsegate.tables.online.online_answer import OnlineAnswer
from sparsegate.tables.online.terms import Terms
from sparsegate.tables.text_files import TextForm

ROW: Final = replace(VARIANTS["hardt-rothblum-2010-repaired"], released=Released.FRESH_ANSWER, noise=Noise.EXPONENTIAL)
"""The gate: |estimate - truth| + nu >= T + rho + kappa, where a positive also carries a fresh noisy answer."""

CONFIDENCE: Final = 0.95

SEVERAL_CELLS: Final = (
    "NOTE: a person with rows in several cells counts in the first of them alone, so this is not the number of people "
    "with a matching row; make one row of each person, or pass one_row_per_user=True"
)
"""Said with every answer where people may have such rows. Whether they do is private; that they may is not."""

_COUNT_CONFIDENCE = 0.999
_REMEMBERED = 100  # lessons that are gone through again: it bounds time and memory for large cutoffs


class OnlineAnswers(Uncopied):
    """Answers any number of counting queries over a categorical domain, and pays only where history does not help.

    A public histogram p over the cells (``histogram``), made from nothing but earlier releases, gives each query a
    free estimate e. With q the true answer, rho ~ Exp(1/eps1) drawn once, nu ~ Exp(2c/eps2) fresh for every query,
    both at least 0, and a public kappa that puts the middle of rho - nu at zero (``mechanisms.margin``),

        |e - q| + nu < T + rho + kappa:   the answer is e, and costs nothing more;
        otherwise:                        the answer is a = q + Lap(c/eps3), and p moves towards a; c times at most.

    **Theorem** (privacy: Hardt, Rothblum 2010 with the noise outside of the absolute value, as Lyu, Su, Li 2017 repair
    it, and one-sided as in Liu et al. 2024). For neighbours that differ in one person, with all their rows, everything
    that ever leaves this object is (eps0+eps1+eps2+eps3)-DP together, for any number of queries, chosen adaptively;
    eps0 pays for a noisy count of the people, and is 0 where ``population`` is given. *Proof.* A person is in one cell
    (``histogram``) and has a weight in [0, 1], so each q, and the number of people, moves by at most 1. Fix a
    transcript: e is a function of the releases before it, and so the same for both neighbours, and |e - q| moves by at
    most 1. Align rho with rho + 1: it stays in its support, and its density falls by a factor exp(eps1). A negative
    then asks of nu to be below a number that is no smaller, which is no less likely. Each of the at most c positives
    asks of nu to be at least a number that is at most 2 larger, which is less likely by a factor of at most exp(2 eps2
    / 2c): eps2/c. Its answer costs eps3/c. Everything else is computed from releases: which way p moves is read off a,
    never off q. The scale of nu is the general one, 2c/eps2: when a person comes, |e - q| rises for one query and falls
    for another, so an error is not monotonic; with the scale c/eps2 of monotonic queries the gate would leak eps1 + 2
    eps2.

    **Theorem** (accuracy; proof in ``accuracy`` and ``histogram``). Whatever the data, if n is no less than the number
    of people: with probability 0.95, of ten thousand queries no more than n**2 ln(cells + 1) / (2 x**2) are paid for,
    x = d (d-z)/(d+z), where d is T less what nu may add to an error and z < d the noise of the answers; and while the
    gate is open every estimate it lets through lies within T plus what rho may add to the threshold.

    Parameters
    ----------
    data: a table, or files by their paths, as ``top_items`` takes them; counted once, here.
    table, sql, format, separator, encoding: what to read of a database, and how text is written, as there.
    columns: name of a column -> its PUBLIC list of categories, whole numbers or strings; their product is the domain,
        of at most 2**22 cells. Rows with another value or a null are in no cell: no query counts them.
    user: the column that says whose row it is. A person with rows in several cells is in the first of them by the order
        of the lists, and every answer has a ``note`` that says so. Or unit="row", where every row is another person.
    one_row_per_user: True where each person has one row, or rows in one cell alone: then an answer counts the people
        with a matching row, and has no note. It is held, not believed, and by a rule on each person's own rows: whoever
        has rows in several cells is in none of them, and no query counts them (``cell_counts``).
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
    >>> online = sg.OnlineAnswers(people, {"country": ["DE", "FR", "IT"], "smokes": [0, 1]}, unit="row", epsilon=1,
    ...                           tolerance=500, cutoff=10, population=9000, source=sg.Seeded(1), not_private=True)
    >>> online.ask({"country": "DE"})
    OnlineAnswer(estimate=6016.384765625, paid=True, checked=True, margin=89.873046875, note=None)
    >>> online.ask({"country": ["DE", "FR"], "smokes": 1}).paid, online
    (True, <OnlineAnswers: 6 cells, 2 of 10 answers paid for, open>)
    """

    _uncopied = (
        "online answers can be neither copied nor pickled: two copies would answer with the same noise; make new ones"
    )

    __slots__ = (
        "_calibration",
        "_cells",
        "_counts",
        "_epsilon",
        "_gate",
        "_histogram",
        "_lessons",
        "_lock",
        "_margins",
        "_note",
        "_population",
        "_step",
    )

    @own_settings
    def __init__(
        self,
        data: Any,
        /,
        columns: Any,
        *,
        table: str | None = None,
        sql: str | None = None,
        format: str | None = None,
        separator: str | None = None,
        encoding: str | None = None,
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
        if not isinstance(refund, bool):
            raise ParameterError("refund", "must be True or False", refund)
        if not isinstance(one_row_per_user, bool) or (one_row_per_user and user is None):
            rule = "must be True or False, and True only with user: without, every row is another person"
            raise ParameterError("one_row_per_user", rule, one_row_per_user, "leave it out, or pass user=")
        cells = Cells.of(columns)
        terms = Terms(
            ROW,
            cells=cells.size,
            user=user,
            unit=unit,
            tolerance=tolerance,
            epsilon=epsilon,
            budget=budget,
            cutoff=cutoff,
            population=population,
            not_private=not_private,
        )
        noise = trusted_source(source, not_private)
        names = [*cells.names, *([] if user is None else [user])]
        form = TextForm(format=format, separator=separator, encoding=encoding)
        with given(data, table=table, sql=sql, form=form, columns=names, user=user) as opened:
            counts = opened.run(lambda: _counted(opened, cells, only_one=one_row_per_user))
        scales = terms.calibration.scales
        assert scales.answer is not None
        below = STEP * (1 + terms.calibration.margin(CONFIDENCE))
        self._margins = float(terms.tolerance + below), float(STEP * (1 + error_bar(scales.answer, CONFIDENCE)))
        self._step = terms.step
        self._cells, self._counts = cells, counts
        self._note = SEVERAL_CELLS if user is not None and not one_row_per_user and cells.size > 1 else None
        self._calibration, self._epsilon = terms.calibration, terms.total
        self._histogram = Histogram.uniform(cells.size)
        self._lessons: deque[Lesson] = deque(maxlen=_REMEMBERED)
        self._lock = threading.Lock()
        what = f"online answers: tolerance {float(terms.tolerance):g}, cutoff {self.cutoff}, {cells.size} cells"
        paid = Prepaid(charge(ledger, epsilon=terms.total, what=what))
        self._population = terms.population or _noisy_population(counts, terms.count, noise, not_private)
        self._gate = Gate(
            terms.calibration,
            threshold=terms.tolerance,
            source=noise,
            not_private=not_private,
            ledger=paid,
            refund=refund,
        )

    @own_settings
    def ask(self, query: Any, *, unchecked: bool = False) -> OnlineAnswer:
        """How many people does the query count?

        ``query`` maps columns to one category or several, as {"country": ["DE", "FR"], "age": 30}; columns left out
        may hold any category. Or it is an array of weights from 0 to 1, one for each cell, rounded to 2**-24; flat or
        with one axis for each column. Once the checks are used up this raises ``GateClosed``, unless
        ``unchecked=True``: then the histogram answers as it stands, and the answer says so.
        """
        if not isinstance(unchecked, bool | np.bool_):
            raise ParameterError("unchecked", "must be True or False", unchecked)
        steps = self._cells.steps(query)
        if self._gate.closed:  # before the lock: a fork may have left it held for ever
            return self._alone(steps, bool(unchecked))
        with self._lock:
            if self._gate.closed:
                return self._alone(steps, bool(unchecked))
            estimate = self._estimate(steps)
            outcome = self._gate.ask(self._truth(steps), estimate=estimate)
            if outcome.estimate is None:
                return self._answer(estimate, margin=self._margins[0])
            released = min(max(float(outcome.estimate), 0.0), float(self._population))
            self._learn(steps, estimate, released)
            return self._answer(released, paid=True, margin=self._margins[1])

    def _answer(self, estimate: float, *, paid: bool = False, margin: float | None) -> OnlineAnswer:
        return OnlineAnswer(estimate=estimate, paid=paid, checked=margin is not None, margin=margin, note=self._note)

    def _learn(self, steps: Integers, estimate: float, released: float) -> None:
        """Move the histogram; no argument but the released answer was made from data."""
        people, certain = self._population, self._step.certain
        target = (estimate + self._step.toward(released - estimate)) / people
        lesson = Lesson.of(steps, low=(released - certain) / people, high=(released + certain) / people)
        self._histogram = self._histogram.taught(lesson, target, self._lessons)
        self._lessons.append(lesson)

    def _estimate(self, steps: Integers) -> float:
        return self._population * self._histogram.share(steps)

    def _truth(self, steps: Integers) -> float:
        """The true answer rounded down to the lattice, in integers up to there: it moves by at most 1, exactly."""
        return math.ldexp(int(steps @ self._counts) >> (WEIGHT_BITS - 10), -10)

    def _alone(self, steps: Integers, unchecked: bool) -> OnlineAnswer:
        if unchecked:
            return self._answer(self._estimate(steps), margin=None)
        spent = f"all {self.cutoff} answers are paid for"
        reason = "they were closed by hand, or belong to another process" if self.remaining else spent
        raise GateClosed(
            f"these online answers are closed: {reason}; pass unchecked=True for answers from the histogram as it "
            "stands, or make new ones, which spend a new budget"
        )

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
    def cutoff(self) -> int:
        """How many answers could be paid for at the start."""
        return self._calibration.cutoff

    @property
    def budget(self) -> Budget:
        """The shares of the gate and of the answers, all of them committed when this was made."""
        return self._calibration.budget

    @property
    def epsilon(self) -> Fraction:
        """The privacy loss of everything: the budget's total, and the count of people where that was paid for."""
        return self._epsilon

    @property
    def population(self) -> int:
        """The n that shares are multiplied with: the public number, or the noisy count with its error bar added."""
        return self._population

    @property
    def synthetic(self) -> NDArray[np.float64]:
        """The public histogram, in people: one axis for each column, in the order of its categories."""
        return (self._histogram.shares[:-1] * self._population).reshape(self._cells.shape)

    @property
    def spent(self) -> Fraction:
        """What everything said so far has cost, exactly: the gate's answers, and the count of people."""
        return self._epsilon - self._calibration.budget.total + self._gate.spent

    def close(self) -> None:
        """Stop checking, and give back to the ledger what the answers did not cost (``Gate.close``)."""
        self._gate.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        paid = f"{self._gate.positives} of {self.cutoff} answers paid for"
        return f"<OnlineAnswers: {self._cells.size} cells, {paid}, {state}>"


def _counted(opened: Given, cells: Cells, *, only_one: bool) -> Integers:
    if isinstance(opened.table, TableInPlace):
        raise ParameterError("data", "must not stay in a database here", next_step=opened.table.elsewhere)
    numbers = [name for place, name in enumerate(cells.names) if cells.whole(place)]
    with guarded("the engine of the table", lambda: open_engine(opened.numbers(numbers))) as engine:
        check_columns(engine.frame.collect_schema().names(), cells.names)
        with opened.explained():
            return guarded(engine.name, lambda: count_cells(engine, cells, opened.user, only_one=only_one))


def _noisy_population(counts: Integers, epsilon: Fraction, noise: Source, not_private: bool) -> int:
    """A noisy count of the people in the cells, raised by its error bar, so that it is hardly ever too small."""
    noisy = laplace(int(counts.sum()), epsilon=epsilon, sensitivity=1, source=noise, not_private=not_private)
    return max(1, int(noisy) + error_bar(1 / epsilon, _COUNT_CONFIDENCE))
