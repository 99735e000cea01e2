"""Private prediction: the next token from a public model, and from private records only where that would not do.

**Readings.** A callable answers with one number for each token. It is read twice: as *weights*, its distribution in
parts of ``WHOLE``, and as *scores*, its logits moved so that the largest is the clip B, cut at 0, from 0 to ``LEVELS``.
With labels it answers with one, its *vote*. What is no answer is an *abstention*, and raises nothing: an error would
tell what a batch holds. **Theorem.** One callable read otherwise moves the distance of all from the public answer by at
most 1, and each sum of scores by at most ``LEVELS``; by 0 to ``LEVELS``, all one way, where that one abstained.

**Costs.** With B the clip, c the cutoff and s callables a paid token costs e = 2 B / (s temperature), or of a label
2 / temperature; half of it where each callable holds one person alone. Pure, all is (eps1 + eps2 + c e)-DP; with gate
g, it is (g**2/2 + c e**2/8)-zCDP; with delta see the proofs: docs/explanation/proofs_in_words/uses.md.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsegate.budget import (
    Budget,
    Charge,
    Cost,
    Number,
    Prepaid,
    Spender,
    charge,
    check_choice,
    check_truth,
    exact_count,
    exact_delta,
    exact_epsilon,
    pure_rho,
)
from sparsegate.display.plain import exact_text
from sparsegate.errors import GateClosed, ParameterError, SparsegateError, load_extra
from sparsegate.gates.accounting import Accountant, composed, gate_event, selection_event, waiting_rate
from sparsegate.gates.approximate import approximate_scales, conversion, log_inverse, renyi_bound
from sparsegate.gates.calibration import Calibration, trusted_source
from sparsegate.gates.gate import Gate
from sparsegate.gates.lattice import exact_number
from sparsegate.gates.preview import Preview
from sparsegate.gates.sparse_vector import gate_calibration
from sparsegate.gates.variants import VARIANTS
from sparsegate.noise import Source
from sparsegate.noise.coins import uniform_below
from sparsegate.noise.expansions import interval_arithmetic, scaled_floor
from sparsegate.noise.laplace import MAX_SCALE, MIN_SCALE
from sparsegate.noise.own_settings import own_settings
from sparsegate.selection.accuracy import check_confidence
from sparsegate.selection.exponential import selection_rate
from sparsegate.selection.select import select_top
from sparsegate.uses.asking import AsksGate

Integers = NDArray[np.int64]
# Takes the tokens so far, a tuple, and gives a number for each that may come next; or for a question, a label.
Model = Callable[[Any], Any]

Gives = Literal["logits", "probabilities", "labels"]
GIVES: Final[tuple[Gives, ...]] = ("logits", "probabilities", "labels")
WHOLE: Final = 2**40  # the parts of a distribution
LEVELS: Final = 2**16  # the steps from a clipped logit of 0 to the clip
MOST_BATCHES: Final = 2**20  # the weights of this many callables fit 64 bits
MOST_TOKENS: Final = 2**22


class Reading(NamedTuple):
    """One answer: its weights and its scores."""

    weights: Integers
    scores: Integers


class Opinion(NamedTuple):
    """All private answers together: how far they are from the public one, in batches, and the sums of their scores."""

    distance: Fraction
    scores: Integers


@dataclass(frozen=True, kw_only=True)
class Reader:
    """How answers are read: four public things."""

    vocabulary: int
    clip: float
    gives: Gives
    alone: bool = False

    def read(self, answer: Any) -> Reading | None:
        """The reading of one answer, or None where it is an abstention; it raises nothing."""
        with np.errstate(all="ignore"):
            return answer_of(self._vote if self.gives == "labels" else self._reading, answer)  # type: ignore[no-any-return]

    def _vote(self, answer: Any) -> Reading | None:
        """All of its weight, and of a score, for one label."""
        label = np.asarray(answer)
        if label.shape != () or label.dtype.kind not in "iu" or not 0 <= label < self.vocabulary:
            return None
        chosen = np.arange(self.vocabulary) == int(label)
        return Reading(weights=chosen * WHOLE, scores=chosen * LEVELS)

    def _reading(self, answer: Any) -> Reading | None:
        values = np.asarray(answer)
        if values.shape != (self.vocabulary,) or values.dtype.kind not in "iuf":
            return None
        logits = values.astype(np.float64)
        if self.gives == "probabilities":
            logits = np.log(logits)  # that of 0 is -infinity, and that of less is NaN
        top = float(logits.max())
        if not math.isfinite(top):  # one NaN makes the largest a NaN
            return None
        logits = logits - top
        shares = np.exp(logits)
        weights = (shares * (WHOLE / float(shares.sum()))).astype(np.int64)  # rounded down, as all are at least 0
        weights[int(weights.argmax())] += WHOLE - int(weights.sum())
        scores = np.maximum(logits * (LEVELS / self.clip) + LEVELS, 0).astype(np.int64)
        return Reading(weights=weights, scores=scores)

    def gathered(self, answers: Iterable[Any], public: Reading) -> Opinion:
        """What all of them say together."""
        apart = np.zeros(self.vocabulary, dtype=np.int64)
        scores = np.zeros(self.vocabulary, dtype=np.int64)
        for answer in answers:
            reading = self.read(answer)
            if reading is not None:
                apart += reading.weights - public.weights
                scores += reading.scores
        if self.gives == "labels":
            votes, label = scores // LEVELS, int(public.weights.argmax())
            lead = int(np.delete(votes, label).max()) - int(votes[label])
            return Opinion(distance=Fraction(lead, 1 if self.alone else 2), scores=scores)
        return Opinion(distance=Fraction(int(np.abs(apart).sum()), 2 * WHOLE), scores=scores)


def answer_of(model: Model | None, text: Any) -> Any:
    """What a private callable answers; None where it fails, by whatever error of its own.

    Not every error is an ``Exception``: a tokenizer in Rust panics with one that is not, for what a text holds.
    """
    if model is None:
        return None
    try:
        return model(text)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


STEP: Final = Fraction(1, 1024)  # distances are whole numbers of these, in batches
_TOKENS = Fraction(1, 2)  # the most of a pure epsilon that tokens get
# The epsilon of the gate were it alone, as a part of all: moments are squares, so 7/10 leaves half to tokens.
_GATE = (Fraction(9, 10), Fraction(4, 5), Fraction(7, 10))
_CLIP = 2**20  # the largest
_DEFAULT_CLIP = 10
_BITS, _DIGITS = 128, 40
_AROUND = math.log(8)  # ln(alpha - 1) is searched this far on both sides of the best order of plain zCDP


@dataclass(frozen=True, kw_only=True)
class PredictionTerms:
    """What a ``PrivatePredictor`` costs and how sure it is of what it does; all of it public.

    ``epsilon`` and ``delta``: the loss of everything that comes out. ``token_epsilon``: e, that of one paid token.
    ``temperature``: what paid tokens are drawn at, where 1 is the mean clipped logits as they are.
    """

    batches: int
    """s, how many callables there are."""
    threshold: Fraction
    """The distance from the public model above which a token is paid for."""
    cutoff: int
    """How many tokens can be paid for."""
    epsilon: Fraction
    delta: Fraction
    token_epsilon: Fraction
    temperature: float
    calibration: Calibration
    """The noise of the gate."""

    def margin(self, confidence: float = 0.95) -> float:
        """How far from the threshold a distance must be to be taken as what it is with this probability."""
        return float(self.calibration.margin(confidence) * STEP / self.batches)

    @cached_property
    def zcdp(self) -> float:
        """The rho of zero-concentrated privacy of everything, rounded up."""
        gate, tokens = self.calibration, self.cutoff * self.token_epsilon**2 / 8
        if not self.delta:
            return math.nextafter(float(pure_rho(gate.budget.total) + tokens), math.inf)
        assert gate.scales.threshold is not None
        rho = pure_rho(gate.lattice.sensitivity / gate.scales.threshold)
        return (float(rho + tokens) + waiting_rate(gate)) * (1 + 1e-12)

    @property
    def cost(self) -> Cost:
        """What everything costs: the gate, and the tokens one by one, each a round of the exponential mechanism."""
        return replace(Cost.of(self.epsilon, self.delta), rho=Fraction(self.zcdp), rho_delta=Fraction(0))

    def dp_event(self, accountant: Accountant = "rdp") -> Any:
        """Everything that comes out, as an event of Google's ``dp_accounting``: see docs/how-to/dp_sgd.md."""
        gate, each = gate_event(self.calibration, accountant), self.token_epsilon
        draws = partial(selection_event, "exponential", delta=Fraction(0), accountant=accountant)
        if accountant == "rdp":
            tokens = draws(epsilon=self.cutoff * each, count=self.cutoff)
        else:
            events = load_extra("dp_accounting.dp_event", extra="accounting")
            tokens = events.SelfComposedDpEvent(draws(epsilon=each, count=1), self.cutoff)
        return composed([gate, tokens])

    def spent(self, *, gate: Fraction, paid: int) -> Fraction:
        """What has been spent where the gate has spent this much and this many tokens are paid for."""
        return gate if self.delta else gate + paid * self.token_epsilon


def prediction_terms(
    *,
    batches: int,
    threshold: Number,
    cutoff: int,
    epsilon: Number,
    delta: Number = 0,
    clip: Number = _DEFAULT_CLIP,
    temperature: Number = 1,
    gives: Gives = "logits",
    alone: bool = False,
    not_private: bool = False,
) -> PredictionTerms:
    """Check the public numbers and split epsilon; the parameters are those of ``PrivatePredictor``.

    Tokens get what the temperature needs, but at most half of epsilon: then the temperature is higher. With delta, an
    approximate gate is taken where tokens are drawn no hotter and the margin is less; otherwise no delta is charged.
    """
    s, c = exact_count(batches, "batches", most=MOST_BATCHES), exact_count(cutoff, "cutoff")
    total, bar = exact_epsilon(epsilon), exact_number(threshold)
    if bar is None or not 0 < bar < 1:
        rule = "must lie strictly between 0 and 1: it is a part of all callables"
        raise ParameterError("threshold", rule, threshold, "pass for instance threshold=0.4")
    check_truth(alone, "alone", "pass True only for one person to a callable")
    check_choice(gives, "gives", GIVES)
    width = exact_epsilon(clip, "clip")
    if not 1 <= width * _CLIP <= _CLIP**2:
        raise ParameterError("clip", f"must lie between 1/{_CLIP} and {_CLIP}", clip, "pass for instance clip=10")
    if gives == "labels" and width != _DEFAULT_CLIP:
        raise ParameterError("clip", "must be left out with labels, which have no logits", clip, "leave it out")
    reach = (1 if alone else 2) * (Fraction(1) if gives == "labels" else width / s)
    needed = reach / exact_epsilon(temperature, "temperature")
    each = min(needed, total * _TOKENS / c)
    pure = PredictionTerms(
        batches=s,
        threshold=bar,
        cutoff=c,
        epsilon=total,
        delta=Fraction(0),
        token_epsilon=each,
        temperature=float(reach / each),
        calibration=gate_calibration(
            threshold=s * bar,
            cutoff=c,
            sensitivity=1,
            granularity=STEP,
            budget=Budget.allocate(total - c * each, cutoff=c),
            not_private=not_private,
        ),
    )
    if not exact_delta(delta, zero=True):
        return pure
    approximate = _approximate(pure, exact_delta(delta), reach=reach, needed=needed)
    if approximate is None or approximate.temperature > pure.temperature or approximate.margin() >= pure.margin():
        return pure
    return approximate


def _approximate(
    pure: PredictionTerms, delta: Fraction, *, reach: Fraction, needed: Fraction
) -> PredictionTerms | None:
    """The same under (epsilon, delta): the most for the gate that leaves tokens what they need; None: none found."""
    gate, total, best = pure.calibration, pure.epsilon, None
    for share in _GATE:
        scales = approximate_scales(
            epsilon=total * share,
            delta=delta,
            sensitivity=gate.lattice.sensitivity,
            cutoff=gate.cutoff,
            monotonic=False,
        )
        if scales is None or not all(MIN_SCALE <= scale <= MAX_SCALE for scale in scales if scale is not None):
            continue
        budget = Budget(threshold_epsilon=0, query_epsilon=total, delta=delta)
        noised = replace(gate, row=VARIANTS["standard"], scales=scales, shift=0, budget=budget)
        each = min(needed, _left_to_tokens(noised, total, delta))
        if each:
            best = replace(pure, delta=delta, token_epsilon=each, temperature=float(reach / each), calibration=noised)
        if each == needed:
            break
    return best


def _left_to_tokens(gate: Calibration, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest e found that the theorem allows beside this gate, rounded down; 0 for none."""
    from mpmath import fp
    from scipy.optimize import minimize_scalar

    asked = log_inverse(delta)

    def divergence(alpha: Fraction) -> float:
        return renyi_bound(
            alpha, scales=gate.scales, sensitivity=gate.lattice.sensitivity, cutoff=gate.cutoff, monotonic=False
        )

    def lost(x: float) -> float:
        alpha = 1 + math.exp(x)
        return -(float(epsilon) - float(conversion(fp, alpha, asked)) - divergence(Fraction(alpha))) / alpha

    middle = math.log(2 * asked / float(epsilon))
    bounds = (middle - _AROUND, middle + _AROUND)
    best = minimize_scalar(lost, bounds=bounds, method="bounded", options={"maxiter": 20})
    order = 1 + Fraction(math.exp(best.x))
    with interval_arithmetic(_BITS) as iv:
        alpha = iv.mpf(order.numerator) / iv.mpf(order.denominator)
        added = conversion(iv, alpha, iv.log(iv.mpf(delta.denominator) / iv.mpf(delta.numerator)))
        room = iv.mpf(epsilon.numerator) / iv.mpf(epsilon.denominator) - added - iv.mpf(divergence(order))
        low = scaled_floor((8 * room / (alpha * gate.cutoff))._mpi_[0], 2 * _BITS)
    root = math.isqrt(max(low, 0))
    spare = max(root.bit_length() - _DIGITS, 0)
    return Fraction(root >> spare << spare, 1 << _BITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One token. ``paid``: it was drawn from the private answers, and used up one of the cutoff. ``checked``: the gate
    compared them with the public model; False where it was closed and the public model went on alone.

    >>> import sparsegate as sg
    >>> private = [lambda text: [0, 0, 9]] * 400  # what 400 batches of records say the next token is
    >>> public = lambda text: [0, 3, 0]
    >>> asked = {"vocabulary": 3, "threshold": 0.5, "cutoff": 5, "epsilon": 2, "clip": 5}
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> sg.uses.PrivatePredictor(private, public, **asked, **seeded).predict((0, 1))
    Prediction(token=2, paid=True, checked=True)
    """

    token: int
    """Its number in the vocabulary."""
    paid: bool
    checked: bool

    def __str__(self) -> str:
        return f"token {self.token}, {'paid' if self.paid else 'free'}{'' if self.checked else ', not checked'}"


def read_tokens(tokens: Iterable[Any], vocabulary: int, parameter: str = "context") -> tuple[int, ...]:
    """Whole numbers below the size of the vocabulary."""
    rule = f"must have tokens from 0 to {vocabulary - 1}"
    try:
        listed = tuple(tokens)
    except TypeError:
        raise ParameterError(parameter, rule, tokens, "pass for instance context=[0]") from None
    for token in listed:
        if not isinstance(token, int | np.integer) or isinstance(token, bool) or not 0 <= token < vocabulary:
            raise ParameterError(parameter, rule, token, f"pass for instance {parameter}=[0]")
    return tuple(map(int, listed))


def free_token(public: Reading, source: Source) -> int:
    """A token of the public model: each with a probability of its weight over ``WHOLE``, exactly."""
    return int(np.searchsorted(np.cumsum(public.weights), uniform_below(source, WHOLE), side="right"))


@dataclass(frozen=True, kw_only=True)
class Metered(Charge):
    """The charge of the whole as the gate's own: what goes back is the gate's rest and that of the tokens at once."""

    paid: Charge
    unused: Callable[[], Fraction]

    def give_back(self, epsilon: Fraction) -> bool:
        return self.paid.give_back(epsilon + self.unused())


class _Within(threading.local):
    """Whether this thread is in the private callables; a lock, because an interrupt leaves none that it left held."""

    def __init__(self) -> None:
        self.callables = threading.Lock()


def _numbers(scope: dict[str, Any]) -> dict[str, Any]:
    """Of the parameters of a call, its ``locals()``, those of ``prediction_terms`` that are asked for in both."""
    names = ("threshold", "cutoff", "epsilon", "delta", "clip", "temperature", "gives", "alone")
    return {name: scope[name] for name in names}


class PrivatePredictor(AsksGate):
    """Writes text token by token: from a public model while private records agree with it, else from those records.

    Each of s private callables answers from its own batch of records, disjoint by people. With p_i their distributions
    (read as above), p the public one, d = TV(mean of the p_i, p), rho drawn once and nu fresh for every token,

        s d + nu < s T + rho + kappa:   the token is drawn from p, and costs nothing more;
        otherwise:                      it is drawn by the exponential mechanism from the mean of the clipped logits,
                                        Pr[t] ~ exp(mean_i z_i(t) / temperature); c times at most.

    (Amin, Bie, Kong, Kurakin, Ponomareva, Syed, Terzis, Vassilvitskii: Private prediction for large-scale synthetic
    text generation, 2024; the gate is one of this library, with one rho for all c, and draws are exact.)

    **Theorem.** Let neighbours differ by one person with all their records, in one batch. Everything that ever leaves
    this object, for any number of adaptively chosen contexts, is ``epsilon``-DP, or (``epsilon``, ``delta``)-DP.
    Proof: docs/explanation/proofs_in_words/uses.md. In Coq: the gate, `exponential_gate_is_private`
    (proofs/exponential_gate.v), and a draw: `exponential_is_private`, `exponential_bounded_range`
    (proofs/exponential_mechanism.v).

    What the theorem asks of you: a callable sees the records of its batch and public things alone. Who is in which
    batch depends on each person alone: ``batches`` is a hash. s is a public number; a batch may be empty, and then its
    callable still is one (None says that nobody is there).

    An exception in a private callable, or an answer that is none, is an abstention and raises nothing; so try callables
    on records that you made up. KeyboardInterrupt passes. A callable that asks or closes its own predictor abstains.
    *Time*, and logs, are yours to hide: for every token each callable is called once, in order, whatever the gate says.

    Parameters
    ----------
    private: s callables, or None for an empty one. Each takes a tuple of tokens and gives ``vocabulary`` numbers; with
        labels it takes a question of any kind, which is public, and gives the number of one label.
    public: a callable of the same kind, that has seen nothing private. Its errors are raised, before anything is drawn.
    vocabulary: how many tokens or labels there are: 0, 1, ... A public number of at most 2**22.
    threshold: T, strictly between 0 and 1: a total variation up to which the public model will do; or the lead over the
        public label, as a part of all callables (half of the lead, unless each is ``alone``), up to which that will do.
    cutoff: c, how many tokens can be paid for.
    epsilon, delta: the privacy loss of everything; with delta, a gate whose noise grows with sqrt(c) where that helps.
    clip: B > 0: logits further than that below a callable's largest count as if they were B below it.
    temperature: of paid tokens, at least; where half of epsilon does not buy it, ``terms.temperature`` is higher.
    gives: "logits", or "probabilities", which need not add up to one, or "labels". For all callables.
    alone: True where each callable holds one person alone: a person who leaves turns it into None. It halves e.
    ledger: an open ``sparsegate.Ledger``, charged with the whole epsilon before anything is drawn.
    refund: ``close`` gives back what the tokens did not cost; False: what was charged stays spent.
    source, not_private: ``Secure()``; a ``Seeded`` source is for tests, and needs not_private=True.

    >>> import sparsegate as sg
    >>> private = [lambda text: [0, 0, 9] if text[-1:] == (1,) else [0, 3, 0]] * 400
    >>> predictor = sg.uses.PrivatePredictor(private, lambda text: [0, 3, 0], vocabulary=3, threshold=0.5, cutoff=5,
    ...                                 epsilon=2, clip=5, source=sg.Seeded(1), not_private=True)
    >>> [(each.token, each.paid) for each in predictor.generate((0,), 4)]
    [(1, False), (2, True), (1, False), (2, True)]
    >>> predictor
    <PrivatePredictor: 400 batches, 3 tokens, 2 of 5 paid for, open>
    """

    _uncopied = (
        "a predictor can be neither copied nor pickled: two copies would answer with the same noise; make a new one"
    )

    _closed_says = (
        "this predictor is closed: {}; pass unchecked=True for tokens of the public model alone, or make a new one, "
        "which spends a new budget"
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
        clip: Number = _DEFAULT_CLIP,
        temperature: Number = 1,
        gives: Gives = "logits",
        alone: bool = False,
        ledger: Spender | None = None,
        refund: bool = True,
        source: Source | None = None,
        not_private: bool = False,
    ) -> None:
        models = tuple(private) if isinstance(private, list | tuple) else ()
        if not models or not all(model is None or callable(model) for model in models):
            rule = "must be a list of callables, one for each batch, or None where nobody is in it"
            raise ParameterError("private", rule, next_step="pass [model_of_batch_1, model_of_batch_2, ...]")
        if not callable(public):
            raise ParameterError("public", "must be callable", public, "pass a function of the tokens so far")
        check_truth(refund, "refund")
        size = exact_count(vocabulary, "vocabulary", most=MOST_TOKENS)
        terms = prediction_terms(batches=len(models), **_numbers(locals()), not_private=not_private)
        if gives == "labels" and size < 2:
            raise ParameterError("vocabulary", "must be two labels or more", vocabulary, "count the labels")
        selection_rate(epsilon=terms.token_epsilon, count=1, sensitivity=LEVELS, monotonic=alone)  # before it is needed
        noise = trusted_source(source, not_private)
        super().__init__()
        self.terms, self.alone, self._private, self._public = terms, alone, models, public
        self._reader = Reader(vocabulary=size, clip=float(clip), gives=gives, alone=alone)
        self._free, self._tokens, self._not_private = noise.stream(), noise.stream(), not_private
        self._within = _Within()
        what = f"threshold {float(terms.threshold):g}, cutoff {terms.cutoff}, {terms.batches} batches"
        what = f"private prediction: {what}"
        paid = charge(ledger, **vars(terms.cost), what=what)
        self._gate = Gate(
            terms.calibration,
            threshold=terms.batches * terms.threshold,
            source=noise,
            not_private=not_private,
            ledger=Prepaid(Metered(paid=paid, unused=self._unused)),
            refund=refund,
        )

    @staticmethod
    def preview(
        *,
        batches: int,
        threshold: Number,
        cutoff: int,
        epsilon: Number,
        delta: Number = 0,
        clip: Number = _DEFAULT_CLIP,
        temperature: Number = 1,
        gives: Gives = "logits",
        alone: bool = False,
        vocabulary: object = None,
        ledger: object = None,
        refund: object = True,
        source: object = None,
        not_private: object = False,
        confidence: float = 0.95,
    ) -> Preview:
        """What a predictor of so many ``batches`` would cost and be: nothing is charged, drawn or called.

        The others are those of ``PrivatePredictor``, of which the last five before ``confidence`` change nothing.

        >>> import sparsegate as sg
        >>> preview = sg.uses.PrivatePredictor.preview(batches=500, threshold=0.4, cutoff=20, epsilon=2, clip=5)
        >>> preview.epsilon, preview.token_epsilon, preview.temperature, round(preview.margin, 3)
        (Fraction(2, 1), Fraction(1, 50), 1.0, 0.086)
        """
        make = partial(prediction_terms, batches=batches, **_numbers(locals()))
        terms = make()
        margin, bar = terms.margin(check_confidence(confidence)), float(terms.threshold)
        paid = f"ε = {exact_text(terms.epsilon)}" + (f", δ = {exact_text(terms.delta)}" if terms.delta else "")
        public = {"batches": terms.batches, "threshold": bar, "cutoff": terms.cutoff}
        return Preview(
            release="private prediction",
            epsilon=terms.epsilon,
            delta=terms.delta,
            confidence=confidence,
            accuracy={"margin": margin, "temperature": terms.temperature},
            settings={**public, "token_epsilon": terms.token_epsilon, "zcdp": terms.zcdp},
            statement=f"{paid}, {terms.batches:,} batches: a distance {margin:.3g} or more from the threshold {bar:g} "
            f"is told with {100 * confidence:g} %; up to {terms.cutoff:,} tokens are paid for, and drawn at a "
            f"temperature of {terms.temperature:.3g}.",
            cost=terms.cost,
            cost_at=lambda total: make(epsilon=total).cost,
        )

    @staticmethod
    def batches(people: Iterable[str | int], count: int) -> list[list[int]]:
        """The numbers of the rows of each of ``count`` batches, by a hash of whose row it is: nobody else moves.

        >>> import sparsegate as sg
        >>> sg.uses.PrivatePredictor.batches(["ann", "bob", "ann", "cem"], 3)
        [[0, 2], [1], [3]]
        """
        batches: list[list[int]] = [[] for _ in range(exact_count(count, "count"))]
        for place, person in enumerate(people):
            if isinstance(person, bool | np.bool_) or not isinstance(person, str | int | np.integer):
                raise ParameterError("people", "must be strings or whole numbers", next_step="convert all of them")
            digest = hashlib.sha256(str(person).encode("utf-8", "surrogatepass")).digest()
            batches[int.from_bytes(digest) % len(batches)].append(place)
        return batches

    @own_settings
    def predict(self, context: Any = (), *, unchecked: bool = False) -> Prediction:
        """The next token after this context, a sequence of tokens; or the label of it, a question of any kind.

        Once the cutoff is used up this raises ``GateClosed``, unless ``unchecked=True``: then the public model goes on
        alone, and no private callable is called.
        """
        reader, alone = self._reader, check_truth(unchecked, "unchecked")
        text = context if reader.gives == "labels" else read_tokens(context, reader.vocabulary)
        public = reader.read(self._public(text))
        if public is None:
            answer = f"{'one of ' if reader.gives == 'labels' else ''}{reader.vocabulary} {reader.gives}"
            raise ParameterError("public", f"must give {answer}, not all of them impossible and none of them NaN")
        if self._gate.closed:  # before the lock: a fork may have left it held for ever
            return self._unchecked(public, alone)
        self._check_outside()
        with self._within.callables:
            opinion = reader.gathered((answer_of(model, text) for model in self._private), public)
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
        if self._reader.gives == "labels":
            raise SparsegateError("labels do not follow each other; call predict with each question")
        size, most, alone = self._reader.vocabulary, exact_count(length, "length"), check_truth(unchecked, "unchecked")
        if end is not None:
            (end,) = read_tokens((end,), size, "end")
        return self._generated(list(read_tokens(context, size)), most, end, alone)

    def _generated(self, text: list[int], most: int, end: int | None, alone: bool) -> Iterator[Prediction]:
        for made in range(most):
            if made and self.closed and not alone:
                return
            prediction = self.predict(text, unchecked=alone)
            yield prediction
            if prediction.token == end:
                return
            text.append(prediction.token)

    def _check_outside(self) -> None:
        """Refuse what a private callable asks of its own predictor: ``spent`` and ``closed`` would tell that it did."""
        if self._within.callables.locked():
            raise SparsegateError("a private callable must not use the predictor that calls it; it abstains")

    def _paid_token(self, opinion: Opinion) -> int:
        """A token by the exponential mechanism on the sums of all scores; where one is alone they move one way."""
        selected = select_top(
            opinion.scores,
            count=1,
            epsilon=self.terms.token_epsilon,
            sensitivity=LEVELS,
            monotonic=self.alone,
            method="exponential",
            source=self._tokens,
            not_private=self._not_private,
        )
        assert selected.indices is not None
        return int(selected.indices[0])

    def _unchecked(self, public: Reading, allowed: bool) -> Prediction:
        if not allowed:
            self._refuse()
        return Prediction(token=free_token(public, self._free), paid=False, checked=False)

    @property
    def _ended(self) -> str:
        if not self.closed:
            return ""
        by_hand = "it was closed by hand, or belongs to another process"
        return by_hand if self.remaining else f"all {self.terms.cutoff} tokens are paid for"

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

    def __repr__(self) -> str:
        state, paid = "closed" if self.closed else "open", f"{self._gate.positives} of {self.terms.cutoff} paid for"
        return f"<PrivatePredictor: {self.terms.batches} batches, {self._reader.vocabulary} tokens, {paid}, {state}>"
