"""`audit`: any callable in, a certified lower bound on what it leaks out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from sparsegate.auditor.blackbox import RunBudget, progress_bar
from sparsegate.auditor.certify import Candidate, Draw, Registration, Search, certify, schedule
from sparsegate.auditor.confidence import Counts
from sparsegate.auditor.encoding import Encoder, Sample
from sparsegate.auditor.events import Aim
from sparsegate.auditor.neighbours import (
    NeighbourPair,
    Space,
    input_text,
    known_patterns,
    random_pair,
    require_number,
    taken,
    whole,
)
from sparsegate.display.charts import new_figure
from sparsegate.display.plain import amount_text, plain, printable
from sparsegate.display.sheet import Sheet
from sparsegate.display.tabular import Single
from sparsegate.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_MOST_SHOWN: Final = 120


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The evidence: two neighbouring inputs, and an ``event`` that is likelier on ``answers`` than on ``neighbour``.

    ``counts`` are the runs that certified it. The event was fixed before the first of them.
    """

    answers: Any
    neighbour: Any
    event: str
    counts: Counts


@dataclass(frozen=True, kw_only=True, repr=False)
class Verdict(Single):
    """What an audit proved, at ``confidence``.

    ``epsilon_lower``: no (epsilon, delta) with the claimed delta and a smaller epsilon is true of the mechanism.
    ``delta_lower``: nor is any with the claimed epsilon and a smaller delta. ``violates``: so the claim is false.
    ``samples``: outcomes drawn in all, for the search and for the proof. A verdict that does not violate is no proof of
    privacy: it says what was not found.

    >>> import numpy as np, sparsegate as sg
    >>> noise = np.random.default_rng(1)
    >>> def half_the_noise(answers, n):
    ...     return answers[0] + noise.laplace(scale=0.5, size=n)
    >>> verdict = sg.audit(half_the_noise, epsilon=1, queries=1, samples=100_000, seed=1)
    >>> verdict.violates, round(verdict.epsilon_lower, 2), verdict.confidence
    (True, 1.22, 0.99)
    >>> verdict.witness.answers, verdict.witness.neighbour, verdict.witness.event
    ((2,), (1,), 'x with x > 1.89968')
    """

    mechanism: str
    """The name of what was audited."""
    epsilon: float
    """The claim."""
    delta: float
    """The claim."""
    epsilon_lower: float
    delta_lower: float
    confidence: float
    violates: bool
    witness: Evidence
    """The evidence."""
    samples: int
    seconds: float
    """How long it took."""

    @property
    def sentence(self) -> str:
        """The verdict for a person to read."""
        claim = f"ε = {self.epsilon:g}" + (f", δ = {self.delta:g}" if self.delta else "")
        sure = f"with {100 * self.confidence:.6g} % confidence"
        if not self.violates:
            return (
                f"{self.mechanism}: no violation of {claim} found in {self.samples:,} runs; {sure} its ε is at least "
                f"{self.epsilon_lower:.4g}. This is no proof of privacy."
            )
        counts = self.witness.counts
        answers, neighbour = (input_text(part, _MOST_SHOWN) for part in (self.witness.answers, self.witness.neighbour))
        return (
            f"{self.mechanism} is NOT private at {claim}: {sure} its ε is at least {self.epsilon_lower:.4g}. "
            f"On answers {answers} the outcome was {self.witness.event} in {counts.hits1:,} of "
            f"{counts.trials1:,} runs; on the neighbour {neighbour} in {counts.hits2:,} of "
            f"{counts.trials2:,}."
        )

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON takes it, by the schema "sparsegate/audit/1": see docs/reference/json.md."""
        claim = {name: amount_text(getattr(self, name)) for name in ("epsilon", "delta")}
        fields = {name: plain(self[name]) for name in self.keys()}
        return {"schema": "sparsegate/audit/1", **fields, **claim, "sentence": self.sentence}

    def sheet(self) -> Sheet:
        """One row: what was claimed, and what was proved."""
        names = [name for name in self.keys() if name != "witness"]
        witness = self.witness
        return Sheet(
            title=f"{self.mechanism}: {'NOT private as claimed' if self.violates else 'no violation found'}",
            brief=self.sentence,
            columns={name: [self[name]] for name in names},
            numbers=frozenset(names) - {"mechanism", "violates"},
            about={
                "answers": input_text(witness.answers, _MOST_SHOWN),
                "neighbour": input_text(witness.neighbour, _MOST_SHOWN),
                "event": witness.event,
            },
        )

    def plot(self) -> Figure:
        """The epsilon that was proved, as a bar, beside the one that was claimed."""
        figure = new_figure(6, 1.9)
        axes = figure.add_subplot()
        axes.barh([0], [self.epsilon_lower], height=0.5, color="#d55e00" if self.violates else "#4c78a8")
        axes.axvline(self.epsilon, color="#222222", linestyle="--")
        axes.set_xlim(0, 1.15 * max(self.epsilon, self.epsilon_lower))
        axes.set_yticks([0], ["proved, at least"])
        axes.set_xlabel(f"ε; dashed: claimed, {self.epsilon:g}; {100 * self.confidence:g} % confidence")
        axes.set_title(printable(self.sheet().title), fontsize=10, loc="left", parse_math=False)
        axes.spines[["top", "right"]].set_visible(False)
        return figure  # type: ignore[no-any-return]


_SEARCH: Final = 0.3
_WARM_UP: Final = 0.02
_FIRST_RUNS, _WARM_UP_RUNS = (1, 15), 1 << 14
_MAGNIFIED_LOSS: Final = 2.0
_MOST_MAGNIFIED: Final = 100
_FEW_PAIRS, _MANY_PAIRS = 12, 120
_RUNS_A_PAIR: Final = 400
_LEAST_PAIRS, _LEAST_RUNS_A_PAIR = 3, 600
_LEAST_TRIALS: Final = 10
_STREAM: Final = 0x6E67
_FLAGRANT: Final = 1.5


class Auditable(Protocol):
    """An object that knows how it is to be audited, as a row of ``sparsegate.VARIANTS`` does."""

    def for_audit(self, *, epsilon: float, sensitivity: float, monotonic: bool, centre: float) -> Callable[..., Any]:
        """The mechanism to run."""


def audit(
    mechanism: Callable[..., Any] | Auditable,
    *,
    epsilon: float,
    delta: float = 0.0,
    confidence: float = 0.99,
    queries: int | tuple[int, int] = 10,
    sensitivity: float = 1,
    monotonic: bool = False,
    centre: float = 0,
    neighbours: Iterable[tuple[Any, Any]] = (),
    patterns: bool = True,
    batch: bool | None = None,
    samples: int | None = None,
    budget_seconds: float | None = None,
    call_timeout: float = 30.0,
    stop_at_violation: bool = True,
    seed: int | None = None,
    progress: bool = False,
) -> Verdict:
    """Prove how much a mechanism leaks, from its outcomes alone.

    The mechanism is run on neighbouring answers; an event is sought that one of them makes likelier; its two
    probabilities are then bounded on fresh runs. For every event S of an (epsilon, delta)-private mechanism
    P[M(x) in S] <= e^epsilon P[M(x') in S] + delta, so limits on both probabilities bound epsilon from below.

    **Theorem.** If runs are independent of one another, the verdict's ``epsilon_lower`` and ``delta_lower`` are both
    true with probability at least ``confidence``, whatever the mechanism, the search or the stopping did. In
    particular a mechanism that is as private as claimed is said to violate with probability at most 1 - confidence.
    Proof: ``sparsegate.auditor.certify``. Nothing follows from a verdict that does not violate.

    Parameters
    ----------
    mechanism: ``mechanism(answers)`` returns one outcome, or ``mechanism(answers, n)`` a batch of n: a list, an array
        with n rows, or a tuple of such arrays side by side; arrays for one input must have one kind and one width. It
        is a batch one if it has exactly two positional parameters without a default; ``batch=`` overrides that. Or an
        object with a method ``for_audit(epsilon=, sensitivity=, monotonic=, centre=)`` that returns one, as a row of
        ``sparsegate.VARIANTS`` or a ``Variant`` of your own (of cutoff 1; for another, pass what its method returns).
        Answers arrive as a numpy array of its own, int64 if ``sensitivity`` and ``centre`` are whole (1, not 1.0),
        float64 otherwise.
    epsilon, delta: the claim; epsilon > 0, 0 <= delta < 1.
    confidence: 1 - alpha, strictly between 0 and 1.
    queries: at most this many answers, or from (least, most).
    sensitivity: Delta > 0, how far a neighbour moves an answer; ``monotonic``: all of them the same way.
    centre: where the answers are laid out: the mechanism's threshold.
    neighbours: pairs of your own to try as well; with ``patterns=False`` nothing else is tried, the pairs may be inputs
        of any kind, and that they are neighbours is taken at your word.
    samples: about how many runs to make in all; ``budget_seconds``: for about how long, 60 if neither is given. Audits
        end sooner as a rule, and at the latest when a quarter more has passed, but for the call under way.
    call_timeout: seconds after which a call counts as hung. Calls are made in one thread, which is not the caller's.
    stop_at_violation: stop as soon as the claim is refuted; False: spend the whole budget on the best bound.
    seed: of the search and the sample sizes, on which the theorem averages. The mechanism draws its own noise.
    progress: show a bar on stderr.

    >>> import numpy as np, sparsegate as sg
    >>> noise = np.random.default_rng(1)
    >>> verdict = sg.audit(lambda answers: answers[0] + noise.laplace(), epsilon=0.5, queries=1, samples=20_000, seed=1)
    >>> verdict.violates, 0.5 < verdict.epsilon_lower <= 1
    (True, True)
    >>> print(sg.audit(sg.VARIANTS["stoddard-2014"], epsilon=1.0, queries=2, samples=20_000, seed=1).violates)
    True
    """
    _check(epsilon, delta, confidence, call_timeout, seed)
    space = Space.of(queries=queries, sensitivity=sensitivity, epsilon=epsilon, centre=centre, monotonic=monotonic)
    if not isinstance(neighbours, Iterable):
        step = "pass neighbours=[(answers, neighbour)]"
        raise ParameterError("neighbours", "must be a list of pairs", neighbours, step)
    own = [space.own(pair) if patterns else taken(pair) for pair in neighbours]
    if not patterns and not own:
        step = "pass neighbours=[(input, neighbour)]"
        raise ParameterError("neighbours", "must hold a pair where patterns=False", next_step=step)
    # A stream of its own: callers like to give the same seed to their mechanism.
    rng = np.random.default_rng(None if seed is None else [seed, _STREAM])
    pace = RunBudget(samples, budget_seconds)
    target: Any = mechanism
    if hasattr(target, "for_audit"):  # by its name alone: nothing is known here of what a row is
        target = target.for_audit(epsilon=epsilon, sensitivity=sensitivity, monotonic=monotonic, centre=centre)
    box = pace.box(target, batch=batch, call_timeout=call_timeout)
    encoder = Encoder(box.name)
    alpha = 1 - confidence
    with box, progress_bar(progress) as bar:
        task = bar.add_task("audit", total=1.0)

        def draw(answers: object, wanted: int) -> Sample:
            what = f"{box.name}: {'certifying' if encoder.frozen else 'searching'}"
            bar.update(task, completed=min(pace.gone, 1.0), description=what)
            count = box.chunk(wanted)
            drawn = box.draw(np.array(answers) if patterns else answers, count)
            return encoder.encode(drawn, count, answers if patterns else id(answers))

        _warm_up(own[0] if own else random_pair(space, rng), draw, pace)
        room = _room(pace.runs(_SEARCH))
        search = Search(
            draw=draw,
            space=space if patterns else None,
            # Delta is no log ratio that could be scaled down; and few runs are better spent on one training.
            magnification=1
            if delta or room < _FEW_PAIRS
            else min(max(1, round(_MAGNIFIED_LOSS / epsilon)), _MOST_MAGNIFIED),
            aim=lambda cost: Aim(trials=max(pace.remaining(cost) / 2, _LEAST_TRIALS), alpha=alpha, delta=delta),
            runs_for_share=lambda share: pace.runs(_SEARCH * share),
            over=lambda: pace.gone >= 1.25 * _SEARCH,
            enough=lambda promised: stop_at_violation and promised > _FLAGRANT * epsilon,
            rng=rng,
            seed=int(rng.integers(1 << 31)),
        )
        best = search.best(_pairs(own, space, rng, room) if patterns else own)
        registration = _registration(best, pace, alpha)
        encoder.frozen = True
        bounds, counts = certify(
            registration,
            draw,
            rng,
            epsilon=epsilon,
            delta=delta,
            stop_at_violation=stop_at_violation,
            out_of_time=lambda: pace.over,
        )
    return Verdict(
        mechanism=box.name,
        epsilon=epsilon,
        delta=delta,
        epsilon_lower=bounds.epsilon,
        delta_lower=bounds.delta,
        confidence=confidence,
        violates=bounds.epsilon > epsilon,
        samples=box.drawn,
        seconds=pace.elapsed,
        witness=Evidence(
            answers=registration.pair.answers,
            neighbour=registration.pair.neighbour,
            event=registration.event.words(encoder.shapes),
            counts=counts,
        ),
    )


def _registration(best: Candidate, pace: RunBudget, alpha: float) -> Registration:
    """Fix everything; the sample size is what the rest of the budget buys at the speed seen in training."""
    finding, sample = best.finding, best.trainings[0].one[0]
    assert finding is not None
    begun = time.perf_counter()
    finding.event.hits(sample)
    counting = (time.perf_counter() - begun) / len(sample)
    trials = max(pace.remaining(best.cost + counting) // 2, _LEAST_TRIALS)
    pair = NeighbourPair(best.pair.neighbour, best.pair.answers) if finding.swapped else best.pair
    return Registration(pair=pair, event=finding.event, rule=finding.rule, looks=schedule(trials, alpha))


def _warm_up(pair: NeighbourPair, draw: Draw, pace: RunBudget) -> None:
    """The first calls find a mechanism that does not work at all, and show how fast one is that does."""
    for runs in _FIRST_RUNS:
        for answers in (pair.answers, pair.neighbour):
            if runs == 1 or pace.gone < _WARM_UP:
                draw(answers, runs)
    while pace.samples is None and pace.gone < _WARM_UP:
        draw(pair.answers, _WARM_UP_RUNS)


def _room(runs: int) -> int:
    """How many pairs there are runs for: a pair that is judged by a handful of runs is chosen by chance."""
    few = min(max(runs // _LEAST_RUNS_A_PAIR, _LEAST_PAIRS), _FEW_PAIRS)
    return min(max(runs // (8 * _RUNS_A_PAIR), few), _MANY_PAIRS)


def _pairs(own: list[NeighbourPair], space: Space, rng: np.random.Generator, room: int) -> list[NeighbourPair]:
    """The caller's pairs, some random ones and the patterns."""
    random = [random_pair(space, rng) for _ in range(room // 8)]
    return list(dict.fromkeys([*own, *random, *known_patterns(space, rng)]))[: max(room, len(own))]


def _check(epsilon: Any, delta: Any, confidence: Any, call_timeout: Any, seed: Any) -> None:
    finite = "must be a positive number, the claim to test"
    require_number("epsilon", epsilon, finite, lambda x: 0 < x < math.inf, "pass e.g. epsilon=1")
    require_number("delta", delta, "must be at least 0 and less than 1", lambda x: 0 <= x < 1, "pass e.g. delta=1e-6")
    inside = "must lie strictly between 0 and 1"
    require_number("confidence", confidence, inside, lambda x: 0 < x < 1, "pass confidence=0.99")
    seconds = "must be a positive number of seconds"
    require_number("call_timeout", call_timeout, seconds, lambda x: 0 < x < math.inf, "pass e.g. call_timeout=30")
    if seed is not None:
        whole("seed", seed, "must be a whole number of at least 0", 0, "leave it out, or pass e.g. seed=1")
