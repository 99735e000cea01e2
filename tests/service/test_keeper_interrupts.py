"""An interrupt between count, draw, store and answer: the ask counts, and the gate goes on with what is left of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.pretend_service import HIGH, LOW, Pretend, Shop

from sparsegate.errors import OutcomeLost
from sparsegate.gates.gate import Gate
from sparsegate.noise import Reservoir
from sparsegate.service.deadline import Asking
from sparsegate.service.gate_store import GateStore

CUTOFF = 3
WHERE: dict[str, tuple[Any, str]] = {
    "in the count": (Pretend, "count"),
    "in the draw": (Reservoir, "_ahead"),
    "in the comparison": (Gate, "_decide"),
    "in the commit": (GateStore, "settle"),
    "in the answer": (Asking, "deliver"),
}


def after(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, and then the interrupt."""

    def interrupted(*args: Any, **options: Any) -> None:
        method(*args, **options)
        raise KeyboardInterrupt

    return interrupted


def before(method: Callable[..., Any]) -> Callable[..., Any]:
    """The interrupt in place of the method."""

    def interrupted(*args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    return interrupted


@pytest.mark.parametrize("when", [before, after])
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("asked", [HIGH, LOW])
def test_an_ask_that_is_interrupted_counts_and_the_gate_goes_on_with_one_above_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str, where: str, when: Callable[..., Any]
) -> None:
    shop = Shop(tmp_path)
    keeper = shop.keeper()
    gate, mine = shop.open(keeper, cutoff=CUTOFF), shop.caller("mine")
    place, method = WHERE[where]
    with monkeypatch.context() as patch:
        patch.setattr(place, method, when(getattr(place, method)))
        with pytest.raises(KeyboardInterrupt):
            keeper.ask(mine, gate, asked)
    written = keeper.gate(gate)
    assert written["asked"] == 1
    # What was written is told again; what was not is lost, and may have been an ABOVE.
    try:
        assert keeper.ask(mine, gate, asked).above == (asked == HIGH)
        assert written["positives"] == (asked == HIGH)
    except OutcomeLost:
        assert written["positives"] == written["lost"] == 1
    given = 0
    while not keeper.gate(gate)["closed"]:
        given += keeper.ask(shop.caller(), gate, HIGH).above
    assert given == CUTOFF - written["positives"]
    assert keeper.gate(gate)["because"] == f"all {CUTOFF} of its positive answers are given or lost"
    shop.shut()


def test_a_gate_that_is_made_anew_counts_what_was_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger would refuse what is too much; the live gate counts it by itself as well."""
    shop = Shop(tmp_path)
    keeper = shop.keeper()
    gate = shop.open(keeper, cutoff=CUTOFF)
    for lost in range(1, CUTOFF):
        with monkeypatch.context() as patch:
            patch.setattr(Gate, "_decide", before(Gate._decide))
            with pytest.raises(KeyboardInterrupt):
                keeper.ask(shop.caller(), gate, LOW)
        live = keeper._resumed(keeper._store.gate(gate))
        assert (live.positives, live.remaining, live.closed) == (lost, CUTOFF - lost, False)
    shop.shut()
