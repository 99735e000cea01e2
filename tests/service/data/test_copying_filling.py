"""What fills a table up: the law of the shown sizes, on neighbours, and that all work follows from them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2
from tests.support.neighbours import BASE, CHARACTERS, ONE_MORE, PATIENTS, neighbours, opened

from sparsegate.conditions import read_condition
from sparsegate.errors import ParameterError, TableError
from sparsegate.noise import Seeded
from sparsegate.service.data.copying import CELLS, SERVED, WIDTHS, drawn_characters, filling_cells, width_counts
from sparsegate.service.data.dataset import ServedTable, TableSource
from sparsegate.service.data.sizes import LEAST, FillLaw, FillTerms, Size, public_size

# --- The law ---------------------------------------------------------------------------------------------------------

Law = Mapping[Any, float]
TERMS = [
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


@pytest.mark.parametrize(("person", "epsilon", "delta"), TERMS)
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


def test_draws_have_the_law_and_a_law_that_is_a_fifth_off_is_noticed() -> None:
    law, source = FillLaw(scale=Fraction(5, 2), half=6), Seeded(1)
    drawn = [law.draw(source) for _ in range(30_000)]
    assert set(drawn) == set(range(13))
    assert fits(drawn, law_of(0, law))
    assert not fits(drawn, law_of(0, FillLaw(scale=Fraction(3), half=6)))
    assert not fits(drawn, law_of(0, FillLaw(scale=Fraction(5, 2), half=5)))


def test_what_is_shown_of_sizes_has_the_laws_of_their_groups() -> None:
    terms, source = FillTerms(epsilon=Fraction(2), delta=Fraction(1, 20), person_rows=1), Seeded(3)
    sizes = {"rows": Size(100), "values of a": Size(3), "values of b": Size(7)}
    laws = terms.laws(dict.fromkeys(sizes, 1))
    drawn = [terms.drawn(sizes, source) for _ in range(20_000)]
    for (name,), law in laws.items():
        shown = [each[name] for each in drawn]
        assert fits(shown, law_of(sizes[name].counted, law))
        assert not fits(shown, law_of(sizes[name].counted, FillLaw(scale=law.scale * 6 / 5, half=law.half)))


def test_characters_are_added_evenly() -> None:
    source, most = Seeded(2), CELLS * 1
    drawn = [added for _ in range(10_000) for added in drawn_characters([7, 0, 0, 0], 1, source)[1:]]
    assert fits(drawn, dict.fromkeys(range(most + 1), 1 / (most + 1)))
    assert not fits(drawn, dict.fromkeys(range(most), 1 / most))
    assert min(drawn_characters([7, 0, 0, 0], 1, source)[0] for _ in range(1000)) >= 7


@given(st.integers(0, 10**9))
def test_a_drawn_size_is_never_too_small(size: int) -> None:
    sizes = {"rows": Size(size), "values of note": Size(size // 3, 8)}
    shown = FillTerms(epsilon=Fraction(5), delta=Fraction(1, 10)).drawn(sizes, Seeded(size))
    assert all(shown[name] >= each.counted for name, each in sizes.items())


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


# --- Steps and cells -------------------------------------------------------------------------------------------------


@given(st.integers(0, 10**9))
def test_a_public_size_is_enough_and_at_most_an_eighth_more(size: int) -> None:
    assert size <= public_size(size) <= max(LEAST, size + size // 8 + 1)
    assert public_size(public_size(size)) == public_size(size)


@given(st.text(max_size=50))
def test_characters_are_counted_by_their_bytes(text: str) -> None:
    sql = f"SELECT {', '.join(width_counts('cell'))} FROM (SELECT $text AS cell)"
    row = duckdb.connect().execute(sql, {"text": text})
    expected = Counter(len(each.encode()) for each in text)
    assert list(row.fetchall()[0]) == [expected[width] for width in (1, 2, 3, 4)]


@given(st.lists(st.integers(0, 10**5), min_size=4, max_size=4), st.integers(50, 2000))
def test_cells_have_the_characters_that_are_added_and_none_is_too_long(added: list[int], max_cell: int) -> None:
    cells = filling_cells(added, max_cell)
    assert all(1 <= length <= max_cell for _, length in cells)
    for character, count in zip(WIDTHS, added, strict=True):
        assert sum(length for each, length in cells if each == character) == count
    assert len(cells) <= sum(-(-count // max_cell) for count in added)


def in_tables(dataset: ServedTable) -> list[Any]:
    """What the engine works through: cells, and characters of each width, of the notes."""
    engine, found = dataset._engine.cursor(), []
    for table in (dataset._copy.coded["note"].table, SERVED):
        sums = ", ".join(f"sum({each})" for each in width_counts("note"))
        found += engine.execute(f"SELECT count(*), {sums} FROM {table}").fetchall()
    return found


@pytest.mark.parametrize("more", ONE_MORE)
def test_one_person_more_takes_the_place_of_filling(more: str, tmp_path: Path) -> None:
    with neighbours(tmp_path, more) as (without, with_one):
        assert in_tables(without) == in_tables(with_one)
        assert all(sums == [CHARACTERS] * 4 for _, *sums in in_tables(without))


def test_all_sizes_follow_from_those_that_are_shown(tmp_path: Path) -> None:
    """Whatever is drawn of the characters: their cells have room of their own."""
    names = ["rows", *(f"values of {name}" for name in ("ward", "age", "stay", "note"))]
    shown = {name: 20_000 + 1_000 * place for place, name in enumerate(names)}
    found = set()
    for added in (0, 1, CELLS * 1000):
        with ServedTable.read(TableSource(files=[saved(tmp_path)], user="patient")) as data:
            data.fill(shown, characters=lambda counted, added=added: [count + added for count in counted])
            copy = data._copy
            sizes = {name: coded.size for name, coded in copy.coded.items()}
            assert sizes["age"] == public_size(22_001)
            for name, coded in copy.coded.items():
                rows = data._engine.cursor().execute(f"SELECT count(*) FROM {coded.table}").fetchall()
                assert rows == [(sizes[name],)]
            assert data._engine.cursor().execute(f"SELECT count(*) FROM {SERVED}").fetchall() == [(copy.rows,)]
            found.add((copy.rows, *sizes.values()))
    assert len(found) == 1


def saved(folder: Path, query: str = BASE) -> str:
    file = folder / "base.parquet"
    duckdb.sql(f"COPY ({query}) TO '{file}' (FORMAT parquet)")
    return str(file)


def test_one_person_more_at_what_was_an_edge_changes_no_bound(tmp_path: Path) -> None:
    """Rows and values went from one step to the next with this person, and so did D and what was refused."""
    edge = 20_479
    assert public_size(edge + 1) < public_size(edge + 2)
    shown: dict[str, int] = {}
    seen, speed = [], None
    for people in (edge, edge + 1):
        query = f"SELECT i AS patient, i AS age, i % 7 AS ward FROM range({people}) AS t(i)"
        with ServedTable.read(TableSource(files=[saved(tmp_path, query)], user="patient")) as data:
            shown = shown or FillTerms().drawn(data.sizes, Seeded(1))
            data.fill(shown)
            speed = speed or data._speed
            conditions = [read_condition(text, data.schema) for text in ("age > 3", "ward = 3", "age > ward")]
            bounds = [speed.seconds(condition, data._copy, SERVED) for condition in conditions]
            seen.append((data._copy.rows, [coded.size for coded in data._copy.coded.values()], bounds))
            assert data.count(conditions[0]) == people - 4
    assert seen[0] == seen[1]


def test_nothing_is_counted_before_it_is_filled_up_and_it_is_filled_up_once(tmp_path: Path) -> None:
    with ServedTable.read(TableSource(files=[saved(tmp_path)], user="patient", columns=["age"])) as data:
        question = read_condition("age > 3", data.schema)
        for use in (lambda: data.count(question), lambda: data.seconds(question), data.look_seconds):
            with pytest.raises(TableError, match="not filled up"):
                use()
        with pytest.raises(ParameterError, match="capacity must be at least the values of age that there are") as told:
            data.fill({"rows": 20_000, "values of age": 89})
        assert not re.search(r"90|19.?000", str(told.value))
        data.fill({"rows": 19_000, "values of age": 90})
        assert data.count(question) > 0
        with pytest.raises(TableError, match="already"):
            data.fill({"rows": 19_000, "values of age": 90})


def test_filling_is_nobody_and_no_value(tmp_path: Path) -> None:
    with opened(tmp_path, BASE) as dataset:
        for text in (
            "note LIKE '%aaaa%'",
            "note LIKE '%éé%'",
            "length(note) > 100",
            "lower(note) > ward AND note > 'o'",
        ):
            assert dataset.count(read_condition(text, dataset.schema)) == 0
        assert dataset.count(read_condition("note IS NULL OR ward IS NULL OR note <> ward", dataset.schema)) == PATIENTS
        assert dataset.relation().aggregate("count(*), max(length(note))").fetchall() == [(PATIENTS, 8)]


@pytest.mark.parametrize("unit", [{"user": "patient"}, {"unit": "row"}])
def test_a_table_without_rows_is_all_filling(unit: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "nobody.parquet"
    duckdb.connect().execute(f"COPY (SELECT 1 AS patient, 'a' AS note WHERE false) TO '{file}' (FORMAT parquet)")
    with ServedTable.open([str(file)], columns=["note"], **unit) as dataset:  # type: ignore[arg-type]
        assert dataset._copy.rows >= LEAST
        assert {name: size.counted for name, size in dataset.sizes.items()} == {"rows": 0, "values of note": 0}
        for text in ("TRUE", "note IS NULL", "note LIKE '%a%'"):
            assert dataset.count(read_condition(text, dataset.schema)) == 0
