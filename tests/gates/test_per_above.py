"""A gate that pays for each ABOVE: its charges cover every transcript, and whatever is seen was paid for before."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from mpmath import mp
from tests.support.interrupts import interrupt_everywhere
from tests.support.metered_laws import MOVES, Play, adaptive, excess, searching, steady
from tests.support.threads import at_once

import sparsegate as sg
from sparsegate.gates.approximate import renyi_bound
from sparsegate.gates.lattice import Lattice
from sparsegate.gates.per_above import Price, per_above_calibration
from sparsegate.gates.variants import Scales
from sparsegate.ledger.account import Entry, EntryKind
from sparsegate.ledger.backup import back_up, restore
from sparsegate.ledger.ledger import Ledger

ALPHAS = (1.01, 1.1, 1.5, 2.0, 4.0, 16.0)
FAR = 10**6
GATE: dict[str, Any] = {"threshold": 0, "sensitivity": 1, "monotonic": True, "within": 90}


class Scaled(Price):
    """A trap: an ABOVE is charged a share of what it costs."""

    share = Fraction(0)

    @property
    def above_rho(self) -> Fraction:
        return self.share * Price(opening=self.opening, above=self.above).above_rho


class TenthLess(Scaled):
    share = Fraction(9, 10)


# ----- the theorem


@pytest.mark.parametrize("monotonic", [True, False])
@pytest.mark.parametrize("sensitivity", [1, 3, 64])
@pytest.mark.parametrize("above", [Fraction(1, 100), Fraction(1, 3), Fraction(1), Fraction(5)])
def test_an_above_is_charged_for_its_waiting_time_at_every_order(above: Fraction, sensitivity: int, monotonic: bool):
    """Against the interval arithmetic of the (epsilon, delta) gate, whose supremum is over every place of the coin."""
    price = Price(opening=Fraction(1, 10**6), above=above)
    scales = Scales(sensitivity / price.opening, sensitivity * (2 - monotonic) / above, None)
    least = Fraction(0)
    for alpha in (Fraction(10001, 10000), Fraction(11, 10), Fraction(2), Fraction(7), Fraction(100)):
        exact = renyi_bound(alpha, scales=scales, sensitivity=sensitivity, cutoff=1, monotonic=monotonic)
        assert exact <= alpha * price.rho(1)
        least = max(least, Fraction(exact) / alpha)
    assert price.rho(1) <= least * (1 + above * Fraction(6, 10) + Fraction(1, 1000))


PRICE = Price(opening=Fraction(1, 2), above=Fraction(1, 2))


@pytest.mark.parametrize("moves", MOVES)
def test_the_charges_cover_all_transcripts_of_gates_and_releases_interleaved(moves: str):
    """Two gates, and releases between their questions, each chosen by all that was said; rho stays secret."""
    monotonic = moves != "general"
    for alpha in ALPHAS:
        for seed in range(6):
            play = Play(price=PRICE, monotonic=monotonic, gates=2, depth=6, asks=adaptive(seed, moves, 2))
            assert excess(play, alpha) <= 1e-9
        for answer in (-1, 0, 1):
            play = Play(price=PRICE, monotonic=monotonic, gates=1, depth=8, asks=steady(answer, max(MOVES[moves]), 1))
            assert excess(play, alpha) <= 1e-9


def test_a_gate_that_charges_its_opening_alone_is_flagged():
    """Whoever has found rho, and paid nothing for it, learns more from the ABOVEs after that."""
    public: dict[str, Any] = {"opening": Fraction(1, 20), "above": Fraction(2)}
    play = Play(price=Price(**public), monotonic=True, gates=1, depth=9, asks=searching(1, 64, 7))
    free = replace(play, price=Scaled(**public))
    assert excess(play, 4.0, reach=500) <= 1e-9
    assert excess(free, 4.0, reach=500) > 0.05


@pytest.mark.parametrize(("moves", "moved", "seen"), [("up", 0, 1), ("down", -1, 0), ("general", -1, 1)])
def test_they_cover_what_is_seen_beside_rho_and_nothing_less_would(moves: str, moved: int, seen: int):
    """As in the proof; each question is then a coin, and asking until it is ABOVE reaches what is charged."""
    above = Fraction(1, 10)
    play = Play(
        price=Price(opening=above, above=above),
        monotonic=moves != "general",
        gates=1,
        depth=8,
        seen=seen,
        asks=steady(0, moved, 1),
    )
    less = replace(play, price=TenthLess(opening=above, above=above))
    assert all(excess(play, alpha) <= 1e-12 for alpha in ALPHAS)
    assert max(excess(less, alpha) for alpha in ALPHAS) > 1e-4


def test_a_gate_that_reserves_nothing_passes_the_budget():
    """It looks whether it can pay when the ABOVE is seen. One that holds the next closes before."""
    above = Fraction(1, 2)
    price = Price(opening=above, above=above)
    play = Play(price=price, monotonic=True, gates=1, depth=8, seen=1, asks=steady(0, 0, 1), room=price.above_rho)
    assert all(excess(play, alpha, charged=False) <= 1e-12 for alpha in ALPHAS)
    assert max(excess(replace(play, holds=False), alpha, charged=False) for alpha in ALPHAS) > 0.01


def test_continuous_noise_has_a_cheaper_opening_than_the_lattice():
    """D_alpha of discrete Laplace noise, one step away: e + exp(-e) - 1 is too little for it."""
    e, alpha = 1.0, 1.001
    q = mp.exp(-e)
    weight = [(1 - q) / (1 + q) * q ** abs(k) for k in range(-60, 62)]
    exact = mp.log(sum(p**alpha * o ** (1 - alpha) for p, o in pairwise(weight))) / (alpha - 1)
    assert e + mp.exp(-e) - 1 < exact / alpha < float(Price(opening=Fraction(1), above=Fraction(1)).opening_rho)


# ----- the noise that is chosen


@pytest.mark.parametrize(
    ("sensitivity", "within", "monotonic"), [(3, 200, True), (3, 200, False), (0.5, 30.5, True)], ids=str
)
def test_the_noise_is_that_of_the_theorem(sensitivity: float, within: float, monotonic: bool):
    lattice = Lattice.fit(sensitivity=sensitivity)
    gate = per_above_calibration(lattice=lattice, monotonic=monotonic, within=within, expect=10)
    assert gate.price is not None
    steps = lattice.sensitivity
    assert gate.scales == Scales(steps / gate.price.opening, steps * (2 - monotonic) / gate.price.above, None)
    assert 0.98 * within < lattice.value(gate.margin(0.95)) <= within


# ----- on a ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "z.ledger", dataset="visits", budget=(1, 1e-6))


def price_of(gate: sg.SparseVector) -> tuple[Fraction, Fraction]:
    price = gate._calibration.price
    assert price is not None
    return price.opening_rho, price.above_rho


def spent(ledger: Ledger) -> Fraction:
    rho = ledger.statement().spent.rho
    assert rho is not None
    return rho


def cancel(ledger: Ledger, held: Entry) -> None:
    with ledger.database.writing() as connection:
        ledger.cancel_held(connection, held)


def use(ledger: Ledger, held: Entry) -> None:
    with ledger.database.writing() as connection:
        ledger.use_held(connection, held, each=held.amount, count=1, of=held)


def test_the_opening_is_charged_and_the_next_above_is_held_until_the_gate_is_closed(tmp_path: Path, ledger: Ledger):
    with sg.SparseVector(**GATE, ledger=ledger) as gate:
        opening, each = price_of(gate)
        assert spent(ledger) == opening + each
        for positives in (1, 2, 3):
            assert gate.ask(FAR) == sg.ABOVE
            assert gate.ask(-FAR) == sg.BELOW
            assert spent(ledger) == opening + (positives + 1) * each
        assert gate.ask_many([-FAR, FAR, FAR, -FAR, FAR, -FAR]).tolist() == [False, True, True, False, True, False]
        assert spent(ledger) == opening + 7 * each
        assert (gate.positives, gate.remaining, gate.closed) == (6, None, False)
    assert spent(ledger) == opening + 6 * each
    gate.close()
    after = ledger.statement()
    assert after.spent.rho == opening + 6 * each
    assert after.given_back.rho == each
    assert [entry.kind for entry in after.entries].count(EntryKind.REFUND) == 1
    with Ledger(tmp_path / "z.ledger") as again:
        assert again.statement() == after
    assert gate.spent <= gate.budget.threshold_epsilon + 6 * gate.budget.query_epsilon


def test_a_below_touches_no_disk(ledger: Ledger, monkeypatch: pytest.MonkeyPatch):
    gate = sg.SparseVector(**GATE, ledger=ledger)
    ledger.close()

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the ledger was used")

    for name in ("writing", "reading", "together"):
        monkeypatch.setattr(type(ledger.database), name, refuse)
    assert not any(gate.ask(-FAR) for _ in range(1000))
    assert not gate.ask_many([-FAR] * 100_000).any()


def test_a_gate_closes_where_its_ledger_cannot_hold_another_above(ledger: Ledger):
    gate = sg.SparseVector(**GATE, ledger=ledger)
    opening, each = price_of(gate)
    budget = ledger.statement().budget.rho
    assert budget is not None
    most = int((budget - opening) / each)
    assert sg.SparseVector.preview(**GATE, ledger=ledger).above_paid < most
    assert all(gate.ask(FAR) and not gate.closed for _ in range(most - 1))
    assert gate.ask(FAR)
    assert gate.closed
    with pytest.raises(sg.GateClosed, match="its ledger cannot pay for another ABOVE"):
        gate.ask(-FAR)
    assert budget - each < spent(ledger) <= budget
    before = ledger.statement()
    gate.close()
    assert ledger.statement() == before
    with pytest.raises(sg.BudgetExceeded):
        sg.SparseVector(**GATE, ledger=ledger)
    assert ledger.statement() == before
    ledger.raise_budget(budget=2, why="another year")
    assert sg.SparseVector(**GATE, ledger=ledger).ask(FAR)


@pytest.mark.parametrize("rest", [[-FAR, FAR] * 12, [-FAR] * 5, [-FAR] * 5 + [FAR]])
def test_many_at_once_are_the_same_as_one_by_one(tmp_path: Path, rest: list[int]):
    """Also where the budget ends among them: a BELOW after the last that it pays for would be free, and is not said."""
    questions = [-FAR, FAR] * 28 + rest
    ends = []
    for name in ("one", "many"):
        ledger = Ledger.create(tmp_path / name, dataset="visits", budget=(1, 1e-6))
        gate = sg.SparseVector(**GATE, ledger=ledger)
        if name == "one":
            said = []
            with suppress(sg.GateClosed):
                for question in questions:
                    said.append(bool(gate.ask(question)))
        else:
            said = gate.ask_many(questions).tolist()
        ends.append((said, gate.positives, gate.closed, ledger.statement().spent))
    assert ends[0] == ends[1]
    assert len(ends[0][0]) == 2 * ends[0][1] == 56


@pytest.mark.parametrize("moment", ["before the ABOVE is written", "after it"])
def test_what_a_killed_process_held_stays_spent(ledger: Ledger, tmp_path: Path, moment: str):
    def die(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        with Ledger(tmp_path / "z.ledger") as own:
            gate = sg.SparseVector(**GATE, ledger=own)
            gate.ask(FAR)
            if moment == "after it":
                gate.__class__._count = die  # type: ignore[assignment, method-assign]
            else:
                own.use_held = die  # type: ignore[assignment, method-assign]
            gate.ask(FAR)
        os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    with sg.SparseVector(**GATE, ledger=ledger) as gate:
        opening, each = price_of(gate)
    assert spent(ledger) == 2 * opening + (2 if moment != "after it" else 3) * each


def test_what_is_held_serves_one_above_and_nothing_else(ledger: Ledger):
    gate = sg.SparseVector(**GATE, ledger=ledger)
    opening, each = price_of(gate)
    held = ledger.statement().entries[-1]
    with pytest.raises(sg.LedgerError, match="has used entry 3 already"):
        ledger.reserved(3).spend(epsilon=Fraction(1, 1000), rho=each, what="another release")
    assert gate.ask(FAR)
    for act in (cancel, use):
        with pytest.raises(sg.LedgerError, match="has entry 3 no more"):
            act(ledger, held)
    gate.close()
    again = ledger.statement().entries[-2]
    with pytest.raises(sg.LedgerError, match="no more"):
        cancel(ledger, again)
    assert ledger.give_back(2, epsilon=0.001) is None
    assert spent(ledger) == opening + each


def test_a_gate_whose_reservation_is_gone_says_nothing(ledger: Ledger):
    """Somebody gave it back by hand, or used it: the ABOVE is refused, and the gate closed."""
    gate = sg.SparseVector(**GATE, ledger=ledger)
    cancel(ledger, ledger.statement().entries[-1])
    before = ledger.statement()
    assert not gate.ask(-FAR)
    with pytest.raises(sg.LedgerError, match="no more"):
        gate.ask(FAR)
    assert gate.closed
    gate.close()
    assert ledger.statement() == before


def test_a_restored_ledger_gives_nothing_back_and_serves_no_above(ledger: Ledger, tmp_path: Path):
    gate = sg.SparseVector(**GATE, ledger=ledger)
    ledger.close()
    back_up(str(tmp_path / "z.ledger"), tmp_path / "copy")
    restore(str(tmp_path / "again"), backup=tmp_path / "copy", rho_since=0)
    with Ledger(tmp_path / "again") as restored:
        held = restored.statement().entries[2]
        with pytest.raises(sg.LedgerError, match="no more"):
            cancel(restored, held)
        with pytest.raises(sg.LedgerError, match="no more"):
            use(restored, held)
    gate.close()


def test_a_ledger_that_cannot_be_written_keeps_the_answer_and_closes_the_gate(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    gate = sg.SparseVector(**GATE, ledger=ledger)
    opening, each = price_of(gate)

    def fail(*_: object, **__: object) -> None:
        raise sg.LedgerError("the disk is full; nothing was spent")

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "use_held", fail)
        with pytest.raises(sg.LedgerError, match="disk is full; what was reserved for this ABOVE stays spent"):
            gate.ask(FAR)
    with pytest.raises(sg.GateClosed, match="cut short"):
        gate.ask(-FAR)
    gate.close()
    assert spent(ledger) == opening + each
    other = sg.SparseVector(**GATE, ledger=ledger)
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "cancel_held", fail)
        with pytest.warns(RuntimeWarning, match="what was reserved for the next ABOVE stays spent"):
            other.close()
    other.close()
    assert spent(ledger) == 2 * opening + each


def test_threads_share_gates_and_a_ledger(ledger: Ledger):
    gates = [sg.SparseVector(**GATE, ledger=ledger) for _ in range(2)]
    opening, each = price_of(gates[0])
    asked = at_once(lambda part: [bool(gates[part % 2].ask(FAR if n % 5 == 0 else -FAR)) for n in range(10)], range(4))
    assert sum(map(sum, asked)) == 8
    assert spent(ledger) == 2 * opening + 10 * each
    for gate in gates:
        gate.close()
    assert spent(ledger) == 2 * opening + 8 * each


def test_a_refund_on_a_zcdp_ledger_is_of_all_that_was_reserved(ledger: Ledger):
    """Anything else in its place is damage."""
    with sg.SparseVector(**GATE, ledger=ledger):
        pass
    with ledger.database.writing() as connection:
        for trigger in ("entries_stay", "entries_last"):
            connection.run(f"DROP TRIGGER {trigger}")
        connection.run("UPDATE entries SET rho = '0.001' WHERE kind = 'refund'")
    with pytest.raises(sg.LedgerError, match="entry 4 gives back what was not spent"):
        ledger.statement()


@pytest.mark.parametrize(
    ("change", "parameter"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"budget": sg.Budget(threshold_epsilon=1, query_epsilon=1)}, "budget"),
        ({"delta": 1e-6}, "delta"),
        ({"noise": "exponential"}, "noise"),
        ({"closes": "rarer"}, "closes"),
        ({"within": None}, "cutoff"),
        ({"within": "90"}, "within"),
        ({"expect": 10**400}, "expect"),
        ({"monotonic": 1}, "monotonic"),
        ({"cutoff": 3, "epsilon": 1}, "within"),
        *(({"ledger": wrong}, "ledger") for wrong in (None, "z.ledger")),
    ],
)
def test_what_the_theorem_is_not_about_is_refused_and_spends_nothing(
    ledger: Ledger, change: dict[str, Any], parameter: str
):
    before = ledger.statement()
    with pytest.raises(sg.ParameterError) as refused:
        sg.SparseVector(**{**GATE, "ledger": ledger, **change})
    assert refused.value.parameter == parameter
    assert ledger.statement() == before


def test_a_preview_says_what_it_costs_and_what_the_ledger_would_pay_for(ledger: Ledger):
    before = ledger.statement()
    preview = sg.SparseVector.preview(**GATE, ledger=ledger)
    assert ledger.statement() == before
    gate = sg.SparseVector(**GATE, ledger=ledger)
    with pytest.raises(sg.ParameterError, match="must have a cutoff"):
        gate.dp_event()
    assert (preview.opening_rho, preview.above_rho) == price_of(gate)
    assert preview.margin == gate.margin() == 90
    assert len(gate.ask_many([FAR] * 100)) == preview.above_paid == 28
    assert "pays for that and 28 ABOVE" in preview.statement
    assert "pays for none of that" in sg.SparseVector.preview(**GATE, ledger=ledger).statement
    assert sg.SparseVector.preview(**GATE).above_paid is None
    more = sg.SparseVector.preview(**GATE, expect=100)
    assert more.above_rho < preview.above_rho
    assert more.opening_rho > preview.opening_rho
    near = sg.SparseVector.preview(**{**GATE, "threshold": 10})  # it has no epsilon or cutoff that could be changed
    assert near.warning.endswith("Take a smaller within or a larger threshold.")


# ----- interrupts


class Purse:
    """An account with room for some ABOVEs, in memory: what was committed, and what is held."""

    rule = "zcdp"

    def __init__(self, room: int) -> None:
        self.room, self.committed, self.held, self.back = room, 0, 0, 0

    def open_meter(self, **_: Any) -> Purse:
        self.room, self.held = self.room - 1, 1
        return self

    def statement(self) -> Any:
        raise AssertionError

    def pay(self, count: int) -> tuple[int, bool]:
        paid = min(count, self.room + 1)
        another = self.room >= count
        self.committed, self.held, self.room = self.committed + paid, int(another), self.room - paid + (not another)
        return paid, another

    def give_back(self, epsilon: Fraction) -> bool:
        self.back += self.held * bool(epsilon)
        self.held = 0 if epsilon else self.held
        return True


class Asked:
    """A gate on a purse, and what it said."""

    def __init__(self) -> None:
        self.purse, self.said = Purse(3), 0
        self.gate = sg.SparseVector(**GATE, ledger=self.purse)  # type: ignore[arg-type]
        self.said += bool(self.gate.ask(FAR))

    def check(self) -> None:
        purse, gate = self.purse, self.gate
        cut_short = gate._drawing
        assert self.said <= purse.committed
        if not gate.closed:
            assert purse.held == 1
            self.said += len(gate.ask_many([FAR] * 9))
        gate.close()
        assert self.said <= purse.committed
        assert purse.committed + purse.held + purse.room + purse.back == 3
        if cut_short:
            assert purse.back == 0
            with pytest.raises(sg.GateClosed, match="cut short"):
                gate.ask(-FAR)


ACTS: dict[str, Callable[[Asked], Any]] = {
    "an ABOVE": lambda asked: setattr(asked, "said", asked.said + bool(asked.gate.ask(FAR))),
    "many": lambda asked: setattr(asked, "said", asked.said + int(asked.gate.ask_many([-FAR, FAR, FAR, -FAR]).sum())),
    "closing": lambda asked: asked.gate.close(),
}


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("act", ACTS)
def test_an_interrupt_at_any_line_leaves_every_above_paid_for(act: str, error: type[BaseException]):
    assert interrupt_everywhere(Asked, ACTS[act], Asked.check, error=error) > 3
