"""Private prediction: its exact law and loss, how answers are read, what it costs, does and refuses."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.accounts import Account
from tests.support.goodness import FALSE_ALARM, Law, law_p
from tests.support.threads import at_once

import sparsegate as sg
from sparsegate.budget import pure_rho
from sparsegate.errors import BudgetExceeded, GateClosed, ParameterError
from sparsegate.gates.approximate import renyi_bound
from sparsegate.selection.exponential import selection_rate
from sparsegate.uses import prediction as prediction_tokens
from sparsegate.uses.prediction import (
    LEVELS,
    WHOLE,
    Prediction,
    PredictionTerms,
    Reader,
    Reading,
    free_token,
    prediction_terms,
)

Logits = Sequence[float]
Says = Callable[[tuple[int, ...]], Logits | None]
_STEPS = 1024  # of the gate's lattice, for one batch


@dataclass(frozen=True)
class Toy:
    """A public model and the numbers of a predictor.

    ``gate_noise`` and ``token_noise`` make twins that have that part of the noise.
    """

    public: Says
    terms: PredictionTerms
    clip: float
    gate_noise: float = 1.0
    token_noise: float = 1.0

    def law(self, private: Sequence[Says], length: int) -> Law:
        """The probability of every transcript, a tuple of (paid, token)."""
        rho, _ = self._scales
        mass = _tail(np.arange(math.ceil(40 * rho)), rho) * -math.expm1(-1 / rho)
        found: dict[Any, float] = {}
        self._extend(found, (), mass, private, length)
        return found

    @property
    def _scales(self) -> tuple[float, float]:
        scales = self.terms.calibration.scales
        assert scales.threshold is not None
        assert scales.query is not None
        return float(scales.threshold) * self.gate_noise, float(scales.query) * self.gate_noise

    def _extend(
        self,
        found: dict[Any, float],
        said: tuple[tuple[bool, int], ...],
        mass: NDArray[np.float64],
        private: Sequence[Says],
        length: int,
    ) -> None:
        if len(said) == length or sum(paid for paid, _ in said) == self.terms.cutoff:
            found[said] = float(mass.sum())
            return
        text = tuple(token for _, token in said)
        public, answers = _softmax(self.public(text)), [says(text) for says in private]
        shares = [public if answer is None else _softmax(answer) for answer in answers]
        distance = math.floor(_STEPS * np.abs(np.mean(shares, axis=0) - public).sum() / 2 * len(shares) + 1e-9)
        bar = math.floor(_STEPS * self.terms.batches * self.terms.threshold) + self.terms.calibration.shift
        above = _tail(bar + np.arange(mass.size) - distance, self._scales[1])
        for paid, part, tokens in ((True, mass * above, self._tokens(answers)), (False, mass * (1 - above), public)):
            for token, share in enumerate(tokens):
                self._extend(found, (*said, (paid, token)), part * share, private, length)

    def _tokens(self, answers: Sequence[Logits | None]) -> NDArray[np.float64]:
        """The exponential mechanism over the sums of clipped logits."""
        clipped = [
            np.zeros(len(_softmax(self.public(())))) if answer is None else self._clipped(answer) for answer in answers
        ]
        return _softmax(np.sum(clipped, axis=0) / (self.terms.batches * self.terms.temperature * self.token_noise))

    def _clipped(self, answer: Logits) -> NDArray[np.float64]:
        moved = np.asarray(answer, dtype=float) - np.max(answer) + self.clip
        return np.asarray(np.floor(np.maximum(moved, 0) / self.clip * 2**16 + 1e-9) * self.clip / 2**16)


def _softmax(logits: Any) -> NDArray[np.float64]:
    weights = np.exp(np.asarray(logits, dtype=float) - np.max(logits))
    return np.asarray(weights / weights.sum())


def _tail(x: NDArray[np.int64], scale: float) -> NDArray[np.float64]:
    """Pr[nu >= x] of one-sided geometric noise."""
    return np.asarray(np.exp(-np.maximum(x, 0) / scale))


SURE = 30.0
OPINIONS: dict[str, list[float] | None] = {
    "a": [SURE, 0, 0],
    "b": [0, SURE, 0],
    "c": [0, 0, SURE],
    "p": [0, 0, 3],
    "-": None,
}
NUMBERS: dict[str, Any] = {"threshold": 0.5, "cutoff": 2, "epsilon": 16, "clip": 4, "temperature": 0.25}


def public(text: tuple[int, ...]) -> list[float]:
    return [0, 0, 3]


def says(first: str, then: str) -> Says:
    """One opinion about the first token and another about what follows."""
    return lambda text: OPINIONS[then if text else first]


def predictor(private: Sequence[Any] | None = None, seed: int = 1, **options: Any) -> sg.uses.PrivatePredictor:
    given: dict[str, Any] = {"vocabulary": 3, "source": sg.Seeded(seed), "not_private": True} | NUMBERS | options
    return sg.uses.PrivatePredictor(
        [says("b", "p")] * 8 if private is None else private, given.pop("public", public), **given
    )


# What it leaks, exactly, and what it draws


PAIRS = [  # what seven batches say, and what the eighth says on either side
    (["ba"] * 7, "ba", "cc"),
    (["cb"] * 5 + ["aa"] * 2, "cb", "ac"),
    (["bp"] * 7, "ca", "bc"),
    (["pc"] * 5 + ["ba"] * 2, "cc", "aa"),
]
ALONE = [(others, one, "--") for others, one, _ in PAIRS] + [(["ca"] * 7, "bb", "--")]


def worst_share(toy: Toy, pairs: Sequence[tuple[list[str], str, str]]) -> float:
    """The largest log ratio of a transcript, as a part of what that transcript is said to have cost."""
    worst = 0.0
    for others, one, other in pairs:
        rest = [says(*each) for each in others]
        laws = [toy.law([*rest, says(*mine)], 2) for mine in (one, other)]
        assert sum(laws[0].values()) == pytest.approx(1)
        for said, mass in laws[0].items():
            paid = sum(each for each, _ in said)  # type: ignore[attr-defined]
            gate = toy.terms.calibration.spent([(len(said) - paid, paid)])  # type: ignore[arg-type]
            cost = toy.terms.spent(gate=gate, paid=paid)
            assert cost <= toy.terms.epsilon
            worst = max(worst, abs(math.log(mass / laws[1][said])) / float(cost))
    return worst


@pytest.mark.parametrize(("alone", "pairs"), [(False, PAIRS), (True, ALONE)])
def test_no_transcript_leaks_more_than_it_is_said_to_have_cost(alone: bool, pairs: Any) -> None:
    toy = Toy(public, predictor(alone=alone).terms, 4)
    assert 0.95 < worst_share(toy, pairs) <= 1 + 1e-9


@pytest.mark.parametrize("less", [{"gate_noise": 0.8}, {"token_noise": 0.8}])
def test_a_fifth_less_noise_leaks_more_than_that(less: dict[str, float]) -> None:
    assert worst_share(Toy(public, predictor().terms, 4, **less), PAIRS[:2]) > 1.1


def test_one_person_alone_is_cheaper_only_where_nobody_takes_the_place() -> None:
    """With alone=True a person comes or leaves; a batch of several that changes its mind would leak more."""
    toy = Toy(public, predictor(alone=True).terms, 4)
    assert toy.terms.token_epsilon == predictor().terms.token_epsilon / 2
    assert worst_share(toy, PAIRS[1:2]) > 1.2


def test_the_gate_is_asked_for_the_distance_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is what the law above supposes, and with the general scale: 2c/eps2 in batches."""
    made, asked = predictor([says("b", "p")] * 6 + [None, says("c", "c")]), []
    calibration = made.terms.calibration
    assert not calibration.monotonic
    assert calibration.scales.query == 1024 * 2 * 2 / calibration.budget.query_epsilon
    assert calibration.lattice.sensitivity == 1024
    monkeypatch.setattr(type(made._gate), "ask", lambda self, q: asked.append(q) or sg.BELOW)
    made.predict(())
    mass = math.exp(3) / (2 + math.exp(3))
    moved = 6 * np.array([0, 1, 0]) + np.array([0, 0, 1]) - 7 * np.array([(1 - mass) / 2, (1 - mass) / 2, mass])
    assert float(asked[0]) == pytest.approx(np.abs(moved).sum() / 2, abs=1e-9)


@pytest.mark.parametrize("alone", [False, True])
def test_a_paid_token_is_drawn_by_the_exponential_mechanism(alone: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its weights are those of the law above; that such a draw is exact is tested where it is made."""
    made, given = predictor(temperature=1, alone=alone), []
    monkeypatch.setattr(prediction_tokens, "select_top", lambda *scores, **how: given.append((scores[0], how)) or drawn)
    drawn = sg.select_top([0, 9], count=1, epsilon=1000, sensitivity=1)
    answers = [[3.0, 0, 1]] * 4 + [[0, 2.0, 1]] * 3 + [None]
    assert made._paid_token(made._reader.gathered(answers, read_public(made))) == 1
    (scores, how), law = given[0], Toy(public, made.terms, 4)._tokens(answers)
    assert (how.pop("count"), how.pop("method"), how.pop("source")) == (1, "exponential", made._tokens)
    assert how.pop("not_private")
    weights = np.exp(float(selection_rate(count=1, **how)) * (scores - scores.max()))
    assert weights / weights.sum() == pytest.approx(law, abs=1e-4)
    assert how["sensitivity"] == LEVELS


def read_public(made: sg.uses.PrivatePredictor) -> Reading:
    reading = made._reader.read(public(()))
    assert reading is not None
    return reading


def test_a_free_token_has_the_law_of_the_public_model() -> None:
    made = predictor()
    seen = Counter(free_token(read_public(made), made._free) for _ in range(4000))
    for largest, right in ((3.0, True), (2.4, False)):
        weights = np.exp([0, 0, largest])
        assert (law_p(seen, dict(enumerate(weights / weights.sum()))) > FALSE_ALARM) == right


@pytest.mark.soak
def test_whole_runs_have_the_law_that_the_check_is_of() -> None:
    private = [says("b", "p")] * 3 + [says("c", "a")] * 5
    numbers = {"epsilon": 6, "temperature": 1}
    terms = predictor(private, **numbers).terms
    seen = Counter(
        tuple((each.paid, each.token) for each in predictor(private, seed, **numbers).generate((), 2))
        for seed in range(12_000)
    )
    assert law_p(seen, Toy(public, terms, 4).law(private, 2)) > FALSE_ALARM
    assert law_p(seen, Toy(public, terms, 4, gate_noise=0.8).law(private, 2)) < FALSE_ALARM


@pytest.mark.soak
def test_an_audit_of_the_black_box_finds_no_more_than_is_claimed_and_a_leak_in_a_twin() -> None:
    numbers = {"epsilon": 1, "cutoff": 1, "temperature": 1}

    def run(answers: Any, claimed: float) -> str:
        made = predictor(
            [says(*each) for each in answers], int(rng.integers(1 << 60)), **numbers | {"epsilon": claimed}
        )
        return " ".join(f"{each.paid:d}{each.token}" for each in made.generate((), 2))

    rng = np.random.default_rng(3)
    around = (["bb"] * 4 + ["pp"] * 3, "bb", "pp")  # one batch takes the distance over the threshold
    pairs = [((*others, one), (*others, other)) for others, one, other in [around, *PAIRS]]
    for claimed, violates in ((1, False), (40, True)):  # the twin is far louder than it says
        verdict = sg.audit(
            lambda answers, claimed=claimed: run(answers, claimed),
            epsilon=1,
            neighbours=pairs,
            patterns=False,
            samples=12_000,
            confidence=1 - 1e-6,
            seed=1,
        )
        assert verdict.violates == violates


# How answers are read


READER = Reader(vocabulary=3, clip=4.0, gives="logits")
SHARES = Reader(vocabulary=3, clip=4.0, gives="probabilities")
PUBLIC = READER.read([0.0, 0.0, 0.0])
anything = st.one_of(
    st.lists(st.floats(), min_size=3, max_size=3),
    st.lists(st.floats(-10, 10), min_size=3, max_size=3),
    st.sampled_from(
        [None, "text", [1.0], [[1, 2, 3]], [1j, 0, 0], [True] * 3, [None] * 3, object(), 5, {}, [2**70] * 3]
    ),
)


def read(answer: Any, reader: Reader = READER) -> Reading:
    reading = reader.read(answer)
    assert reading is not None
    return reading


def test_a_reading_is_the_distribution_and_the_clipped_logits() -> None:
    reading = read([1.0, -1.0, -99.0])
    assert reading.scores.tolist() == [LEVELS, LEVELS // 2, 0]
    assert reading.weights / WHOLE == pytest.approx(np.exp([0, -2, -100]) / (1 + math.exp(-2)), abs=1e-11)
    moved = read([1e300, -math.inf, 1e300])
    assert (moved.weights[0], moved.weights[1], moved.scores.tolist()) == (WHOLE // 2, 0, [LEVELS, 0, LEVELS])
    assert read(np.array([1, 2, 3], dtype=np.int16)).scores.tolist() == read([1.0, 2.0, 3.0]).scores.tolist()
    assert read([0.5, 0.5, 0], SHARES).scores.tolist() == [LEVELS, LEVELS, 0]
    assert read([8, 4, 4], SHARES).weights.tolist() == [WHOLE // 2, WHOLE // 4, WHOLE // 4]


@pytest.mark.parametrize(
    ("reader", "answers"),
    [
        (READER, [[0, 0, math.nan], [0, 0, math.inf], [-math.inf] * 3, [1, 2], [[1, 2, 3]], "abc", None]),
        (SHARES, [[1, 1, -1], [0, 0, 0], [1, math.inf, 0], [math.nan, 1, 1]]),
    ],
)
def test_what_is_no_answer_is_an_abstention(reader: Reader, answers: list[Any]) -> None:
    assert [reader.read(answer) for answer in answers] == [None] * len(answers)


@given(st.lists(anything, min_size=1, max_size=4), anything, st.sampled_from([READER, SHARES]))
def test_one_answer_moves_the_distance_by_one_batch_and_each_score_by_all_levels_at_most(
    others: list[Any], other: Any, reader: Reader
) -> None:
    assert PUBLIC is not None
    one, two, nobody = (reader.gathered([*others[1:], mine], PUBLIC) for mine in (others[0], other, None))
    assert abs(one.distance - two.distance) <= 1
    assert np.abs(one.scores - two.scores).max() <= LEVELS
    assert 0 <= (one.scores - nobody.scores).min() <= (one.scores - nobody.scores).max() <= LEVELS
    assert 0 <= one.distance <= len(others)
    for answer in (others[0], other):
        reading = reader.read(answer)
        if reading is not None:
            assert reading.weights.sum() == WHOLE
            assert reading.weights.min() >= 0
            assert reading.scores.max() == LEVELS


def test_the_bounds_are_attained() -> None:
    far = float("inf")
    assert PUBLIC is not None
    sure = [[0, -far, -far], [-far, 0, -far]]
    public = read(sure[0])
    agree, differ = (READER.gathered([mine], public) for mine in sure)
    assert differ.distance - agree.distance == 1
    assert (differ.scores - agree.scores).tolist() == [-LEVELS, LEVELS, 0]
    assert READER.gathered([None, sure[1]], public).distance == Fraction(1)


# What it costs


COSTS: dict[str, Any] = {"batches": 500, "threshold": 0.4, "cutoff": 100, "epsilon": 2, "clip": 5}
SMALL = COSTS | {"batches": 40, "cutoff": 60, "epsilon": 1}
DELTA = 1e-6


@pytest.fixture(scope="module")
def approximate() -> PredictionTerms:
    """Few batches, so that tokens get all that the gate leaves."""
    return prediction_terms(**SMALL, delta=DELTA)


def test_everything_together_costs_epsilon_and_no_more() -> None:
    for cutoff, temperature in ((1, 1), (20, 1), (100, 1), (100, 8)):
        terms = prediction_terms(**COSTS | {"cutoff": cutoff}, temperature=temperature)
        preview = sg.uses.PrivatePredictor.preview(**COSTS | {"cutoff": cutoff}, temperature=temperature)
        assert (preview.epsilon, preview.temperature, preview.margin) == (2, terms.temperature, terms.margin())
        gate = terms.calibration
        assert Fraction(gate.loss) + cutoff * terms.token_epsilon == terms.epsilon == 2
        assert terms.spent(gate=gate.budget.total, paid=cutoff) == 2
        assert terms.temperature == 2 * 5 / (500 * terms.token_epsilon) >= temperature


def test_tokens_get_what_their_temperature_needs_and_at_most_half() -> None:
    assert prediction_terms(**COSTS | {"cutoff": 20}).token_epsilon == Fraction(2 * 5, 500)
    hot = prediction_terms(**COSTS)
    assert (hot.cutoff * hot.token_epsilon, hot.temperature) == (1, 2)
    assert prediction_terms(**COSTS, alone=True).temperature == 1
    assert hot.margin() > hot.margin(0.5) > 0


def test_a_delta_is_used_and_charged_only_where_it_helps(approximate: PredictionTerms) -> None:
    pure = prediction_terms(**SMALL)
    assert (approximate.delta, approximate.epsilon) == (Fraction(1, 10**6), 1)
    assert approximate.temperature < pure.temperature
    assert approximate.margin() < 0.75 * pure.margin()
    few = prediction_terms(**COSTS | {"cutoff": 1}, delta=DELTA)
    assert few == prediction_terms(**COSTS | {"cutoff": 1})
    assert (few.delta, approximate.spent(gate=Fraction(1), paid=3)) == (0, 1)


def epsilon_at(terms: PredictionTerms, tokens: float) -> float:
    """The theorem for delta, by another way: over many orders, in floats."""
    gate, least = terms.calibration, math.inf
    for order in (20, 22, 24, 26):
        alpha, a = Fraction(order), float(order)
        rest = (math.log(1 / DELTA) + (a - 1) * math.log(1 - 1 / a) - math.log(a)) / (a - 1)
        bound = renyi_bound(alpha, scales=gate.scales, sensitivity=1024, cutoff=gate.cutoff, monotonic=False)
        least = min(least, bound + a * terms.cutoff * tokens**2 / 8 + rest)
    return least


def test_with_delta_the_moments_of_gate_and_tokens_stay_within_epsilon(approximate: PredictionTerms) -> None:
    each = float(approximate.token_epsilon)
    assert approximate.temperature > 1
    assert 0.99 < epsilon_at(approximate, each) <= 1.002  # the best order lies between two of them
    assert epsilon_at(approximate, 1.25 * each) > 1.025


def test_with_delta_the_event_is_no_less_than_what_is_charged(approximate: PredictionTerms) -> None:
    found = RdpAccountant().compose(approximate.dp_event()).get_epsilon(DELTA)
    assert 1 <= found < 1.25  # the comparisons are one rate of zCDP to it, at every order
    with pytest.raises(sg.ParameterError, match="accountant"):
        approximate.dp_event("pld")


def test_dp_accounting_agrees_on_pure_terms() -> None:
    terms = prediction_terms(batches=100, threshold=0.4, cutoff=30, epsilon=6, clip=5)
    found = {
        "rdp": RdpAccountant().compose(terms.dp_event("rdp")).get_epsilon(DELTA),
        "pld": PLDAccountant().compose(terms.dp_event("pld")).get_epsilon(DELTA),
    }
    assert found["pld"] < found["rdp"] < 6
    assert found["pld"] > float(terms.calibration.budget.total) - 0.01
    gate, tokens = terms.calibration.budget.total, 30 * terms.token_epsilon**2 / 8
    assert terms.zcdp == pytest.approx(float(pure_rho(gate) + tokens))
    zcdp = terms.zcdp + 2 * math.sqrt(terms.zcdp * math.log(1 / DELTA))
    assert max(found.values()) <= zcdp


@pytest.mark.parametrize("accountant", ["rdp", "pld"])
def test_the_event_has_every_token(accountant: Any) -> None:
    """Of gate and tokens together the accountant finds more than of the gate alone, by as much as c tokens lose."""
    found = {}
    for cutoff in (1, 200):
        terms = prediction_terms(**COSTS | {"cutoff": cutoff, "batches": 20})
        tokens = terms.dp_event(accountant).events[1]
        made = RdpAccountant() if accountant == "rdp" else PLDAccountant(value_discretization_interval=1e-3)
        found[cutoff] = made.compose(tokens).get_epsilon(DELTA) / float(terms.token_epsilon)
    # 200 draws of e each lose e sqrt(200) and more at a small delta; of one, moments find at most 3 e.
    assert found[1] < 3
    assert found[200] > 14


def test_zcdp_with_delta_covers_the_moments(approximate: PredictionTerms) -> None:
    gate, tokens = approximate.calibration, 60 * float(approximate.token_epsilon) ** 2 / 8
    for order in (Fraction(101, 100), 2, 8, 30):  # near 1 every part of it is needed
        bound = renyi_bound(Fraction(order), scales=gate.scales, sensitivity=1024, cutoff=60, monotonic=False)
        assert 0.3 * approximate.zcdp * order < bound + order * tokens <= approximate.zcdp * order


# What it does


def test_it_pays_where_the_batches_disagree_with_the_public_model_and_nowhere_else() -> None:
    made = predictor([says("b", "p")] * 400, cutoff=5, epsilon=10, temperature=1)
    said = [made.predict(()), made.predict((1,)), made.predict(()), made.predict((1, 2))]
    assert [(each.paid, each.checked) for each in said] == [(True, True), (False, True), (True, True), (False, True)]
    assert (said[0].token, made.remaining, made.closed) == (1, 3, False)
    assert said[0] == Prediction(token=1, paid=True, checked=True)
    assert repr(made) == "<PrivatePredictor: 400 batches, 3 tokens, 2 of 5 paid for, open>"


def test_what_came_out_is_what_comes_next_to_every_callable() -> None:
    texts: list[list[tuple[int, ...]]] = [[], [], []]

    def listening(place: int) -> Any:
        return lambda text: texts[place].append(text) or [0, 0, SURE]

    made = predictor([listening(0), listening(1)], public=listening(2))
    said = [each.token for each in made.generate((0, 1), 4)]
    assert said == [2] * 4
    assert texts[0] == texts[1] == texts[2] == [(0, 1), (0, 1, 2), (0, 1, 2, 2), (0, 1, 2, 2, 2)]


def test_a_text_ends_after_its_last_token_or_where_the_gate_closes() -> None:
    sure = [says("b", "b")] * 400
    assert [each.token for each in predictor([says("c", "b")] * 400).generate((), 9, end=1)][-1] == 1
    made = predictor(sure, cutoff=3)
    assert sum(each.paid for each in made.generate((), 9)) == 3
    assert made.closed
    made = predictor(sure, cutoff=3)
    said = list(made.generate((), 9, unchecked=True))
    assert [each.paid for each in said] == [True] * 3 + [False] * 6
    assert [each.checked for each in said] == [True] * 3 + [False] * 6
    assert made.remaining == 0


def test_once_closed_it_raises_or_goes_on_without_private_records() -> None:
    called: list[int] = []
    made = predictor([lambda text: called.append(1)] * 8)  # type: ignore[list-item]
    made.predict(())
    made.close()
    with pytest.raises(GateClosed, match=r"closed by hand.*unchecked=True"):
        made.predict(())
    with pytest.raises(GateClosed):
        next(made.generate((), 3))
    assert not made.predict((), unchecked=True).checked
    assert len(called) == 8
    spent = predictor([says("b", "b")] * 400, cutoff=1)
    spent.predict(())
    with pytest.raises(GateClosed, match="all 1 tokens are paid for"):
        spent.predict(())


def test_an_error_of_the_public_model_loses_no_token_and_spends_nothing() -> None:
    def fails(text: tuple[int, ...]) -> list[float]:
        if len(text) == 2:
            raise OSError("no network")
        return [0, 0, 3]

    made = predictor([says("b", "b")] * 400, public=fails, cutoff=5).generate((), 9)
    assert [next(made).paid, next(made).paid] == [True, True]
    with pytest.raises(OSError, match="no network"):
        next(made)
    wrong = predictor(public=lambda text: [0, 0])
    before = wrong.spent
    with pytest.raises(ParameterError, match="public must give 3 logits"):
        wrong.predict(())
    assert wrong.spent == before == 0


def failing(error: type[BaseException]) -> Any:
    def model(text: tuple[int, ...]) -> Any:
        raise error("patient 17")

    return model


def test_a_private_callable_that_fails_is_an_abstention_and_every_one_is_called() -> None:
    called: list[int] = []

    def counted(text: tuple[int, ...]) -> list[float]:
        called.append(1)
        return [0, 0, 3]

    class Panic(BaseException):
        """As those of libraries written in Rust."""

    errors = [ValueError, SystemExit, MemoryError, GeneratorExit, RecursionError, asyncio.CancelledError, Panic]
    strange = [lambda text: "text", lambda text: [1], lambda text: [math.nan] * 3, lambda text: [-math.inf] * 3]
    made = predictor([failing(error) for error in errors] + strange + [None, counted])  # type: ignore[operator, list-item]
    told = predictor([None] * (len(errors) + len(strange) + 1) + [counted])
    for _ in range(5):
        assert made.predict(()) == told.predict(())  # the same noise: the same readings
    assert len(called) == 10


class Panicking:
    def __array__(self, *_: Any, **__: Any) -> Any:
        raise asyncio.CancelledError("patient 17")


def test_an_answer_that_fails_when_it_is_read_is_an_abstention() -> None:
    assert predictor([lambda text: Panicking()] * 8).predict(()) == predictor([None] * 8).predict(())


@pytest.mark.parametrize("act", ["predict", "close"])
def test_a_callable_that_uses_its_own_predictor_abstains_and_nothing_shows_it(act: str) -> None:
    def meddling(text: tuple[int, ...]) -> list[float]:
        getattr(made, act)()
        return [SURE, 0, 0]

    made, told = predictor([meddling] * 8), predictor([None] * 8)
    for _ in range(5):
        assert made.predict(()) == told.predict(())
    assert (made.spent, made.remaining, made.closed) == (told.spent, told.remaining, False)
    made.close()
    assert made.closed


def test_a_gate_that_another_thread_closes_meanwhile_leaves_the_public_model(monkeypatch: pytest.MonkeyPatch) -> None:
    made = predictor()
    ask = type(made._gate).ask
    monkeypatch.setattr(type(made._gate), "ask", lambda gate, distance: gate.close() or ask(gate, distance))
    assert not made.predict((), unchecked=True).checked


def test_a_person_at_the_keyboard_still_ends_it() -> None:
    with pytest.raises(KeyboardInterrupt):
        predictor([failing(KeyboardInterrupt)]).predict(())


def test_a_ledger_is_charged_before_anything_and_gets_back_what_was_not_spent(tmp_path: Any) -> None:
    ledger = sg.Ledger.create(tmp_path / "x.ledger", dataset="letters", budget=20)
    numbers = {"vocabulary": 3, **NUMBERS}
    made = sg.uses.PrivatePredictor([says("b", "p")] * 400, public, ledger=ledger, **numbers)
    assert ledger.total_spent().epsilon == 16
    said = [made.predict(()), made.predict((1,))]
    assert [each.paid for each in said] == [True, False]
    cost = made.terms.calibration.spent([(1, 1)]) + made.terms.token_epsilon
    assert made.spent == cost < 16
    made.close()
    made.close()
    sg.uses.PrivatePredictor([None] * 8, public, refund=False, ledger=(account := Account()), **numbers).close()
    assert account.charged == [(16, 0, "private prediction: threshold 0.5, cutoff 2, 8 batches")]
    assert account.back == {}
    assert 0 <= ledger.total_spent().epsilon - cost < Fraction(1, 10**11)
    with pytest.raises(BudgetExceeded):
        sg.uses.PrivatePredictor([failing(OSError)], public, ledger=ledger, **numbers)
    ledger.close()


@pytest.mark.parametrize("context", [7, "ab", [0.5], [-1], [3], [True], [None]])
def test_a_context_is_a_sequence_of_tokens(context: Any) -> None:
    made = predictor()
    for ask in (made.predict, lambda text: made.generate(text, 2)):
        with pytest.raises(ParameterError, match="context"):
            ask(context)
    assert made.spent == 0
    for name, value in (("length", 0), ("end", -1), ("end", 3), ("unchecked", 1)):
        with pytest.raises(ParameterError, match=name):
            made.generate((), **{"length": 1} | {name: value})  # type: ignore[arg-type]


def test_threads_share_the_cutoff() -> None:
    with predictor([says("b", "b")] * 400, cutoff=20, epsilon=200) as made:
        said = at_once(lambda _: [made.predict((), unchecked=True) for _ in range(8)], range(4))
    assert sum(each.paid for part in said for each in part) == 20


def test_people_are_in_one_batch_each_by_themselves() -> None:
    people = [f"person {number % 50}" for number in range(500)]
    found = sg.uses.PrivatePredictor.batches(people, 7)
    assert sorted(place for batch in found for place in batch) == list(range(500))
    where = [{people[place] for place in batch} for batch in found]
    assert sum(map(len, where)) == 50
    without = [name for name in people if name != "person 3"]
    for mine, theirs in zip(where, sg.uses.PrivatePredictor.batches(without, 7), strict=True):
        assert mine - {"person 3"} == {without[place] for place in theirs}
    assert sg.uses.PrivatePredictor.batches([7, "7", np.int64(7)], 100)[int(_place(7, 100))] == [0, 1, 2]
    assert sg.uses.PrivatePredictor.batches(["ann"], np.int64(3)) == sg.uses.PrivatePredictor.batches(["ann"], 3)  # type: ignore[arg-type]
    for wrong in (None, 1.5, True):
        with pytest.raises(ParameterError, match="people"):
            sg.uses.PrivatePredictor.batches([wrong], 3)  # type: ignore[list-item]


def _place(person: int, count: int) -> int:
    return next(place for place, rows in enumerate(sg.uses.PrivatePredictor.batches([person], count)) if rows)


# Labels


VOTES = (0, 1, 2, None)


@pytest.mark.parametrize("alone", [False, True])
def test_one_vote_moves_the_lead_over_the_public_label_by_at_most_one(alone: bool) -> None:
    reader = Reader(vocabulary=3, clip=10.0, gives="labels", alone=alone)
    public = reader.read(0)
    assert public is not None

    def lead(votes: tuple[int | None, ...]) -> Fraction:
        return reader.gathered(votes, public).distance

    moved = set()
    for votes in product(VOTES, repeat=3):
        for place, other in product(range(3), VOTES):
            if not alone or None in (votes[place], other):  # who leaves, or comes, where each is alone
                moved.add(abs(lead((*votes[:place], other, *votes[place + 1 :])) - lead(votes)))
    assert max(moved) == 1  # and 20 % less noise would be too little


def label_law(votes: Sequence[Sequence[int | None]], terms: PredictionTerms, *, alone: bool) -> Law:
    """The probability of every transcript of (paid, label), for the votes on each question; label 0 is public."""
    scales = terms.calibration.scales
    rho, nu = float(scales.threshold or 0), float(scales.query or 0)
    bars = (
        math.floor(_STEPS * terms.batches * terms.threshold) + terms.calibration.shift + np.arange(math.ceil(40 * rho))
    )
    found: dict[Any, Any] = {(): _tail(bars - bars[0], rho) * -math.expm1(-1 / rho)}
    for cast in votes:
        counts = [sum(vote == label for vote in cast) for label in range(2)]
        above = _tail(bars - math.floor(_STEPS * (counts[1] - counts[0]) / (1 if alone else 2)), nu)
        drawn = _softmax(np.array(counts) / terms.temperature)
        found = {
            (*said, step): part
            for said, mass in found.items()
            for step, part in (
                *(((True, label), mass * above * drawn[label]) for label in range(2)),
                ((False, 0), mass * (1 - above)),
            )
        }
    return {said: float(mass.sum()) for said, mass in found.items()}


@pytest.mark.parametrize("alone", [False, True])
def test_the_law_of_two_labels_stays_within_epsilon_and_comes_near_it(alone: bool) -> None:
    terms = prediction_terms(batches=3, threshold=0.5, cutoff=2, epsilon=3, gives="labels", alone=alone)
    worst = 0.0
    for mine, rest in product(product((0, 1), repeat=2), product(VOTES[:2], repeat=2)):
        for other in ((None, None),) if alone else product((0, 1, None), repeat=2):
            laws = [
                label_law([(vote, kept, kept) for vote, kept in zip(cast, rest, strict=True)], terms, alone=alone)
                for cast in (mine, other)
            ]
            losses = [abs(math.log(laws[0][said] / laws[1][said])) for said in laws[0] if laws[0][said] > 1e-12]
            worst = max(worst, *losses)
    assert 0.5 * float(terms.epsilon) < worst <= float(terms.epsilon)


def test_labels_are_paid_for_only_where_another_one_leads() -> None:
    teachers = [lambda question: 2 if question == "odd" else 1] * 300
    with sg.uses.PrivatePredictor(
        teachers, lambda _: 1, vocabulary=3, threshold=0.2, cutoff=3, epsilon=4, gives="labels"
    ) as predictor:
        given = [predictor.predict(question) for question in ("even", "odd", "even", "odd")]
        with pytest.raises(sg.SparsegateError, match="predict"):
            predictor.generate((), 3)
    assert [(each.token, each.paid) for each in given] == [(1, False), (2, True)] * 2


@pytest.mark.parametrize("vote", [None, -1, 3, 1.0, True, [1], "1", 2**70])
def test_what_is_no_label_is_an_abstention(vote: Any) -> None:
    assert Reader(vocabulary=3, clip=10.0, gives="labels").read(vote) is None


@pytest.mark.parametrize(
    ("parameter", "wrong"), [("clip", {"clip": 5}), ("vocabulary", {"vocabulary": 1}), ("gives", {"gives": "votes"})]
)
def test_what_labels_do_not_have_is_refused(parameter: str, wrong: dict[str, Any]) -> None:
    asked = {"vocabulary": 3, "threshold": 0.2, "cutoff": 3, "epsilon": 4, "gives": "labels", **wrong}
    with pytest.raises(ParameterError) as refused:
        sg.uses.PrivatePredictor([lambda _: 1] * 9, lambda _: 1, **asked)
    assert refused.value.parameter == parameter


def test_a_public_answer_that_is_no_label_is_refused_before_anything_is_asked() -> None:
    predictor = sg.uses.PrivatePredictor(
        [lambda _: 1] * 9, lambda _: 7, vocabulary=3, threshold=0.2, cutoff=3, epsilon=4, gives="labels"
    )
    with pytest.raises(ParameterError, match="one of 3 labels"):
        predictor.predict("x")
    assert predictor.spent == 0
