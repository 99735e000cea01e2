"""A public file as the domain: which column, which labels, and what is refused."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest
from tests.support.accounts import Noted
from tests.tables.conftest import table

from sparsegate.errors import ParameterError, SparsegateError, TableError
from sparsegate.noise import Seeded
from sparsegate.tables.domain import public_domain, read_labels, split_column
from sparsegate.tables.engines.engine import open_engine
from sparsegate.tables.labels import INTEGER
from sparsegate.tables.top import top_items

duckdb = pytest.importorskip("duckdb")


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
    "domain",
    ["one.csv", "two.csv", "two.csv:page", "lines.txt", "odd:name.csv", "typed.parquet", "typed.parquet:page"],
)
def test_labels_become_what_the_items_are(folder: Path, domain: str) -> None:
    assert sorted(set(read_labels(Path(domain), item="page", whole=True))) == [1, 2, 3]
    assert sorted(set(read_labels(Path(domain), item="page", whole=False))) == ["1", "2", "3"]


@pytest.mark.parametrize("label", ["1.7", "1e3", "0x10", "1_000", "9223372036854775808"])
def test_a_label_that_is_no_whole_number_is_not_made_one(folder: Path, label: str) -> None:
    Path("odd.csv").write_text(f"page\n1\n{label}\n")
    with pytest.raises(ParameterError, match="values of the item's type, BIGINT"):
        read_labels(Path("odd.csv"), item="page", whole=True)
    assert read_labels(Path("odd.csv"), item="page", whole=False) == ["1", label]


def test_signs_and_spaces_are_part_of_a_whole_number(folder: Path) -> None:
    Path("odd.csv").write_text("page\n-1\n +2\n007 \n")
    assert read_labels(Path("odd.csv"), item="page", whole=True) == [-1, 2, 7]


@pytest.mark.parametrize("engine", ["pandas", "polars-lazy", "pyarrow", "duckdb"])
def test_a_path_is_a_domain_in_every_engine(folder: Path, engine: str) -> None:
    native = table(engine, {"page": [2] * 50 + [9] * 60, "visitor": [*range(50), *range(60)]})
    for domain in (Path("two.csv"), Path("two.csv:page")):
        release = top_items(
            native, item="page", user="visitor", count=1, epsilon=20, domain=domain, source=Seeded(1), not_private=True
        )
        assert release.items == (2,)
        assert release.record.domain_size == 3


@pytest.mark.parametrize(
    ("domain", "hint"),
    [
        ("missing.csv", "no file matches"),
        ("two.csv:pge", "with one of page, title"),
        ("two.csv:title", "must hold values of the item's type, BIGINT"),
        ("base.duckdb", "must be a file of labels, not a database"),
        (".", "is a folder"),
        ("empty.csv", "at least one candidate"),
    ],
)
def test_a_file_that_gives_no_candidates_is_refused(folder: Path, domain: str, hint: str) -> None:
    duckdb.connect("base.duckdb").close()
    Path("empty.csv").write_text("page\n")
    engine = open_engine(table("pyarrow", {"page": [1]}))
    with pytest.raises(ParameterError, match=f"^domain .*{hint}"):
        public_domain(engine, Path(domain), item="page", kind=INTEGER)


def test_a_string_opens_no_file(folder: Path) -> None:
    """It may come from a stranger, or be a slip of "observed"."""
    engine = open_engine(table("pyarrow", {"page": [1]}))
    with pytest.raises(ParameterError, match=r"^domain .*pathlib.Path"):
        public_domain(engine, "two.csv", item="page", kind=INTEGER)


def test_nothing_is_charged_where_the_file_is_wrong(folder: Path) -> None:
    account = Noted()
    native = table("duckdb", {"page": [1], "visitor": [1]})
    with pytest.raises(SparsegateError):
        top_items(native, item="page", user="visitor", count=1, epsilon=1, domain=Path("two.csv:x"), ledger=account)
    assert account.charged == []


def test_a_colon_in_the_name_of_a_file_that_is_there_is_part_of_the_name(folder: Path) -> None:
    assert split_column("odd:name.csv") == ("odd:name.csv", "")
    assert split_column("odd:name.csv:page") == ("odd:name.csv", "page")


@pytest.mark.parametrize("name", ["latin.csv", "latin.txt", "wide.csv"])
@pytest.mark.parametrize("data", [None, "visits.csv"], ids=["table", "file"])
def test_a_public_file_that_is_not_utf8_is_to_be_saved_so(tmp_path: Path, name: str, data: str | None) -> None:
    """``encoding`` is that of the data, and would not help."""
    text = "page\n/home\ncafé\n"
    (tmp_path / name).write_bytes(text.encode("utf-16" if "wide" in name else "latin-1"))
    (tmp_path / "visits.csv").write_text("page,visitor\n/home,1\n")
    source = polars.DataFrame({"page": ["/home"], "visitor": [1]}) if data is None else tmp_path / data
    with pytest.raises((ParameterError, TableError), match="is not UTF-8 text[:;] save it in UTF-8"):
        top_items(source, item="page", user="visitor", count=1, epsilon=1, domain=tmp_path / name)


def test_a_column_of_an_odd_file_may_be_named_and_only_then(tmp_path: Path) -> None:
    """Without a name the first line may be a label, which would be lost."""
    path = tmp_path / "odd.csv"
    path.write_text("2019,,x,x\n/home,1,2,3\n")
    assert read_labels(Path(f"{path}:2019"), item="page", whole=False) == ["/home"]
    with pytest.raises(TableError, match="must hold its column names"):
        read_labels(path, item="2019", whole=False)
