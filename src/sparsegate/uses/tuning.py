"""Tuning with an honest epsilon: the best of a random number of private runs, charged once.

What it costs, and why, is in ``uses.run_cost``. The theorem has four hypotheses. What the code can hold, it holds:

1. *The number of runs is random and secret.* ``runs`` is a law, K is drawn exactly, and no result, record or error
   tells it. A fixed number is refused. **Time tells K**, and so does whatever else can be seen of a run: load, logs,
   files that ``train`` writes, a bill. Keep from outsiders how long tuning took, or compose and pay for each run.
2. *Candidates are drawn afresh from one fixed law* that no score has touched: a list, with or without weights, or a
   function of a generator alone. What takes more than that is refused, and so are Optuna's samplers that learn.
3. *One bound for all*: ``each`` is what a run costs, whatever the candidate. It is your promise about ``train``.
4. *Only the best is seen.* Its score is part of a run, and must be private as well: a validation score is, if the
   validation records are public, if it has noise that ``each`` pays for, or if each record is trained on or scored on
   and never both. There is no list of scores, and no bar that would count the runs.

A run that fails ends it all: the charge stays, nothing is released, and the error names its type alone. The theorem
covers that as well: whether it fails, and of which type, is the best of K runs where a failure has the highest score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from importlib import import_module
from inspect import signature
from itertools import accumulate, repeat
from typing import Any, Final

import numpy as np

from sparsegate.budget import Cost, Number, Spender, charge, exact_delta, exact_epsilon
from sparsegate.display.plain import amount_text, plain, plain_label
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Printed
from sparsegate.errors import ParameterError, SparsegateError
from sparsegate.gates.calibration import trusted_source
from sparsegate.gates.preview import Curve, Preview
from sparsegate.noise import Source, uniform_below
from sparsegate.noise.own_settings import own_settings
from sparsegate.selection.accuracy import check_confidence
from sparsegate.uses.run_cost import ETA, RunCost, RunLaw, Runs, best_of

SCHEMA: Final = "sparsegate/tuned/1"
Train = Callable[[Any, np.random.Generator], tuple[Any, Any]]  # A candidate and a generator in, a score and a model out
_MEANS: Final = (2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1000)


@dataclass(frozen=True, kw_only=True, repr=False)
class Tuned(Printed):
    """The best run, and what all of them cost together. How many there were is not told.

    >>> import sparsegate as sg
    >>> seeded = {"source": sg.Seeded(1), "not_private": True}  # for an example that repeats itself; leave it out
    >>> each = sg.uses.RunCost.pure(0.5)
    >>> sg.uses.tune(lambda rate, rng: (rate, None), candidates=[0.1], each=each, mean=5, **seeded)
    <Tuned: the best of 5 runs in the mean (logarithmic), each epsilon 0.5>
    """

    candidate: Any
    """What it was trained with; None where K was 0, which only a Poisson law has."""
    score: float | None
    """Its score, as ``train`` gave it; NaN counts as minus infinity."""
    model: Any = field(compare=False)
    """What ``train`` returned with it; the public ``default`` where K was 0."""
    epsilon: Fraction
    """What all the runs together cost,"""
    delta: Fraction
    """and the delta of that."""
    law: str
    """The law of the number of runs."""
    mean: Fraction
    """Its mean, rounded up."""
    each: str
    """What one run costs, in words."""

    def sheet(self) -> Sheet:
        """One row."""
        score = "none" if self.score is None else f"{self.score:g}"
        cost = f"epsilon {float(self.epsilon):g}" + (f", delta {float(self.delta):g}" if self.delta else "")
        columns = {"best candidate": [str(plain_label(self._plain_candidate()))], "score": [score], "cost": [cost]}
        title = f"the best of {float(self.mean):g} runs in the mean ({self.law}), each {self.each}"
        return Sheet(title=title, columns=columns, numbers=frozenset())

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON takes it, without the model."""
        return {
            "schema": SCHEMA,
            "candidate": self._plain_candidate(),
            "score": plain(self.score),
            "epsilon": amount_text(self.epsilon),
            "delta": amount_text(self.delta),
            "law": self.law,
            "mean": float(self.mean),
            "each": self.each,
        }

    def _plain_candidate(self) -> Any:
        return plain(self.candidate) if isinstance(self.candidate, Mapping) else plain_label(self.candidate)


@own_settings
def tune(
    train: Train,
    *,
    candidates: Any,
    weights: Sequence[Number] | None = None,
    each: RunCost,
    runs: Runs = "logarithmic",
    mean: Number,
    eta: Number | None = None,
    epsilon: Number | None = None,
    delta: Number = 0,
    default: Any = None,
    ledger: Spender | None = None,
    source: Source | None = None,
    not_private: bool = False,
) -> Tuned:
    """Train a random number of candidates, and give the best alone: (epsilon, delta)-DP by ``uses.run_cost``.

    Best of about 100 runs that each cost (1, 1e-6) costs 1.64, not 13.2 as all of them would.

    Parameters
    ----------
    train : ``train(candidate, rng)`` gives a score, the larger the better, and a model. All of it, the score as well,
        must have the cost ``each``, and see nothing of other runs. ``rng`` is a fresh numpy generator, for what is no
        noise: its seed is random, but it is no cipher.
    candidates : a sequence, drawn from uniformly or with ``weights``; or a function of a generator (``OptunaSpace``).
    each : what one run costs, the same for every candidate: ``RunCost.zcdp(0.02)``, ``RunCost.dp_sgd(...)``, ...
    runs, mean, eta : the law of K and its mean. "logarithmic" costs least and often makes a single run; "geometric" is
        the one between; "poisson" hardly ever makes few runs, and costs most; "negative-binomial" takes ``eta``.
        ``preview_tuning`` compares them.
    epsilon : the most that tuning may cost; what is charged is what it does cost. ``RunCost.within`` finds the noise.
    delta : 0 is for runs that are epsilon-DP alone.
    default : PUBLIC, the model where K is 0, which a Poisson law allows.
    ledger : is charged once, before anything is drawn, and keeps the result without its model.
    source, not_private : ``Secure()``; a ``Seeded`` source is for tests, and needs not_private=True.

    >>> import sparsegate as sg
    >>> def train(degree, rng):  # a made-up score: a real one is private as well
    ...     return -abs(degree - 3) + 0.1 * rng.standard_normal(), f"a model of degree {degree}"
    >>> options = {"each": sg.uses.RunCost.gaussian(5), "mean": 30, "delta": 1e-6, "epsilon": 2}
    >>> best = sg.uses.tune(train, candidates=range(9), **options, source=sg.Seeded(7), not_private=True)
    >>> best.candidate, best.model, round(float(best.epsilon), 2)
    (3, 'a model of degree 3', 1.35)
    """
    law, cost = tuning_cost(each=each, runs=runs, mean=mean, eta=eta, epsilon=epsilon, delta=delta)
    draw = candidate_law(candidates, weights)
    if not callable(train) or not _takes(train, 2):
        raise ParameterError("train", "must be a function of a candidate and a generator", train, "def train(c, rng)")
    noise = trusted_source(source, not_private)
    what = f"the best of {float(law.mean):g} runs in the mean ({law.name}), each {each.what}"
    keep = charge(ledger, **vars(cost), what=what).keep
    score, candidate, model = _best(train, draw, noise, law) or (None, None, default)
    costs: dict[str, Any] = {"epsilon": cost.epsilon, "delta": cost.delta, "each": each.what}
    tuned = Tuned(candidate=candidate, score=score, model=model, law=law.name, mean=law.mean, **costs)
    keep({"release": "tune", **tuned.to_dict()})
    return tuned


def _best(train: Train, draw: Callable[[Source], Any], noise: Source, law: RunLaw) -> tuple[float, Any, Any] | None:
    """The best of K runs; of equal ones the first."""
    best: tuple[float, Any, Any] | None = None
    try:
        for _ in repeat(None, law.draw(noise)):  # no variable tells which run it is,
            run = _run(train, draw, noise)
            if best is None or run[0] > best[0]:
                best = run
    except BaseException:
        best = run = None  # and where one failed none is left to whoever looks at the variables of a traceback
        raise
    return best


def _run(train: Train, draw: Callable[[Source], Any], noise: Source) -> tuple[float, Any, Any]:
    """One run: score, candidate, model."""
    try:
        candidate = draw(noise)
        score, model = train(candidate, generator(noise))
        number = float(score)
        return -math.inf if math.isnan(number) else number, candidate, model
    except Exception as error:
        kind = type(error).__name__  # what it says, and which run it was, may be private
    raise SparsegateError(
        f"a run failed with {kind}: the charge stays, and nothing is released; try train and candidates on made-up "
        "records before they see private ones"
    )


def generator(source: Source) -> np.random.Generator:
    """A fresh numpy generator."""
    return np.random.Generator(np.random.PCG64(source.integer(256)))


def tuning_cost(
    *, each: object, runs: object, mean: object, eta: object = None, epsilon: Number | None = None, delta: Number = 0
) -> tuple[RunLaw, Cost]:
    """The law of K and what tuning costs, all parameters checked."""
    if not isinstance(each, RunCost):
        rule = "must be one bound for every candidate, a RunCost"
        raise ParameterError("each", rule, each, "pass for instance sg.uses.RunCost.zcdp(0.02), the largest of them")
    law = RunLaw.of(runs, mean, eta)
    cost = best_of(each, law, exact_delta(delta, zero=True))
    if epsilon is not None and cost.epsilon > exact_epsilon(epsilon):
        rule = f"must be at least {float(cost.epsilon):.4g}, which is what tuning costs"
        raise ParameterError("epsilon", rule, epsilon, "sg.uses.RunCost.within(...) finds the noise for an epsilon")
    return law, cost


def candidate_law(candidates: Any, weights: Sequence[Number] | None = None) -> Callable[[Source], Any]:
    """How one candidate is drawn; whatever might see scores is refused."""
    if type(candidates).__module__.partition(".")[0] == "optuna":
        rule = f"must be drawn from one fixed law, and {type(candidates).__name__} may choose by scores"
        raise ParameterError("candidates", rule, next_step="pass sg.uses.OptunaSpace(space, study)")
    if callable(candidates):
        if weights is not None:
            raise ParameterError("weights", "must not be given with a function", weights, "let it draw by them itself")
        if not _takes(candidates, 1):
            rule = "must be a function of a generator alone: candidates that see scores or earlier runs are not covered"
            raise ParameterError("candidates", rule, candidates, "def candidates(rng)")
        return lambda source: candidates(generator(source))
    listed = [] if isinstance(candidates, str | bytes | Mapping) or not np.iterable(candidates) else list(candidates)
    if not listed:
        rule = "must be a sequence of at least one, or a function of a generator"
        raise ParameterError("candidates", rule, candidates, "pass for instance candidates=[0.1, 0.3, 1.0]")
    if weights is None:
        return lambda source: listed[uniform_below(source, len(listed))]
    exact = [exact_epsilon(weight, "weights") for weight in weights]
    if len(exact) != len(listed):
        raise ParameterError("weights", f"must be one for each of {len(listed)} candidates", len(exact), "or none")
    shared = math.lcm(*(weight.denominator for weight in exact))
    sums = list(accumulate(int(weight * shared) for weight in exact))

    def weighted(source: Source) -> Any:
        place = uniform_below(source, sums[-1])
        return listed[next(number for number, most in enumerate(sums) if place < most)]

    return weighted


def _takes(call: Callable[..., Any], count: int) -> bool:
    """Whether it takes this many arguments by position, and asks for no more."""
    try:
        signature(call).bind(*[None] * count)
    except TypeError:
        return False
    except ValueError:
        return True  # a built-in one does not say
    return True


class OptunaSpace:
    """Candidates from a search space of Optuna, drawn at random: ask as often as K says, tell the best alone.

    ``space`` maps names to ``optuna.distributions``, or is a function of a trial that suggests parameters. Trials that
    are asked live in a study of its own, because their number is K. ``study``, where given, is told the best by
    ``tell``; its sampler must be a ``RandomSampler``: those that learn (TPE, CMA-ES, GP) or walk (grid, QMC) are
    refused, because candidates must come afresh from one law.

    >>> import optuna, sparsegate as sg  # doctest: +SKIP
    >>> space = {"rate": optuna.distributions.FloatDistribution(1e-3, 1, log=True)}  # doctest: +SKIP
    >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler())  # doctest: +SKIP
    >>> law = sg.uses.OptunaSpace(space, study)  # candidates=law, and then law.tell(best)  # doctest: +SKIP
    """

    def __init__(self, space: Any, study: Any = None) -> None:
        self._optuna = import_module("optuna")  # whoever has such a space has it
        random = self._optuna.samplers.RandomSampler
        if study is not None and type(study.sampler) is not random:
            rule = f"must have a RandomSampler: {type(study.sampler).__name__} does not draw afresh from one fixed law"
            raise ParameterError(
                "study", rule, next_step="optuna.create_study(sampler=optuna.samplers.RandomSampler())"
            )
        self.space, self.study = space, study
        storage = self._optuna.storages.InMemoryStorage()
        storage.create_new_study([self._optuna.study.StudyDirection.MAXIMIZE], "candidates")
        self._asked = self._optuna.study.Study("candidates", storage, random())

    def __call__(self, rng: np.random.Generator) -> dict[str, Any]:
        """A candidate: its parameters by name."""
        self._asked.sampler = self._optuna.samplers.RandomSampler(seed=int(rng.integers(2**32)))
        trial = self._asked.ask(None if callable(self.space) else self.space)
        if callable(self.space):
            self.space(trial)
        return dict(trial.params)

    def tell(self, best: Tuned) -> None:
        """Add the best to the study, as its one trial of this tuning; nothing where K was 0."""
        if self.study is None:
            raise ParameterError("study", "must be given to be told", next_step="sg.uses.OptunaSpace(space, study)")
        if best.score is None:
            return
        kinds = self.space
        if callable(kinds):
            fixed = self._optuna.trial.FixedTrial(best.candidate)
            kinds(fixed)
            kinds = fixed.distributions
        create = self._optuna.trial.create_trial
        self.study.add_trial(create(params=best.candidate, distributions=kinds, value=best.score))


def preview_tuning(
    *,
    each: RunCost,
    runs: Runs = "logarithmic",
    mean: Number,
    eta: Number | None = None,
    epsilon: Number | None = None,
    delta: Number = 0,
    confidence: float = 0.95,
) -> Preview:
    """What ``tune`` would charge, beside other laws and composing; nothing is drawn or charged.

    With ``confidence`` at least one candidate of the best share ``top`` of the law is tried; ``expected`` is that share
    in the mean, E[1/(K+1)]; ``single`` is the chance of a single run or none; ``composed`` is the epsilon of as many
    runs, fixed, that are all seen. A law of the same mean that costs less makes few runs more often. ``each``,
    ``runs``, ``mean``, ``eta``, ``epsilon`` and ``delta`` are those of ``tune``.

    >>> import sparsegate as sg
    >>> each = sg.uses.RunCost.gaussian(4.53)
    >>> preview = sg.uses.preview_tuning(each=each, runs="geometric", mean=100, delta=1e-6)
    >>> round(float(preview.epsilon), 2), round(preview.top, 2), round(preview.composed, 1)
    (1.89, 0.16, 13.2)
    """
    check_confidence(confidence)
    law, cost = tuning_cost(each=each, runs=runs, mean=mean, eta=eta, epsilon=epsilon, delta=delta)
    others = [law, *(RunLaw.of(name, mean) for name in ETA if name not in (law.name, "negative-binomial"))]
    rows = [
        {
            "law": other.name,
            "chosen": other is law,
            "epsilon": float(best_of(each, other, cost.delta).epsilon),
            **_figures(other, confidence),
        }
        for other in others
    ]
    composed = each.composed(math.ceil(exact_epsilon(mean, "mean")), cost.delta)
    accuracy = {**_figures(law, confidence), "composed": composed}
    return Preview(
        release="tuning",
        epsilon=cost.epsilon,
        delta=cost.delta,
        confidence=confidence,
        accuracy=accuracy,
        settings={"runs": law.name, "mean": float(law.mean), "each": each.what},
        statement=f"The best of {float(law.mean):g} runs in the mean costs epsilon {float(cost.epsilon):.3g}, where "
        f"all of them would cost {composed:.3g}. With {100 * confidence:g} % a candidate among the best "
        f"{100 * accuracy['top']:.3g} % is tried; {100 * accuracy['single']:.3g} % of the time there is a single run.",
        alternatives=tuple(rows),
        make_curves=partial(_curves, law, eta, confidence),
        cost=cost,
    )


def _figures(law: RunLaw, confidence: float) -> dict[str, float]:
    shares = (np.arange(4000) + 0.5) / 4000
    expected = float(np.mean([law.generating(1 - share) for share in shares]))
    return {"top": law.top(confidence), "expected": expected, "single": law.at_most_one()}


def _curves(law: RunLaw, eta: object, confidence: float) -> list[Curve]:
    points = tuple((float(mean), RunLaw.of(law.name, mean, eta).top(confidence)) for mean in _MEANS)
    return [Curve(figure="top", parameter="mean", points=points)]
