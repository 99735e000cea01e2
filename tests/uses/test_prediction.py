"""Private prediction: what it does, what it refuses, what it pays and when it stops."""

from __future__ import annotations

import asyncio
import copy
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.support.accounts import Noted
from tests.support.prediction_laws import NUMBERS, SURE, predictor, public, says
from tests.support.processes import in_forked_child
from tests.support.threads import at_once

import sparsegate as sg
from sparsegate.errors import BudgetExceeded, GateClosed, ParameterError, SparsegateError
from sparsegate.uses.prediction import Prediction


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


# What goes wrong in a private callable stays there


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


# What it costs


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
    assert 0 <= ledger.total_spent().epsilon - cost < Fraction(1, 10**11)
    with pytest.raises(BudgetExceeded):
        sg.uses.PrivatePredictor([failing(OSError)], public, ledger=ledger, **numbers)
    ledger.close()


def test_nothing_goes_back_without_refund_and_a_refusal_is_not_charged() -> None:
    account = Noted()
    numbers = {"vocabulary": 3, **NUMBERS, "ledger": account}
    with pytest.raises(ParameterError):
        sg.uses.PrivatePredictor([None], public, **numbers | {"threshold": 1})
    assert not account.charged
    sg.uses.PrivatePredictor([None] * 8, public, refund=False, **numbers).close()
    assert account.charged == [(16, 0, "private prediction: threshold 0.5, cutoff 2, 8 batches")]


# What is refused


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"private": []}, "private"),
        ({"private": "model"}, "private"),
        ({"private": [3]}, "private"),
        ({"public": [0, 0, 3]}, "public"),
        ({"vocabulary": 0}, "vocabulary"),
        ({"vocabulary": 2**23}, "vocabulary"),
        ({"threshold": 0}, "threshold"),
        ({"threshold": math.nan}, "threshold"),
        ({"cutoff": 0}, "cutoff"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"delta": 1}, "delta"),
        ({"clip": 0}, "clip"),
        ({"clip": 2**21}, "clip"),
        ({"temperature": -1}, "temperature"),
        ({"gives": "words"}, "gives"),
        ({"alone": 1}, "alone"),
        ({"refund": 1}, "refund"),
        ({"ledger": "x"}, "ledger"),
        ({"not_private": False}, "not_private"),
    ],
)
def test_bad_parameters_are_named(wrong: dict[str, Any], named: str) -> None:
    with pytest.raises(ParameterError) as error:
        predictor(wrong.pop("private", None), **wrong)
    assert error.value.parameter == named


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


def test_it_can_be_neither_copied_nor_used_in_a_forked_child() -> None:
    made = predictor()
    for copying in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(SparsegateError, match="copied"):
            copying(made)

    def child() -> bool:
        try:
            made.predict(())
        except GateClosed:
            return made.closed and not made.predict((), unchecked=True).checked
        return False

    assert in_forked_child(child)
    assert not made.closed


def test_threads_share_the_cutoff() -> None:
    with predictor([says("b", "b")] * 400, cutoff=20, epsilon=200) as made:
        said = at_once(lambda _: [made.predict((), unchecked=True) for _ in range(8)], range(4))
    assert sum(each.paid for part in said for each in part) == 20


# Who is in which batch


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
