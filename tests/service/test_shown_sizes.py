"""The sizes that a service shows: charged, then drawn, then kept, and once for each dataset."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sparsegate.errors import BudgetExceeded, ParameterError
from sparsegate.ledger.backup import back_up, restore
from sparsegate.ledger.ledger import Ledger
from sparsegate.noise import Seeded
from sparsegate.service.data.sizes import FillTerms, Size, check_new_budget, public_sizes, shown_sizes

TERMS = FillTerms()


@dataclass
class Table:
    """What is looked at of a table."""

    fingerprint: str = "first"
    unit: str = "user"
    sizes: dict[str, Size] = field(default_factory=lambda: {"rows": Size(20_480), "values of note": Size(300, 8)})


class Watchful(Seeded):
    """Notes what the ledger holds when something is drawn, and may fail then."""

    def __init__(self, ledger: Ledger, *, fails: bool = False) -> None:
        super().__init__(1)
        self.ledger, self.fails, self.spent = ledger, fails, set[str]()

    def integer(self, bits: int) -> int:
        self.spent.add(str(self.ledger.total_spent()))
        if self.fails:
            raise KeyboardInterrupt
        return super().integer(bits)


@pytest.fixture
def ledger(place: str) -> Any:
    with Ledger.create(place, dataset="visits", budget=2, budget_delta=1e-6) as made:
        yield made


def shown(ledger: Ledger, data: Any = None, terms: FillTerms = TERMS, **more: Any) -> dict[str, int]:
    return shown_sizes(ledger, data or Table(), terms, **more)


def test_sizes_are_charged_before_they_are_drawn_and_kept_before_they_are_shown(ledger: Ledger) -> None:
    source = Watchful(ledger)
    found = shown(ledger, source=source)
    assert source.spent == {"epsilon 0.05, delta 0.000000001"}
    _, entry = ledger.entries()
    assert entry.what == "sizes, for people of up to 8 rows"
    assert ledger.release(entry.number).gave == ({"release": "sizes", "sizes": found},)
    assert all(found[name] > size.counted for name, size in Table().sizes.items())


def test_a_restart_shows_the_same_sizes_and_pays_nothing(ledger: Ledger, place: str) -> None:
    first = shown(ledger)
    for _ in range(3):
        with Ledger(place) as again:
            assert shown(again) == first
    assert len(ledger.entries()) == 2


@pytest.mark.parametrize(
    "other",
    [
        {"data": Table(fingerprint="second")},
        {"data": Table(unit="row")},
        {"data": Table(sizes={"rows": Size(20_480)})},
        {"terms": FillTerms(epsilon=Fraction(1, 10))},
        {"terms": FillTerms(person_rows=9)},
    ],
)
def test_other_data_and_other_terms_are_another_draw_and_another_charge(ledger: Ledger, other: Any) -> None:
    first = shown(ledger)
    second = shown(ledger, **other)
    assert first != second
    assert [str(entry.amount.epsilon) for entry in ledger.entries()[1:]] == [
        "1/20",
        str(other.get("terms", TERMS).epsilon),
    ]
    assert shown(ledger) == first
    assert shown(ledger, **other) == second
    assert len(ledger.entries()) == 3


def test_a_start_that_dies_in_the_draw_has_paid_and_the_next_one_draws_for_it(ledger: Ledger) -> None:
    with pytest.raises(KeyboardInterrupt):
        shown(ledger, source=Watchful(ledger, fails=True))
    assert str(ledger.total_spent()) == "epsilon 0.05, delta 0.000000001"
    assert ledger.release(2).gave == ()
    first = shown(ledger)
    assert shown(ledger) == first
    assert len(ledger.entries()) == 2


def test_of_two_that_start_at_once_one_draws(ledger: Ledger, place: str) -> None:
    class Late(Seeded):
        """While this one draws, the other is through."""

        def integer(self, bits: int) -> int:
            if not others:
                with Ledger(place) as second:
                    others.append({})
                    others[0] = shown(second)
            return super().integer(bits)

    others: list[dict[str, int]] = []
    assert shown(ledger, source=Late(5)) == others[0]
    assert len(ledger.entries()) == 2


def test_what_was_charged_before_a_backup_and_drawn_after_it_is_charged_again(tmp_path: Path) -> None:
    """The draw that the backup has not may have been shown."""
    place = tmp_path / "visits.ledger"
    with Ledger.create(place, dataset="visits", budget=2, budget_delta=1e-6) as ledger:
        with pytest.raises(KeyboardInterrupt):
            shown(ledger, source=Watchful(ledger, fails=True))
        back_up(str(place), tmp_path / "backup")
        first = shown(ledger)
    place.unlink()
    restore(str(place), backup=tmp_path / "backup", spent_since=0)
    with Ledger(place) as ledger:
        assert shown(ledger) != first
        assert str(ledger.total_spent()) == "epsilon 0.1, delta 0.000000002"


def test_without_a_delta_or_an_epsilon_left_nothing_is_drawn_and_the_error_says_what_to_do(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "pure.ledger", dataset="visits", budget=2) as pure:
        source = Watchful(pure)
        with pytest.raises(BudgetExceeded, match="no delta remains; nothing was spent.* --capacity"):
            shown(pure, source=source)
        assert not source.spent
        assert len(pure.entries()) == 1
        everything = {"rows": 30_000, "values of note": 400}
        assert shown(pure, public=everything) == everything
        assert len(pure.entries()) == 1
        pure.raise_budget(budget=2, budget_delta=1e-6, why="sizes are shown from now on")
        assert shown(pure)


def test_columns_of_public_size_are_not_drawn(ledger: Ledger) -> None:
    found = shown(ledger, public={"values of note": 400})
    assert found["values of note"] == 400
    assert ledger.release(2).gave[0]["sizes"] == {"rows": found["rows"]}


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("7", {"rows": 7, "values of a of b": 7, "values of c": 7}),
        ("a of b=3,7", {"rows": 7, "values of a of b": 3, "values of c": 7}),
        (" c = 2 ", {"values of c": 2}),
    ],
)
def test_public_sizes_are_a_number_for_all_or_numbers_for_columns(text: str, sizes: dict[str, int]) -> None:
    assert public_sizes(text, ["rows", "values of a of b", "values of c"]) == sizes


@pytest.mark.parametrize("text", ["", "none", "0", "-3", "a=", "d=3", "7,a=1.5", "rows=3"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="capacity must") as told:
        public_sizes(text, ["rows", "values of a"])
    assert re.search("100000,country=300", str(told.value))


def test_a_new_ledger_must_have_enough_for_the_sizes() -> None:
    for epsilon, delta in ((0.01, 1e-6), (2, 0)):
        with pytest.raises(ParameterError, match=r"budget must be enough for the sizes of the data, epsilon 0\.05"):
            check_new_budget(Table(), TERMS, {"rows": 3}, epsilon=epsilon, delta=delta)  # type: ignore[arg-type]
        check_new_budget(Table(), TERMS, dict.fromkeys(Table().sizes, 3), epsilon=epsilon, delta=delta)  # type: ignore[arg-type]
    check_new_budget(Table(), TERMS, {}, epsilon=0.05, delta=1e-9)  # type: ignore[arg-type]
