"""`audit`: any callable in, a certified lower bound on what it leaks out."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from sparsegate.auditor.betting import Bets, ClaimLadder, Counts, DPLadder, RenyiLadder, rungs
from sparsegate.auditor.blackbox import RunBudget, progress_bar
from sparsegate.auditor.certify import Candidate, Draw, Registration, Search, certify
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
from sparsegate.auditor.replay import Replay, randomness, replayed
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
    """What an audit of ``mechanism`` proved, at ``confidence``, with its ``witness``.

    ``epsilon``, ``delta``, ``rho`` and ``rdp`` (order and divergence) are the claim, or None where it has none.
    ``epsilon_lower``: no (epsilon, delta) with the claimed delta and a smaller epsilon is true of the mechanism.
    ``delta_lower``: nor is any with the claimed epsilon and a smaller delta (None if the claim has none).
    ``renyi_lower``: of a claim in rho, no smaller rho is true; of one in RDP, no smaller divergence at its order.
    ``violates``: so the claim is false. ``samples``: outcomes drawn in all, for the search and for the proof, in
    ``seconds``. ``replay``: what runs with the same randomness showed, if that was asked for. A verdict that does not
    violate is no proof of privacy: it says what was not found.

    >>> import numpy as np, sparsegate as sg
    >>> noise = np.random.default_rng(1)
    >>> def half_the_noise(answers, n):
    ...     return answers[0] + noise.laplace(scale=0.5, size=n)
    >>> verdict = sg.audit(half_the_noise, epsilon=1, queries=1, samples=100_000, seed=1)
    >>> verdict.violates, round(verdict.epsilon_lower, 2), verdict.confidence
    (True, 1.09, 0.99)
    >>> verdict.witness.answers, verdict.witness.neighbour, verdict.witness.event
    ((-1,), (0,), 'x with x <= -0.7204')
    """

    mechanism: str
    epsilon: float | None
    delta: float
    rho: float | None = None
    rdp: tuple[float, float] | None = None
    epsilon_lower: float
    delta_lower: float | None
    renyi_lower: float | None = None
    confidence: float
    violates: bool
    witness: Evidence
    samples: int
    seconds: float
    replay: Replay | None = None

    @property
    def sentence(self) -> str:
        """The verdict for a person to read."""
        name, claim, proved = self._claimed
        delta = f", δ = {self.delta:g}" if self.delta else ""
        claimed, sure = f"{name} = {claim:g}{delta}", f"with {100 * self.confidence:.6g} % confidence"
        bound = f"{sure} its {name} is at least {proved:.4g}"
        text = f"{self.mechanism}: no violation of {claimed} found in {self.samples:,} runs; {bound}. "
        text += "This is no proof of privacy."
        if self.violates:
            witness, counts = self.witness, self.witness.counts
            answers, neighbour = (input_text(part, _MOST_SHOWN) for part in (witness.answers, witness.neighbour))
            text = f"{self.mechanism} is NOT private at {claimed}: {bound}. On answers {answers} the outcome was "
            text += f"{witness.event} in {counts.hits1:,} of {counts.trials1:,} runs; on the neighbour {neighbour} in "
            text += f"{counts.hits2:,} of {counts.trials2:,}."
        return text + "".join(f" Replay: {finding}." for finding in (self.replay.findings if self.replay else ()))

    @property
    def _claimed(self) -> tuple[str, float, float]:
        """What the claim is about, its value, and the bound that was proved."""
        if self.epsilon is not None:
            return "ε", self.epsilon, self.epsilon_lower
        bound = float(self.renyi_lower or 0)
        if self.rdp is not None:
            return f"Rényi divergence of order {self.rdp[0]:g}", self.rdp[1], bound
        return "ρ", float(self.rho or 0), bound

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON takes it, by the schema "sparsegate/audit/1": see docs/reference/json.md."""
        claim = {name: amount_text(self[name]) for name in ("epsilon", "delta", "rho") if self[name] is not None}
        fields = {name: plain(self[name]) for name in self.keys()}
        return {"schema": "sparsegate/audit/1", **fields, **claim, "sentence": self.sentence}

    def sheet(self) -> Sheet:
        """One row: what was claimed, and what was proved."""
        names = [name for name in self.keys() if name not in ("witness", "replay") and self[name] is not None]
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
        """What was proved, as a bar, beside what was claimed."""
        sign, claim, proved = self._claimed
        figure = new_figure(6, 1.9)
        axes = figure.add_subplot()
        axes.barh([0], [proved], height=0.5, color="#d55e00" if self.violates else "#4c78a8")
        axes.axvline(claim, color="#222222", linestyle="--")
        axes.set_xlim(0, 1.15 * max(claim, proved))
        axes.set_yticks([0], ["proved, at least"])
        axes.set_xlabel(f"{sign}; dashed: claimed, {claim:g}; {100 * self.confidence:g} % confidence")
        axes.set_title(printable(self.sheet().title), fontsize=10, loc="left", parse_math=False)
        axes.spines[["top", "right"]].set_visible(False)
        return figure  # type: ignore[no-any-return]


_SEARCH: Final = 0.25
_FIRST_RUNS: Final = (1, 15, 50)
_WARM_UP: Final = 0.02
_FIRST_SEARCH, _SEARCH_GROWTH, _LAST_FROM, _MOST_SEARCH = 1000, 8, 0.3, 8_000_000
_EARLY_STAKE, _CLEAR_STAKE = 0.2, 0.8
_ROUND, _MOST_PROMISED, _AMPLE = 1.5, 16, 2
_PROMISING: Final = 0.5
_MAIN_LEVEL: Final = 0.95
_MOST_EPSILON: Final = 30.0
_MAGNIFIED_LOSS: Final = 2.0
_FEW_RUNS, _MANY_RUNS = 5_000, 1_000_000
_MOST_MAGNIFIED: Final = 100
_FEW_PAIRS, _MANY_PAIRS = 12, 48
_RUNS_A_PAIR: Final = 5000
_LEAST_PAIRS, _LEAST_RUNS_A_PAIR = 3, 600
_LEAST_TRIALS: Final = 10
_REPLAYED: Final = 10
_STREAM: Final = 0x6E67
_FLAGRANT: Final = 1.5


class Auditable(Protocol):
    """An object that knows how it is to be audited, as a row of ``sparsegate.VARIANTS`` does."""

    def for_audit(self, *, epsilon: float, sensitivity: float, monotonic: bool, centre: float) -> Callable[..., Any]:
        """The mechanism to run."""


def audit(
    mechanism: Callable[..., Any] | Auditable,
    *,
    epsilon: float | None = None,
    delta: float = 0.0,
    rho: float | None = None,
    rdp: tuple[float, float] | None = None,
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
    replay: bool | Callable[[int], Any] = False,
    seed: int | None = None,
    progress: bool = False,
) -> Verdict:
    """Prove how much a mechanism leaks, from its outcomes alone.

    The mechanism is run on neighbouring answers; an event is sought that one of them makes likelier; its two
    fresh runs then decide bets on it that a private mechanism cannot win. For every event S of an (epsilon,
    delta)-private mechanism P[M(x) in S] <= e^epsilon P[M(x') in S] + delta. It goes in rounds: a short search first,
    one eight times as long in the next, and bets where a search promises that they will do, so that a flagrant leak is
    proven after hundreds of runs. Bets that go well go on.

    **Theorem.** If runs are independent of one another, the bounds of the verdict are all true with probability at
    least ``confidence``, whatever the mechanism, the search or the stopping did. In particular a mechanism that is as
    private as claimed is said to violate with probability at most 1 - confidence. Nothing follows from a verdict that
    does not violate. Proof: docs/explanation/proofs_in_words/auditor.md.

    Parameters
    ----------
    mechanism: ``mechanism(answers)`` returns one outcome, or ``mechanism(answers, n)`` a batch of n: a list, an array
        with n rows, or a tuple of such arrays side by side; arrays for one input must have one kind and one width. It
        is a batch one if it has exactly two positional parameters without a default; ``batch=`` overrides that. Or an
        object with a method ``for_audit(epsilon=, sensitivity=, monotonic=, centre=)`` that returns one, as a row of
        ``sparsegate.VARIANTS`` or a ``Variant`` of your own (of cutoff 1; for another, pass what its method returns).
        Answers arrive as a numpy array of its own, int64 if ``sensitivity`` and ``centre`` are whole (1, not 1.0),
        float64 otherwise.
    epsilon, delta: the claim; epsilon > 0, 0 <= delta < 1. Or ``rho``: the claim is rho-zCDP. Or ``rdp`` = (alpha, r):
        the claim is that the Rényi divergence of order alpha > 1 is at most r. Exactly one of the three.
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
    replay: the mechanism has a parameter ``rng``, a numpy generator; also run it on neighbours with the same
        randomness, and report what moved with the data (``sparsegate.auditor.replay``). Or a function such as
        ``sparsegate.Seeded`` that makes what its parameter ``source`` takes of a seed.
    seed: of the search. The mechanism draws its own noise.
    progress: show a bar on stderr.

    >>> import numpy as np, sparsegate as sg
    >>> noise = np.random.default_rng(1)
    >>> verdict = sg.audit(lambda answers: answers[0] + noise.laplace(), epsilon=0.5, queries=1, samples=20_000, seed=1)
    >>> verdict.violates, 0.5 < verdict.epsilon_lower <= 1
    (True, True)
    >>> print(sg.audit(sg.VARIANTS["stoddard-2014"], epsilon=1.0, queries=2, samples=20_000, seed=1).violates)
    True
    """
    for name, value, rule, holds, step in (
        ("delta", delta, "must be at least 0 and less than 1", lambda x: 0 <= x < 1, "pass e.g. delta=1e-6"),
        ("confidence", confidence, "must lie strictly between 0 and 1", lambda x: 0 < x < 1, "pass confidence=0.99"),
        ("call_timeout", call_timeout, "must be a positive number of seconds", _positive, "pass e.g. call_timeout=30"),
    ):
        require_number(name, value, rule, holds, step)
    if seed is not None:
        whole("seed", seed, "must be a whole number of at least 0", 0, "leave it out, or pass e.g. seed=1")
    alpha = 1 - confidence
    claim, unit, ladders = _claim(epsilon, delta, rho, rdp, alpha)
    space = Space.of(queries=queries, sensitivity=sensitivity, epsilon=unit, centre=centre, monotonic=monotonic)
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
        target = target.for_audit(epsilon=unit, sensitivity=sensitivity, monotonic=monotonic, centre=centre)
    tapes = None
    if replay is not False:
        name, make = randomness(target, replay)
        pairs = own or known_patterns(space, rng)[:_REPLAYED]
        tapes = replayed(target, replay, pairs, sensitivity=sensitivity, arrays=patterns)
        fresh = np.random.default_rng() if replay is True else make(int(np.random.default_rng().integers(1 << 62)))
        target = partial(target, **{name: fresh})
    box = pace.box(target, batch=batch, call_timeout=call_timeout)
    encoder = Encoder(box.name)
    bets, rung = Bets(ladders), int(np.searchsorted(ladders[0].values, claim, side="right"))
    best: list[NeighbourPair] = []
    with box, progress_bar(progress) as bar:
        task = bar.add_task("audit", total=1.0)

        def draw(answers: object, wanted: int) -> Sample:
            what = f"{box.name}: {'certifying' if encoder.frozen else 'searching'}"
            bar.update(task, completed=min(pace.gone, 1.0), description=what)
            count = box.chunk(wanted)
            drawn = box.draw(np.array(answers) if patterns else answers, count)
            return encoder.encode(drawn, count, answers if patterns else id(answers))

        def over() -> bool:
            return pace.over or (stop_at_violation and all(_above(bets.bounds(), claim, delta)))

        def aim(cost: float) -> Aim:
            """Bets with the rest of the budget, at this many seconds a run."""
            pairs = max((1 - _SEARCH) * pace.remaining(cost) / 2, _LEAST_TRIALS)
            refutes = None if delta or not stop_at_violation else epsilon
            return Aim(trials=pairs, alpha=alpha, delta=delta, of_rho=epsilon is None, refutes=refutes)

        _warm_up(own[0] if own else random_pair(space, rng), draw, pace)
        for number in itertools.count():
            left, training = pace.remaining(), _FIRST_SEARCH * _SEARCH_GROWTH**number
            # The best bound is that of one long round; a violation is sought after short searches first.
            last = not stop_at_violation or training >= _LAST_FROM * _SEARCH * left
            most = min(int(_SEARCH * left), _MOST_SEARCH)
            part = pace.part(min(training, most) if stop_at_violation else most, _SEARCH, last=last)
            encoder.frozen = False
            winner = Search(
                draw=draw,
                space=space if patterns else None,
                # Delta is no log ratio that could be scaled down; and few runs are better spent on one training.
                magnification=1 if delta or part.total < _FIRST_SEARCH else _magnification(unit, part.total),
                aim=aim,
                part=part,
                enough=lambda promised: stop_at_violation and promised > _FLAGRANT * claim,
                rng=rng,
                seed=int(rng.integers(1 << 31)),
            ).best(_pairs([*best, *own], space, rng, part.total) if patterns else own)
            best = [winner.pair, *best][:_LEAST_PAIRS]
            plan = _registration(winner, pace, None if last else training)
            if plan is None:
                continue
            registration, encoder.frozen = plan, True
            surely = winner.finding is not None and winner.finding.surely > claim
            stake = 1.0 if last else _CLEAR_STAKE if surely else _EARLY_STAKE
            counts = certify(registration, bets, draw, share=stake, over=over)
            # What wins goes on, and so does the last one: another search would cost more than it can gain.
            while stop_at_violation and not over() and (last or bets.evidence()[rung] > _PROMISING):
                if (trials := min(counts.trials1, pace.remaining() // 2)) < _LEAST_TRIALS:
                    break
                registration = registration.continued(counts, trials)
                counts = certify(registration, bets, draw, share=1.0, over=over)
            if last or over():
                break
    bounds = bets.bounds()
    return Verdict(
        mechanism=box.name,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        rdp=rdp,
        epsilon_lower=bounds[0] if epsilon is not None else bounds[1],
        delta_lower=bounds[1] if epsilon is not None else None,
        renyi_lower=bounds[0] if epsilon is None else None,
        confidence=confidence,
        violates=any(_above(bounds, claim, delta)),
        samples=box.drawn,
        seconds=pace.elapsed,
        replay=tapes,
        witness=Evidence(
            answers=registration.pair.answers,
            neighbour=registration.pair.neighbour,
            event=registration.event.words(encoder.shapes),
            counts=counts,
        ),
    )


def _positive(number: float) -> bool:
    return 0 < number < math.inf


def _above(bounds: list[float], claim: float, delta: float) -> list[bool]:
    """Whether the bounds refute the claim: the first one, and that on delta where one was claimed."""
    return [bounds[0] > claim, *([bounds[1] > delta] if delta else [])]


def _claim(
    epsilon: Any, delta: float, rho: Any, rdp: Any, alpha: float
) -> tuple[float, float, tuple[ClaimLadder, ClaimLadder]]:
    """The number that is claimed, the epsilon whose inverse is the unit in which answers are laid out, and the ladders.

    The claim's own ladder is first, with nearly all of alpha, then another; half of it each where delta is claimed.
    """
    step, rule = "pass e.g. epsilon=1", "must be a positive number, the claim to test"
    if sum(claim is not None for claim in (epsilon, rho, rdp)) != 1:
        raise ParameterError("epsilon", "must be given, or rho or rdp instead of it", epsilon, step)
    main = (0.5 if delta else _MAIN_LEVEL) * alpha
    if epsilon is not None:
        require_number("epsilon", epsilon, rule, _positive, step)
        values = rungs(epsilon, max(_MOST_EPSILON, 2 * epsilon))
        deltas = np.unique(np.concatenate([np.geomspace(1e-7, 0.1, 60), np.linspace(0, 0.999, 120), [1.0001 * delta]]))
        own = DPLadder(values=values, level=main, delta=delta)
        return epsilon, epsilon, (own, DPLadder(values=deltas, level=alpha - main, epsilon=epsilon))
    if delta:
        raise ParameterError("delta", "must be 0 where the claim is rho or rdp", delta, "leave it out")
    if rho is not None:
        require_number("rho", rho, rule, _positive, "pass e.g. rho=0.5")
        claim, order, unit = float(rho), None, math.sqrt(2 * rho)
    else:
        if not isinstance(rdp, tuple | list) or len(rdp) != 2:
            raise ParameterError("rdp", "must be a pair (order, divergence)", rdp, "pass e.g. rdp=(8, 0.5)")
        require_number("rdp", rdp[0], "must have an order > 1", lambda x: 1 < x < math.inf, "pass e.g. rdp=(8, 0.5)")
        require_number("rdp", rdp[1], rule, _positive, "pass e.g. rdp=(8, 0.5)")
        claim, order, unit = float(rdp[1]), float(rdp[0]), math.sqrt(2 * rdp[1] / rdp[0])
    values, epsilons = rungs(claim, 100 * claim, fine=400, coarse=100), rungs(1.0, _MOST_EPSILON, fine=300, coarse=100)
    ladder = RenyiLadder(values=values, level=main, order=order)
    return claim, unit, (ladder, DPLadder(values=epsilons, level=alpha - main))


def _registration(best: Candidate, pace: RunBudget, training: int | None) -> Registration | None:
    """Fix everything: as many pairs as a violation takes, or what the rest of the budget buys at the speed of this one.

    None where a violation takes more than a search of this size may promise.
    """
    finding, sample = best.finding, best.trainings[0].one[0]
    assert finding is not None
    if training is None:
        begun = time.perf_counter()
        finding.event.hits(sample)
        counting = (time.perf_counter() - begun) / len(sample)
        trials = pace.remaining(best.cost + counting) // 2
        if finding.needed is not None:
            trials = int(min(trials, _AMPLE * finding.needed))
    else:
        needed = _ROUND * training if finding.needed is None else finding.needed
        if needed > _MOST_PROMISED * training:
            return None
        trials = int(needed)
    pair = NeighbourPair(best.pair.neighbour, best.pair.answers) if finding.swapped else best.pair
    p1, p2 = (float(p[0]) for p in finding.estimate.chances)
    return Registration(pair=pair, event=finding.event, chances=(p1, p2), trials=max(trials, _LEAST_TRIALS))


def _warm_up(pair: NeighbourPair, draw: Draw, pace: RunBudget) -> None:
    """The first calls find a mechanism that does not work at all, and show how fast one is that does."""
    for runs in _FIRST_RUNS:
        for answers in (pair.answers, pair.neighbour):
            if runs == 1 or pace.gone < _WARM_UP:
                draw(answers, runs)


def _magnification(unit: float, runs: int) -> int:
    """How many times as far apart: the loss then shows in few runs. With many, or with very few, closer pairs do."""
    loss = _MAGNIFIED_LOSS * (0.5 if runs < _FEW_RUNS else min(1.0, math.pow(_MANY_RUNS / runs, 1 / 6)))
    return min(max(1, round(loss / unit)), _MOST_MAGNIFIED)


def _pairs(own: list[NeighbourPair], space: Space, rng: np.random.Generator, runs: int) -> list[NeighbourPair]:
    """The caller's pairs, some random ones and the patterns, as many as there are runs for.

    A pair that is judged by a handful of runs is chosen by chance.
    """
    few = min(max(runs // _LEAST_RUNS_A_PAIR, _LEAST_PAIRS), _FEW_PAIRS)
    room = min(max(runs // (8 * _RUNS_A_PAIR), few), _MANY_PAIRS)
    random = [random_pair(space, rng) for _ in range(room // 8)]
    return list(dict.fromkeys([*own, *random, *known_patterns(space, rng)]))[: max(room, len(own))]
