"""The reusable holdout: a validation set that many people, or one program, may look at many times."""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import Any, NoReturn, Self
from warnings import warn

from sparsegate.budget import Budget, Number, Spender
from sparsegate.errors import GateClosed, ParameterError, SparsegateWarning
from sparsegate.mechanisms.calibration import trusted_source
from sparsegate.mechanisms.gate import Gate
from sparsegate.noise import Source
from sparsegate.noise.lineage import MARK, birthmark
from sparsegate.noise.own_settings import own_settings
from sparsegate.noise.uncopied import Uncopied
from sparsegate.uses.holdout.holdout_account import check_name, open_account
from sparsegate.uses.holdout.holdout_score import HoldoutScore
from sparsegate.uses.holdout.holdout_terms import HoldoutTerms


class Holdout(Uncopied):
    """Scores models on a holdout set, adaptively and many times, and pays only where training and holdout disagree.

    With t the mean on the training set, h the mean on the holdout (``holdout_terms`` says of what), rho ~ Exp(D/e1)
    drawn once, nu ~ Exp(2c D/eps2) fresh for every question, D = (high - low)/n and a public kappa that puts the middle
    of rho - nu at zero,

        |t - h| + nu < T + rho + kappa:   the score is t, and costs nothing more;
        otherwise:                        the score is h + Lap(c D/eps3), clamped to the range; c times at most.

    **Theorem** (privacy). Everything that this object ever says, under one name in one ledger and across restarts, is
    epsilon-DP for the holdout set: for adding, for removing and for replacing one record, for any number of questions,
    each chosen with all answers before it in view. *Proof.* The training set is not protected, so t is a public number
    for the theorem; h moves by at most D, hence |t - h| by at most D. That is the gate of ``OnlineAnswers`` (Hardt,
    Rothblum 2010, with the noise outside of the absolute value as Lyu, Su, Li 2017 repair it, one-sided as in Liu et
    al. 2024): align rho with rho + D, which costs e1; a BELOW is then no less likely, each of at most c ABOVEs is by at
    most exp(2 D eps2/(2c D)), and its number costs eps3/c. The scale is the general one, 2c: when a record comes, |t -
    h| rises for one question and falls for another. Restarts: ``holdout_account``. []

    **Theorem** (validity). If the holdout's records, as many as ``size``, were drawn independently from a population,
    and all that was learned of them came through here, then none of the functions that were asked about has its mean on
    the holdout further from its mean in the population than ``generalisation`` says. (One that is chosen after the last
    answer is a question more.) Proof and limits: ``generalisation``; docs/how-to/holdout.md has numbers.

    This is Thresholdout (Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015) with two changes: the threshold noise is
    drawn once and not after each ABOVE, and the noise is one-sided, so that more answers can be paid for.

    Parameters
    ----------
    size: n, how many records the holdout has; PUBLIC. More or fewer values than that are no error: see
        ``holdout_terms``.
    threshold: T, how far training and holdout may be apart and still agree; public. Where a paid score is expected to
        lie further off than that there is a warning, before anything is charged.
    cutoff: c, how many scores can be paid for.
    epsilon: the privacy loss of everything: 1/3 for the paid answers, 2/3 for the gate, there as 1:(2c)**(2/3). Or
    budget: a ``Budget`` with three shares of your own.
    low, high: the public range of a record's value; what is outside is clamped, NaN or a gap is read as low.
    ledger: an open ``sparsegate.Ledger`` of the holdout's data. What may be paid for lives there: a holdout that is
        opened again by its ``name`` and its terms goes on with what is left, and needs e1 for a new rho.
    name: which holdout of that ledger this is. If another process still has it open, that one is refused its next paid
        answer.
    source, not_private: ``Secure()``; a ``Seeded`` source is for tests, needs not_private=True and gives nothing back.

    >>> import numpy as np, sparsegate as sg
    >>> holdout = sg.Holdout(size=10_000, threshold=0.04, cutoff=20, epsilon=1, source=sg.Seeded(1), not_private=True)
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

    __slots__ = ("_account", "_born", "_gate", "_kept", "_lock", "_lost", "_margins", "_name", "_terms", "_unsaid")

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
        _warn_of_noise(terms)
        self._terms, self._name, self._lock, self._born = terms, name, threading.Lock(), birthmark()
        self._kept, self._lost, self._unsaid = 0, False, False
        self._margins = {paid: terms.margin(paid=paid) for paid in (False, True)}
        self._account = open_account(ledger, name, terms, refund=not not_private)
        made = terms.calibration(self._account.cutoff, not_private=not_private)
        self._gate = Gate(
            made,
            threshold=terms.bar,
            source=noise,
            not_private=not_private,
        )

    @own_settings
    def score(self, train_values: Any, holdout_values: Any, *, by: str | None = None) -> HoldoutScore:
        """The score of one model, by its values on the training records and on those of the holdout.

        ``train_values``: an array, one value for each record, or their mean as one number; public. ``holdout_values``:
        an array, one value for each record of the holdout, each a function of that record and the model alone. ``by``:
        who asks, a public name that is stored with the answer if it is paid for.
        """
        if by is not None:
            check_name(by, "by")
        mean = self._terms.mean(train_values)
        total, guess = self._terms.total(holdout_values), self._terms.steps(mean)
        if self.closed:  # before the lock: a fork may have left it held for ever
            self._refuse()
        with self._lock:
            self._end_if_lost()
            if self.closed:
                self._refuse()
            try:
                return self._asked(mean, total, guess, by)
            finally:
                self._end_if_lost()

    def _asked(self, mean: float, total: int, guess: int, by: str | None) -> HoldoutScore:
        """Draw an answer, and store it if it is paid for, or nobody sees it."""
        self._unsaid = True  # from before it is drawn until it may be said
        try:
            outcome = self._gate.ask(total, estimate=guess)
        except GateClosed:  # by another thread: nothing was drawn
            self._unsaid = False
            raise
        if outcome.estimate is None:
            said = self._scored(mean, paid=False)
        else:
            said = self._scored(self._terms.value(outcome.estimate), paid=True)
            self._account.keep(said.value, by)
            self._kept += 1
        self._unsaid = False
        return said

    def _end_if_lost(self) -> None:
        """What was drawn and not said counts as an ABOVE, and nothing follows it: a crash counts one such."""
        if self._unsaid:
            self._lost = True
            self.close()

    def _scored(self, value: float, *, paid: bool) -> HoldoutScore:
        return HoldoutScore(value=value, paid=paid, margin=self._margins[paid], remaining=self.remaining)

    def _refuse(self) -> NoReturn:
        reason = f"all {self._account.cutoff} answers are paid for"
        if self._lost:
            reason = "an answer was cut short or could not be stored, and counts as given"
        elif self._gate.remaining:
            reason = "it was closed by hand, or belongs to another process"
        raise GateClosed(
            f"this holdout is closed: {reason}; open it again by its name where its ledger has something left, or use "
            "fresh data"
        )

    @property
    def closed(self) -> bool:
        """Whether it answers no more."""
        return self._lost or self._gate.closed

    @property
    def remaining(self) -> int:
        """How many answers can still be paid for here."""
        return 0 if self._lost else self._account.cutoff - self._gate.positives

    @property
    def paid_by(self) -> dict[str, int]:
        """How many paid answers went to each who asked by name, under this name of the holdout, restarts and all."""
        return dict(self._account.paid_by)

    @property
    def remaining_after_restart(self) -> int:
        """How many could be paid for if it were closed now and opened again by its name: a new threshold costs, too."""
        return self._terms.affordable(self._account.left - self.spent)

    @property
    def epsilon(self) -> Fraction:
        """The privacy loss of everything under this name, however often it is opened."""
        return self._terms.epsilon

    @property
    def spent(self) -> Fraction:
        """What the scores of this object count for: e1 with the first one, and a price for each that was paid for."""
        return self._cost(lost=self._lost)

    def _cost(self, *, lost: bool) -> Fraction:
        if lost:
            return self._terms.cost(min(max(self._gate.positives, self._kept + 1), self._account.cutoff))
        return self._terms.cost(self._gate.positives) if self._gate.spent else Fraction(0)

    @property
    def terms(self) -> HoldoutTerms:
        """The public numbers: prices, margins, and what to expect of them."""
        return self._terms

    def generalisation(self, *, questions: int, confidence: float = 0.95) -> float:
        """How far the holdout may be from its population after this many questions: ``HoldoutTerms``."""
        return self._terms.generalisation(questions=questions, confidence=confidence)

    def close(self) -> None:
        """Say nothing more, and give back to the ledger what the scores did not cost."""
        if self._born == MARK[0]:
            self._gate.close()
            self._account.give_back(self._cost(lost=self._lost or self._unsaid))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        paid = f"{self._gate.positives} of {self._account.cutoff} answers paid for"
        return f"<Holdout {self._name!r}: size {self._terms.size}, {paid}, {state}>"


def _warn_of_noise(terms: HoldoutTerms) -> None:
    """Before anything is charged: warnings may be errors."""
    margin = terms.margin(paid=True)
    if margin > terms.threshold:
        warn(
            f"a paid score lies within {margin:.3g} of the holdout with 95 %, which is more than the threshold of "
            f"{terms.threshold:g}: its noise may take it further off than the training score was; take more records, a "
            "larger epsilon, a larger threshold or a smaller cutoff",
            SparsegateWarning,
            stacklevel=4,  # whoever makes a Holdout, which runs under settings of its own
        )


def check_holdout(holdout: object) -> Holdout:
    """Refuse what is no holdout."""
    if not isinstance(holdout, Holdout):
        raise ParameterError("holdout", "must be a Holdout", next_step="pass sg.Holdout(size=..., ...)")
    return holdout
