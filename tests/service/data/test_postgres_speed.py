"""The bound on a count in PostgreSQL: from public numbers, and above what any lengths of cells can take."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.postgres_cluster import Cluster

from sparsegate.conditions import Column, Kind, Schema, read_condition
from sparsegate.conditions.operations import cost_of
from sparsegate.errors import ConditionError
from sparsegate.service.data.postgres_speed import DatabaseSpeed, Sizes, extra_cost
from sparsegate.service.data.postgres_table import PostgresTable

SCHEMA = Schema((Column("page", Kind.TEXT), Column("note", Kind.TEXT), Column("n", Kind.INTEGER)), max_cell=50)
CONDITIONS = [
    "page = 'somewhere'",
    "page IN ('a', 'somewhere', 'elsewhere')",
    "page LIKE '%baaaa%'",
    "page LIKE '%a%b%c'",
    "page LIKE 'a_%b'",
    "page ILIKE '%xyz%'",
    "trim(upper(page)) < note",
    "n * 2 > 7",
    "page = note",
]
SPEED = DatabaseSpeed(sizes=Sizes(rows=8, characters={}), schema=SCHEMA, query=1.0, cost=1.0, row=1.0, step=1.0)


@pytest.mark.parametrize("text", CONDITIONS)
@given(lengths=st.lists(st.integers(0, 50), min_size=1, max_size=8))
def test_the_cost_at_the_mean_length_bounds_that_of_all_cells(text: str, lengths: list[int]) -> None:
    (leaf,) = read_condition(text, SCHEMA).leaves
    rows, characters = len(lengths), sum(lengths)
    mean = Sizes(rows=rows, characters={"page": characters, "note": characters}).mean(leaf.node)
    taken = sum(cost_of(leaf.node, length) + extra_cost(leaf.node, length) for length in lengths)
    assert taken <= rows * (cost_of(leaf.node, mean) + extra_cost(leaf.node, mean))


def test_one_person_of_so_many_rows_moves_no_size_by_more() -> None:
    """Characters count in cells of the public length."""
    longest = SCHEMA.max_cell
    for page in (0, 1, 123_456):
        before = Sizes.counted(20_001, {"page": page, "note": 0}, SCHEMA)
        after = Sizes.counted(20_001 + 8, {"page": page + 8 * longest, "note": 8}, SCHEMA)
        assert all(0 <= after[name].counted - before[name].counted <= 8 for name in before)


def test_what_is_shown_is_at_least_what_there_is() -> None:
    counted = Sizes.counted(20_001, {"page": 123_456, "note": 7}, SCHEMA)
    shown = Sizes.public({name: size.counted for name, size in counted.items()}, SCHEMA)
    assert shown.rows >= 20_001
    assert shown.characters["page"] >= 123_456
    assert shown.characters["note"] >= 7


def test_the_bound_grows_with_the_work() -> None:
    sizes = Sizes(rows=100_000, characters={"page": 3_000_000, "note": 100_000})
    speed = DatabaseSpeed(sizes=sizes, schema=SCHEMA, query=0.1, cost=1e-9, row=1e-7)

    def seconds(text: str) -> float:
        return speed.seconds(read_condition(text, SCHEMA))

    assert seconds("note = 'a'") < seconds("page = 'a'") < seconds("page = 'a' OR page = 'b'")
    # A pattern is tried at every place of a cell, to its end.
    assert seconds(f"page LIKE '%{'a' * 500}%'") > 10 * seconds("page LIKE '%a%'")
    assert seconds("n = 1") < seconds(f"n = {2**100}") < seconds("n * 2 = 1")
    assert seconds("TRUE") >= 0.1 + 100_000 * 1e-7
    with pytest.raises(ConditionError):
        seconds("regexp_matches(page, 'a')")


def test_it_is_measured_in_the_database_on_made_up_cells(cluster: Cluster) -> None:
    import psycopg

    url = cluster.database()
    with psycopg.connect(url, autocommit=True) as session:
        session.execute("CREATE TABLE few AS SELECT i AS who, 'page ' || i AS page FROM generate_series(1, 9) AS i")
    with PostgresTable.open(url, table="few", user="who") as data:
        look, dear = data.look_seconds(), data.seconds(read_condition(f"page LIKE '%{'ab' * 400}%'", data.schema))
        assert 0 < look < dear
        # 4,096 rows is the least public size.
        assert data.seconds(read_condition("TRUE", data.schema)) > 4_096 * data._speed.row
