"""An ask does the same work whatever the data: the same queries, steps and sizes; and it counts people."""

from __future__ import annotations

import ast
import inspect
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.neighbours import ATTACK, BASE, CHARACTERS, CONDITIONS, ONE_MORE, SHOWN, neighbours, opened
from tests.support.pretend_service import Shop

import sparsegate.service.data.constant_work as constant_work
from sparsegate.conditions import Condition, read_condition
from sparsegate.errors import ConditionError
from sparsegate.service.data.constant_work import WORD, Speed, count_owners, count_people, last_rows
from sparsegate.service.data.copying import SERVED
from sparsegate.service.data.dataset import ServedTable
from sparsegate.service.deadline import DelayPlan
from sparsegate.service.keeper import Keeper
from sparsegate.service.keys import SealingKey


class Watched:
    """A connection that notes its queries, and the sizes and types of what they give."""

    def __init__(self, connection: Any, seen: list[Any]) -> None:
        self._connection, self._seen = connection, seen

    def execute(self, sql: str) -> Watched:
        self._seen.append(sql)
        self._connection.execute(sql)
        return self

    def fetchnumpy(self) -> Any:
        found = self._connection.fetchnumpy()
        self._seen.extend(shape(array) for array in found.values())
        return found


def shape(value: Any) -> Any:
    """What may be the same of an argument: of an array its size and type, else all."""
    return (value.shape, str(value.dtype)) if isinstance(value, np.ndarray) else repr(value)


def steps(dataset: ServedTable, text: str, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every query and every operation on arrays of one count, with the sizes of their arguments."""
    seen: list[Any] = []

    def watched(name: str, function: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            seen.append((name, *map(shape, arguments), *map(shape, options.values())))
            return function(*arguments, **options)

        return call

    condition = read_condition(text, dataset.schema)
    with monkeypatch.context() as patch:
        for name in ("take", "packbits", "broadcast_to", "bitwise_count", "arange", "minimum", "where"):
            patch.setattr(np, name, watched(name, getattr(np, name)))
        connection: Any = Watched(dataset._idle.get(), seen)
        count_people(condition, dataset._copy, connection, SERVED)
        dataset._idle.put(connection._connection)
    return seen


def work_of(dataset: ServedTable, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """All that is done for each condition, what the engine works through, and the bounds of what it takes."""
    speed = Speed(query=1.0, cost=1e-3, row=1e-2, person=1e-1)
    conditions = [read_condition(text, dataset.schema) for text in (*CONDITIONS, ATTACK)]
    bounds = [speed.seconds(condition, dataset._copy, SERVED) for condition in conditions]
    return [in_tables(dataset), bounds, *(steps(dataset, text, monkeypatch) for text in CONDITIONS)]


@pytest.fixture(scope="module")
def work_without(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    folder = tmp_path_factory.mktemp("without")
    with pytest.MonkeyPatch.context() as patch, opened(folder, BASE, shown=SHOWN) as dataset:
        return work_of(dataset, patch)


@pytest.mark.parametrize("more", ONE_MORE)
def test_a_person_more_changes_no_query_no_step_no_size_and_no_bound(
    more: str, tmp_path: Path, work_without: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path, f"{BASE} UNION ALL {ONE_MORE[more]}", shown=SHOWN) as with_one:
        assert work_of(with_one, monkeypatch) == work_without
    assert all(sums == [CHARACTERS] * 4 for _, *sums in work_without[0])


def in_tables(dataset: ServedTable) -> list[Any]:
    """What the engine works through: cells, and characters of each width, of the notes."""
    engine, found = dataset._engine.cursor(), []
    for table in (dataset._copy.coded["note"].table, SERVED):
        notes = [note for (note,) in engine.execute(f"SELECT note FROM {table}").fetchall()]
        characters = np.frombuffer("".join(note or "" for note in notes).encode("utf-32-le"), "<u4")
        widths, _ = np.histogram(characters, [0, 0x80, 0x800, 0x10000, 0x110000])
        found.append((len(notes), *widths.tolist()))
    return found


def test_no_query_filters_and_every_leaf_is_worked_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path, BASE) as dataset:
        for text in CONDITIONS:
            seen = steps(dataset, text, monkeypatch)
            queries = " ".join(each for each in seen if isinstance(each, str))
            leaves = read_condition(text, dataset.schema).leaves
            assert all(queries.count(leaf.truth()) >= 1 for leaf in leaves)
            assert not {"WHERE", "GROUP", "DISTINCT", "LIMIT", "JOIN"} & set(queries.split())


def test_the_connections_work_without_an_optimizer_that_knows_the_values(tmp_path: Path) -> None:
    with opened(tmp_path, BASE) as dataset:
        connection = dataset._idle.get()
        # With statistics the engine would see that no age is above 89, and not look at a single one.
        ((_, plan),) = connection.execute(f"EXPLAIN SELECT age > 500 FROM {SERVED}").fetchall()
        assert "age > " in plan
        ((_, short),) = dataset._engine.cursor().execute(f"EXPLAIN SELECT age > 500 FROM {SERVED}").fetchall()
        assert "age > " not in short, "or this test shows nothing"
        dataset._idle.put(connection)


def test_nothing_that_counts_has_a_loop_over_rows_or_a_branch_on_a_result() -> None:
    """Read off the source: what is branched on is the condition, the unit and the schema."""
    nodes = ast.walk(ast.parse(inspect.getsource(constant_work)))
    tests = [ast.unparse(node.test) for node in nodes if isinstance(node, ast.If | ast.IfExp | ast.While)]
    assert set(tests) <= {"TYPE_CHECKING", "len(names) == 1", "len(columns) == 1", "columns", "per is None"}


def test_cells_are_cut_to_the_public_length_in_characters(tmp_path: Path) -> None:
    query = "SELECT 1 AS patient, repeat('é', 30000) || '#' AS note, 'short' AS ward UNION ALL SELECT 2, NULL, 'é'"
    with opened(tmp_path, query) as dataset:
        assert dataset.schema.max_cell == 1000

        def count(text: str) -> int:
            return dataset.count(read_condition(text, dataset.schema))

        assert count("length(note) = 1000") == 1
        assert count("note LIKE '%#'") == 0
        assert count("ward = 'short' AND length(ward) = 5") == 1
    with opened(tmp_path, query, max_cell=3) as dataset:
        assert dataset.count(read_condition("ward = 'sho' AND note = 'ééé'", dataset.schema)) == 1


def test_two_zeros_stand_for_one_value_whoever_has_them(tmp_path: Path) -> None:
    query = "SELECT 1 AS patient, '-0'::DOUBLE AS x UNION ALL SELECT 2, 0"
    with opened(tmp_path, query) as dataset:
        assert dataset.count(read_condition("CAST(x AS VARCHAR) = '0.0'", dataset.schema)) == 2
        assert dataset.count(read_condition("CAST(x AS VARCHAR) = '-0.0'", dataset.schema)) == 0


def outcome(folder: Path, dataset: ServedTable, where: str) -> tuple[str, int]:
    """What an analyst is told of one ask under the measured pace, D left out; and what it cost the gate."""
    folder.mkdir()
    shop = Shop(folder)
    ledger = shop.keeper().ledger
    pace = DelayPlan.measured(look=dataset.look_seconds(), commits=0.0, delay=0.0)
    keeper = Keeper(ledger, dataset, SealingKey.load(shop.key), pace=pace)
    gate = shop.open(keeper, epsilon=10)
    try:
        return keeper.ask(shop.caller(), gate, where).above, keeper.gate(gate)["asked"]
    except ConditionError as refused:
        return refused.rule.partition(" (")[0], keeper.gate(gate)["asked"]
    finally:
        keeper.close()
        shop.shut()


def test_the_one_with_the_long_note_changes_nothing_of_what_the_analyst_is_told(tmp_path: Path) -> None:
    told = []
    with neighbours(tmp_path, "a note of 30 KB") as pair:
        for place, dataset in enumerate(pair):
            told.append(outcome(tmp_path / str(place), dataset, ATTACK))
    # Without a number: by how much would tell what the machine takes, and how large a table is.
    assert told[0] == told[1] == ("must take less work: this could take longer than an answer may", 0)


def test_a_count_over_the_worst_cells_keeps_its_bound(tmp_path: Path) -> None:
    """All notes as long as may be, and all different, so that each is worked out."""
    query = "SELECT i AS patient, repeat('0', 990) || i AS note, i AS age FROM range(5000) AS t(i)"
    with opened(tmp_path, query) as dataset:
        for text in (
            "note LIKE '%0000001#%'",
            "note LIKE '%_00000001#'",
            "lower(note) = 'x'",
            "age = 3",
            "note LIKE '%0%0%1#'",
        ):
            condition = read_condition(text, dataset.schema)
            assert min(seconds(dataset, condition) for _ in range(5)) < 5 * dataset.seconds(condition)


def seconds(dataset: ServedTable, condition: Condition) -> float:
    begun = time.perf_counter()
    dataset.count(condition)
    return time.perf_counter() - begun


ATOMS = (
    *("TRUE", "NULL", "1 = 1", "paid", "page IS NULL"),
    *("page = '/pay'", "page LIKE '/%'", "lower(page) > 'b'", "length(page) BETWEEN 1 AND 4", "page IN ('', '/')"),
    *("seconds < 50", "seconds >= 20", "seconds = 7", "score > 1", "score IS NULL", "day >= DATE '2024-02-01'"),
    *("seconds < score", "CAST(seconds AS VARCHAR) = page", "CAST(score AS TINYINT) IS NULL", "score + seconds > 40"),
    *("coalesce(seconds, 3) = 3", "coalesce(seconds, score) < 2", "CASE WHEN paid THEN seconds ELSE score END > 1"),
    "CASE WHEN seconds > 9 THEN seconds < 30 WHEN seconds > 2 THEN NULL ELSE page = '/' END",
)
WHOLE = st.recursive(
    st.sampled_from(ATOMS),
    lambda terms: st.one_of(
        terms.map(lambda term: f"NOT ({term})"),
        st.lists(terms, min_size=2, max_size=5).map(lambda found: "(" + ") AND (".join(found) + ")"),
        st.lists(terms, min_size=2, max_size=5).map(lambda found: "(" + ") OR (".join(found) + ")"),
    ),
    max_leaves=10,
)


@pytest.fixture(scope="module")
def served(visits: str) -> Iterator[tuple[ServedTable, ServedTable]]:
    """By person, and by row."""
    with ServedTable.open([visits], user="visitor") as people, ServedTable.open([visits], unit="row") as rows:
        yield people, rows


@given(text=WHOLE)
def test_a_count_is_the_count_of_the_whole_condition(
    text: str, served: tuple[ServedTable, ServedTable], visits: str
) -> None:
    people, rows = served
    condition = read_condition(text, people.schema)
    sql = f"SELECT count(DISTINCT visitor), count(*) FROM '{visits}' WHERE {condition.sql()}"
    expected = duckdb.sql(sql).fetchall()
    assert [(people.count(condition), rows.count(read_condition(text, rows.schema)))] == expected


LENGTHS = st.integers(1, 5) | st.sampled_from([63, 64, 65, 127, 128, 129, 200])
"""Rows of a person: few, and as many as fill a word, or pass through several."""


def counted(people: list[list[bool]], filling: list[bool]) -> int:
    """By the bits; the filling may match, and is nobody's."""
    rows = [match for person in people for match in person] + filling
    rows += [True] * (-len(rows) % WORD)
    owners = np.repeat(np.arange(len(people)), [len(person) for person in people])
    return count_owners(np.array(rows), last_rows(owners, len(rows)))


@given(st.lists(LENGTHS.flatmap(lambda length: st.lists(st.booleans(), min_size=length, max_size=length)), max_size=30))
def test_owners_are_those_with_a_match(people: list[list[bool]]) -> None:
    assert counted(people, [True] * WORD) == sum(map(any, people))


@pytest.mark.parametrize("match", [0, 1, 62, 63, 64, 500, 998, 999])
def test_a_carry_goes_through_as_many_words_as_a_person_has(match: int) -> None:
    rows = [place == match for place in range(1000)]
    assert counted([[False] * 70, rows, [False] * 70], [False] * WORD) == 1
