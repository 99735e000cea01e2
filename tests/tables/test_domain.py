"""The public candidates: which they are, from where, and how those without a row are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.accounts import Noted
from tests.support.table_counts import counts
from tests.tables.conftest import Maker, table

from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.domain import BASE, Listed, Sized, public_domain, read_labels, split_column
from sparsegate.tables.engines.engine import open_engine
from sparsegate.tables.labels import INTEGER, STRING, LabelKind
from sparsegate.tables.top import top_items


def labels(engine: Any, domain: Any) -> list[Any]:
    assert isinstance(domain, Listed)
    found = sorted(label for (label,) in engine.rows(domain.frame))
    assert len(found) == domain.size
    return found


def taken(engine: Any, items: list[int]) -> Any:
    return engine.bring({"item": items, "score": [1] * len(items)})


@pytest.mark.parametrize("size", [2, BASE - 1, BASE, 3 * BASE])
def test_every_free_number_is_found_at_its_rank(size: int) -> None:
    engine = open_engine(table("pyarrow", {"item": [0]}))
    used = list(range(1, size, 3))
    free = sorted(set(range(size)) - set(used))
    assert Sized(size=size).absent(engine, taken(engine, used), range(len(free))) == free


@settings(max_examples=6)
@given(
    size=st.integers(10**9, 2**53),
    near=st.lists(st.integers(0, 3 * BASE), min_size=1, max_size=30, unique=True),
    data=st.data(),
)
def test_free_numbers_are_found_among_very_many(size: int, near: list[int], data: st.DataObject) -> None:
    engine = open_engine(table("polars", {"item": [0]}))
    used = sorted({number if number % 2 else size - 1 - number for number in near})
    ranks = data.draw(st.lists(st.integers(0, size - len(used) - 1), min_size=1, max_size=5, unique=True))
    for rank, number in zip(ranks, Sized(size=size).absent(engine, taken(engine, used), ranks), strict=True):
        assert number not in used
        assert number - sum(other < number for other in used) == rank


def test_every_engine_finds_the_same_free_candidates(make: Maker) -> None:
    engine = open_engine(make({"item": [5, 6, 7, 10**6, 4096 * 4096]}))
    with engine:
        counts = engine.keep(engine.select({"item": "item"}))
        assert Sized(size=10**9).absent(engine, counts, [4, 5, 10**6, 16777216]) == [4, 8, 10**6 + 4, 16777221]
        listed = public_domain(engine, [9, 7, 5, 8, 7, 3], item="item", kind=INTEGER)
        assert listed.size == 5
        assert listed.absent(engine, counts, [0, 2]) == [3, 9]


def test_counts_that_change_under_our_hands_are_noticed() -> None:
    engine = open_engine(table("pyarrow", {"item": [0]}))
    with pytest.raises(TableError, match="differently a second time"):
        Sized(size=5).absent(engine, taken(engine, [1, 2, 3]), [2])
    with pytest.raises(TableError, match="differently a second time"):
        public_domain(engine, [1, 2], item="item", kind=INTEGER).absent(engine, taken(engine, [1]), [1])


def test_a_domain_may_be_any_collection_series_or_table() -> None:
    engine = open_engine(table("duckdb", {"page": ["x"]}))
    public = {"page": ["b", "a", None], "title": ["B", "A", "N"]}
    for each in [
        *(["b", "a", "a", None], ("a", "b"), {"a", "b"}, {"a": 1, "b": 2}, (x for x in "ab")),
        *(polars.Series(["a", "b", "b"]), pandas.Series(["b", "a"]), np.array(["a", "b"])),
        *(table(name, public) for name in ("pandas", "polars-lazy", "pyarrow", "duckdb")),
        table("pyarrow", {"anything": ["b", "a", "a"]}),
    ]:
        assert labels(engine, public_domain(engine, each, item="page", kind=STRING)) == ["a", "b"]
    for numbers in (10**12, np.int64(10**12), range(10**12)):
        assert public_domain(engine, numbers, item="page", kind=INTEGER) == Sized(size=10**12)


EMPTY = [
    polars.DataFrame(schema={"page": polars.String}),
    pandas.DataFrame({"page": []}),
    table("pyarrow", {"page": []}),
]
BAD: dict[LabelKind, list[Any]] = {
    STRING: [None, True, "pages.csv", b"x", 3, 2.5, [], [1], ["a", 1], ["a", b"b"], pandas.Series([1, 2]), *EMPTY],
    INTEGER: [0, -1, 2**60, ["a"], [1.5], [True], [2**63], range(0), pandas.Series(["a"]), *EMPTY],
}


@pytest.mark.parametrize("kind", BAD, ids=str)
def test_a_domain_that_cannot_be_meant_is_refused(kind: LabelKind) -> None:
    with open_engine(table("pyarrow", {"page": ["x"] if kind == STRING else [1]})) as engine:
        for domain in BAD[kind]:
            with pytest.raises(ParameterError, match="^domain "):
                public_domain(engine, domain, item="page", kind=kind)
        wrong = table("pyarrow", {"Page": ["a"], "x": ["b"]})  # the only column, or the one called like the item
        with pytest.raises(TableError, match="no column 'page'; did you mean 'Page'"):
            public_domain(engine, wrong, item="page", kind=kind)


LEAST, MOST = -(2**63), 2**63 - 1


@pytest.mark.parametrize("repeated", [0, 1, 4])
@pytest.mark.parametrize("listed", [[LEAST, -3, 0, 7, MOST], [5], ["", "B", "a", "b"]], ids=str)
def test_a_public_relation_is_joined_and_labels_that_come_twice_count_once(listed: list[Any], repeated: int) -> None:
    """Whatever the rows hold, also beyond the labels; the labels are not copied out, and nothing stays."""
    connection, kind = duckdb.connect(), STRING if "" in listed else INTEGER
    rows = [*listed, "c", "A"] if kind is STRING else [*listed, LEAST + 1, -4, 8, MOST - 1]
    public = connection.sql("SELECT unnest($1) AS item", params=[listed + listed[:repeated]])
    with open_engine(connection.sql("SELECT unnest($1) AS item", params=[rows])) as engine:
        engine.bring = None  # type: ignore[method-assign,assignment]
        domain = public_domain(engine, public, item="item", kind=kind)
        assert labels(engine, domain) == listed
        among = [item for (item,) in engine.rows(domain.restrict(engine.select({"item": "item"})))]
        assert sorted(among) == listed
    assert connection.sql("SELECT count(*) FROM duckdb_tables()").fetchall() == [(0,)]


@pytest.mark.parametrize("make", [list, polars.Series, pandas.Series, lambda x: pandas.DataFrame({"page": x})])
def test_a_label_beyond_64_bits_is_refused_in_a_list_and_in_a_table(make: Any) -> None:
    """Left out without a word it could not be selected."""
    with open_engine(table("pyarrow", {"page": [1]})) as engine:
        with pytest.raises(ParameterError) as refused:
            public_domain(engine, make([1, 2**63]), item="page", kind=INTEGER)
        assert refused.value.parameter == "domain"
        assert public_domain(engine, make([1, MOST]), item="page", kind=INTEGER).size == 2


# Files


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The labels 1, 2 and 3 in files of every kind; the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("one.csv").write_text("anything\n3\n1\n\n2\n")
    Path("two.csv").write_text("page,title\n1,a\n2,b\n3,c\n2,b\n")
    Path("lines.txt").write_text("1\n2\n3\n")
    Path("odd:name.csv").write_text("page\n1\n2\n3\n")
    duckdb.sql("SELECT range AS page, 'x' AS other FROM range(1, 4)").write_parquet("typed.parquet")
    return tmp_path


@pytest.mark.parametrize(
    "domain", ["one.csv", "two.csv", "two.csv:page", "lines.txt", "odd:name.csv", "typed.parquet", "typed.parquet:page"]
)
def test_labels_become_what_the_items_are(folder: Path, domain: str) -> None:
    assert sorted(set(read_labels(Path(domain), item="page", kind=INTEGER))) == [1, 2, 3]
    assert sorted(set(read_labels(Path(domain), item="page"))) == ["1", "2", "3"]
    assert split_column("odd:name.csv") == ("odd:name.csv", "")  # a file that is there
    assert split_column("odd:name.csv:page") == ("odd:name.csv", "page")


@pytest.mark.parametrize("label", ["1.7", "1e3", "0x10", "1_000", "9223372036854775808"])
def test_a_label_that_is_no_whole_number_is_not_made_one(folder: Path, label: str) -> None:
    Path("odd.csv").write_text(f"page\n1\n{label}\n")
    with pytest.raises(ParameterError) as refused:
        read_labels(Path("odd.csv"), item="page", kind=INTEGER)
    assert refused.value.parameter == "domain"
    assert read_labels(Path("odd.csv"), item="page") == ["1", label]
    Path("odd.csv").write_text("page\n-1\n +2\n007 \n")  # of which signs and spaces are a part
    assert read_labels(Path("odd.csv"), item="page", kind=INTEGER) == [-1, 2, 7]


TYPED = {
    "FLOAT": ["0.1", "-0.0", "16777216"],
    "DOUBLE": ["0.1", "-0.0", "1e300"],
    "BLOB": ["'\\x00'", "'\\xFF'", "'a\\x41'"],
    "DECIMAL(9, 2)": ["0.5", "-7", "1.25"],
    "BOOLEAN": ["true", "false"],
    "DATE": ["'2024-01-31'", "'1960-02-29'"],
    "TIMESTAMP_NS": ["'2024-01-31 12:30:00.123456789'", "'1960-02-29 00:00:00'"],
}


@pytest.mark.parametrize("source", ["file", "relation", "objects"])
@pytest.mark.parametrize("kind", TYPED)
def test_labels_of_a_typed_file_are_the_items_of_that_type(folder: Path, kind: str, source: str) -> None:
    """Every candidate of the file is found in a table of the same values."""
    values = [f"(CAST({value} AS {kind}), {user})" for user, value in enumerate(TYPED[kind])]
    visits = duckdb.connect().sql(f"SELECT * FROM (VALUES {', '.join(values)}) AS visits(page, visitor)")
    visits.write_parquet("visits.parquet")
    visits.select("page").write_parquet("pages.parquet")
    rows = visits.fetchall()
    columns = {"page": [page for page, _ in rows], "visitor": [user for _, user in rows]}
    data = {"file": Path("visits.parquet"), "relation": visits, "objects": columns}[source]
    if source == "objects" and kind == "TIMESTAMP_NS":
        pytest.skip("Python has no such instants")
    found = counts(data, domain=Path("pages.parquet"), count=len(values))
    assert list(found.values()) == [1] * len(values)


@pytest.mark.parametrize("domain", ["missing.csv", "two.csv:pge", "two.csv:title", "base.duckdb", ".", "empty.csv"])
def test_a_file_that_gives_no_candidates_is_refused_and_nothing_is_charged(folder: Path, domain: str) -> None:
    duckdb.connect("base.duckdb").close()
    Path("empty.csv").write_text("page\n")
    native, account = table("duckdb", {"page": [1], "visitor": [1]}), Noted(refuses=AssertionError("charged"))
    with pytest.raises(ParameterError) as refused:
        top_items(native, item="page", user="visitor", count=1, epsilon=1, domain=Path(domain), ledger=account)
    assert refused.value.parameter == "domain"


@pytest.mark.parametrize("name", ["latin.csv", "latin.txt", "wide.csv"])
def test_a_public_file_that_is_not_utf8_is_to_be_saved_so(tmp_path: Path, name: str) -> None:
    """``encoding`` is that of the data, and would not help."""
    (tmp_path / name).write_bytes("page\n/home\ncafé\n".encode("utf-16" if "wide" in name else "latin-1"))
    (tmp_path / "visits.csv").write_text("page,visitor\n/home,1\n")
    for source in (polars.DataFrame({"page": ["/home"], "visitor": [1]}), tmp_path / "visits.csv"):
        with pytest.raises((ParameterError, TableError), match="is not UTF-8 text[:;] save it in UTF-8"):
            top_items(source, item="page", user="visitor", count=1, epsilon=1, domain=tmp_path / name)


def test_a_column_of_an_odd_file_may_be_named_and_only_then(tmp_path: Path) -> None:
    """Without a name the first line may be a label, which would be lost."""
    path = tmp_path / "odd.csv"
    path.write_text("2019,,x,x\n/home,1,2,3\n")
    assert read_labels(Path(f"{path}:2019"), item="page") == ["/home"]
    with pytest.raises(ParameterError, match="must hold its column names"):
        read_labels(path, item="2019")
