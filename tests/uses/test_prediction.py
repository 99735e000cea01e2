"""Private prediction: its exact law and loss, how answers are read, what it costs, does and refuses."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st
from tests.support.accounts import Account
from tests.support.goodness import FALSE_ALARM, law_p
from tests.support.threads import at_once

import sparsegate as sg
from sparsegate.budget import pure_rho
from sparsegate.errors import BudgetExceeded, GateClosed, ParameterError
from sparsegate.gates.approximate import renyi_bound
from sparsegate.selection.exponential import selection_rate
from sparsegate.uses import prediction
from sparsegate.uses.prediction import LEVELS, WHOLE, Reader, free_token, prediction_terms

STEPS = 1024  # of the gate's lattice, for one batch
CLIP, SURE = 4, 30.0
OPINIONS = {"a": [SURE, 0, 0], "b": [0, SURE, 0], "c": [0, 0, SURE], "p": [0, 0, 3], "-": None}
NUMBERS = {"threshold": 0.5, "cutoff": 2, "epsilon": 16, "clip": CLIP, "temperature": 0.25}


def public(text):
    return [0, 0, 3]


def says(first, then):
    """One opinion about the first token and another about what follows."""
    return lambda text: OPINIONS[then if text else first]


def predictor(private=None, seed=1, **options):
    public_numbers = {"vocabulary": 3, "source": sg.Seeded(seed), "not_private": True} | NUMBERS | options
    models = [says("b", "p")] * 8 if private is None else private
    return sg.uses.PrivatePredictor(models, public_numbers.pop("public", public), **public_numbers)


# What it leaks, exactly, and what it draws


def softmax(logits):
    weights = np.exp(np.asarray(logits, dtype=float) - np.max(logits))
    return weights / weights.sum()


def tail(x, scale):
    """Pr[nu >= x] of one-sided geometric noise."""
    return np.exp(-np.maximum(x, 0) / scale)


def law(terms, length, opinion, noise=1.0):
    """The probability of every transcript, a tuple of (paid, token).

    After a transcript ``opinion`` says the distance in batches, and the laws of a free token and of a paid one.
    """
    rho, nu = (float(scale) * noise for scale in terms.calibration.scales[:2])
    bars = math.floor(STEPS * terms.batches * terms.threshold) + terms.calibration.shift
    bars += np.arange(math.ceil(40 * rho))
    transcripts = {(): tail(bars - bars[0], rho) * -math.expm1(-1 / rho)}
    for _ in range(length):
        longer = {}
        for transcript, mass in transcripts.items():
            if sum(paid for paid, _ in transcript) == terms.cutoff:
                longer[transcript] = mass
                continue
            distance, free, drawn = opinion(transcript)
            above = tail(bars - math.floor(STEPS * distance + 1e-9), nu)
            for paid, part, tokens in ((True, mass * above, drawn), (False, mass * (1 - above), free)):
                longer |= {(*transcript, (paid, token)): part * share for token, share in enumerate(tokens) if share}
        transcripts = longer
    return {transcript: float(mass.sum()) for transcript, mass in transcripts.items()}


def paid_law(terms, answers, noise=1.0):
    """The exponential mechanism over the sums of clipped logits."""
    moved = [np.asarray(answer, dtype=float) - np.max(answer) + CLIP for answer in answers if answer is not None]
    clipped = sum(np.floor(np.maximum(each, 0) / CLIP * 2**16 + 1e-9) * CLIP / 2**16 for each in moved)
    return softmax((clipped + np.zeros(3)) / (terms.batches * terms.temperature * noise))


def of_tokens(terms, private, noise=1.0):
    def opinion(transcript):
        text = tuple(token for _, token in transcript)
        free, answers = softmax(public(text)), [model(text) for model in private]
        shares = [free if answer is None else softmax(answer) for answer in answers]
        return np.abs(np.sum(shares - free, axis=0)).sum() / 2, free, paid_law(terms, answers, noise)

    return opinion


PAIRS = [  # what seven batches say, and what the eighth says on either side
    (["ba"] * 7, "ba", "cc"),
    (["cb"] * 5 + ["aa"] * 2, "cb", "ac"),
    (["bp"] * 7, "ca", "bc"),
    (["pc"] * 5 + ["ba"] * 2, "cc", "aa"),
]
ALONE = [(others, mine, "--") for others, mine, _ in PAIRS] + [(["ca"] * 7, "bb", "--")]


def worst_share(terms, pairs, gate_noise=1.0, token_noise=1.0):
    """The largest log ratio of a transcript, as a part of what that transcript is transcript to have cost."""
    worst = 0.0
    for others, *either in pairs:
        sides = [[says(*each) for each in (*others, mine)] for mine in either]
        laws = [law(terms, 2, of_tokens(terms, side, token_noise), gate_noise) for side in sides]
        assert sum(laws[0].values()) == pytest.approx(1)
        for transcript, mass in laws[0].items():
            paid = sum(each for each, _ in transcript)
            cost = terms.spent(gate=terms.calibration.spent([(len(transcript) - paid, paid)]), paid=paid)
            assert cost <= terms.epsilon
            worst = max(worst, abs(math.log(mass / laws[1][transcript])) / float(cost))
    return worst


@pytest.mark.parametrize(("alone", "pairs"), [(False, PAIRS), (True, ALONE)])
def test_no_transcript_leaks_more_than_it_is_said_to_have_cost(alone, pairs):
    assert 0.95 < worst_share(predictor(alone=alone).terms, pairs) <= 1 + 1e-9


@pytest.mark.parametrize("less", [{"gate_noise": 0.8}, {"token_noise": 0.8}])
def test_a_fifth_less_noise_leaks_more_than_that(less):
    assert worst_share(predictor().terms, PAIRS[:2], **less) > 1.1


def test_one_person_alone_is_cheaper_only_where_nobody_takes_the_place():
    """With alone=True a person comes or leaves; a batch of several that changes its mind would leak more."""
    terms = predictor(alone=True).terms
    assert terms.token_epsilon == predictor().terms.token_epsilon / 2
    assert worst_share(terms, PAIRS[1:2]) > 1.2


def test_the_gate_is_asked_for_the_distance_in_batches(monkeypatch):
    """That is what the law above supposes, and with the general scale: 2c/eps2 in batches."""
    made, asked = predictor([says("b", "p")] * 6 + [None, says("c", "c")]), []
    calibration = made.terms.calibration
    assert calibration.scales.query == 1024 * 2 * 2 / calibration.budget.query_epsilon
    assert (calibration.monotonic, calibration.lattice.sensitivity) == (False, 1024)
    monkeypatch.setattr(type(made._gate), "ask", lambda self, q: asked.append(q) or sg.BELOW)
    made.predict(())
    moved = [softmax(each) - softmax([0, 0, 3]) for each in [[0, SURE, 0]] * 6 + [[0, 0, SURE]]]
    assert float(asked[0]) == pytest.approx(np.abs(np.sum(moved, axis=0)).sum() / 2, abs=1e-9)


@pytest.mark.parametrize("alone", [False, True])
def test_a_paid_token_is_drawn_by_the_exponential_mechanism(alone, monkeypatch):
    """Its weights are those of the law above; that such a draw is exact is tested where it is made."""
    made, asked = predictor(temperature=1, alone=alone), []
    drawn = sg.select_top([0, 9], count=1, epsilon=1000, sensitivity=1)
    monkeypatch.setattr(prediction, "select_top", lambda *scores, **how: asked.append((scores[0], how)) or drawn)
    answers = [[3.0, 0, 1]] * 4 + [[0, 2.0, 1]] * 3 + [None]
    assert made._paid_token(made._reader.gathered(answers, made._reader.read(public(())))) == 1
    scores, how = asked[0]
    assert (how.pop("count"), how.pop("method"), how.pop("source")) == (1, "exponential", made._tokens)
    assert how.pop("not_private")
    weights = np.exp(float(selection_rate(count=1, **how)) * (scores - scores.max()))
    assert weights / weights.sum() == pytest.approx(paid_law(made.terms, answers), abs=1e-4)
    assert how["sensitivity"] == LEVELS


def test_a_free_token_has_the_law_of_the_public_model():
    made = predictor()
    reading = made._reader.read(public(()))
    seen = Counter(free_token(reading, made._free) for _ in range(4000))
    for largest, right in ((3.0, True), (2.4, False)):
        assert (law_p(seen, dict(enumerate(softmax([0, 0, largest])))) > FALSE_ALARM) == right


@pytest.mark.soak
def test_whole_runs_have_the_law_that_the_check_is_of():
    private, numbers = [says("b", "p")] * 3 + [says("c", "a")] * 5, {"epsilon": 6, "temperature": 1}
    made = (predictor(private, seed, **numbers) for seed in range(12_000))
    seen = Counter(tuple((each.paid, each.token) for each in one.generate((), 2)) for one in made)
    terms = predictor(private, **numbers).terms
    for noise, right in ((1.0, True), (0.8, False)):
        assert (law_p(seen, law(terms, 2, of_tokens(terms, private), noise)) > FALSE_ALARM) == right


@pytest.mark.soak
def test_an_audit_of_the_black_box_finds_no_more_than_is_claimed_and_a_leak_in_a_twin():
    rng = np.random.default_rng(3)
    around = (["bb"] * 4 + ["pp"] * 3, "bb", "pp")  # one batch takes the distance over the threshold
    pairs = [((*others, mine), (*others, other)) for others, mine, other in [around, *PAIRS]]
    options = {"neighbours": pairs, "patterns": False, "samples": 12_000, "confidence": 1 - 1e-6, "seed": 1}
    for spent, violates in ((1, False), (40, True)):  # the twin is far louder than it says

        def run(answers, spent=spent):
            models = [says(*each) for each in answers]
            made = predictor(models, int(rng.integers(1 << 60)), epsilon=spent, cutoff=1, temperature=1)
            return " ".join(f"{each.paid:d}{each.token}" for each in made.generate((), 2))

        assert sg.audit(run, epsilon=1, **options).violates == violates


# How answers are read


READER = Reader(vocabulary=3, clip=4.0, gives="logits")
SHARES = Reader(vocabulary=3, clip=4.0, gives="probabilities")
LABELS = Reader(vocabulary=3, clip=10.0, gives="labels")
PUBLIC = READER.read([0.0, 0.0, 0.0])
ODD = [None, "text", [1.0], [[1, 2, 3]], [1j, 0, 0], [True] * 3, [None] * 3, object(), 5, {}, [2**70] * 3]
anything = st.one_of(
    st.lists(st.floats(), min_size=3, max_size=3),
    st.lists(st.floats(-10, 10), min_size=3, max_size=3),
    st.sampled_from(ODD),
)


def test_a_reading_is_the_distribution_and_the_clipped_logits():
    reading = READER.read([1.0, -1.0, -99.0])
    assert reading.scores.tolist() == [LEVELS, LEVELS // 2, 0]
    assert reading.weights / WHOLE == pytest.approx(np.exp([0, -2, -100]) / (1 + math.exp(-2)), abs=1e-11)
    moved = READER.read([1e300, -math.inf, 1e300])
    assert (moved.weights[0], moved.weights[1], moved.scores.tolist()) == (WHOLE // 2, 0, [LEVELS, 0, LEVELS])
    whole = READER.read(np.array([1, 2, 3], dtype=np.int16))
    assert whole.scores.tolist() == READER.read([1.0, 2.0, 3.0]).scores.tolist()
    assert SHARES.read([0.5, 0.5, 0]).scores.tolist() == [LEVELS, LEVELS, 0]
    assert SHARES.read([8, 4, 4]).weights.tolist() == [WHOLE // 2, WHOLE // 4, WHOLE // 4]


@pytest.mark.parametrize(
    ("reader", "answers"),
    [
        (READER, [[0, 0, math.nan], [0, 0, math.inf], [-math.inf] * 3, [1, 2], [[1, 2, 3]], "abc", None]),
        (SHARES, [[1, 1, -1], [0, 0, 0], [1, math.inf, 0], [math.nan, 1, 1]]),
        (LABELS, [None, -1, 3, 1.0, True, [1], "1", 2**70]),
    ],
)
def test_what_is_no_answer_is_an_abstention(reader, answers):
    assert [reader.read(answer) for answer in answers] == [None] * len(answers)


@given(st.lists(anything, min_size=1, max_size=4), anything, st.sampled_from([READER, SHARES]))
def test_one_answer_moves_the_distance_by_one_batch_and_each_score_by_all_levels_at_most(others, other, reader):
    mine, two, nobody = (reader.gathered([*others[1:], answer], PUBLIC) for answer in (others[0], other, None))
    assert abs(mine.distance - two.distance) <= 1
    assert np.abs(mine.scores - two.scores).max() <= LEVELS
    assert 0 <= (mine.scores - nobody.scores).min() <= (mine.scores - nobody.scores).max() <= LEVELS
    assert 0 <= mine.distance <= len(others)
    for reading in filter(None, map(reader.read, (others[0], other))):
        assert (reading.weights.sum(), reading.scores.max()) == (WHOLE, LEVELS)
        assert reading.weights.min() >= 0


def test_the_bounds_are_attained():
    sure = [[0, -math.inf, -math.inf], [-math.inf, 0, -math.inf]]
    agree, differ, absent = (READER.gathered([mine], READER.read(sure[0])) for mine in (*sure, None))
    assert (differ.distance - agree.distance, absent.distance) == (1, 0)
    assert (differ.scores - agree.scores).tolist() == [-LEVELS, LEVELS, 0]


# What it costs


COSTS = {"batches": 500, "threshold": 0.4, "cutoff": 100, "epsilon": 2, "clip": 5}
SMALL = COSTS | {"batches": 40, "cutoff": 60, "epsilon": 1}
DELTA = 1e-6


@pytest.fixture(scope="module")
def approximate():
    """Few batches, so that tokens get all that the gate leaves."""
    return prediction_terms(**SMALL, delta=DELTA)


def test_everything_together_costs_epsilon_and_no_more():
    for cutoff, temperature in ((1, 1), (20, 1), (100, 1), (100, 8)):
        asked = COSTS | {"cutoff": cutoff, "temperature": temperature}
        terms, preview = prediction_terms(**asked), sg.uses.PrivatePredictor.preview(**asked)
        assert (preview.epsilon, preview.temperature, preview.margin) == (2, terms.temperature, terms.margin())
        gate = terms.calibration
        assert Fraction(gate.loss) + cutoff * terms.token_epsilon == terms.epsilon == 2
        assert terms.spent(gate=gate.budget.total, paid=cutoff) == 2
        assert terms.temperature == 2 * 5 / (500 * terms.token_epsilon) >= temperature
    # Tokens get what their temperature needs, and at most half.
    assert prediction_terms(**COSTS | {"cutoff": 20}).token_epsilon == Fraction(2 * 5, 500)
    hot = prediction_terms(**COSTS)
    assert (hot.cutoff * hot.token_epsilon, hot.temperature) == (1, 2)
    assert prediction_terms(**COSTS, alone=True).temperature == 1
    assert hot.margin() > hot.margin(0.5) > 0


def test_a_delta_is_used_and_charged_only_where_it_helps(approximate):
    pure = prediction_terms(**SMALL)
    assert (approximate.delta, approximate.epsilon) == (Fraction(1, 10**6), 1)
    assert approximate.temperature < pure.temperature
    assert approximate.margin() < 0.75 * pure.margin()
    few = prediction_terms(**COSTS | {"cutoff": 1}, delta=DELTA)
    assert few == prediction_terms(**COSTS | {"cutoff": 1})
    assert (few.delta, approximate.spent(gate=Fraction(1), paid=3)) == (0, 1)


def test_with_delta_the_moments_of_gate_and_tokens_stay_within_epsilon(approximate):
    """The theorem for delta, by another way: over many orders, in floats; the best lies between two of them."""
    gate, each = approximate.calibration, float(approximate.token_epsilon)

    def epsilon_at(tokens):
        def at(a):
            rest = (math.log(1 / DELTA) + (a - 1) * math.log(1 - 1 / a) - math.log(a)) / (a - 1)
            bound = renyi_bound(Fraction(a), scales=gate.scales, sensitivity=1024, cutoff=60, monotonic=False)
            return bound + a * 60 * tokens**2 / 8 + rest

        return min(map(at, (20, 22, 24, 26)))

    assert approximate.temperature > 1
    assert 0.99 < epsilon_at(each) <= 1.002
    assert epsilon_at(1.25 * each) > 1.025
    event = RdpAccountant().compose(approximate.dp_event()).get_epsilon(DELTA)
    assert 1 <= event < 1.25  # the comparisons are one rate of zCDP to it, at every order
    with pytest.raises(ParameterError, match="accountant"):
        approximate.dp_event("pld")


def test_zcdp_with_delta_covers_the_moments(approximate):
    gate, tokens = approximate.calibration, 60 * float(approximate.token_epsilon) ** 2 / 8
    for order in (Fraction(101, 100), 2, 8, 30):  # near 1 every part of it is needed
        bound = renyi_bound(Fraction(order), scales=gate.scales, sensitivity=1024, cutoff=60, monotonic=False)
        assert 0.3 * approximate.zcdp * order < bound + order * tokens <= approximate.zcdp * order


def test_dp_accounting_agrees_on_pure_terms():
    terms = prediction_terms(batches=100, threshold=0.4, cutoff=30, epsilon=6, clip=5)
    rdp = RdpAccountant().compose(terms.dp_event("rdp")).get_epsilon(DELTA)
    pld = PLDAccountant().compose(terms.dp_event("pld")).get_epsilon(DELTA)
    gate = terms.calibration.budget.total
    assert float(gate) - 0.01 < pld < rdp < 6
    assert terms.zcdp == pytest.approx(float(pure_rho(gate) + 30 * terms.token_epsilon**2 / 8))
    assert rdp <= terms.zcdp + 2 * math.sqrt(terms.zcdp * math.log(1 / DELTA))


@pytest.mark.parametrize("accountant", ["rdp", "pld"])
def test_the_event_has_every_token(accountant):
    """200 draws of e each lose e sqrt(200) and more at a small delta; of one, moments find at most 3 e."""
    lost = {}
    for cutoff in (1, 200):
        terms = prediction_terms(**COSTS | {"cutoff": cutoff, "batches": 20})
        made = RdpAccountant() if accountant == "rdp" else PLDAccountant(value_discretization_interval=1e-3)
        tokens = terms.dp_event(accountant).events[1]
        lost[cutoff] = made.compose(tokens).get_epsilon(DELTA) / float(terms.token_epsilon)
    assert lost[1] < 3
    assert lost[200] > 14


# What it does


def test_it_pays_where_the_batches_disagree_with_the_public_model_and_nowhere_else():
    made = predictor([says("b", "p")] * 400, cutoff=5, epsilon=10, temperature=1)
    told = [made.predict(text) for text in ((), (1,), (), (1, 2))]
    assert [(each.paid, each.checked) for each in told] == [(True, True), (False, True)] * 2
    assert (told[0].token, made.remaining, made.closed) == (1, 3, False)
    assert repr(made) == "<PrivatePredictor: 400 batches, 3 tokens, 2 of 5 paid for, open>"


def test_what_came_out_is_what_comes_next_to_every_callable():
    texts = [[], [], []]

    def listening(place):
        return lambda text: texts[place].append(text) or [0, 0, SURE]

    made = predictor([listening(0), listening(1)], public=listening(2))
    assert [each.token for each in made.generate((0, 1), 4)] == [2] * 4
    assert texts == [[(0, 1), (0, 1, 2), (0, 1, 2, 2), (0, 1, 2, 2, 2)]] * 3


def test_a_text_ends_after_its_last_token_or_where_the_gate_closes():
    sure = [says("b", "b")] * 400
    assert [each.token for each in predictor([says("c", "b")] * 400).generate((), 9, end=1)][-1] == 1
    made = predictor(sure, cutoff=3)
    assert sum(each.paid for each in made.generate((), 9)) == 3
    with pytest.raises(GateClosed, match="all 3 tokens are paid for"):
        made.predict(())
    told = list(predictor(sure, cutoff=3).generate((), 9, unchecked=True))
    assert [(each.paid, each.checked) for each in told] == [(True, True)] * 3 + [(False, False)] * 6


def test_once_closed_it_raises_or_goes_on_without_private_records():
    called = []
    made = predictor([lambda text: called.append(1)] * 8)
    made.predict(())
    made.close()
    with pytest.raises(GateClosed, match=r"closed by hand.*unchecked=True"):
        made.predict(())
    with pytest.raises(GateClosed):
        next(made.generate((), 3))
    assert not made.predict((), unchecked=True).checked
    assert len(called) == 8


def failing(error):
    def model(text):
        raise error("patient 17")

    return model


def test_an_error_of_the_public_model_loses_no_token_and_spends_nothing():
    def fails(text):
        return failing(OSError)(text) if len(text) == 2 else [0, 0, 3]

    made = predictor([says("b", "b")] * 400, public=fails, cutoff=5).generate((), 9)
    assert [next(made).paid, next(made).paid] == [True, True]
    with pytest.raises(OSError, match="17"):
        next(made)
    wrong = predictor(public=lambda text: [0, 0])
    with pytest.raises(ParameterError, match="public must give 3 logits"):
        wrong.predict(())
    assert wrong.spent == 0


class Panic(BaseException):
    """As those of libraries written in Rust."""


class Panicking:
    def __array__(self, *_, **__):
        raise asyncio.CancelledError("patient 17")


def test_a_private_callable_that_fails_is_an_abstention_and_every_one_is_called():
    called = []

    def counted(text):
        called.append(1)
        return [0, 0, 3]

    errors = [ValueError, SystemExit, MemoryError, GeneratorExit, RecursionError, asyncio.CancelledError, Panic]
    odd = ["text", [1], [math.nan] * 3, [-math.inf] * 3, Panicking()]
    strange = [lambda text, answer=answer: answer for answer in odd]
    made = predictor([*map(failing, errors), *strange, None, counted])
    told = predictor([None] * (len(errors) + len(strange) + 1) + [counted])
    for _ in range(5):
        assert made.predict(()) == told.predict(())  # the same noise: the same readings
    assert len(called) == 10
    with pytest.raises(KeyboardInterrupt):  # a person at the keyboard still ends it
        predictor([failing(KeyboardInterrupt)]).predict(())


@pytest.mark.parametrize("act", ["predict", "close"])
def test_a_callable_that_uses_its_own_predictor_abstains_and_nothing_shows_it(act):
    def meddling(text):
        getattr(made, act)()
        return [SURE, 0, 0]

    made, told = predictor([meddling] * 8), predictor([None] * 8)
    for _ in range(5):
        assert made.predict(()) == told.predict(())
    assert (made.spent, made.remaining, made.closed) == (told.spent, told.remaining, False)
    made.close()
    assert made.closed


def test_a_gate_that_another_thread_closes_meanwhile_leaves_the_public_model(monkeypatch):
    made = predictor()
    ask = type(made._gate).ask
    monkeypatch.setattr(type(made._gate), "ask", lambda gate, distance: gate.close() or ask(gate, distance))
    assert not made.predict((), unchecked=True).checked


def test_a_ledger_is_charged_before_anything_and_gets_back_what_was_not_spent(tmp_path):
    numbers = {"vocabulary": 3, **NUMBERS}
    with sg.Ledger.create(tmp_path / "x.ledger", dataset="letters", budget=20) as ledger:
        made = sg.uses.PrivatePredictor([says("b", "p")] * 400, public, ledger=ledger, **numbers)
        assert ledger.total_spent().epsilon == 16
        assert [made.predict(text).paid for text in ((), (1,))] == [True, False]
        cost = made.terms.calibration.spent([(1, 1)]) + made.terms.token_epsilon
        assert made.spent == cost < 16
        made.close()
        made.close()
        assert 0 <= ledger.total_spent().epsilon - cost < Fraction(1, 10**11)
        with pytest.raises(BudgetExceeded):
            sg.uses.PrivatePredictor([failing(OSError)], public, ledger=ledger, **numbers)
    sg.uses.PrivatePredictor([None] * 8, public, refund=False, ledger=(account := Account()), **numbers).close()
    assert account.charged == [(16, 0, "private prediction: threshold 0.5, cutoff 2, 8 batches")]
    assert account.back == {}


def test_a_context_is_a_sequence_of_tokens():
    made = predictor()
    wrong = [(text, {}, "context") for text in (7, "ab", [0.5], [-1], [3], [True], [None])]
    wrong += [((), {name: value}, name) for name, value in (("length", 0), ("end", -1), ("end", 3), ("unchecked", 1))]
    for text, options, parameter in wrong:
        with pytest.raises(ParameterError) as refused:
            made.generate(text, **{"length": 1} | options)
        assert refused.value.parameter == parameter
    with pytest.raises(ParameterError, match="context"):
        made.predict([3])
    assert made.spent == 0


def test_threads_share_the_cutoff():
    with predictor([says("b", "b")] * 400, cutoff=20, epsilon=200) as made:
        told = at_once(lambda _: [made.predict((), unchecked=True) for _ in range(8)], range(4))
    assert sum(each.paid for part in told for each in part) == 20


def test_people_are_in_one_batch_each_by_themselves():
    batches = sg.uses.PrivatePredictor.batches
    people = [f"person {number % 50}" for number in range(500)]
    placed = batches(people, 7)
    assert sorted(place for batch in placed for place in batch) == list(range(500))
    where = [{people[place] for place in batch} for batch in placed]
    assert sum(map(len, where)) == 50
    without = [name for name in people if name != "person 3"]
    for mine, theirs in zip(where, batches(without, 7), strict=True):
        assert mine - {"person 3"} == {without[place] for place in theirs}
    assert sorted(batches([7, "7", np.int64(7)], np.int64(100)), key=len)[-1] == [0, 1, 2]
    for wrong in (None, 1.5, True):
        with pytest.raises(ParameterError, match="people"):
            batches([wrong], 3)


# Labels


VOTES = (0, 1, 2, None)
VOTING = {"vocabulary": 3, "threshold": 0.2, "cutoff": 3, "epsilon": 4, "gives": "labels"}


@pytest.mark.parametrize("alone", [False, True])
def test_one_vote_moves_the_lead_over_the_public_label_by_at_most_one(alone):
    reader = Reader(vocabulary=3, clip=10.0, gives="labels", alone=alone)

    def lead(votes):
        return reader.gathered(votes, reader.read(0)).distance

    moved = set()
    for votes in product(VOTES, repeat=3):
        for place, other in product(range(3), VOTES):
            if not alone or None in (votes[place], other):  # who leaves, or comes, where each is alone
                moved.add(abs(lead((*votes[:place], other, *votes[place + 1 :])) - lead(votes)))
    assert max(moved) == 1  # and 20 % less noise would be too little


@pytest.mark.parametrize("alone", [False, True])
def test_the_law_of_two_labels_stays_within_epsilon_and_comes_near_it(alone):
    """Two others vote alike on each of two questions; label 0 is public."""
    terms = prediction_terms(batches=3, threshold=0.5, cutoff=2, epsilon=3, gives="labels", alone=alone)

    def law_of(mine, rest):
        def opinion(transcript):
            cast = mine[len(transcript)], rest[len(transcript)], rest[len(transcript)]
            counts = np.array([cast.count(0), cast.count(1)])
            return (counts[1] - counts[0]) / (1 if alone else 2), [1, 0], softmax(counts / terms.temperature)

        return law(terms, 2, opinion)

    worst = 0.0
    for rest in product((0, 1), repeat=2):
        others = [(None, None)] if alone else product((0, 1, None), repeat=2)
        laws = {mine: law_of(mine, rest) for mine in {*others, *product((0, 1), repeat=2)}}
        for mine, other in product(laws, laws):
            if not alone or other == (None, None):
                losses = [
                    abs(math.log(p / laws[other][transcript])) for transcript, p in laws[mine].items() if p > 1e-12
                ]
                worst = max(worst, *losses)
    assert 0.5 * float(terms.epsilon) < worst <= float(terms.epsilon)


def test_labels_are_paid_for_only_where_another_one_leads():
    teachers = [lambda question: 2 if question == "odd" else 1] * 300
    with sg.uses.PrivatePredictor(teachers, lambda question: 7 if question is None else 1, **VOTING) as made:
        told = [made.predict(question) for question in ("even", "odd", "even", "odd")]
        spent = made.spent
        with pytest.raises(sg.SparsegateError, match="predict"):
            made.generate((), 3)
        with pytest.raises(ParameterError, match="one of 3 labels"):  # before anything is asked
            made.predict(None)
        assert made.spent == spent
    assert [(each.token, each.paid) for each in told] == [(1, False), (2, True)] * 2
    for parameter, wrong in (("clip", 5), ("vocabulary", 1), ("gives", "votes")):
        with pytest.raises(ParameterError) as refused:
            sg.uses.PrivatePredictor(teachers, lambda _: 1, **VOTING | {parameter: wrong})
        assert refused.value.parameter == parameter
