"""Private prediction: the next token from a public model, and from private records only where that would not do."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Self

import numpy as np

from sparsegate.budget import Number, Prepaid, Spender, charge, exact_count
from sparsegate.errors import GateClosed, ParameterError, SparsegateError
from sparsegate.mechanisms.accounting import Accountant
from sparsegate.mechanisms.calibration import trusted_source
from sparsegate.mechanisms.exponential import selection_rate
from sparsegate.mechanisms.gate import Gate
from sparsegate.noise import Source
from sparsegate.noise.own_settings import own_settings
from sparsegate.noise.uncopied import Uncopied
from sparsegate.uses.prediction.prediction_reading import (
    LEVELS,
    MOST_TOKENS,
    Gives,
    Model,
    Opinion,
    Reader,
    Reading,
    answer_of,
    batches_of,
    checked_models,
)
from sparsegate.uses.prediction.prediction_terms import PredictionTerms, prediction_terms
from sparsegate.uses.prediction.prediction_tokens import (
    Metered,
    Prediction,
    free_token,
    paid_token,
    read_context,
    read_end,
)


class _Within(threading.local):
    """Whether this thread is in the private callables; a lock, because an interrupt leaves none that it left held."""

    def __init__(self) -> None:
        self.callables = threading.Lock()


class PrivatePredictor(Uncopied):
    """Writes text token by token: from a public model while private records agree with it, else from those records.

    Each of s private callables answers from its own batch of records, disjoint by people. With p_i their distributions
    (``prediction_reading`` says how answers are read), p the public one, d = TV(mean of the p_i, p), rho drawn
    once and nu fresh for every token,

        s d + nu < s T + rho + kappa:   the token is drawn from p, and costs nothing more;
        otherwise:                      it is drawn by the exponential mechanism from the mean of the clipped logits,
                                        Pr[t] ~ exp(mean_i z_i(t) / temperature); c times at most.

    (Amin, Bie, Kong, Kurakin, Ponomareva, Syed, Terzis, Vassilvitskii: Private prediction for large-scale synthetic
    text generation, 2024; the gate is one of this library, with one rho for all c, and draws are exact.)

    **Theorem.** Let neighbours differ by one person with all their records, in one batch. Everything that ever leaves
    this object, for any number of adaptively chosen contexts, is ``epsilon``-DP, or (``epsilon``, ``delta``)-DP.
    *Proof.* One callable answers otherwise, for every token, and s does not change. Then s d moves by at most 1, and
    each sum of scores by at most LEVELS (``prediction_reading``). Fix what came out before: the context and p are the
    same for both neighbours. d may rise for one token and fall for the next, so the gate has the general scale,
    2c/eps2, and is (eps1 + eps2)-DP: the theorem of ``SparseVector``, whose questions may be chosen by all that came
    out. A BELOW is followed by a draw from p, which holds nothing private. An ABOVE is followed by one draw of the
    exponential mechanism with weights exp(e S(t) / (2 LEVELS)), S the sums of scores: e-DP, since an exponent moves by
    at most e/2 and so does the logarithm of the normaliser. (``alone``: all sums move one way, and e / LEVELS is
    enough.) The losses of one transcript add: at most eps1 + eps2 + c e. With delta: ``prediction_terms``. [] In Coq:
    the gate, `exponential_gate_is_private` (proofs/exponential_gate.v), and a draw: `exponential_is_private`,
    `exponential_bounded_range` (proofs/exponential_mechanism.v).

    What the theorem asks of you: a callable sees the records of its batch and public things alone. One model that was
    trained on everybody's records is not that. Who is in which batch depends on each person alone: ``batches`` is a
    hash. To sort people by length, or to fill batches evenly, moves others when one comes. s is a public number. A
    batch may be empty, and then its callable still is one (None says that nobody is there).

    An exception in a private callable, or an answer that is none, is an abstention and raises nothing. So a callable
    that always fails looks as one that always agrees: try them on records that you made up. KeyboardInterrupt passes. A
    callable that asks or closes its own predictor abstains: what that did could be seen, and would depend on records.

    *Time.* For every token each callable is called once, in order, whatever the gate says. How long one takes, and what
    it writes to a log, is yours to hide. That a token was paid for is said, and so may be seen.

    Parameters
    ----------
    private: s callables, or None for an empty one. Each takes a tuple of tokens and gives ``vocabulary`` numbers.
    public: a callable of the same kind, that has seen nothing private. Its errors are raised, before anything is drawn.
    vocabulary: how many tokens there are: 0, 1, ... A public number of at most 2**22.
    threshold: T, strictly between 0 and 1: a total variation up to which the public model will do.
    cutoff: c, how many tokens can be paid for.
    epsilon, delta: the privacy loss of everything; with delta, a gate whose noise grows with sqrt(c) where that helps.
    clip: B > 0: logits further than that below a callable's largest count as if they were B below it.
    temperature: of paid tokens, at least; where half of epsilon does not buy it, ``terms.temperature`` is higher.
    gives: "logits", or "probabilities", which need not add up to one. For all callables.
    alone: True where each callable holds one person alone: a person who leaves turns it into None. It halves e.
    ledger: an open ``sparsegate.Ledger``, charged with the whole epsilon before anything is drawn.
    refund: ``close`` gives back what the tokens did not cost; False: what was charged stays spent.
    source, not_private: ``Secure()``; a ``Seeded`` source is for tests, and needs not_private=True.

    >>> import sparsegate as sg
    >>> private = [lambda text: [0, 0, 9] if text[-1:] == (1,) else [0, 3, 0]] * 400
    >>> predictor = sg.PrivatePredictor(private, lambda text: [0, 3, 0], vocabulary=3, threshold=0.5, cutoff=5,
    ...                                 epsilon=2, clip=5, source=sg.Seeded(1), not_private=True)
    >>> [(each.token, each.paid) for each in predictor.generate((0,), 4)]
    [(1, False), (2, True), (1, False), (2, True)]
    >>> predictor
    <PrivatePredictor: 400 batches, 3 tokens, 2 of 5 paid for, open>
    """

    _uncopied = (
        "a predictor can be neither copied nor pickled: two copies would answer with the same noise; make a new one"
    )

    __slots__ = (
        "_free",
        "_gate",
        "_lock",
        "_not_private",
        "_private",
        "_public",
        "_reader",
        "_tokens",
        "_within",
        "alone",
        "terms",
    )

    @own_settings
    def __init__(
        self,
        private: Sequence[Model | None],
        public: Model,
        *,
        vocabulary: int,
        threshold: Number,
        cutoff: int,
        epsilon: Number,
        delta: Number = 0,
        clip: Number = 10,
        temperature: Number = 1,
        gives: Gives = "logits",
        alone: bool = False,
        ledger: Spender | None = None,
        refund: bool = True,
        source: Source | None = None,
        not_private: bool = False,
    ) -> None:
        self._private, self._public = checked_models(private), public
        if not callable(public):
            raise ParameterError("public", "must be callable", public, "pass a function of the tokens so far")
        if not isinstance(refund, bool):
            raise ParameterError("refund", "must be True or False", refund)
        if gives not in ("logits", "probabilities"):
            raise ParameterError("gives", 'must be "logits" or "probabilities"', gives)
        if (size := exact_count(vocabulary, "vocabulary")) > MOST_TOKENS:
            raise ParameterError("vocabulary", f"must be at most {MOST_TOKENS}", size)
        terms = prediction_terms(
            batches=len(self._private),
            threshold=threshold,
            cutoff=cutoff,
            epsilon=epsilon,
            delta=delta,
            clip=clip,
            temperature=temperature,
            alone=alone,
            not_private=not_private,
        )
        selection_rate(epsilon=terms.token_epsilon, count=1, sensitivity=LEVELS, monotonic=alone)  # before it is needed
        noise = trusted_source(source, not_private)
        self.terms, self.alone = terms, alone
        self._reader = Reader(vocabulary=size, clip=float(clip), gives=gives)
        self._free, self._tokens, self._not_private = noise.stream(), noise.stream(), not_private
        self._lock, self._within = threading.Lock(), _Within()
        what = (
            f"private prediction: threshold {float(terms.threshold):g}, cutoff {terms.cutoff}, {terms.batches} batches"
        )
        paid = charge(ledger, epsilon=terms.epsilon, delta=terms.delta, what=what)
        self._gate = Gate(
            terms.calibration,
            threshold=terms.batches * terms.threshold,
            source=noise,
            not_private=not_private,
            ledger=Prepaid(Metered(paid=paid, unused=self._unused)),
            refund=refund,
        )

    @staticmethod
    def preview(*, batches: int, **numbers: Any) -> PredictionTerms:
        """What a predictor with these public numbers would cost and be: nothing is charged, drawn or called."""
        return prediction_terms(batches=batches, **numbers)

    @staticmethod
    def batches(people: Iterable[str | int], count: int) -> list[list[int]]:
        """The numbers of the rows of each of ``count`` batches, by a hash of whose row it is.

        >>> import sparsegate as sg
        >>> sg.PrivatePredictor.batches(["ann", "bob", "ann", "cem"], 3)
        [[0, 2], [1], [3]]
        """
        return batches_of(people, count)

    @own_settings
    def predict(self, context: Sequence[int] = (), *, unchecked: bool = False) -> Prediction:
        """The next token after this context, a sequence of tokens.

        Once the cutoff is used up this raises ``GateClosed``, unless ``unchecked=True``: then the public model goes on
        alone, and no private callable is called.
        """
        text, alone = read_context(context, self._reader.vocabulary), _switch(unchecked)
        public = self._read_public(text)
        if self._gate.closed:  # before the lock: a fork may have left it held for ever
            return self._unchecked(public, alone)
        opinion = self._opinion(text, public)
        with self._lock:
            try:
                above = self._gate.ask(opinion.distance)
            except GateClosed:  # by another thread, since it was looked at
                return self._unchecked(public, alone)
            if above:
                return Prediction(token=self._paid_token(opinion), paid=True, checked=True)
            return Prediction(token=free_token(public, self._free), paid=False, checked=True)

    @own_settings
    def generate(
        self, context: Sequence[int], length: int, *, end: int | None = None, unchecked: bool = False
    ) -> Iterator[Prediction]:
        """At most ``length`` tokens, one after the other: fewer after the token ``end``, or where the gate closed.

        Each is made when it is asked for, so that an error of the public model loses none that were paid for. With
        ``unchecked=True`` the public model goes on alone where the gate closed.
        """
        text, most = list(read_context(context, self._reader.vocabulary)), exact_count(length, "length")
        alone = _switch(unchecked)
        return self._generated(text, most, read_end(end, self._reader.vocabulary), alone)

    def _generated(self, text: list[int], most: int, end: int | None, alone: bool) -> Iterator[Prediction]:
        for made in range(most):
            if made and self.closed and not alone:
                return
            said = self.predict(text, unchecked=alone)
            yield said
            if said.token == end:
                return
            text.append(said.token)

    def _read_public(self, text: tuple[int, ...]) -> Reading:
        reading = self._reader.read(self._public(text))
        if reading is None:
            given = f"{self._reader.vocabulary} {self._reader.gives}"
            raise ParameterError("public", f"must give {given}, not all of them impossible and none of them NaN")
        return reading

    def _opinion(self, text: tuple[int, ...], public: Reading) -> Opinion:
        """What the private callables say."""
        self._check_outside()
        with self._within.callables:
            return self._reader.gathered((answer_of(model, text) for model in self._private), public)

    def _check_outside(self) -> None:
        """Refuse what a private callable asks of its own predictor: ``spent`` and ``closed`` would tell that it did."""
        if self._within.callables.locked():
            raise SparsegateError("a private callable must not use the predictor that calls it; it abstains")

    def _paid_token(self, opinion: Opinion) -> int:
        return paid_token(
            opinion,
            epsilon=self.terms.token_epsilon,
            alone=self.alone,
            source=self._tokens,
            not_private=self._not_private,
        )

    def _unchecked(self, public: Reading, allowed: bool) -> Prediction:
        if allowed:
            return Prediction(token=free_token(public, self._free), paid=False, checked=False)
        spent = f"all {self.terms.cutoff} tokens are paid for"
        reason = "it was closed by hand, or belongs to another process" if self.remaining else spent
        raise GateClosed(
            f"this predictor is closed: {reason}; pass unchecked=True for tokens of the public model alone, or make a "
            "new one, which spends a new budget"
        )

    @property
    def closed(self) -> bool:
        """Whether nothing private is looked at any more."""
        return self._gate.closed

    @property
    def remaining(self) -> int:
        """How many tokens can still be paid for."""
        return self.terms.cutoff - self._gate.positives

    @property
    def spent(self) -> Fraction:
        """What everything said so far has cost, exactly: L(m,k) of the gate, and e for each paid token."""
        return self.terms.spent(gate=self._gate.spent, paid=self._gate.positives)

    def _unused(self) -> Fraction:
        return self.remaining * self.terms.token_epsilon

    def dp_event(self, accountant: Accountant = "rdp") -> Any:
        """All that may ever come out, as an event of Google's ``dp_accounting`` (``PredictionTerms.dp_event``)."""
        return self.terms.dp_event(accountant)

    def close(self) -> None:
        """Look at nothing private any more, and give back to the ledger what was not spent (``Gate.close``)."""
        self._check_outside()
        self._gate.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state, paid = "closed" if self.closed else "open", f"{self._gate.positives} of {self.terms.cutoff} paid for"
        return f"<PrivatePredictor: {self.terms.batches} batches, {self._reader.vocabulary} tokens, {paid}, {state}>"


def _switch(unchecked: Any) -> bool:
    if not isinstance(unchecked, bool | np.bool_):
        raise ParameterError("unchecked", "must be True or False", unchecked)
    return bool(unchecked)
