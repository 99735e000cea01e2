"""Private prediction: what it leaks, exactly, and what it draws."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.support.goodness import FALSE_ALARM, law_p
from tests.support.prediction_laws import Toy, predictor, public, says

import sparsegate as sg
from sparsegate.selection.exponential import selection_rate
from sparsegate.uses import prediction as prediction_tokens
from sparsegate.uses.prediction import LEVELS, Reading, free_token

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
