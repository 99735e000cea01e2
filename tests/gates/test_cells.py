"""Gates on public cells: the exact law of interleaved transcripts, what it costs, and the life of the gates."""

from __future__ import annotations

import math
import pickle
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.support.accounts import Account, Noted
from tests.support.goodness import FALSE_ALARM, law_p
from tests.support.interrupts import interrupt_everywhere
from tests.support.processes import in_forked_child
from tests.support.threads import at_once

import sparsegate as sg
from sparsegate.budget import pure_rho
from sparsegate.gates.calibration import Calibration
from sparsegate.gates.gate import Gate
from sparsegate.gates.variants import Noise

PUBLIC: dict[str, Any] = {"threshold": 0, "cutoff": 1, "sensitivity": 1, "monotonic": True}
SEEDED: dict[str, Any] = {"source": sg.Seeded(5), "not_private": True}
FAR = 10**6


def made(cells: Any = 3, most: int = 2, epsilon: float = 2, **options: Any) -> sg.Gates:
    return sg.Gates(cells=cells, cells_per_user=most, epsilon=epsilon, **PUBLIC | options)


# The law of what several gates say to questions that depend on all answers before, from the scales that they run with


Transcript = tuple[tuple[int, bool], ...]
Asker = Callable[[Transcript], tuple[int, int, int]]
"""From what was said so far, the cell to ask next, its answer without the person, and whether it is about them."""


def coin(law: Calibration, answer: int, rho: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Pr[ABOVE | rho] of an answer against 0."""
    ratio, need = math.exp(-1 / law.scales.query), rho + law.shift - answer  # type: ignore[operator]
    if law.row.noise is Noise.EXPONENTIAL:
        return ratio ** np.maximum(need, 0)
    tail = ratio ** np.abs(need) / (1 + ratio)
    return np.where(need > 0, tail, 1 - ratio * tail)


def transcript_law(law: Calibration, asker: Asker, moved: dict[int, int], questions: int) -> dict[Transcript, float]:
    """The probability of every transcript where the answers of some cells are moved; a closed cell says nothing."""
    scale = float(law.scales.threshold)  # type: ignore[arg-type]
    low = 0 if law.row.noise is Noise.EXPONENTIAL else -int(60 * scale)
    rho = np.arange(low, int(60 * scale))
    start = np.exp(-np.abs(rho) / scale)
    start /= start.sum()
    chances: dict[Transcript, float] = {}

    def walk(history: Transcript, weights: dict[int, np.ndarray[Any, Any]], left: int) -> None:
        if not left:
            chances[history] = math.prod(float(weight.sum()) for weight in weights.values())
            return
        cell, answer, about = asker(history)
        if sum(above for asked, above in history if asked == cell) == law.cutoff:
            walk(history, weights, left - 1)
            return
        weight, chance = weights.get(cell, start), coin(law, answer + about * moved.get(cell, 0), rho)
        for above, part in ((True, chance), (False, 1 - chance)):
            walk((*history, (cell, above)), {**weights, cell: weight * part}, left - 1)

    walk((), {}, questions)
    assert math.isclose(sum(chances.values()), 1, rel_tol=1e-12)
    return chances


def strategy(number: int) -> Asker:
    """Cells and answers are chosen anew after everything that was said."""
    return lambda history: (
        (choose := random.Random(f"{number} {history}")).randrange(3),
        choose.randint(-4, 4),
        choose.randint(0, 1),
    )


def worst_questions(history: Transcript) -> tuple[int, int, int]:
    """Cell by cell a BELOW, about the person, where ABOVE is likely, and then an ABOVE, about others."""
    return len(history) // 2 % 3, (15, -15)[len(history) % 2], (1, 0)[len(history) % 2]


ASKERS = [strategy(number) for number in range(12)] + [worst_questions]


def losses(law: Calibration, moved: dict[int, int], questions: int = 6) -> float:
    """The largest loss of any transcript, over all strategies, in both directions."""
    worst = 0.0
    for asker in ASKERS:
        one, other = (transcript_law(law, asker, cells, questions) for cells in ({}, moved))
        worst = max(worst, *(abs(math.log(one[history] / other[history])) for history in one))
    return worst


@pytest.mark.parametrize("options", [{}, {"noise": "laplace"}, {"cutoff": 2}], ids=["exponential", "laplace", "two"])
@pytest.mark.parametrize("moved", [{0: 1, 1: 1}, {0: 1, 2: -1}, {1: -1}], ids=["both-up", "up-and-down", "one"])
def test_a_person_in_m_cells_costs_epsilon_at_most_whatever_is_asked_of_which(
    moved: dict[int, int], options: dict[str, Any]
) -> None:
    assert losses(made(**options)[0]._calibration, moved) <= 2 + 1e-12


def test_a_person_in_more_cells_and_a_gate_of_epsilon_in_each_cost_more() -> None:
    """The traps: a promise that is broken, and gates that each have what is for all."""
    assert 1.95 < losses(made(most=2)[0]._calibration, {0: -1, 1: -1}) <= 2 + 1e-12
    assert losses(made(most=2)[0]._calibration, {0: -1, 1: -1, 2: -1}) > 2.9
    assert losses(made(most=1)[0]._calibration, {0: -1, 1: -1}) > 3.9


def renyi(law: Calibration, moved: dict[int, int], alpha: float, questions: int = 6) -> float:
    """The largest divergence over all strategies, in both directions."""
    worst = 0.0
    for asker in ASKERS:
        one, other = (transcript_law(law, asker, cells, questions) for cells in ({}, moved))
        for p, q in ((one, other), (other, one)):
            worst = max(worst, math.log(sum(p[t] ** alpha * q[t] ** (1 - alpha) for t in p)) / (alpha - 1))
    return worst


@pytest.mark.parametrize("alpha", [1.05, 1.5, 2, 4, 16])
def test_rho_covers_the_divergence_of_interleaved_gates(alpha: float) -> None:
    account = Zcdp()
    law = made(epsilon=0.5, ledger=account)[0]._calibration
    (rho,) = account.rhos
    assert rho == pure_rho(Fraction(1, 2), 2)
    for moved in ({0: 1, 1: 1}, {0: 1, 2: -1}):
        assert renyi(law, moved, alpha) <= alpha * float(rho)


class Zcdp(Noted):
    """An account that is told of rho."""

    def __init__(self) -> None:
        super().__init__()
        self.rhos: list[Any] = []

    def spend(self, *, epsilon: Any, delta: Any = 0, what: str, rho: Any = None) -> int:
        self.rhos.append(rho)
        return super().spend(epsilon=epsilon, delta=delta, what=what)


def test_the_gates_answer_as_that_law_says() -> None:
    """6,000 pairs of cells of one list; a law in which both share their threshold noise is rejected."""
    runs = 6_000
    gates = made(cells=2 * runs, most=2, epsilon=1, cutoff=3, **SEEDED)

    def asker(history: Transcript) -> tuple[int, int, int]:
        return ((0, 0, 0), (1, 0, 0), (0, 2 if history[1:] and history[1][1] else -2, 0))[len(history)]

    seen: Counter[Any] = Counter()
    for run in range(runs):
        history: Transcript = ()
        for _ in range(3):
            cell, answer, _ = asker(history)
            history = (*history, (cell, bool(gates.ask(2 * run + cell, answer))))
        seen[history] += 1
    law = gates[0]._calibration
    exact = transcript_law(law, asker, {}, 3)
    assert law_p(seen, exact) > FALSE_ALARM
    shared = transcript_law(law, lambda history: (0, asker(history)[1], 0), {}, 3)
    merged = {history: shared[tuple((0, above) for _, above in history)] for history in exact}
    assert law_p(seen, merged) < FALSE_ALARM


# One price for all


def test_one_charge_of_epsilon_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    account = Noted()
    gates = made(cells=["a", "b", "c"], most=2, epsilon=1, ledger=account)
    for cell in gates.cells:
        gates.ask(cell, 0)
    ((epsilon, delta, what),) = account.charged
    assert (epsilon, delta) == (1, 0)
    assert what == "gates on 3 cells, 2 of a person at most: threshold 0, cutoff 1 of each, exponential-gap"
    assert gates["a"].budget.total == Fraction(1, 2)
    monkeypatch.setattr(Gate, "_draw_rho", lambda *_: pytest.fail("drew without paying"))
    with pytest.raises(sg.BudgetExceeded):
        made(ledger=Noted(refuses=sg.BudgetExceeded("nothing is left")))


def test_what_goes_back_is_all_but_the_largest_costs_of_m_cells() -> None:
    account = Account()
    with made(cells=5, most=2, epsilon=1, cutoff=2, ledger=account) as gates:
        assert gates.spent == 0
        gates.ask(0, FAR)
        gates.ask(1, -FAR)
        gates.ask(2, -FAR)
        gates.ask(0, -FAR)
        cost = gates[0].spent + gates[1].spent
        assert 0 < gates[1].spent < gates[0].spent
        assert gates.spent == cost < 1
    assert account.spent == cost
    gates.close()
    assert account.spent == cost
    for cell in (0, 4):
        with pytest.raises(sg.GateClosed):
            gates.ask(cell, 0)


# What is asked of whom


def test_an_unknown_cell_is_refused_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    gates = made(cells=["a", "b"])
    monkeypatch.setattr(Gate, "_draw_rho", lambda *_: pytest.fail("drew for nobody"))
    for cell in ("c", 1, None, [], float("nan")):
        with pytest.raises(sg.ParameterError, match="must be one of the 2 public cells") as refused:
            gates.ask(cell, 3)
        assert refused.value.parameter == "cell"
        assert "nan" not in str(refused.value)
    assert repr(gates) == "<Gates: 2 cells, 0 asked, 0 positives, open>"


def test_all_cells_are_asked_whatever_a_mapping_holds() -> None:
    gates = made(cells=["a", "b", "c"], most=1, threshold=500)
    assert gates.ask_all({"b": FAR, "z": FAR}) == {"a": sg.BELOW, "b": sg.ABOVE, "c": sg.BELOW}
    assert list(gates.ask_all({})) == ["a", "c"]
    for wrong in ({"a": "many"}, {"c": 0.5}, [1, 2, 3]):
        with pytest.raises(sg.ParameterError):
            gates.ask_all(wrong)  # type: ignore[arg-type]
    assert gates["a"]._asked == 2


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        *(
            ({"cells": wrong}, "cells")
            for wrong in ("abc", [], ["a", "a"], [["a"]], {"a": 1}, [float("nan")], 0, True, None)
        ),
        *(({"most": wrong}, "cells_per_user") for wrong in (0, 1.5)),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"threshold": float("inf")}, "threshold"),
        ({"cutoff": 0}, "cutoff"),
        ({"source": sg.Seeded(1)}, "not_private"),
        ({"refund": "no"}, "refund"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_charged(options: dict[str, Any], parameter: str) -> None:
    account = Noted()
    with pytest.raises(sg.ParameterError) as refused:
        made(**options, ledger=account)
    assert refused.value.parameter == parameter
    assert not account.charged


# The life of many gates


class Scalar:
    """A number as tensors are: equal to an int, with a hash of its own."""

    def __init__(self, value: int) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return self._value == other

    __hash__ = object.__hash__


def test_what_equals_a_cell_has_its_gate() -> None:
    """A second gate for a cell would answer again, with other noise, for the same price."""
    gates = made(cells=3)
    alike = (1, True, 1.0, np.int64(1), np.array(1), Scalar(1), Scalar(1))
    assert all(gates[cell] is gates[1] for cell in alike)  # type: ignore[index]
    assert repr(gates) == "<Gates: 3 cells, 1 asked, 0 positives, open>"


def test_gates_are_not_copied_and_die_at_a_fork() -> None:
    gates = made()
    gates.ask(0, -FAR)
    with pytest.raises(sg.SparsegateError, match="neither copied nor pickled"):
        pickle.dumps(gates)
    for ask in (lambda: gates.ask(0, 0), lambda: gates.ask(1, 0), lambda: gates.ask_all({})):
        assert isinstance(in_forked_child(ask), sg.GateClosed)
    assert in_forked_child(lambda: gates.closed)
    assert not gates.closed


def test_threads_share_cells_and_no_answer_beyond_the_cutoff_is_given() -> None:
    gates = made(cells=20, most=1, cutoff=3)
    fired: list[int] = []

    def ask(_: int) -> None:
        for cell in [*range(20)] * 5:
            with suppress(sg.GateClosed):
                fired.extend([cell] * bool(gates.ask(cell, FAR)))

    at_once(ask, range(4))
    assert Counter(fired) == dict.fromkeys(range(20), 3)


def test_an_interrupt_at_any_line_leaves_the_other_cells_and_costs_no_less_than_was_said() -> None:
    def make() -> tuple[Account, sg.Gates]:
        account = Account()
        gates = made(cells=3, most=2, epsilon=1, ledger=account)
        gates.ask(0, -FAR)
        return account, gates

    def check(subject: tuple[Account, sg.Gates]) -> None:
        account, gates = subject
        held = gates._gates.get(1)
        if held is not None and held.closed:
            assert not held._drawing or held.spent == Fraction(1, 2)
        else:
            assert gates.ask(1, FAR)
        assert gates.ask(2, FAR)
        cost = gates.spent
        assert cost == sum(sorted(gates[cell].spent for cell in range(3))[-2:])
        gates.close()
        assert account.spent == cost

    assert interrupt_everywhere(make, lambda subject: subject[1].ask(1, FAR), check) > 30


# What they will be good for


def test_the_preview_says_what_ten_thousand_cells_are_good_for() -> None:
    public = PUBLIC | {"threshold": 100}
    preview = sg.Gates.preview(cells=10_000, cells_per_user=3, epsilon=1, **public)
    one = sg.SparseVector.preview(epsilon=Fraction(1, 3), **public)
    assert (preview.epsilon, preview.margin, preview.cells, preview.cells_per_user) == (1, one.margin, 10_000, 3)
    assert preview.points("epsilon") == tuple((3 * at, margin) for at, margin in one.points("epsilon"))
    law = made(cells=10_000, most=3, epsilon=1, threshold=100)[0]._calibration
    assert preview.margin_all == law.margin(0.95, answers=10_000)
    assert sg.Gates.preview(cells=10_000, cells_per_user=3, within=30, **public).margin <= 30
    with pytest.raises(sg.ParameterError):
        sg.Gates.preview(cells=10_000, cells_per_user=3, **public)
