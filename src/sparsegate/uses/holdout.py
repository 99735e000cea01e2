"""The reusable holdout: a validation set that many people, or one program, may look at many times.

``Holdout`` has the theorem of its privacy, ``HoldoutTerms`` what is summed and its price, ``_open_gate`` what may be
paid for after restarts and crashes, ``far_from_the_truth`` why nobody fits its records by chance; ``HoldoutScorer`` is
a scorer of scikit-learn.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from warnings import warn

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import Budget, Cost, Number, Spender, charge, exact_count, exact_epsilon, public_line
from sparsegate.display.charts import bar_chart
from sparsegate.display.plain import exact_text, plain
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Single
from sparsegate.errors import GateClosed, ParameterError, SparsegateWarning
from sparsegate.gates.bounds import Setting, check_one_of
from sparsegate.gates.calibration import Calibration, calibrate, trusted_source
from sparsegate.gates.gate import Gate
from sparsegate.gates.laplace import error_bar
from sparsegate.gates.lattice import exact_number
from sparsegate.gates.preview import Preview, previews
from sparsegate.gates.variants import VARIANTS, Noise, Released
from sparsegate.ledger.gate import AnswerCounts, PaidGate, is_ledger
from sparsegate.noise import Source
from sparsegate.noise.own_settings import own_settings
from sparsegate.noise.sources import Uncopied
from sparsegate.selection.accuracy import check_confidence
from sparsegate.uses.asking import AsksGate
from sparsegate.uses.records import STEPS, public_range, record_steps

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_FINE = 10**9


def far_from_the_truth(
    size: int, *, epsilon: float, questions: int, cutoff: int, values: int, confidence: float
) -> float:
    """How far a mean over the records may be from that over the population: the smaller t of two theorems, at most 1.

    Let S be n records drawn independently from a population P, and let all that an analyst learned of S be the
    transcript of k questions, in which at most c answers are paid for, each one of w numbers; her coins know nothing of
    S. Each question is a function with values in [0, 1], chosen by the answers before it. q(S) is its mean over the
    records, q(P) over the population. With probability 1 - b all k functions have |q(S) - q(P)| <= t, for each of these
    two:

    **Theorem 1** (few answers). t = sqrt((ln(2k) + ln N + ln(1/b)) / 2n), where N is the sum over j <= c of C(k, j)
    w**j: so many transcripts there are.

    **Theorem 2** (private answers). Let the transcript be epsilon-DP for replacing one record, and u = epsilon
    sqrt(n/2).

        t = sqrt((y**2 + ln(2k)) / 2n),    y = (u + sqrt(u**2 + 4 ln(1/b))) / 2.

    Proofs: docs/explanation/proofs_in_words/uses.md. Both ideas are of Dwork, Feldman, Hardt, Pitassi, Reingold,
    Roth (NIPS 2015). **Where epsilon is 1 the second says next to nothing, whatever n**; the first does not ask for
    privacy at all, and grows with c. What a holdout does in practice is better than both.

    >>> public = {"questions": 1000, "cutoff": 20, "values": 1000, "confidence": 0.95}
    >>> [round(far_from_the_truth(10_000, epsilon=epsilon, **public), 3) for epsilon in (0.02, 0.1, 1, 100)]
    [0.027, 0.056, 0.111, 0.111]
    """
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise ParameterError("confidence", "must lie strictly between 0 and 1", confidence, "pass for instance 0.95")
    ways, doubt = math.log(2 * questions), -math.log(1 - confidence)
    u = epsilon * math.sqrt(size / 2)
    private = ((u + math.sqrt(u**2 + 4 * doubt)) / 2) ** 2
    least = min(private, _log_transcripts(questions, cutoff, values) + doubt)
    return min(1.0, math.sqrt((least + ways) / (2 * size)))


def _log_transcripts(questions: int, cutoff: int, values: int) -> float:
    """ln N, from above: every term is at most the largest one."""
    most = min(questions, cutoff)

    def term(j: int) -> float:
        if questions > _FINE:  # differences of large logarithms are all rounding: C(k, j) <= k**j / j!
            return j * (math.log(questions) + math.log(values)) - math.lgamma(j + 1)
        chosen = math.lgamma(questions + 1) - math.lgamma(j + 1) - math.lgamma(questions - j + 1)
        return chosen + j * math.log(values)

    # The ratio of a term to the one before is values (k-j+1)/j, which falls with j: it is largest at the last j above.
    peak = min(most, values * (questions + 1) // (values + 1))
    return term(peak) + math.log(most + 1)


# The gate: |train - holdout| + nu >= T + rho + kappa, where a positive also carries a fresh noisy mean.
ROW: Final = replace(VARIANTS["hardt-rothblum-2010-repaired"], released=Released.FRESH_ANSWER, noise=Noise.EXPONENTIAL)

CONFIDENCE: Final = 0.95
_MOST_RECORDS = 2**39  # their sum fits the lattice
_LONGEST_NAME = 100
_ANSWER_SHARE = Fraction(1, 3)  # of epsilon; the gate has the rest
_COIN = Fraction(1, 10**12)  # what a ledger gives back is rounded down to this


@dataclass(frozen=True, kw_only=True)
class HoldoutTerms:
    """What was agreed before a record was read. Amounts are exact: the whole costs ``opening + cutoff * price``.

    ``size`` is the number of records, each with a value from ``low`` to ``high``; ``threshold`` is how far apart
    training and holdout may be and still agree, and ``cutoff`` how often they may not. The price of a paid answer is
    that of its ``question``, which found them apart, and of its ``answer``, the number.

    **The statistic.** A record's value v, clamped to [low, high], is x = round(2**20 (v - low) / (high - low)) whole
    steps (``uses.records``). The mean of the records is low + (high - low) X / (2**20 n), where X is the sum of the x
    and n the PUBLIC size. *Adding, removing or replacing one record moves X by at most 2**20*, because n does not
    follow the data: missing records are at low, and no length is refused, which would tell whether somebody is there.

    **The prices.** A transcript with a BELOW and k ABOVE costs e1 + k p, however many BELOWs there are
    (``gates.bounds``): e1 opens a holdout, and p = eps2/c + eps3/c is the price of a paid answer. All are whole
    multiples of 10**-12, as is all that goes back to a ledger: a restart loses no answer by rounding.
    """

    size: int
    low: float
    high: float
    threshold: float
    cutoff: int
    opening: Fraction
    question: Fraction
    answer: Fraction

    @classmethod
    def of(
        cls,
        *,
        size: int,
        threshold: Number,
        cutoff: int,
        epsilon: Number | None = None,
        budget: Budget | None = None,
        low: Number = 0,
        high: Number = 1,
    ) -> HoldoutTerms:
        """Check every public number, and split epsilon: 1/3 for answers, the rest as 1:(2c)**(2/3) for the gate."""
        n, c = exact_count(size, "size", most=_MOST_RECORDS), exact_count(cutoff, "cutoff")
        ends = public_range(low, high)
        bar = exact_number(threshold)
        if bar is None or not 0 < bar < ends[1] - ends[0]:
            rule = "must be a positive number below the width of the range"
            raise ParameterError("threshold", rule, threshold, "pass for instance 4 / sqrt(size)")
        shares = _shares(epsilon, budget, c)
        opening, answer = _coins(shares.threshold_epsilon), _coins(shares.answer_epsilon / c)
        question = 2 * _coins(shares.query_epsilon / c / 2)  # even: a question that opens nothing may cost half of it
        if not (opening and question and answer):
            rule = f"must leave at least 2e-12 to the threshold, and to each of {c} questions and answers"
            raise ParameterError("epsilon", rule, float(shares.total), "pass a larger epsilon, or a smaller cutoff")
        low, high = ends
        prices = {"opening": opening, "question": question, "answer": answer}
        return cls(size=n, low=low, high=high, threshold=float(bar), cutoff=c, **prices)

    @property
    def price(self) -> Fraction:
        """What one paid answer costs: its ABOVE, and its number."""
        return self.question + self.answer

    @property
    def epsilon(self) -> Fraction:
        """What everything costs at most: at most the epsilon that was given, and less by the rounding of prices."""
        return self.cost(self.cutoff)

    def cost(self, paid: int) -> Fraction:
        """What one gate costs that said BELOW and was paid for this many answers."""
        return self.opening + paid * self.price

    def charged(self, paid: int) -> Cost:
        """What a gate for this many answers is charged, by either rule: its comparisons, and each of the answers.

        In zCDP the comparisons are, against everybody who asks, a function of one release at e1 + k times a question's
        price (``ledger.account``); each answer is a release of its own, with noise of its own, made when it is due.
        """
        return Cost.of(self.opening + paid * self.question) + Cost.of(paid * self.answer, parts=paid)

    def affordable(self, left: Fraction) -> int:
        """How many paid answers a gate that is opened now may give for this much; none where it cannot open."""
        return min(self.cutoff, max(0, math.floor((left - self.opening) / self.price)))

    def calibration(self, cutoff: int, *, not_private: bool) -> Calibration:
        """The gate for this many paid answers. Its noise is the same for any number of them."""
        shares = Budget(
            threshold_epsilon=self.opening, query_epsilon=cutoff * self.question, answer_epsilon=cutoff * self.answer
        )
        setting = Setting(row=ROW, cutoff=cutoff, sensitivity=STEPS, budget=shares)
        return calibrate(setting, threshold=self.bar, not_private=not_private)

    def margin(self, *, paid: bool, confidence: float = CONFIDENCE) -> float:
        """How far a score lies from the mean of the holdout at most, with this probability over its noise."""
        made = self.calibration(1, not_private=False)
        assert made.scales.answer is not None
        steps = error_bar(made.scales.answer, confidence) + self._grid // 2 if paid else made.margin(confidence)
        return (0.0 if paid else self.threshold) + self._width * steps / (STEPS * self.size)

    @property
    def warning(self) -> str:
        """Why such a holdout would be of little use, and what to do about it; empty where it would be of use."""
        if (margin := self.margin(paid=True)) <= self.threshold:
            return ""
        return (
            f"a paid score lies within {margin:.3g} of the holdout with 95 %, which is more than the threshold of "
            f"{self.threshold:g}: its noise may take it further off than the training score was; take more "
            "records, a larger epsilon, a larger threshold or a smaller cutoff"
        )

    def generalisation(self, *, questions: int, confidence: float = CONFIDENCE) -> float:
        """How far the mean of the holdout lies from that of its population at most, for this many adaptive questions.

        The theorems are in ``far_from_the_truth``; where they say nothing, this is the width of the range.
        """
        return self._width * far_from_the_truth(
            self.size,
            epsilon=float(self.epsilon),
            questions=exact_count(questions, "questions"),
            cutoff=self.cutoff,
            values=STEPS * self.size // self._grid + 3,  # both ends, and an answer that was lost
            confidence=confidence,
        )

    @property
    def bar(self) -> int:
        """T as a sum over n records; exact, because low + T as a float may be low."""
        return round(Fraction(self.threshold) / Fraction(self._width) * STEPS * self.size)

    def total(self, values: Any) -> int:
        """X, the sum over the records of the holdout, each rounded by itself; private."""
        return int(self._places(values, "holdout_values").sum())

    def mean(self, values: Any) -> float:
        """The mean on the training set, or the number given for it; public, and refused where it is none."""
        if isinstance(values, np.ndarray) and values.ndim == 0:
            values = values[()]
        if not hasattr(values, "__len__"):
            number = exact_number(values)
            if number is None or not self.low <= number <= self.high:
                rule = f"must be an array, or one number from {self.low:g} to {self.high:g}"
                raise ParameterError("train_values", rule, next_step="pass a value for each training record")
            return float(number)
        places = self._places(values, "train_values")
        if not places.size:
            raise ParameterError("train_values", "must hold at least one value", next_step="pass the training values")
        return self.low + self._width * float(Fraction(int(places.sum()), STEPS * places.size))

    def steps(self, mean: float) -> int:
        """A public mean as a sum over n records."""
        return round((Fraction(mean) - Fraction(self.low)) / Fraction(self._width) * STEPS * self.size)

    def value(self, steps: int | float) -> float:
        """A released sum as a mean, within the range, and with no more digits than its noise leaves of use."""
        rounded = round(Fraction(steps) / self._grid) * self._grid
        return self.low + self._width * float(min(max(Fraction(rounded, STEPS * self.size), Fraction(0)), Fraction(1)))

    def public(self) -> dict[str, Any]:
        """The terms as JSON takes them; two holdouts with the same have the same noise."""
        exact = {name: exact_text(getattr(self, name)) for name in ("opening", "question", "answer")}
        return {name: exact.get(name, getattr(self, name)) for name in self.__dataclass_fields__}

    @property
    def _grid(self) -> int:
        """An eighth of the noise of a paid answer, or less: fewer digits tell less to fit a model by."""
        return 1 << max(0, math.floor(STEPS / self.answer / 8).bit_length() - 1)

    @property
    def _width(self) -> float:
        return self.high - self.low

    def _places(self, values: Any, parameter: str) -> NDArray[np.int64]:
        return record_steps(values, parameter, low=self.low, high=self.high)


def _shares(epsilon: Number | None, budget: Budget | None, cutoff: int) -> Budget:
    check_one_of(epsilon, budget)
    if budget is None:
        total = exact_epsilon(epsilon)
        return Budget.allocate(total, cutoff=cutoff, answer_epsilon=total * _ANSWER_SHARE)
    if not isinstance(budget, Budget) or budget.delta or not (budget.threshold_epsilon and budget.answer_epsilon):
        rule = "must be a Budget with a share for the threshold, the queries and the answers each, and no delta"
        raise ParameterError(
            "budget", rule, budget, "pass sg.Budget(threshold_epsilon=0.1, query_epsilon=0.5, answer_epsilon=0.4)"
        )
    return budget


def _coins(amount: Fraction) -> Fraction:
    return math.floor(amount / _COIN) * _COIN


class _OpenGate(NamedTuple):
    paid: PaidGate
    cutoff: int
    """How many answers it is paid for."""
    left: Fraction
    """What its name had left before it was opened."""


def _open_gate(ledger: Spender | None, name: str, terms: HoldoutTerms, *, refund: bool) -> _OpenGate:
    """Charge a gate: for what is left under this name where the ledger can be read, else for everything.

    Each process that opens a name charges a gate of its own for as many paid answers as the terms still allow, e1 + k
    p, and stores each paid answer with that entry *before* anybody sees it. **Theorem.** All gates that are ever opened
    under one name are (e1 + c p)-DP together, whatever crashes, and no more than c answers are paid for, lost ones
    included; a gate counts with one ABOVE more than is stored until its own process closes it. It is of a ledger that
    was never restored from a backup. Proof: docs/explanation/proofs_in_words/uses.md.
    """
    title = f"holdout {public_line(name, 'name', most=_LONGEST_NAME)!r}"
    rules = f"each epsilon {exact_text(terms.price)}, size {terms.size}, threshold {terms.threshold:g}"
    if not is_ledger(ledger):
        what = f"{title}: {terms.cutoff} paid answers, {rules}"
        paid = charge(ledger, **vars(terms.charged(terms.cutoff)), what=what)
        gate = PaidGate(paid, terms.epsilon, refund=refund, counts=AnswerCounts(asked=1))
        return _OpenGate(gate, terms.cutoff, terms.epsilon)
    left, public = terms.epsilon, terms.public()
    with ledger.database.writing() as connection:
        for before in ledger.gates(connection, title):
            if other := [key for key in public if before.terms["terms"].get(key) != public[key]]:
                rule = f"must be that of a holdout with the same terms; {name!r} has another {', '.join(other)}"
                raise ParameterError("name", rule, next_step="pass its own terms, or another name: a new budget")
            if not before.closed and before.refund:  # one ABOVE more counts than is stored
                most = before.terms["answers"]
                cost = before.counts.cost(lambda below, above, most=most: terms.cost(min(above, most)))  # type: ignore[misc]
                ledger.close_gate(connection, before, "it was opened again", cost)
            left -= before.epsilon - before.given_back
        if cutoff := terms.affordable(left):
            opened = ledger.open_gate(
                connection,
                epsilon=terms.cost(cutoff),
                what=f"{title}: {cutoff} paid answers, {rules}",
                title=title,
                terms={"terms": public, "answers": cutoff},
                refund=refund,
                reserved=1,
                rho=terms.charged(cutoff).rho,
            )
    if not cutoff:  # out here: what was given back stays so
        raise GateClosed(
            f"the holdout {name!r} is used up: epsilon {exact_text(max(left, Fraction(0)))} of "
            f"{exact_text(terms.epsilon)} is left, and a gate with one paid answer costs "
            f"{exact_text(terms.cost(1))}; use fresh data, or another name, which spends a new budget"
        )
    return _OpenGate(opened, cutoff, left)


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldoutScore(Single):
    """A score, and where it comes from.

    ``paid``: it is a fresh noisy mean of the holdout, and used up one of the paid answers; else it is the training
    mean, which the holdout agrees with. ``margin``: how far from the mean of the holdout it lies at most, with a
    probability of 0.95 over its noise. ``remaining``: how many paid answers are left after it.

    >>> import numpy as np, sparsegate as sg
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> holdout = sg.uses.Holdout(size=10_000, threshold=0.04, cutoff=20, epsilon=1, **seeded)
    >>> right = np.arange(10_000) % 10 < 8  # a model that is right on 80 % of the holdout
    >>> score = holdout.score(0.99, right)  # and on 99 % of its training records
    >>> score.paid, round(score.value, 2), round(score.margin, 2), score.remaining
    (True, 0.8, 0.02, 19)
    >>> sorted(score.to_dict())
    ['margin', 'paid', 'remaining', 'schema', 'value']
    """

    value: float
    """The score."""
    paid: bool
    margin: float
    remaining: int

    def __float__(self) -> float:
        return self.value

    def to_dict(self) -> dict[str, Any]:
        """The score as JSON takes it, by the schema "sparsegate/holdout/1": see docs/reference/json.md."""
        return {"schema": "sparsegate/holdout/1", **{name: plain(self[name]) for name in self.keys()}}

    def sheet(self) -> Sheet:
        """One row."""
        columns = {name: [self[name]] for name in self.keys()}
        return Sheet(title="holdout score", brief="", columns=columns, numbers=frozenset(columns) - {"paid"})

    def plot(self) -> Figure:
        """The score with its margin."""
        origin = "paid: from the holdout" if self.paid else "free: the training mean, which the holdout agrees with"
        return bar_chart(
            ["score"],
            [self.value],
            error_bar=self.margin,
            error_bar_all=None,
            title=("holdout score", origin),
            caption="the bar holds the mean of the holdout with 95 % probability",
        )


class Holdout(AsksGate):
    """Scores models on a holdout set, adaptively and many times, and pays only where training and holdout disagree.

    With t the mean on the training set, h the mean on the holdout (``HoldoutTerms`` says of what), rho ~ Exp(D/e1)
    drawn once, nu ~ Exp(2c D/eps2) fresh for every question, D = (high - low)/n and a public kappa that puts the middle
    of rho - nu at zero,

        |t - h| + nu < T + rho + kappa:   the score is t, and costs nothing more;
        otherwise:                        the score is h + Lap(c D/eps3), clamped to the range; c times at most.

    **Theorem** (privacy). Everything that this object ever says, under one name in one ledger and across restarts, is
    epsilon-DP for the holdout set: for adding, for removing and for replacing one record, for any number of questions,
    each chosen with all answers before it in view. The gate is that of ``OnlineAnswers``, at the general scale 2c.
    Proof: docs/explanation/proofs_in_words/uses.md.

    **Theorem** (validity). If the holdout's records, as many as ``size``, were drawn independently from a population,
    and all that was learned of them came through here, then none of the functions that were asked about has its mean on
    the holdout further from its mean in the population than ``generalisation`` says. (One that is chosen after the last
    answer is a question more.) Proof and limits: ``far_from_the_truth``; docs/how-to/holdout.md has numbers.

    This is Thresholdout (Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015) with threshold noise that is drawn once
    and not after each ABOVE, and is one-sided, so that more answers can be paid for.

    Parameters
    ----------
    size: n, how many records the holdout has; PUBLIC. More or fewer values than that are no error: see
        ``HoldoutTerms``.
    threshold: T, how far training and holdout may be apart and still agree; public. Where a paid score is expected to
        lie further off than that there is a warning, before anything is charged.
    cutoff: c, how many scores can be paid for.
    epsilon: the privacy loss of everything: 1/3 for the paid answers, 2/3 for the gate, there as 1:(2c)**(2/3). Or
    budget: a ``Budget`` with three shares of your own.
    low, high: the public range of a record's value; what is outside is clamped, NaN or a gap is read as low.
    ledger: an open ``sparsegate.Ledger`` of the holdout's data. What may be paid for lives there: a holdout that is
        opened again by its ``name`` and its terms goes on with what is left, and needs e1 for a new rho. On a zCDP
        ledger nothing is left: a name is opened once.
    name: which holdout of that ledger this is. If another process still has it open, that one is refused its next paid
        answer.
    source, not_private: ``Secure()``; a ``Seeded`` source is for tests, needs not_private=True and gives nothing back.

    >>> import numpy as np, sparsegate as sg
    >>> terms = {"size": 10_000, "threshold": 0.04, "cutoff": 20, "epsilon": 1}
    >>> holdout = sg.uses.Holdout(**terms, source=sg.Seeded(1), not_private=True)
    >>> right = np.arange(10_000) % 10 < 8  # a model that is right on 80 % of the holdout
    >>> holdout.score(0.81, right)
    HoldoutScore(value=0.81, paid=False, margin=0.0503577449798584, remaining=20)
    >>> holdout.score(np.ones(500), right).paid, holdout  # and one that knows its training set by heart
    (True, <Holdout 'holdout': size 10000, 1 of 20 answers paid for, open>)
    """

    _uncopied = (
        "a holdout can be neither copied nor pickled: two copies would answer with the same noise; work in one "
        "process (n_jobs=1, or threads), or open it again by its name"
    )

    _closed_says = (
        "this holdout is closed: {}; open it again by its name where its ledger has something left, or use fresh data"
    )

    @own_settings
    def __init__(
        self,
        *,
        size: int,
        threshold: Number,
        cutoff: int,
        epsilon: Number | None = None,
        budget: Budget | None = None,
        low: Number = 0,
        high: Number = 1,
        ledger: Spender | None = None,
        name: str = "holdout",
        source: Source | None = None,
        not_private: bool = False,
    ) -> None:
        terms = HoldoutTerms.of(
            size=size, threshold=threshold, cutoff=cutoff, epsilon=epsilon, budget=budget, low=low, high=high
        )
        terms.calibration(terms.cutoff, not_private=not_private)  # refuses what cannot run, before anything is charged
        noise = trusted_source(source, not_private)
        self._margins = {paid: terms.margin(paid=paid) for paid in (False, True)}
        if terms.warning:  # before anything is charged: warnings may be errors
            warn(terms.warning, SparsegateWarning, stacklevel=3)  # of whoever makes a Holdout, under its own settings
        super().__init__()
        self._terms, self._name = terms, name
        self._open = _open_gate(ledger, name, terms, refund=not not_private)
        made = terms.calibration(self._open.cutoff, not_private=not_private)
        self._gate = Gate(made, threshold=terms.bar, source=noise, not_private=not_private)

    @staticmethod
    @previews(__init__, confidence=CONFIDENCE)
    def preview(*, budget: Budget | None, confidence: float, **numbers: Any) -> Preview:
        """What a holdout with these parameters would cost and be good for: nothing is drawn, charged or looked at.

        They are those of the holdout; ledger, name, source and not_private change nothing. ``paid_margin`` is how far
        a paid score lies from the mean of the holdout at most, ``free_margin`` how far a free one does.

        >>> import sparsegate as sg
        >>> preview = sg.uses.Holdout.preview(size=10_000, threshold=0.04, cutoff=20, epsilon=1)
        >>> round(preview.paid_margin, 4), round(preview.free_margin, 4)
        (0.0182, 0.0504)
        """
        public = {name: numbers[name] for name in ("size", "threshold", "cutoff", "low", "high")}
        terms = HoldoutTerms.of(**public, epsilon=numbers["epsilon"], budget=budget)
        terms.calibration(terms.cutoff, not_private=False)  # refuses what cannot run
        check_confidence(confidence)
        paid, free = (terms.margin(paid=each, confidence=confidence) for each in (True, False))

        def cost_at(total: Fraction) -> Cost:
            shares = None if budget is None else budget.scaled(total / budget.total)
            other = HoldoutTerms.of(**public, epsilon=total if budget is None else None, budget=shares)
            return other.charged(other.cutoff)

        return Preview(
            release="holdout",
            epsilon=terms.epsilon,
            confidence=confidence,
            accuracy={"paid_margin": paid, "free_margin": free},
            settings={name: getattr(terms, name) for name in ("size", "threshold", "cutoff", "opening", "price")},
            statement=f"{terms.cutoff:,} scores can be paid for, each within {paid:.3g} of the mean of the holdout "
            f"with {100 * confidence:g} %; a free one, on which training and holdout agree, is within {free:.3g}.",
            warning=terms.warning and f"{terms.warning[0].upper()}{terms.warning[1:]}.",
            cost=terms.charged(terms.cutoff),
            cost_at=cost_at,
        )

    @own_settings
    def score(self, train_values: Any, holdout_values: Any) -> HoldoutScore:
        """The score of one model, by its values on the training records and on those of the holdout.

        ``train_values``: an array, one value for each record, or their mean as one number; public. ``holdout_values``:
        an array, one value for each record of the holdout, each a function of that record and the model alone.
        """
        mean = self._terms.mean(train_values)
        total, guess = self._terms.total(holdout_values), self._terms.steps(mean)
        return self._in_turn(lambda: self._answered(self._draw, mean, total, guess))

    def _draw(self, mean: float, total: int, guess: int) -> HoldoutScore:
        try:
            outcome = self._gate.ask(total, estimate=guess)
        except GateClosed:  # by another thread: nothing was drawn
            self._unsaid = False
            raise
        paid = outcome.estimate is not None
        value = mean if outcome.estimate is None else self._terms.value(outcome.estimate)
        score = HoldoutScore(value=value, paid=paid, margin=self._margins[paid], remaining=self.remaining)
        if paid:
            self._open.paid.keep({"paid": value}, above=True)
        return score

    def _lose(self) -> None:
        """It counts as an ABOVE: a crash counts one such."""
        self.close()

    @property
    def _ended(self) -> str:
        if self._lost:
            return "an answer was cut short or could not be stored, and counts as given"
        if not self._gate.closed:
            return ""
        by_hand = "it was closed by hand, or belongs to another process"
        return by_hand if self._gate.remaining else f"all {self._open.cutoff} answers are paid for"

    @property
    def closed(self) -> bool:
        """Whether it answers no more."""
        return bool(self._ended)

    @property
    def remaining(self) -> int:
        """How many answers can still be paid for here."""
        return 0 if self._lost else self._open.cutoff - self._gate.positives

    @property
    def remaining_after_restart(self) -> int:
        """How many could be paid for if it were closed now and opened again by its name: a new threshold costs, too.

        On a zCDP ledger none: the first that is opened under a name is charged for all of them.
        """
        return self._terms.affordable(self._open.left - self.spent)

    @property
    def epsilon(self) -> Fraction:
        """The privacy loss of everything under this name, however often it is opened."""
        return self._terms.epsilon

    @property
    def spent(self) -> Fraction:
        """What its scores count for: e1 with the first one, and a price for each that was paid for.

        On a zCDP ledger, to which nothing goes back, all that was charged, from the start.
        """
        return self._open.paid.epsilon if self._open.paid.whole else self._cost(lost=self._lost)

    def _cost(self, *, lost: bool) -> Fraction:
        if lost:
            above = max(self._gate.positives, self._open.paid.counts.above + 1)
            return self._terms.cost(min(above, self._open.cutoff))
        return self._terms.cost(self._gate.positives) if self._gate.spent else Fraction(0)

    @property
    def terms(self) -> HoldoutTerms:
        """The public numbers: prices, margins, and what to expect of them."""
        return self._terms

    def generalisation(self, *, questions: int, confidence: float = 0.95) -> float:
        """How far the holdout may be from its population after this many questions: ``HoldoutTerms``."""
        return self._terms.generalisation(questions=questions, confidence=confidence)

    def close(self) -> None:
        """Say nothing more, and give back to a ledger that adds epsilons what the scores did not cost."""
        if not self._elsewhere:
            self._gate.close()
            self._open.paid.close(self._cost(lost=self._lost or self._unsaid))

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        paid = f"{self._gate.positives} of {self._open.cutoff} answers paid for"
        return f"<Holdout {self._name!r}: size {self._terms.size}, {paid}, {state}>"


# (estimator, records, labels) -> a value for each record, from that record and the estimator alone.
PerRecord = Callable[[Any, Any, Any], Any]


def right(estimator: Any, records: Any, labels: Any) -> Any:
    """1 where the prediction is the label, else 0: the mean is the accuracy."""
    predicted, true = np.asarray(estimator.predict(records)), np.asarray(labels)
    if predicted.shape != true.shape:  # numpy would compare each with each; and lengths are not told
        rule = "must be one label for each record, in the shape of the predictions"
        raise ParameterError("labels", rule, next_step="pass a flat array of them")
    return predicted == true


class HoldoutScorer(Uncopied):
    """``scorer(estimator, X, y)``: the score of a fitted estimator, by records that are public and by a holdout.

    X and y are what scikit-learn hands to a scorer, records that the theorem does not protect: the training set itself,
    or a fold of it. Their mean is the *training score* of ``Holdout.score``; the holdout is asked whether it agrees. A
    search needs no change but ``scoring=``: with ``cv=scorer.training_only(X)`` one question for each candidate; with
    ``cv=5`` one about each of its five models.

    **Theorem.** That of ``Holdout``, if (1) no estimator was fitted on the holdout, nor on anything computed from it
    but for these scores, and (2) ``per_record`` gives each record its value from that record and the estimator alone,
    and gives one to every record: an error because of one of them tells of it. What looks at several records at once
    (an AUC, a rank, a batch that is normalised) is no mean, and has no such theorem.

    A search must run in this process: ``n_jobs=None`` or 1, or threads; keep ``search.best_estimator_``. Where the
    holdout is used up a search goes on with NaN and a warning unless it has ``error_score="raise"``.

    Parameters
    ----------
    holdout: a ``Holdout``; its range must be that of ``per_record``.
    records, labels: those of the holdout (X and y elsewhere), private.
    per_record: ``right`` unless given, for the accuracy of a classifier.

    >>> import numpy as np, sparsegate as sg
    >>> from sklearn.dummy import DummyClassifier
    >>> X, y = np.zeros((3000, 1)), np.arange(3000) % 4 == 0
    >>> holdout = sg.uses.Holdout(size=2000, threshold=0.1, cutoff=5, epsilon=5)
    >>> scorer = sg.uses.HoldoutScorer(holdout, X[1000:], y[1000:])
    >>> scorer(DummyClassifier().fit(X[:1000], y[:1000]), X[:1000], y[:1000])
    0.75
    >>> scorer.last.paid
    False
    """

    _uncopied = (
        "a HoldoutScorer can be neither copied nor pickled, because its holdout cannot: search in this process "
        "(n_jobs=1, or threads), and keep best_estimator_ instead of the search"
    )

    def __init__(self, holdout: Holdout, records: Any, labels: Any, *, per_record: PerRecord = right) -> None:
        if not callable(per_record):
            raise ParameterError("per_record", "must be callable: (estimator, records, labels) -> values", per_record)
        if not isinstance(holdout, Holdout):
            raise ParameterError("holdout", "must be a Holdout", next_step="pass sg.uses.Holdout(size=..., ...)")
        self._records, self._labels, self._per_record = records, labels, per_record
        self.holdout = holdout
        """The holdout that is asked."""
        self.last: HoldoutScore | None = None
        """The score that was given last."""

    @own_settings
    def __call__(self, estimator: Any, records: Any, labels: Any = None) -> float:
        """The score; ``score`` also says whether it was paid for."""
        return self.score(estimator, records, labels).value

    @own_settings
    def score(self, estimator: Any, records: Any, labels: Any = None) -> HoldoutScore:
        """The same with its margin, and what is left."""
        if self.holdout.closed:  # says so before anybody predicts
            self.holdout.score(self.holdout.terms.low, [])
        train = self._per_record(estimator, records, labels)
        self.last = self.holdout.score(train, self._per_record(estimator, self._records, self._labels))
        return self.last

    def training_only(self, records: Any) -> list[tuple[Any, Any]]:
        """A ``cv`` of one split that fits on all of these records and scores on them; the holdout does the rest."""
        every = np.arange(records.shape[0] if hasattr(records, "shape") else len(records))
        return [(every, every)]

    def __repr__(self) -> str:
        return f"HoldoutScorer({self.holdout!r})"


_NUMBER: Final = re.compile(r"-?(0|[1-9]\d{0,30})(\.\d{1,30})?", re.ASCII)  # 007 is a name, and not a number
_TRUTHS: Final = {word: str(int(truth)) for truth in (True, False) for word in (str(truth), str(truth).lower())}


@own_settings
def agreement(labels: Iterable[Any], predictions: Iterable[Any]) -> NDArray[np.bool_]:
    """For each record whether its prediction is its label; there must be as many of the one as of the other.

    They are the same if they are the same text; numbers are the same however they are written: 1, 1.0 and "1" are
    alike, and so are a truth value, "true" and "True", as 1. What is missing agrees with nothing.
    """
    private = [_text(label, "labels") for label in labels]
    predicted = [_text(prediction, "predictions") for prediction in predictions]
    if len(predicted) != len(private):
        rule = f"must be one for each record, {len(private)} in all"
        raise ParameterError("predictions", rule, len(predicted), "send them in the order of the records")
    return np.array([label is not None and label == same for label, same in zip(private, predicted, strict=True)])


def _text(value: Any, parameter: str) -> str | None:
    """A label as text; None where there is none."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, str):
        return _plain(value) if _NUMBER.fullmatch(value) else _TRUTHS.get(value, value) or None
    if isinstance(value, int | float | Decimal):
        return _plain(str(value)) if _NUMBER.fullmatch(str(value)) else str(value)
    raise ParameterError(parameter, "must be texts, numbers or truth values", next_step="send one for each record")


def _plain(number: str) -> str:
    """Without the zeros that a fraction ends in."""
    shown = number.rstrip("0").rstrip(".") if "." in number else number
    return "0" if shown == "-0" else shown
