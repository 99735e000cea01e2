"""Gates of a service for each cell: one charge, a gate of epsilon/m for each, and nobody counts in more than m."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.support.pretend_service import HIGH, LOW, Pretend, Shop, broken, until

import sparsegate as sg
from sparsegate.budget import pure_rho
from sparsegate.errors import ConditionError, GateClosed, OutcomeLost, ParameterError
from sparsegate.ledger.account import exact_amount
from sparsegate.ledger.gate import rounded_down
from sparsegate.service import gate_store
from sparsegate.service.data.dataset import ServedTable
from sparsegate.service.gate_store import GateStore
from sparsegate.service.gates import GateSpec, gate_view, preview_view
from sparsegate.service.keeper import Keeper
from sparsegate.service.keys import rotate_key

MOST = 2
"""In how many pages a person counts, in the pretended data."""


def opened(shop: Shop, keeper: Keeper, **more: Any) -> str:
    return shop.open(keeper, per="page", **more)


def cost(*cells: tuple[int, int], cutoff: int = 3, epsilon: Fraction = Fraction(1)) -> Fraction:
    """What the library's gates cost for so many BELOW and ABOVE of each cell."""
    common: dict[str, Any] = {"threshold": 0, "cutoff": cutoff, "sensitivity": 1, "monotonic": True}
    gates = sg.Gates(cells=len(cells) + MOST, cells_per_user=MOST, epsilon=epsilon, **common)
    for cell, (below, above) in enumerate(cells):
        for answer in (*[-(10**6)] * below, *[10**6] * above):
            gates.ask(cell, answer)
    return gates.spent


def test_each_cell_has_its_own_cutoff_and_all_are_charged_once(shop: Shop, keeper: Keeper) -> None:
    gate = opened(shop, keeper, cutoff=1)
    for cell in ("A", "B", "C"):
        answer = keeper.ask(shop.caller(), gate, HIGH, cell=cell)
        assert (answer.above, answer.closed, answer.remaining) == (True, True, 0)
    with pytest.raises(GateClosed, match="of this cell all 1"):
        keeper.ask(shop.caller(), gate, HIGH, cell="B")
    assert not keeper.ask(shop.caller(), gate, LOW, cell="D").closed
    view = keeper.gate(gate)
    assert (view["asked"], view["positives"], view["closed"], view["cells_per_user"]) == (4, 3, False, MOST)
    assert (keeper.ledger.total_spent().epsilon, len(keeper.ledger.entries())) == (1, 2)


def test_closing_gives_back_all_but_the_dearest_cells_as_the_library_does(shop_on_both: Shop) -> None:
    keeper = shop_on_both.keeper()
    gate = opened(shop_on_both, keeper)
    for cell, where in (("A", HIGH), ("B", LOW), ("C", LOW), ("A", LOW), ("C", HIGH), ("A", HIGH)):
        answer = keeper.ask(shop_on_both.caller(), gate, where, cell=cell)
    spent = cost((1, 2), (1, 0), (1, 1))
    assert Fraction(answer.spent) == 1 - rounded_down(1 - spent) < 1
    assert keeper.close_gate(gate)["given_back"] == str(float(rounded_down(1 - spent)))
    assert keeper.ledger.total_spent().epsilon == 1 - rounded_down(1 - spent)
    with pytest.raises(GateClosed, match="closed by hand"):
        keeper.ask(shop_on_both.caller(), gate, HIGH, cell="A")


def test_the_noise_of_a_cell_is_that_of_epsilon_over_m(shop: Shop, keeper: Keeper) -> None:
    gate = keeper._store.gate(opened(shop, keeper, epsilon=1))
    whole = preview_view(GateSpec(threshold=0, cutoff=3, epsilon=Fraction(1, MOST)), None)
    cells = preview_view(GateSpec(threshold=0, cutoff=3, epsilon=Fraction(1), per="page", cells_per_user=MOST), None)
    assert (cells["margin"], cells["cost"]) == (whole["margin"], "1")
    assert [point["epsilon"] for point in cells["curve"]] == pytest.approx(
        [MOST * point["epsilon"] for point in whole["curve"]]
    )
    for label in ('"A"', '"B"'):
        live = keeper._resumed(keeper._store.gate(gate.id, cell=label))
        assert live.budget.total == Fraction(1, MOST)


def test_a_restart_goes_on_cell_by_cell_with_the_same_noise_and_a_new_key(shop: Shop, keeper: Keeper) -> None:
    gate, caller = opened(shop, keeper), shop.caller()
    keeper.ask(caller, gate, HIGH, cell="A")
    keeper.ask(shop.caller(), gate, LOW, cell="B")
    with pytest.raises(sg.errors.KeyReused):
        keeper.ask(caller, gate, HIGH, cell="B")
    noise = {cell: keeper._resumed(keeper._store.gate(gate, cell=cell))._rho for cell in ('"A"', '"B"')}
    before = keeper.ledger.entries()
    assert rotate_key(keeper.ledger, shop.key) == 1
    again = shop.keeper()
    assert {cell: again._resumed(again._store.gate(gate, cell=cell))._rho for cell in noise} == noise
    assert [again.ask(shop.caller(), gate, HIGH, cell="A").remaining for _ in range(2)] == [1, 0]
    assert again.ask(shop.caller(), gate, HIGH, cell="B").remaining == 2
    assert again.ledger.entries() == before


def test_a_lost_answer_counts_as_an_above_of_its_cell_alone(shop: Shop) -> None:
    trouble = [False]
    keeper = shop.keeper(Pretend(counted=lambda: broken() if trouble[0] else None))
    gate = opened(shop, keeper)
    keeper.ask(shop.caller(), gate, LOW, cell="B")
    trouble[0] = True
    with pytest.raises(OutcomeLost):
        keeper.ask(shop.caller(), gate, LOW, cell="A")
    tally = keeper._store.gate(gate, cell='"A"').tally
    assert tally.cell is not None
    assert (tally.cell.asked, tally.cell.positives, tally.positives) == (1, 1, 1)
    assert Fraction(keeper.gate(gate)["given_back"]) == rounded_down(1 - cost((0, 1), (1, 0)))


def test_nobody_sees_what_a_cell_was_answered_before_it_leaves(shop: Shop) -> None:
    keeper = shop.keeper(delay=0.6)
    gate = opened(shop, keeper)
    keeper.ask(shop.caller(), gate, LOW, cell="B")
    before = keeper.gate(gate)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(keeper.ask, shop.caller(), gate, HIGH, cell="B")
        while keeper._store.gate(gate).tally.above == 0:  # settled, and not left
            time.sleep(0.01)
        assert keeper.gate(gate) == before
    assert Fraction(keeper.gate(gate)["spent"]) == 1 - rounded_down(1 - cost((1, 1)))


def test_a_zcdp_ledger_is_charged_the_rho_of_m_parts_and_gets_nothing_back(tmp_path: Path) -> None:
    shop = Shop(tmp_path, budget=(4, 1e-6))  # type: ignore[arg-type]
    keeper = shop.keeper()
    gate = opened(shop, keeper)
    spent = keeper.ledger.total_spent().rho
    assert spent == exact_amount(1, 0, pure_rho(Fraction(1), MOST)).rho < (exact_amount(1, 0).rho or 0)
    keeper.close_gate(gate)
    assert keeper.ledger.total_spent().rho == spent
    shop.shut()


def test_a_cell_that_cannot_be_asked_about_is_refused_before_anything_is_written(shop: Shop, keeper: Keeper) -> None:
    gates = opened(shop, keeper), shop.open(keeper)
    for place, asked in ((0, {}), (0, {"cell": 5}), (0, {"cell": True}), (0, {"cell": "x" * 201}), (1, {"cell": "A"})):
        with pytest.raises(ParameterError) as refused:
            keeper.ask(shop.caller(), gates[place], HIGH, **asked)  # type: ignore[arg-type]
        assert refused.value.parameter == "cell"
    assert [keeper.gate(gate)["asked"] for gate in gates] == [0, 0]


def test_gates_for_cells_need_a_column_that_is_served_with_cells_and_a_cutoff(shop: Shop, keeper: Keeper) -> None:
    with pytest.raises(ParameterError, match="per must be a column that is served with cells"):
        keeper.open_gate(shop.caller(), threshold=0, cutoff=3, epsilon=1, per="country")
    with pytest.raises(ParameterError, match="cutoff must be given"):
        keeper.open_gate(shop.caller(), threshold=0, within=100, per="page")
    gate = opened(shop, keeper)
    other = Pretend()
    other.cells = {"page": 3}
    with pytest.raises(GateClosed, match="other cells"):
        shop.keeper(other).ask(shop.caller(), gate, HIGH, cell="A")


ROWS = [  # Anna is in A twice, in B and in C; of B and C the smaller stays
    *[("anna", cell, "x") for cell in ("C", "A", "B", "A")],
    *[(f"p{number}", "C", "y") for number in range(7)],
    ("zoe", None, "x"),
]


@pytest.fixture(params=["user", "row"])
def table(tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    lines = ["visitor,city,page", *(f"{who},{city or ''},{page}" for who, city, page in ROWS)]
    (tmp_path / "visits.csv").write_text("\n".join(lines))
    unit: dict[str, Any] = {"user": "visitor"} if request.param == "user" else {"unit": "row"}
    with ServedTable.open([str(tmp_path / "visits.csv")], cells={"city": 2}, **unit) as served:
        yield served


def test_a_person_counts_in_the_cells_that_they_have_most_rows_in_and_a_row_in_its_own(table: ServedTable) -> None:
    from sparsegate.conditions import read_condition

    def people(city: str) -> int:
        return table.count(read_condition(f"city = '{city}'", table.schema), per="city")

    assert [people(city) for city in "ABC"] == ([1, 1, 7] if table.unit == "user" else [2, 1, 8])
    assert table.cells == {"city": 2 if table.unit == "user" else 1}
    assert table.count(read_condition("city = 'C'", table.schema)) == 8  # a gate of its own still counts all


def test_a_condition_does_not_get_out_of_its_cell(table: ServedTable, shop: Shop) -> None:
    keeper, counted = shop.keeper(table), []  # type: ignore[arg-type]
    honest = table.count
    table.count = lambda *args, **more: counted.append(honest(*args, **more)) or counted[-1]  # type: ignore[assignment,func-returns-value]
    gate = keeper.open_gate(shop.caller(), threshold=0, cutoff=3, epsilon=1, per="city")["id"]
    with suppress(GateClosed):
        keeper.ask(shop.caller(), gate, "page = 'x' OR page = 'y'", cell="A")
    assert counted == [1 if table.unit == "user" else 2]
    for escape in ("true) OR (true", "'"):
        with pytest.raises(ConditionError):
            keeper.ask(shop.caller(), gate, escape, cell="A")
    for where, cell in (("true", "A' OR 'B' = 'B"), ("true -- ", "B")):
        keeper.ask(shop.caller(), gate, where, cell=cell)
    assert counted[1:] == [0, 1]


def cells_kept(keeper: Keeper) -> int:
    with keeper.ledger.database.reading() as connection:
        return int(connection.value("SELECT count(*) FROM cells"))


def test_whoever_is_refused_leaves_at_most_one_cell_behind(shop_on_both: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper, other = shop_on_both.keeper(), shop_on_both.keeper()
    gate = opened(shop_on_both, keeper)
    keeper.ask(shop_on_both.caller(), gate, LOW, cell="A")
    with monkeypatch.context() as patched:
        patched.setattr(GateStore, "intend", lambda *_, **__: broken())  # as a quota that is used up
        for number in range(5):
            with pytest.raises(RuntimeError):
                keeper.ask(shop_on_both.caller(), gate, HIGH, cell=f"never {number}")
        assert cells_kept(keeper) == 2
    other.ask(shop_on_both.caller(), gate, HIGH, cell="B")  # instead of the one that was never asked
    keeper.ask(shop_on_both.caller(), gate, HIGH, cell="never 4")
    assert cells_kept(keeper) == 3
    again = shop_on_both.keeper()
    for cell in ('"never 4"', '"B"', '"A"'):
        assert len({each._resumed(each._store.gate(gate, cell=cell))._rho for each in (keeper, other, again)}) == 1


def test_a_gate_keeps_a_public_number_of_cells(shop: Shop, keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_store, "MOST_CELLS", 2)
    gate = opened(shop, keeper)
    for cell in ("A", "B", "A"):
        keeper.ask(shop.caller(), gate, LOW, cell=cell)
    with pytest.raises(ParameterError, match="cell must be one of the 2 that this gate was asked about"):
        keeper.ask(shop.caller(), gate, LOW, cell="C")
    assert keeper.ask(shop.caller(), gate, LOW, cell="B").number == 4
    assert cells_kept(keeper) == 2


def test_a_cell_that_is_not_written_is_not_asked(shop: Shop, keeper: Keeper) -> None:
    gate = keeper._store.gate(opened(shop, keeper), cell='"A"')
    with pytest.raises(sg.errors.GateBusy):
        keeper._store.intend(gate, shop.caller(), HIGH, arrive=lambda: 0.0)


@pytest.mark.parametrize(("where", "first"), [(HIGH, LOW), (LOW, HIGH)])
def test_what_is_settled_while_a_gate_is_looked_at_does_not_show(
    shop_on_both: Shop, monkeypatch: pytest.MonkeyPatch, where: str, first: str
) -> None:
    """A look is two statements, of two moments."""
    keeper = shop_on_both.keeper(delay=0.4)
    gate = opened(shop_on_both, keeper)
    keeper.ask(shop_on_both.caller(), gate, first, cell="B")
    time.sleep(0.1)
    before, honest, counted = keeper.gate(gate), gate_store._with_cells, keeper._store.gate(gate).tally.asked + 1

    with ThreadPoolExecutor(1) as pool:

        def late(connection: Any, row: Any) -> Any:
            monkeypatch.setattr(gate_store, "_with_cells", honest)
            pool.submit(keeper.ask, shop_on_both.caller(), gate, where, cell="B")
            until(lambda: (now := keeper._store.gate(gate).tally).asked == counted and not now.unsettled)
            return honest(connection, row)

        monkeypatch.setattr(gate_store, "_with_cells", late)
        assert gate_view(keeper._store.gate(gate, visible=True)) == before


def test_an_ask_that_is_taken_back_late_hides_nothing_that_came_after_it(shop: Shop, keeper: Keeper) -> None:
    gate = opened(shop, keeper)
    for _ in range(2):
        keeper.ask(shop.caller(), gate, LOW, cell="A")
    row = keeper._store.gate(gate, cell='"A"')
    keeper._store.void(row, 1, None)
    with keeper.ledger.database.reading() as connection:
        assert connection.one("SELECT asked, below, last FROM cells") == (2, 1, 2)
