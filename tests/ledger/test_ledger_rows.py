"""What a ledger keeps of a release, on both stores: all of it, in its order, and nothing that does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sparsegate as sg
from sparsegate.ledger.ledger import Ledger

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def ledger(place: str) -> Any:
    with Ledger.create(place, dataset="visits", budget=100) as made:
        yield made


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.dictionaries(st.text(), JSON, max_size=3), max_size=3))
def test_what_is_kept_comes_back_as_it_was(ledger: Ledger, parts: list[dict[str, Any]]) -> None:
    """Also a NUL and a lone surrogate, which neither PostgreSQL nor UTF-8 takes as they are."""
    number = ledger.spend(epsilon=0.01, what="one of many").number
    for part in [*parts, {"odd \x00 \ud800": "\x00\ud800"}]:
        ledger.keep(number, part)
    assert ledger.release(number).gave == (*parts, {"odd \x00 \ud800": "\x00\ud800"})


def test_what_json_does_not_know_is_kept_as_numbers_or_text(ledger: Ledger, place: str) -> None:
    entry = ledger.spend(epsilon=0.25, what="a mean, by another library")
    ledger.keep(entry, {"mean": np.float64(0.5), "indices": np.array([3, 1]), "label": b"x", "set": (1, 2)})
    with Ledger(place) as again:
        assert again.release(entry.number).gave == ({"mean": 0.5, "indices": [3, 1], "label": "b'x'", "set": [1, 2]},)
        assert again.release(entry.number).entry == entry


@pytest.mark.parametrize("number", [0, 1, 3, -1, 10**30, True, "2", None, 2.0])
def test_only_an_entry_that_spent_has_a_release(ledger: Ledger, number: Any) -> None:
    ledger.spend(epsilon=0.25, what="the second entry")
    for use in (ledger.release, ledger.reserved, lambda wrong: ledger.keep(wrong, {})):
        with pytest.raises(sg.ParameterError, match=r"^number must be that of an entry that spent"):
            use(number)


@pytest.mark.parametrize("text", ["{", "3", "null", ""])
def test_a_release_that_does_not_read_is_a_damaged_ledger(ledger: Ledger, text: str) -> None:
    entry = ledger.spend(epsilon=0.25, what="x")
    with ledger.database.writing() as connection:
        connection.exec_driver_sql(f"INSERT INTO releases VALUES ({entry.number}, 1, '{text}')")
    with pytest.raises(sg.LedgerError, match="damaged: what entry 2 gave does not read"):
        ledger.release(2)


@pytest.mark.parametrize("table", ["entries", "releases"])
@pytest.mark.parametrize("change", ["DELETE FROM {}", "UPDATE {} SET {}=1"])
def test_what_is_written_is_never_changed_or_removed(ledger: Ledger, table: str, change: str) -> None:
    ledger.keep(ledger.spend(epsilon=0.25, what="x"), {"value": 1})

    def slip() -> None:
        with ledger.database.writing() as connection:
            connection.exec_driver_sql(change.format(table, "number" if table == "entries" else "part"))

    with pytest.raises(sg.LedgerError):
        slip()
    assert ledger.release(2).gave == ({"value": 1},)


def test_a_result_that_cannot_be_stored_still_goes_to_its_owner(ledger: Ledger, monkeypatch: Any) -> None:
    def full(*_: object) -> None:
        raise sg.LedgerError("the ledger cannot be written: the disk is full; nothing was spent")

    monkeypatch.setattr(Ledger, "keep", full)
    with pytest.warns(RuntimeWarning, match="paid for, and is not stored: .*disk is full$") as caught:
        assert isinstance(sg.laplace(5, epsilon=0.5, sensitivity=1, ledger=ledger), int)
    assert caught[0].filename.endswith("test_ledger_rows.py")
    assert ledger.total_spent().epsilon * 2 == 1


def test_what_a_release_gave_is_not_kept_on_another_ledger(ledger: Ledger, tmp_path: Any) -> None:
    ledger.spend(epsilon=0.25, what="something else")
    with Ledger.create(tmp_path / "other.ledger", dataset="others", budget=1) as other:
        entry = other.spend(epsilon=0.5, what="a mean")
    with pytest.raises(sg.ParameterError, match=r"^entry must be an entry of this ledger, got 2"):
        ledger.keep(entry, {"mean": 5})
    assert ledger.release(2).gave == ()


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError("private words")


@pytest.mark.parametrize("gave", [{"x": 10**5000}, {(1, 2): 3}, 5, [1]])
def test_what_json_cannot_hold_is_refused_by_name(ledger: Ledger, gave: Any) -> None:
    entry = ledger.spend(epsilon=0.25, what="x")
    with pytest.raises(sg.ParameterError, match=r"^gave must be what JSON can hold; keep it as"):
        ledger.keep(entry, gave)


def test_items_that_cannot_be_stored_still_go_to_their_owner(ledger: Ledger) -> None:
    item = 10**5000
    with pytest.warns(RuntimeWarning, match="paid for, and is not stored: gave must be"):
        found = sg.select_top({item: 5}, count=1, epsilon=0.5, sensitivity=1, ledger=ledger)
    assert found.items is not None
    assert found.items[0] is item


def test_a_store_that_fails_after_the_draw_loses_no_result(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(ledger, "keep", fail)
    with pytest.warns(RuntimeWarning, match="paid for, and is not stored"):
        found = sg.select_top({"tea": 5}, count=1, epsilon=0.5, sensitivity=1, ledger=ledger)
    assert found.items is not None
    assert list(found.items) == ["tea"]


def test_an_item_that_cannot_be_written_down_is_stored_by_its_kind(ledger: Ledger) -> None:
    sg.select_top({Unspeakable(): 5}, count=1, epsilon=0.5, sensitivity=1, ledger=ledger)
    (stored,) = ledger.release(2).gave[0]["items"]
    assert "Unspeakable" in stored["item"]
    assert "private words" not in stored["item"]
