"""A question that is cut short leaves the gate as it was, or closed with all of its budget spent. At every line.

What is checked each time: it goes on with its own noise, drawn and not used before; it gives no more ABOVE than were
paid for; it has spent what its answers cost, and gives back no more than the rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from tests.support.interrupts import interrupt_by_signal, interrupt_everywhere

import sparsegate as sg
from sparsegate.gates.bounds import Setting
from sparsegate.gates.calibration import Calibration, calibrate
from sparsegate.gates.gate import Gate, threshold_noise
from sparsegate.gates.sparse_vector import gate_calibration
from sparsegate.gates.variants import Closes


def ran(row: str, *, cutoff: int, not_private: bool = False) -> Calibration:
    setting = Setting(row=sg.VARIANTS[row], cutoff=cutoff, epsilon=1, monotonic=True)
    return calibrate(setting, threshold=0, not_private=not_private)


FAR = 10**6
"""So far from the threshold that noise decides nothing: what is ABOVE is known ahead."""

COMMON: dict[str, Any] = {"threshold": 0, "sensitivity": 1, "monotonic": True}
SHARES = sg.Budget(threshold_epsilon=Fraction(1, 4), query_epsilon=Fraction(1, 2), answer_epsilon=Fraction(1, 4))
ROWS: dict[str, Callable[[], Calibration]] = {
    "standard": lambda: gate_calibration(**COMMON, cutoff=2, epsilon=1),
    "laplace": lambda: gate_calibration(**COMMON, cutoff=2, epsilon=1, noise="laplace"),
    "two-sided": lambda: gate_calibration(**COMMON, cutoff=2, epsilon=1, closes="rarer"),
    "redrawn": lambda: ran("dwork-roth-2014", cutoff=2),
    "numeric": lambda: gate_calibration(**COMMON, cutoff=2, budget=SHARES),
    "planned": lambda: gate_calibration(**COMMON, cutoff=2, epsilon=1, queries=65),
    "approximate": lambda: gate_calibration(**COMMON, cutoff=200, epsilon=1, delta=1e-6),
    "endless": lambda: ran("stoddard-2014", cutoff=1, not_private=True),
}
BEFORE: dict[str, Callable[[Calibration], list[int]]] = {
    "the first block is to be drawn": lambda law: [],
    "the second block is to be drawn": lambda law: [-FAR] * 64,
    "one ABOVE is left": lambda law: [-FAR] * (law.row.key == "two-sided") + [FAR] * (law.cutoff - 1),
}
MANY = (-FAR, FAR, -FAR, FAR, FAR, -FAR, FAR)


class Known(sg.Seeded):
    """A seeded source that a gate takes for a secret one, so that it gives back what it did not cost."""

    private = True


class Account:
    """What a gate gave back of its one charge."""

    def __init__(self) -> None:
        self.back = Fraction(0)

    def spend(self, **charge: Any) -> int:
        return 1

    def keep(self, entry: int, gave: Any) -> None: ...

    def give_back(self, entry: int, *, epsilon: Fraction) -> None:
        self.back += epsilon


class Noise(NamedTuple):
    """What a gate draws that nothing interrupts: rho again and again, nu, and the noise of its answers."""

    rho: list[int]
    nu: list[int]
    answers: list[int]


@cache
def law(row: str) -> Calibration:
    return ROWS[row]()


def gate(row: str, account: Account | None = None) -> Gate:
    flawed = not law(row).row.private
    return Gate(law(row), threshold=0, source=Known(5), not_private=flawed, ledger=None if flawed else account)


@cache
def noise(row: str) -> Noise:
    twin = gate(row)
    nu, answers = (
        [0] * 1000 if drawn is None else drawn.take_many(1000).tolist() for drawn in (twin._nu, twin._answer_noise)
    )
    return Noise([twin._rho, *(twin._draw_rho() for _ in range(9))], nu, answers)


class Asked:
    """A gate, what it is asked, and what it said."""

    def __init__(self, row: str, before: list[int]) -> None:
        self.law, self.noise, self.account = law(row), noise(row), Account()
        self.gate = gate(row, self.account)
        self.questions, self.said = list(before), list[bool]()
        for answer in before:
            self.said.append(bool(self.gate.ask(answer)))

    def one(self, *answers: int) -> None:
        self.questions += answers
        for answer in answers:
            self.said.append(bool(self.gate.ask(answer)))

    def many(self, *answers: int) -> None:
        self.questions += answers
        said = self.gate.ask_many(answers)
        self.said += (said["above"] if said.dtype.names else said).tolist()

    def check(self) -> None:
        whole, asked, cutoff = self.law.budget.total, self.gate._asked, self.law.cutoff
        assert self.said == [question > 0 for question in self.questions[: len(self.said)]]
        if self.gate._drawing:
            assert self.gate.closed
            assert self.gate.spent == whole
            for use in (self.one, self.many):
                with pytest.raises(sg.GateClosed, match="cut short, and all of its budget counts as spent; make a new"):
                    use(FAR)
            with pytest.raises(sg.GateClosed):
                threshold_noise(self.gate)
            self.gate.close()
            assert self.account.back == 0
            return
        # Nothing was drawn that is not counted, and all that was drawn is what it should be.
        counted = [question > 0 for question in self.questions[:asked]]
        assert counted[: len(self.said)] == self.said
        assert self.gate.positives == sum(counted)
        assert self.gate.spent == self._cost(counted)
        redrawn = sum(counted) if self.law.row.redraws_threshold else 0
        assert self.gate._rho == self.noise.rho[redrawn]
        for drawn, expected in (
            (self.gate._nu, self.noise.nu[asked:]),
            (self.gate._answer_noise, self.noise.answers[sum(counted) :]),
        ):
            if drawn is not None and not self.gate.closed:
                assert drawn.take_many(100).tolist() == expected[:100]
        said = counted + self._rest()
        if self.law.row.closes is Closes.ABOVE:
            assert sum(said) <= cutoff
        if self.law.row.closes is Closes.RARER:
            assert min(sum(said), len(said) - sum(said)) <= cutoff
        assert self.gate.spent == self._cost(said)
        self.gate.close()
        refunds = self.law.row.private and not self.law.budget.delta
        assert self.account.back == (whole - self.gate.spent if refunds else 0)

    def _rest(self) -> list[bool]:
        """Everything that it still says to answers far above."""
        rest: list[bool] = []
        try:
            for _ in range(3):
                rest.append(bool(self.gate.ask(FAR)))
                said = self.gate.ask_many([FAR] * 200)
                rest += (said["above"] if said.dtype.names else said).tolist()
        except sg.GateClosed:
            pass
        return rest

    def _cost(self, said: list[bool]) -> Fraction:
        """As the gate has it, from the transcript."""
        if not self.law.row.redraws_threshold:
            return self.law.spent([(len(said) - sum(said), sum(said))])
        ends = [0, *(place + 1 for place, above in enumerate(said) if above)]
        rounds = [(end - start - 1, 1) for start, end in pairwise(ends)]
        return self.law.spent([*rounds, (len(said) - ends[-1], 0)])


ACTS: dict[str, Callable[[Asked], None]] = {
    "an ABOVE": lambda asked: asked.one(FAR),
    "a BELOW": lambda asked: asked.one(-FAR),
    "many": lambda asked: asked.many(*MANY),
}


def interrupted(row: str, before: str, act: str, error: type[BaseException], *, opcodes: bool = False) -> None:
    begin = BEFORE[before](law(row))
    noise(row)
    places = interrupt_everywhere(lambda: Asked(row, begin), ACTS[act], Asked.check, error=error, opcodes=opcodes)
    assert places > (100 if opcodes else 10)


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("row", ROWS)
def test_a_question_that_is_interrupted_at_any_line_leaves_the_gate_as_it_was_or_closed(row, before, act):
    # Each of the errors everywhere, in turn.
    odd = (list(ROWS).index(row) + list(BEFORE).index(before) + list(ACTS).index(act)) % 2
    interrupted(row, before, act, MemoryError if odd else KeyboardInterrupt)


@pytest.mark.parametrize(("row", "act"), [("standard", "many"), ("numeric", "an ABOVE")])
def test_or_at_any_instruction(row, act):
    interrupted(row, "one ABOVE is left", act, KeyboardInterrupt, opcodes=True)


@pytest.mark.parametrize("row", ROWS)
def test_real_signals_leave_a_gate_as_it_was_or_closed(row):
    """2,000 of them over all rows: one question after the other, or many at once, until a signal comes."""

    def one_by_one(asked: Asked) -> None:
        asked.one(*[-FAR] * 60, *[FAR, -FAR] * 300)

    def at_once(asked: Asked) -> None:
        for _ in range(30):
            asked.many(*[-FAR] * 20, FAR)

    def act(asked: Asked) -> None:
        with suppress(sg.GateClosed):
            (one_by_one if came % 2 else at_once)(asked)
        time.sleep(1)

    came = 0
    noise(row)
    while came < 2000 / len(ROWS):
        came += interrupt_by_signal(lambda: Asked(row, []), act, Asked.check, times=1, within=1.5e-4, seed=came)


@pytest.mark.parametrize("error", [KeyboardInterrupt, TimeoutError])
def test_no_noise_stands_in_the_traceback_of_an_interrupt(monkeypatch, error):
    """A log that shows local variables would show it; and where the exception arose would tell the answer."""

    def interrupt(*_: object) -> None:
        raise error

    monkeypatch.setattr(Gate, "_count", interrupt)
    for ask in (lambda gate: gate.ask(FAR), lambda gate: gate.ask_many([FAR])):
        with pytest.raises(error) as caught:
            ask(gate("standard"))
        assert [entry.name for entry in caught.traceback][-1] in ("ask", "ask_many")


def test_a_gate_that_is_through_by_its_counts_says_nothing_even_if_it_is_not_closed():
    asked = Asked("standard", [FAR, -FAR, FAR])
    asked.gate._closed = ""
    assert asked.gate.ask_many([FAR] * 10).tolist() == []
    assert asked.gate.closed
    assert asked.gate.positives == 2


def test_a_gate_that_was_cut_short_twice_answers_no_more():
    """A second interrupt comes before the first has closed it: the mark alone is left."""
    for use in (Asked.one, Asked.many):
        asked = Asked("standard", [-FAR])
        asked.gate._drawing = True
        with pytest.raises(sg.GateClosed, match="cut short"):
            use(asked, FAR)
        asked.check()


def test_many_answers_that_do_not_fit_leave_the_gate_as_it_was(monkeypatch):
    def too_large(*_: object, **__: object) -> None:
        raise MemoryError

    asked = Asked("standard", [-FAR])
    with monkeypatch.context() as patch:
        patch.setattr("sparsegate.gates.gate.np.zeros", too_large)
        with pytest.raises(MemoryError):
            asked.many(FAR)
    assert not asked.gate.closed
    asked.check()


@pytest.mark.filterwarnings("ignore:what this did not cost stays spent")
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_is_given_back_goes_back_once_whatever_interrupts_it(error):
    """To an account that adds up whatever it is given."""

    def check(asked: Asked) -> None:
        asked.gate.close()
        assert asked.account.back <= asked.law.budget.total - asked.gate.spent

    def close(asked: Asked) -> None:
        asked.gate.close()

    assert interrupt_everywhere(lambda: Asked("standard", [-FAR]), close, check, error=error, opcodes=True) > 50
