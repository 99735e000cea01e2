"""One person, however their id is written: private counts are those of the source's own classes, in every engine."""

from __future__ import annotations

import datetime
import json
import string
import tempfile
import uuid
from collections.abc import Hashable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.table_counts import PAGES, TYPED_ENGINES, Visit, check_counts, counted_in, counts

from sparsegate.tables.identity import labels, people

# --- cells that have a type of their own -----------------------------------------------------------------------------

INSTANT = datetime.datetime(2024, 3, 1, 12, 30, tzinfo=datetime.UTC)
WRITTEN: list[list[Any]] = [
    [17, 17.0, Decimal("17"), Decimal("17.0"), Decimal("17.00"), Decimal("1.7E+1"), np.int8(17), np.uint64(17)],
    [np.float16(17.5), 17.5, Decimal("17.50")],
    ["17", np.str_("17")],
    ["17.0"],
    [b"17", bytearray(b"17")],
    [b"\xff17"],
    [0, 0.0, -0.0, False, Decimal("-0.00"), np.bool_(False)],
    [1, True, 1.0, np.True_],
    [2**53 + 1, Decimal(2**53 + 1)],
    [2**53, float(2**53), Decimal(2**53)],
    [10**22, 1e22, Decimal("1E+22")],
    [10**500, Decimal("1E+500"), Decimal("10E+499")],
    [Decimal("1E+999999999"), Decimal("10E+999999998")],
    [0.1, Decimal.from_float(0.1), np.float64(0.1)],
    [Decimal("0.1"), Decimal("0.100")],
    [float("inf"), Decimal("Infinity"), np.inf],
    ["é"],
    ["e\u0301"],
    ["\ud800"],
    ["U1"],
    ["u1"],
    [INSTANT, INSTANT.astimezone(ZoneInfo("Asia/Tokyo")), pandas.Timestamp(INSTANT).tz_convert("America/New_York")],
    [INSTANT.replace(tzinfo=None), pandas.Timestamp(INSTANT.replace(tzinfo=None))],
    [INSTANT.date()],
    [uuid.UUID(int=17)],
    [INSTANT.time(), INSTANT.time().replace(fold=1)],
]
NOBODY = [None, float("nan"), pandas.NA, pandas.NaT, Decimal("NaN"), Decimal("sNaN"), np.float32("nan")]
NEW_YORK = ZoneInfo("America/New_York")
TWICE = datetime.datetime(2024, 11, 3, 1, 30, tzinfo=NEW_YORK)


class Caseless(str):
    """Text that calls 'U1' and 'u1' equal."""

    def __eq__(self, other: object) -> bool:
        return self.lower() == str(other).lower()

    def __hash__(self) -> int:
        return hash(self.lower())


NO_KEY = [
    *(TWICE, TWICE.replace(fold=1), pandas.Timestamp(TWICE.replace(fold=1)), TWICE.replace(month=3, day=10, hour=2)),
    *(Caseless("U1"), Caseless("u1"), INSTANT.timetz()),
    *([17], {"a": 1}, {17}, object(), 17 + 0j, np.datetime64("2024-01-01"), range(3), int),
]


def test_equal_cells_have_one_key_and_different_cells_have_two() -> None:
    keys = [people(written) for written in WRITTEN]
    assert all(len(set(one)) == 1 and None not in one for one in keys)
    assert len({one[0] for one in keys}) == len(WRITTEN)
    assert {*people([*NOBODY, *NO_KEY])} == {*labels([*NOBODY, *NO_KEY])} == {None}
    assert all(len({*labels(written)}) == 1 for written in WRITTEN)


def test_python_agrees_about_these_cells() -> None:
    plain = [[cell.item() if isinstance(cell, np.generic) else cell for cell in written] for written in WRITTEN]
    for number, written in enumerate(plain):
        assert all(one == other for one in written for other in written)
        assert all(one != others[0] for one in written for others in plain[number + 1 :])


def test_a_cell_that_fails_when_it_is_looked_at_is_nobody() -> None:
    class Nowhere(datetime.tzinfo):
        def utcoffset(self, when: datetime.datetime | None) -> datetime.timedelta:
            raise RuntimeError("secret")

    class Text(str):
        def isascii(self) -> bool:
            raise RuntimeError("secret")

    assert people([datetime.datetime(2024, 1, 1, tzinfo=Nowhere()), Text("u1")]) == [None, "su1"]


def test_no_instant_that_pandas_calls_equal_to_another_has_another_key() -> None:
    elsewhere = pandas.Timestamp("2024-11-03 06:30", tz="UTC")
    here = elsewhere.tz_convert(NEW_YORK)
    assert elsewhere == here == here.to_pydatetime() == TWICE
    assert len({*people([elsewhere, here, here.to_pydatetime(), TWICE])} - {None}) == 1


def test_a_number_is_what_it_is_equal_to_whatever_it_says_of_itself() -> None:
    class Whole(int):
        def __int__(self) -> int:
            return id(self)

        __index__ = __int__

    class Real(float):
        def __float__(self) -> float:
            return float(id(self))

    class Unknown(datetime.tzinfo):
        def utcoffset(self, when: datetime.datetime | None) -> None:
            return None

    noon = datetime.datetime(2024, 1, 1, 12)
    assert people([Whole(17), Real(17), Real(0.5)]) == ["n17", "n17", "n0.5"]
    assert noon == noon.replace(tzinfo=Unknown())
    assert len({*people([noon, noon.replace(tzinfo=Unknown())])}) == 1


ANSWERED = [pair for number, written in enumerate(WRITTEN) for pair in ((cell, number) for cell in written)]


@settings(max_examples=15)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(PAGES), st.sampled_from([*ANSWERED, *((cell, None) for cell in [*NOBODY, *NO_KEY])])),
        min_size=1,
        max_size=10,
    )
)
def test_a_column_of_objects_counts_people_and_not_writings(rows: list[tuple[str, tuple[Any, int | None]]]) -> None:
    def counted(rows: Sequence[Visit]) -> dict[Any, int]:
        cells = np.empty(len(rows), dtype=object)
        cells[:] = [cell for _, cell in rows]
        frame = pandas.DataFrame({"page": [page for page, _ in rows]}, dtype="str")
        return counts(frame.assign(visitor=pandas.Series(cells, dtype=object)))

    check_counts([(page, cell) for page, (cell, _) in rows], counted, [number for _, (_, number) in rows])


@pytest.mark.parametrize("name", ["visitor", "user"])
def test_people_are_the_same_where_a_condition_chooses_rows(name: str) -> None:
    cells = [17, 17.0, "17", Decimal("17.00"), 18, 18, None]
    frame = pandas.DataFrame({"page": ["a"] * 7, name: pandas.Series(cells, dtype=object), "age": range(7)})
    for where, count in ((None, 3), ("age < 4", 2), ("age <> 4", 3), (f"{name} = '17'", 2), (f"{name} IS NULL", 0)):
        assert counts(frame, name, where=where)["a"] == count, where


def test_an_item_is_one_however_it_is_written() -> None:
    pages = [17, 17.0, Decimal("17.00"), "17", True, 2.50, "2.5", b"/home", "/home", None]
    frame = pandas.DataFrame({"page": pandas.Series(pages, dtype=object), "visitor": range(10)})
    domain = pandas.Series([17.0, 1, Decimal("2.500"), "/home"], dtype=object)
    assert counts(frame, domain=domain, count=4) == {"17": 4, "2.5": 2, "/home": 2, "1": 1}


# --- files whose cells have a type of their own ----------------------------------------------------------------------


JSON_CELLS = [
    *("17", "17.0", "1.7e1", "1.70E+1", "170e-1", '"17"', '"17.0"', '"\\u0031\\u0037"'),
    *("0", "-0", "0.0", "-0.0e5", "true", '"true"', "1", "1.0", "false", "null", "{}", '{"a": 17}', "[17]"),
    *("9007199254740993", "9007199254740992", "9007199254740992.0", "0.1", "0.10", "1e-1", "2.5"),
    *("1e22", "10000000000000000000000", "1" + "0" * 37, "1e37", "1" + "0" * 45, "1e45", "1e400", "10e399"),
    *('"\\u00e9"', '"e\\u0301"', '"é"', '"U1"', '"u1"'),
]


def json_class(text: str) -> Hashable:
    cell = json.loads(text)
    if cell is None or isinstance(cell, dict | list):
        return None
    if isinstance(cell, bool | str):
        return type(cell).__name__, cell
    return float(cell) if abs(cell) >= 1e38 else cell


@settings(max_examples=8)
@given(rows=st.lists(st.tuples(st.sampled_from(PAGES), st.sampled_from(JSON_CELLS)), min_size=1, max_size=10))
def test_json_counts_numbers_by_their_value(rows: list[Visit]) -> None:
    with tempfile.TemporaryDirectory() as folder:

        def counted(rows: Sequence[Visit]) -> dict[Any, int]:
            path = Path(folder) / "visits.json"
            path.write_text("".join(f'{{"page": "{page}", "visitor": {cell}}}\n' for page, cell in rows))
            return counted_in(path)

        check_counts(rows, counted, [json_class(cell) for _, cell in rows])


def test_csv_and_what_a_query_makes_of_json_are_text(tmp_path: Path) -> None:
    rows = [f'{{"page": "a", "visitor": {cell}}}\n' for cell in ("17", '"17"', "1.7e1")]
    (tmp_path / "visits.json").write_text("".join(rows))
    assert counted_in(tmp_path / "visits.json", sql="SELECT page, visitor FROM data")["a"] == 1
    (tmp_path / "visits.csv").write_text("page,visitor\na,17\na,17.0\na,U1\na,u1\na,17\na,\n")
    assert counted_in(tmp_path / "visits.csv")["a"] == 4


# --- typed columns ---------------------------------------------------------------------------------------------------

ZONED = pyarrow.array([INSTANT, INSTANT, INSTANT + datetime.timedelta(hours=1)], pyarrow.timestamp("us", "Asia/Tokyo"))
TYPED: dict[str, Any] = {
    "decimal": pyarrow.array([Decimal("17"), Decimal("17.0"), Decimal("17.01")], pyarrow.decimal128(9, 2)),
    "instant": ZONED,
    "boolean": pyarrow.array([True, True, False]),
    "binary": pyarrow.array([b"u", b"u", b"U"]),
    "date": pyarrow.array([INSTANT.date(), INSTANT.date(), datetime.date(2024, 3, 2)]),
    "string": pyarrow.array(["u1", "u1", "U1"]),
    "large": pyarrow.array([2**63, 2**63, 2**63 + 1], pyarrow.uint64()),
    "codes": pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1, 2]), pyarrow.array(["u", "u", "U"])),
    "coded-numbers": pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1, 2]), pyarrow.array([7, 7, 8])),
}


@pytest.mark.parametrize("engine", TYPED_ENGINES)
@pytest.mark.parametrize("kind", TYPED)
def test_a_typed_column_is_compared_by_its_values(engine: str, kind: str) -> None:
    table = pyarrow.table({"page": ["a"] * 3, "visitor": TYPED[kind]})
    if engine == "pandas-numpy" and kind.startswith("code"):
        with pytest.raises(ValueError, match="unique"):  # pandas refuses such codes by itself
            TYPED_ENGINES[engine](table)
    else:
        assert counts(TYPED_ENGINES[engine](table))["a"] == 2


@pytest.mark.parametrize("engine", TYPED_ENGINES)
@pytest.mark.parametrize("dtype", [pyarrow.float64(), pyarrow.float32()], ids=str)
def test_floats_are_people_by_their_value_and_not_a_number_is_nobody(engine: str, dtype: pyarrow.DataType) -> None:
    nan = float("nan")
    for cells, people_there in (([], 0), ([nan, None, nan], 0), ([17, 17.5, 17, nan, -0.0, 0, float("inf"), -1e30], 5)):
        table = pyarrow.table(
            {"page": pyarrow.array(["a"] * len(cells), "string"), "visitor": pyarrow.array(cells, dtype)}
        )
        assert counts(TYPED_ENGINES[engine](table))["a"] == people_there


def test_categories_of_pandas_are_compared_by_their_values() -> None:
    visitors = pandas.Categorical([17, 17.0, Decimal("17.0"), "17", None], categories=[17, "17"])
    assert counts(pandas.DataFrame({"page": ["a"] * 5, "visitor": visitors}))["a"] == 2


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    for name, scale in (("one", 1), ("two", 2)):
        cells = pyarrow.array([Decimal("17"), Decimal("17.5")], pyarrow.decimal128(9, scale))
        table = duckdb.from_arrow(pyarrow.table({"page": ["a", "a"], "visitor": cells}))
        table.write_parquet(str(tmp_path / f"{name}.parquet"))
    assert counted_in(tmp_path / "*.parquet")["a"] == 2


@pytest.mark.parametrize("collation", ["NOCASE", "NOCASE.NOACCENT", "NFC", "de", ""])
@pytest.mark.parametrize("options", [{}, {"max_items_per_user": 1}], ids=str)
def test_people_are_one_where_a_collation_of_duckdb_says_so(collation: str, options: dict[str, Any]) -> None:
    connection = duckdb.connect()
    if not collation:
        connection.execute("SET default_collation = 'nocase'")
    kind = f"VARCHAR COLLATE {collation}" if collation else "VARCHAR"
    connection.execute(f"CREATE TABLE t (page VARCHAR, visitor {kind})")
    visitors = ["U1", "u1", "Ú1", "ú1", "u\u03011", "u2"]
    connection.executemany("INSERT INTO t VALUES (?, ?)", [(page, who) for who in visitors for page in "ab"])
    connection.execute("INSERT INTO t VALUES ('b', 'U2')")
    ((classes,),) = connection.execute("SELECT count(*) FROM (SELECT visitor FROM t GROUP BY visitor)").fetchall()
    estimate = max(counts(connection.table("t"), **options).values())
    assert estimate <= classes if "max_items_per_user" in options else estimate == classes


@pytest.mark.parametrize("collation", ["COLLATE NOCASE", "", "COLLATE NOCASE.NOACCENT"])
def test_a_collation_makes_one_person_of_two_but_not_one_item(collation: str) -> None:
    connection = duckdb.connect()
    if not collation:
        connection.execute("SET default_collation = 'nocase'")
    connection.execute(f"CREATE TABLE t (page VARCHAR {collation}, visitor VARCHAR {collation})")
    connection.execute("INSERT INTO t SELECT 'secret', 'u' || range FROM range(300)")
    connection.execute("INSERT INTO t VALUES ('Secret', 'U1'), ('Secret', 'u1')")
    table = connection.sql("FROM t")
    assert counts(table, domain=["secret", "Secret", "SECRET"]) == {"secret": 300, "Secret": 1, "SECRET": 0}
    assert counts(table, domain="observed", delta=1e-6, count=1) == {"secret": 300}


def test_spark_compares_as_its_columns_say_and_items_exactly(spark: Any) -> None:
    """Three people where case and accents, or case and spaces at the end, are none; and two items."""
    other, moment = INSTANT.astimezone(ZoneInfo("Asia/Tokyo")), Decimal("17")
    rows = [("a", who, INSTANT, moment) for who in ("U1", "u1", "u1 ", "Ú1", "u2")] + [("A", "u1", other, moment)]
    rows.append(("a", "u2", other, Decimal("17.00")))
    for collation in ("UNICODE_CI_AI", "UTF8_LCASE_RTRIM"):
        text = f"string collate {collation}"
        native = spark.createDataFrame(rows, f"page {text}, visitor {text}, at timestamp, amount decimal(9, 2)")
        assert counts(native, domain=["a", "A"], count=2) == {"a": 3, "A": 1}
    assert counts(native, "at", count=1)["a"] == counts(native, "amount", count=1)["a"] == 1


def test_labels_hold_what_ascii_can_write() -> None:
    assert labels(list(string.printable)) == list(string.printable)
