"""An ask does the same work whatever the data: the same queries, the same steps, arrays of the same sizes."""

from __future__ import annotations

import ast
import inspect
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.neighbours import ATTACK, BASE, CONDITIONS, ONE_MORE, neighbours, opened
from tests.support.pretend_service import Shop

import sparsegate.service.data.constant_work as constant_work
from sparsegate.conditions import Condition, read_condition
from sparsegate.errors import ConditionError
from sparsegate.service.data.constant_work import count_people
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


@pytest.mark.parametrize("more", ONE_MORE)
def test_a_person_more_changes_no_query_no_step_and_no_size(
    more: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with neighbours(tmp_path, more) as (without, with_one):
        for text in CONDITIONS:
            assert steps(without, text, monkeypatch) == steps(with_one, text, monkeypatch)


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
    trees = [ast.parse(inspect.getsource(file)) for file in (constant_work,)]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    tests = [ast.unparse(node.test) for node in nodes if isinstance(node, ast.If | ast.IfExp | ast.While)]
    assert set(tests) <= {
        "TYPE_CHECKING",
        "len(names) == 1",
        "len(columns) == 1",
        "columns",
    }


# --- Cells -----------------------------------------------------------------------------------------------------------


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


def test_data_that_are_cut_otherwise_are_other_data(tmp_path: Path) -> None:
    prints = []
    for length in (1000, 999):
        with opened(tmp_path, "SELECT 1 AS patient, 'a' AS note", max_cell=length) as dataset:
            prints.append(dataset.fingerprint)
    assert prints[0] != prints[1]


def test_two_zeros_stand_for_one_value_whoever_has_them(tmp_path: Path) -> None:
    query = "SELECT 1 AS patient, '-0'::DOUBLE AS x UNION ALL SELECT 2, 0"
    with opened(tmp_path, query) as dataset:
        assert dataset.count(read_condition("CAST(x AS VARCHAR) = '0.0'", dataset.schema)) == 2
        assert dataset.count(read_condition("CAST(x AS VARCHAR) = '-0.0'", dataset.schema)) == 0


# --- What may be asked -----------------------------------------------------------------------------------------------


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


def test_the_bound_of_a_condition_follows_from_public_numbers(tmp_path: Path) -> None:
    with neighbours(tmp_path, "a note of 30 KB") as (without, with_one):
        speed = without._speed
        for text in (*CONDITIONS, ATTACK):
            condition = read_condition(text, without.schema)
            bounds = [speed.seconds(condition, dataset._copy, SERVED) for dataset in (without, with_one)]
            assert bounds[0] == bounds[1]
        dear, cheap = (
            speed.seconds(read_condition(text, without.schema), without._copy, SERVED) for text in (ATTACK, "TRUE")
        )
        assert dear > 100 * cheap


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
