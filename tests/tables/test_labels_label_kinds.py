"""Dates, decimals, floats and others as items: equal cells are one label and different ones two, in every engine."""

from __future__ import annotations

import itertools
import json
import uuid
import warnings
from collections.abc import Hashable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.table_counts import TYPED_ENGINES

from sparsegate.display.plain import plain_label
from sparsegate.errors import ParameterError, SparsegateWarning
from sparsegate.noise import Seeded
from sparsegate.tables.columns import as_labels, label_kind
from sparsegate.tables.engines.engine import open_engine
from sparsegate.tables.identity import labels
from sparsegate.tables.labels import DATE, FLOAT, TIME, LabelKind, decimals, moments
from sparsegate.tables.top import top_items

INSTANT = datetime(2024, 3, 1, 12, 30, 0, 5, tzinfo=UTC)
NAIVE = INSTANT.replace(tzinfo=None)
TOKYO = ZoneInfo("Asia/Tokyo")
NAN, INF = float("nan"), float("inf")
LONG = Decimal("1234567890123456789012345678.12345678")

# A type of Arrow, different values of it, and what they are in a result where that is something else.
TYPES: dict[str, tuple[pyarrow.DataType, list[Any]]] = {
    "date": (pyarrow.date32(), [date(2024, 1, 31), date(1, 1, 1), date(9999, 12, 31), date(1969, 12, 31)]),
    "boolean": (pyarrow.bool_(), [True, False]),
    "decimal": (pyarrow.decimal128(38, 8), [Decimal("17.00000000"), Decimal("-0.00000001"), LONG, Decimal("0E-8")]),
    "money": (pyarrow.decimal128(9, 2), [Decimal("17.00"), Decimal("-0.05"), Decimal("9999999.99")]),
    "fraction": (pyarrow.decimal128(4, 4), [Decimal("0.5000"), Decimal("-0.0001"), Decimal("0.0000")]),
    "float": (pyarrow.float64(), [17, 2.5, 0, -(2**60), 0.1, 2**53, 5e-324, INF]),
    "float32": (pyarrow.float32(), [17, 2.5, 0, float(np.float32(0.1))]),
    "instant": (pyarrow.timestamp("us", "Asia/Tokyo"), [INSTANT, INSTANT + timedelta(microseconds=1)]),
    "naive": (pyarrow.timestamp("us"), [NAIVE, datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)]),
    "nanoseconds": (pyarrow.timestamp("ns"), [NAIVE, datetime(1969, 12, 31, 23, 59, 59)]),
    "seconds": (pyarrow.timestamp("s"), [NAIVE.replace(microsecond=0), datetime(1, 1, 1)]),
    "time": (pyarrow.time64("us"), [time(0), time(23, 59, 59, 999999), time(12, 30)]),
    "binary": (pyarrow.binary(), [b"", b"\xff\x00", b"/home"]),
    "uuid": (pyarrow.uuid(), [uuid.UUID(int=17), uuid.UUID(int=2**127)]),
}
OBJECTS = {("pandas-numpy", name) for name in TYPES if name.startswith(("d", "mo", "fr", "bo", "ti", "bi", "u"))}
"""Columns without a type, whose labels are text in an observed domain."""

SPARK = {
    "date": "date",
    "boolean": "boolean",
    "decimal": "decimal(38, 8)",
    "money": "decimal(9, 2)",
    "fraction": "decimal(4, 4)",
    "float": "double",
    "float32": "float",
    "instant": "timestamp",
    "naive": "timestamp_ntz",
    "binary": "binary",
}


@pytest.fixture(params=TYPED_ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return request.param


def cells(values: list[Any]) -> list[Any]:
    """Values as an engine is given them."""
    return [v.bytes if isinstance(v, uuid.UUID) else float(v) if type(v) is int else v for v in values]


def make(engine: str, items: pyarrow.Array, **more: Any) -> Any:
    return TYPED_ENGINES[engine](pyarrow.table({"label": items, **more}))


def counts(native: Any, domain: Any, count: int, item: str = "label", **options: Any) -> dict[Hashable, int]:
    """The exact counts of what is selected: noise is zero but for one in exp(1000)."""
    asked = {"epsilon": 4000 * count, "answers_epsilon": 4000 * count, "user": "visitor", "item": item} | options
    release = top_items(native, domain=domain, count=count, source=Seeded(1), not_private=True, **asked)
    assert release.estimates is not None
    assert json.loads(json.dumps([row["item"] for row in release.to_dict()["items"]])) == [
        plain_label(item) for item in release.items
    ]
    return dict(zip(release.items, release.estimates, strict=True))


@pytest.mark.parametrize("name", TYPES)
def test_a_label_comes_back_as_it_was(engine: str, name: str) -> None:
    dtype, values = TYPES[name]
    # The first value has 3 people, the second 6, and so on; nulls have many.
    rows = [(value, who) for place, value in enumerate(values) for who in range(3 * (place + 1))]
    rows += [(None, who) for who in range(50)]
    native = make(engine, pyarrow.array(cells([value for value, _ in rows]), dtype), visitor=[who for _, who in rows])
    if engine.startswith("polars") and name == "uuid":
        values = [value.bytes for value in values]  # Polars has no UUIDs: it takes their bytes
    expected = {value: 3 * (place + 1) for place, value in enumerate(values)}
    found = counts(native, values, len(values))
    assert found == expected
    assert {(type(label), label) for label in found} == {(type(value), value) for value in values}
    observed = counts(native, "observed", len(values), delta=0.5)
    assert observed == ({labels([v])[0]: n for v, n in expected.items()} if (engine, name) in OBJECTS else expected)


def test_spark_gives_the_same_labels(spark: Any) -> None:
    longest = max(len(TYPES[name][1]) for name in SPARK)
    padded = {name: (TYPES[name][1] * longest)[:longest] for name in SPARK}
    rows = list(zip(*map(cells, padded.values()), strict=True))
    with open_engine(
        spark.createDataFrame(rows, ", ".join(f"{name} {kind}" for name, kind in SPARK.items()))
    ) as engine:
        frame = engine.select({name: name for name in SPARK})
        kinds = {name: label_kind(dtype, name) for name, dtype in frame.collect_schema().items()}
        for name, kind in kinds.items():
            frame = as_labels(frame, kind, name)
        found = zip(*engine.rows(frame), strict=True)  # one job for all of them
        read = {
            name: [kind.read(cell) for cell in column]
            for (name, kind), column in zip(kinds.items(), found, strict=True)
        }
    assert read == padded


DAY, STAMP = date(2024, 1, 31), pandas.Timestamp
TEXTS: list[tuple[pyarrow.DataType, list[Any], list[Any]]] = [
    (pyarrow.date32(), [DAY], ["2024-01-31", np.datetime64("2024-01-31"), STAMP("2024-01-31")]),
    (pyarrow.decimal128(9, 2), [Decimal("17.00")], ["17", "17.0", 17, 17.0, Decimal("17.000"), np.int8(17)]),
    (pyarrow.float64(), [17], ["17", "17.0", 17, Decimal("17.00"), np.float32(17), NAN, None]),
    (pyarrow.bool_(), [True], ["true", "TRUE", True, np.True_, 1]),
    (pyarrow.timestamp("us", "UTC"), [INSTANT], [plain_label(INSTANT), INSTANT.astimezone(TOKYO), STAMP(INSTANT)]),
    (pyarrow.timestamp("ns"), [NAIVE], [str(NAIVE), NAIVE, np.datetime64(NAIVE, "ns"), STAMP(NAIVE), pandas.NaT]),
    (pyarrow.time64("us"), [time(12, 30)], ["12:30", "12:30:00.000000000", time(12, 30)]),
    (pyarrow.binary(), [b"\xff"], ["ff", "FF", b"\xff"]),
    (pyarrow.uuid(), [uuid.UUID(int=17)], [str(uuid.UUID(int=17)), uuid.UUID(int=17), uuid.UUID(int=17).hex]),
    (pyarrow.int64(), [17], [17, 17.0, Decimal("17.0"), np.uint64(17)]),
]
WRONG = {0: ["2024-01-31T12:00", "yesterday", 5], 1: ["17.005", "x", True], 2: ["x", True, 2**53 + 1, Decimal("0.1")]}
WRONG |= {3: ["yes", 2, 1.0], 4: [NAIVE, "2024-01-01"], 5: [INSTANT, datetime(1, 1, 1)], 6: ["25:00", INSTANT.timetz()]}
WRONG |= {7: ["x", 5], 8: ["x", 17], 9: ["17", 17.5, True, INF]}


@pytest.mark.parametrize("place", range(len(TEXTS)))
def test_a_domain_may_be_written_in_several_ways(place: int) -> None:
    dtype, (value,), written = TEXTS[place]
    native = make("duckdb", pyarrow.array(cells([value]), dtype), visitor=[1])
    assert counts(native, written, 1) == {value: 1}
    for domain in WRONG[place]:
        with pytest.raises(ParameterError, match="domain must hold"):
            counts(native, [domain], 1)


def test_a_domain_in_a_file_meets_the_type_of_the_column(tmp_path: Path) -> None:
    table = pyarrow.table({"label": pyarrow.array([date(2024, 1, 31)], pyarrow.date32()), "visitor": [1]})
    pyarrow.parquet.write_table(table, tmp_path / "visits.parquet")
    (tmp_path / "days.csv").write_text("label\n2024-01-31\n2024-02-01\n")
    pyarrow.parquet.write_table(table, tmp_path / "days.parquet")
    for data in (table, tmp_path / "visits.parquet"):
        for domain in ("days.csv", "days.parquet"):
            assert counts(data, tmp_path / domain, 1) == {date(2024, 1, 31): 1}


# --- cells that are nothing ---

BEYOND: dict[str, tuple[pyarrow.DataType, list[int], Any]] = {
    "date": (pyarrow.date32(), [2**31 - 1, -(2**31), 2_932_897, -719_163], date(1970, 1, 1)),
    "us": (pyarrow.timestamp("us"), [2**63 - 1, -(2**63) + 1, 253_402_300_800_000_000], datetime(1970, 1, 1)),
    "s": (pyarrow.timestamp("s"), [2**60, -(2**60), 253_402_300_800], datetime(1970, 1, 1)),
    "zoned": (pyarrow.timestamp("us", "UTC"), [2**63 - 1, -(2**63) + 1], datetime(1970, 1, 1, tzinfo=UTC)),
    "time": (pyarrow.time64("us"), [86_400_000_000, -1], time(0)),
}


@pytest.mark.parametrize("name", BEYOND)
def test_a_cell_beyond_what_python_holds_is_dropped_and_fails_nothing(engine: str, name: str) -> None:
    dtype, beyond, kept = BEYOND[name]
    if (engine, name) in {("pandas-numpy", "date"), ("pandas-numpy", "time"), ("polars", "s")}:
        return  # no such table can be made
    whole = pyarrow.int32() if name == "date" else pyarrow.int64()
    items = pyarrow.array([*beyond * 9, 0, 0, 0], whole).view(dtype)
    visitors = [who for who in range(9) for _ in beyond] + [1, 2, 3]
    native = make(engine, items, visitor=visitors)
    assert counts(native, [kept], 1) == counts(native, "observed", 1, delta=0.5) == {kept: 3}
    people = make(engine, pyarrow.array(["a"] * len(items)), visitor=items)
    if engine != "polars":  # which reads a time of no day as a null
        assert counts(people, ["a"], 1) == {"a": len(beyond) + 1}  # they are people all the same


def test_infinity_of_duckdb_is_no_date() -> None:
    texts = ["infinity", "-infinity", "2024-01-31", "5000-01-01 (BC)"]
    held = f"SELECT unnest({texts})::{{}} AS label, i AS visitor FROM range(9) t(i)"
    for dtype in ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_S"):
        (label,) = counts(duckdb.connect().sql(held.format(dtype)), "observed", 1, delta=0.5)
        assert plain_label(label).startswith("2024-01-31")


def test_what_lies_between_two_microseconds_is_text_and_is_not_lost() -> None:
    late = NAIVE.isoformat() + "123"
    items = pyarrow.array([np.datetime64(NAIVE, "ns"), np.datetime64(late)], pyarrow.timestamp("ns"))
    for engine in TYPED_ENGINES:
        found = counts(make(engine, items, visitor=[1, 2]), [late, NAIVE, pandas.Timestamp(late)], 2)
        assert found == {late: 1, NAIVE: 1}, engine
    zoned = make("duckdb", items.cast(pyarrow.timestamp("ns", "UTC")), visitor=[1, 2])
    assert counts(zoned.project("label::TIMESTAMP_NS AS label, visitor"), [late], 1) == {late: 1}


def test_whole_numbers_of_pandas_with_gaps_are_whole_numbers() -> None:
    pages = pandas.Series([17, 17, 18, None, 19.5])
    assert pages.dtype == np.float64
    domains = ([17, 18], range(20), 20, np.arange(20.0), pandas.Series([17.0, 18, NAN]))
    kinds = ("float64", "object", "Int64", "Float64", "category")
    for kind, domain in [
        *((kind, [17, 18]) for kind in kinds),
        *((kind, each) for kind in kinds[:2] for each in domains),
    ]:
        frame = pandas.DataFrame({"label": (pages[:4] if kind == "Int64" else pages).astype(kind)})
        found = counts(frame.assign(visitor=[1, 2, 3, 4, 5][: len(frame)]), domain, 2)
        assert found == {17: 2, 18: 1}, (kind, domain)
        assert set(map(type, found)) <= {int, float}


def test_instants_are_one_in_every_time_zone() -> None:
    zones = ("America/New_York", "Etc/GMT+5")
    for zone, engine in itertools.product(zones, TYPED_ENGINES):
        items = pyarrow.array([INSTANT, INSTANT], pyarrow.timestamp("us", "UTC")).cast(pyarrow.timestamp("us", zone))
        assert counts(make(engine, items, visitor=[1, 2]), [INSTANT.astimezone(TOKYO)], 1) == {INSTANT: 2}
        people = make(engine, pyarrow.array(["a", "a"]), visitor=items)
        assert counts(people, ["a"], 1) == {"a": 1}


def test_categories_of_pandas_are_what_they_stand_for() -> None:
    for values in ([17, 18], [True, False], [2.5, 17.0], [NAIVE, INSTANT.replace(tzinfo=None, year=1999)], ["a", "b"]):
        held = pandas.Series([*values, values[0], None]).astype("category")
        frame = pandas.DataFrame({"label": held, "visitor": [1, 2, 3, 4]})
        assert counts(frame, values, 2) == {values[0]: 2, values[1]: 1}


# --- the contract, for any value ---

ZONES = [UTC, timezone(timedelta(hours=9)), timezone(-timedelta(hours=3, minutes=30))]
KINDS: dict[str, tuple[LabelKind, st.SearchStrategy[Any]]] = {
    "dates": (DATE, st.dates()),
    "times": (TIME, st.times()),
    "naive": (moments("us", zoned=False), st.datetimes()),
    "zoned": (
        moments("us", zoned=True),
        st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=st.sampled_from(ZONES)),
    ),
    "floats": (FLOAT, st.floats(allow_nan=False) | st.integers(-(2**53), 2**53)),
    "decimals": (decimals(4), st.decimals(places=4, allow_nan=False, allow_infinity=False)),
}


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
@settings(max_examples=60)
def test_equal_labels_have_one_cell_and_different_ones_two(name: str, data: st.DataObject) -> None:
    kind, values = KINDS[name]
    one, other = data.draw(values), data.draw(values)
    first, second = kind.write(one), kind.write(other)
    assert first is not None
    assert (first == second) == (one == other)
    assert kind.read(first) == one
    assert kind.write(plain_label(kind.read(first))) == first  # and text loses nothing


@settings(max_examples=3)
@given(
    values=st.lists(st.sampled_from([17.0, 17.5, -0.0, 0.0, NAN, INF, 2.0**53, 2.0**53 + 2, 5e-324, None]), min_size=1)
)
def test_every_engine_counts_floats_alike(values: list[float | None]) -> None:
    expected = {v: len([w for w in values if w == v]) for v in values if v is not None and v == v}
    domain = [*expected, 1]
    for engine in ("pyarrow", "pandas-numpy", "polars", "duckdb"):
        native = make(engine, pyarrow.array(values, pyarrow.float64()))
        assert counts(native, domain, len(domain), user=None, unit="row") == expected | {1: 0}, engine


# --- public labels that look wrong ---


@pytest.mark.parametrize(
    ("domain", "words"),
    [(["a", " b"], "1 of the 2 labels"), (["17.0", "18.00", "x"], "2 of the 3 labels"), (["a", "1.5", "b c"], None)],
)
def test_public_labels_that_look_wrong_are_warned_of_whatever_the_table_holds(domain: list[str], words: str) -> None:
    for held in (["a"], [" b"], [], ["17.0"]):
        visitors = pyarrow.array(range(len(held)), pyarrow.int64())
        native = make("polars", pyarrow.array(held, pyarrow.string()), visitor=visitors)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            counts(native, domain, 1)
        texts = [str(warning.message) for warning in seen if warning.category is SparsegateWarning]
        assert [words in text for text in texts] == ([] if words is None else [True])
