"""The sizes that a service shows: their law, on neighbours; charged, then drawn, then kept, once for each dataset."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from sparsegate.errors import BudgetExceeded, ParameterError
from sparsegate.ledger.backup import back_up, restore
from sparsegate.ledger.ledger import Ledger
from sparsegate.noise import Seeded
from sparsegate.service.data.copying import CELLS, drawn_characters
from sparsegate.service.data.sizes import (
    LEAST,
    FillLaw,
    FillTerms,
    Size,
    check_new_budget,
    public_size,
    public_sizes,
    shown_sizes,
)

Law = Mapping[Any, float]
LAWS = [
    (person, epsilon, delta)
    for person in (1, 2, 5)
    for epsilon in (Fraction(1, 10), Fraction(1, 2), Fraction(2))
    for delta in (Fraction(1, 10), Fraction(1, 1000), Fraction(1, 10**9))
]


def law_of(size: int, law: FillLaw) -> Law:
    """The law of the shown size, by the formula."""
    weights = {size + z: math.exp(-abs(z - law.half) / float(law.scale)) for z in range(2 * law.half + 1)}
    whole = math.fsum(weights.values())
    return {shown: weight / whole for shown, weight in weights.items()}


def excess(one: Law, other: Law, epsilon: float) -> float:
    """The least delta for which the two are as alike as this epsilon says."""
    ratio = math.exp(epsilon)
    return max(
        math.fsum(max(0.0, p * (1 - 1e-12) - ratio * b.get(shown, 0.0)) for shown, p in a.items())
        for a, b in ((one, other), (other, one))
    )


@pytest.mark.parametrize(("person", "epsilon", "delta"), LAWS)
def test_a_shown_size_is_as_private_as_it_says_and_no_wider_than_that_takes(
    person: int, epsilon: Fraction, delta: Fraction
) -> None:
    law = FillLaw.of(person=person, epsilon=epsilon, delta=delta)
    for moved in range(person + 1):
        assert excess(law_of(100, law), law_of(100 + moved, law), float(epsilon)) <= delta
    if law.half >= person + 2:
        narrower = FillLaw(scale=law.scale, half=law.half - 2)
        assert excess(law_of(0, narrower), law_of(person, narrower), float(epsilon)) > delta


def test_one_person_moves_all_sizes_and_the_charge_is_for_all_of_them() -> None:
    terms = FillTerms(epsilon=Fraction(3, 2), delta=Fraction(1, 20), person_rows=2)
    laws = terms.laws({"rows": 1, "values of note": 2})
    tables = []
    for moved in (0, 2):
        each = [law_of(size + moved, law) for size, law in zip((5, 3), laws.values(), strict=True)]
        tables.append({(a, b): each[0][a] * each[1][b] for a, b in product(*each)})
    assert excess(tables[0], tables[1], 1.5) <= 0.05
    assert excess(tables[0], tables[1], 1.0) > 0.05, "or less had to be charged"
    # Were the charge that of one size, both would be drawn at the whole epsilon.
    (alone,) = terms.laws({"rows": 1}).values()
    assert all(alone.scale < law.scale and alone.half < law.half for law in laws.values())


WIDE = {"rows": 1} | {f"values of {n}": 8 if n % 2 else 1 for n in range(60)}


@pytest.mark.parametrize("shares", [{"rows": 1}, {"rows": 1, "a": 8, "b": 1}, WIDE])
def test_epsilons_and_deltas_of_all_sizes_come_to_what_is_charged(shares: dict[str, int]) -> None:
    terms = FillTerms(person_rows=3)
    laws = terms.laws(shares)
    assert sum(terms.person_rows / law.scale for law in laws.values()) == terms.epsilon
    lost = 0.0
    for law in laws.values():
        q = math.exp(-1 / law.scale)
        lost += q ** (law.half + 1) * math.expm1(3 / law.scale) / (1 + q - 2 * q ** (law.half + 1))
    assert lost <= terms.delta


def test_a_wide_table_has_few_draws_and_what_is_shown_is_the_largest_of_each_group() -> None:
    groups = FillTerms().laws(WIDE)
    assert sorted(name for group in groups for name in group) == sorted(WIDE)
    assert next(iter(groups)) == ("rows",)
    assert len(groups) == 7
    assert {len(group) for group in groups} == {1, 10}
    assert all(len({WIDE[name] for name in group}) == 1 for group in groups)
    sizes = {name: Size(place**2, WIDE[name]) for place, name in enumerate(WIDE)}
    shown = FillTerms().drawn(sizes, Seeded(1))
    for group, law in groups.items():
        (size,) = {shown[name] for name in group}
        assert 0 <= size - max(sizes[name].counted for name in group) <= 2 * law.half


def fits(drawn: list[int], law: Law) -> bool:
    """By chi squared, with a false alarm once in 1e6."""
    counts, expected = Counter(drawn), [len(drawn) * chance for chance in law.values()]
    found = sum((counts[shown] - mean) ** 2 / mean for shown, mean in zip(law, expected, strict=True))
    return set(counts) <= set(law) and found < chi2.isf(1e-6, len(law) - 1)


def test_what_is_shown_of_sizes_has_the_laws_of_their_groups() -> None:
    terms, source = FillTerms(epsilon=Fraction(2), delta=Fraction(1, 20), person_rows=1), Seeded(3)
    sizes = {"rows": Size(100), "values of a": Size(3), "values of b": Size(7)}
    laws = terms.laws(dict.fromkeys(sizes, 1))
    drawn = [terms.drawn(sizes, source) for _ in range(6_000)]
    for (name,), law in laws.items():
        shown = [each[name] for each in drawn]
        assert fits(shown, law_of(sizes[name].counted, law))
        for scale, half in ((law.scale * 6 / 5, law.half), (law.scale, law.half - 1)):
            assert not fits(shown, law_of(sizes[name].counted, FillLaw(scale=scale, half=half)))


def test_characters_are_added_evenly() -> None:
    source, most = Seeded(2), CELLS * 1
    drawn = [added for _ in range(10_000) for added in drawn_characters([7, 0, 0, 0], 1, source)[1:]]
    assert fits(drawn, dict.fromkeys(range(most + 1), 1 / (most + 1)))
    assert not fits(drawn, dict.fromkeys(range(most), 1 / most))
    assert min(drawn_characters([7, 0, 0, 0], 1, source)[0] for _ in range(1000)) >= 7


@pytest.mark.parametrize(
    ("terms", "wrong"),
    [
        ({"epsilon": Fraction(0)}, "size_epsilon"),
        ({"delta": Fraction(0)}, "--capacity"),
        ({"delta": Fraction(1)}, "size_delta"),
        ({"person_rows": 0}, "person_rows"),
    ],
)
def test_terms_that_no_law_has_are_refused(terms: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ParameterError, match=wrong):
        FillTerms(**terms)


@given(st.integers(0, 10**9))
def test_a_public_size_is_enough_and_at_most_an_eighth_more(size: int) -> None:
    assert size <= public_size(size) <= max(LEAST, size + size // 8 + 1)
    assert public_size(public_size(size)) == public_size(size)


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
def place(tmp_path: Path) -> str:
    return str(tmp_path / "visits.ledger")


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
        assert len(pure.entries()) == 1, "what is public is not drawn"
        pure.raise_budget(budget=2, budget_delta=1e-6, why="sizes are shown from now on")
        assert shown(pure)


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
    for wrong in ("", "none", "0", "-3", "a=", "d=3", "7,a=1.5", "rows=3"):
        with pytest.raises(ParameterError, match="100000,country=300") as told:
            public_sizes(wrong, ["rows", "values of a"])
        assert told.value.parameter == "capacity"


def test_a_new_ledger_must_have_enough_for_the_sizes() -> None:
    for epsilon, delta in ((0.01, 1e-6), (2, 0)):
        with pytest.raises(ParameterError, match=r"budget must be enough for the sizes of the data, epsilon 0\.05"):
            check_new_budget(Table(), TERMS, {"rows": 3}, budget=epsilon, delta=delta)  # type: ignore[arg-type]
        check_new_budget(Table(), TERMS, dict.fromkeys(Table().sizes, 3), budget=epsilon, delta=delta)  # type: ignore[arg-type]
    check_new_budget(Table(), TERMS, {}, budget=0.05, delta=1e-9)  # type: ignore[arg-type]
