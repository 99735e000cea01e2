"""Data by its path: the same rows, and the same refusals, as on the command line; and no signal costs a paid release.

A thousand people have /home and nobody has the rest; with epsilon 30 for one item and a domain of at most 1,000, a
wrong selection has a probability below 1000 exp(-30 * 1000 / 2).
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest
import sqlalchemy

import sparsegate as sg
from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.domain import public_domain
from sparsegate.tables.engines.engine import open_engine
from sparsegate.tables.labels import STRING
from sparsegate.tables.opening import PaidWork, Table, open_table

duckdb = pytest.importorskip("duckdb")

ASK: dict[str, Any] = {"item": "page", "user": "visitor", "count": 1, "epsilon": 30}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A thousand visitors of /home, 600 of them also of /pay, in files, in two halves, and in a database."""
    path = tmp_path_factory.mktemp("tables")
    pages = [("/home", n, 7) for n in range(1000)] + [("/pay", n, 8) for n in range(600)]
    table = polars.DataFrame(pages, schema=["page", "visitor", "number"], orient="row")
    table.write_parquet(path / "visits.parquet")
    table.write_csv(path / "visits.csv")
    table[::2].write_csv(path / "half-1.csv")
    table[1::2].write_csv(path / "half-2.csv")
    (path / "baskets.dat").write_text("7 8\n" * 600 + "7\n" * 400)
    (path / "pages.txt").write_text("/home\n/pay\n/docs\n")
    with duckdb.connect(str(path / "visits.duckdb")) as database:
        database.execute(f"CREATE TABLE visits AS FROM '{path}/visits.parquet'")
    return path


def test_every_path_gives_the_counts_of_the_table(folder: Path) -> None:
    """Noise of scale 1/300 on a count: another than the true one has a probability below 2 exp(-150)."""
    for data in (
        str(folder / "half-*.csv"),
        [folder / "half-1.csv", str(folder / "half-2.csv")],
        Table(folder / "visits.duckdb", table="visits"),
        Table(folder / "visits.csv", sql="SELECT * FROM data"),
        Table(pandas.read_csv(folder / "visits.csv")),
    ):
        top = sg.top_items(data, **ASK | {"count": 2}, answers_epsilon=600, domain=["/home", "/pay", "/x"])
        assert (top.items, top.estimates) == (("/home", "/pay"), (1000, 600)), data


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ("visits.db", {"table": 3}),
        ("visits.db", {"sql": Path("query.sql")}),
        ({"page": ["a"]}, {"sql": "SELECT 1"}),
        (pandas.DataFrame(), {"encoding": "latin-1"}),
        ("postgresql://host/shop", {"encoding": "latin-1", "table": "visits"}),
        (["sqlite:///a.db", "sqlite:///b.db"], {"data": None}),
    ],
    ids=str,
)
def test_a_table_is_checked_when_it_is_made_and_shows_no_data(data: Any, options: dict[str, Any]) -> None:
    (parameter, *_) = options
    with pytest.raises(ParameterError) as refused:
        Table(data, **{name: value for name, value in options.items() if name != "data"})
    assert refused.value.parameter == parameter
    assert "secret" not in repr(Table("postgresql://ann:secret@host/shop", table="visits"))


@pytest.mark.parametrize("name", ["visits.csv", "visits.parquet"])
def test_every_domain_meets_the_items_of_a_file(folder: Path, name: str) -> None:
    for domain in (folder / "pages.txt", ["/home", "/docs"], "observed"):
        delta = 1e-6 if domain == "observed" else 0
        assert sg.top_items(folder / name, **ASK, domain=domain, delta=delta).items == ("/home",)
    for numbers in (1000, [7, 8], np.arange(9), polars.Series([7, 1]), pandas.Series([7])):
        assert sg.top_items(folder / name, **ASK | {"item": "number"}, domain=numbers).items == (7,)


def test_people_are_told_apart_as_their_source_does(tmp_path: Path) -> None:
    """In JSON 17 and "17" are two people, as on the command line; noise as above."""
    rows = "".join(f'{{"page": "/home", "visitor": {who}}}\n' for n in range(50) for who in (n, f'"{n}"', f"{n}.0"))
    (tmp_path / "ids.jsonl").write_text(rows)
    found = sg.top_items(tmp_path / "ids.jsonl", **ASK, answers_epsilon=600, domain=["/home"])
    assert found.estimates == (100,)


def test_baskets_need_no_names(folder: Path) -> None:
    assert sg.top_items(folder / "baskets.dat", count=1, epsilon=30, domain=1000).items == (7,)
    by_row = sg.top_items(folder / "baskets.dat", unit="row", count=1, epsilon=30, domain=1000)
    assert by_row.record.unit == "row"


def test_the_table_is_no_domain_of_its_own(folder: Path) -> None:
    for name in ("visits.csv", "visits.csv:page", f"../{folder.name}/visits.csv"):
        for encoding in (None, "latin-1"):
            with pytest.raises(ParameterError, match="which items are in it is private data"):
                sg.top_items(Table(folder / "visits.csv", encoding=encoding), **ASK, domain=folder / name)


@pytest.mark.parametrize("change", [{"item": None}, {"domain": "pages.txt"}, {"user": None}], ids=str)
def test_what_is_refused_is_named(folder: Path, change: dict[str, Any]) -> None:
    with pytest.raises(ParameterError) as refused:
        sg.top_items(folder / "visits.csv", **{**ASK, "domain": ["/home"], **change})
    assert [refused.value.parameter] == list(change)


@pytest.mark.parametrize("name", ["pages.csv", "it's.parquet"])
@pytest.mark.parametrize("visits", ["visits.csv", "visits.parquet"])
def test_the_labels_of_a_public_file_never_leave_the_engine_of_the_files(
    tmp_path: Path, visits: str, name: str
) -> None:
    """Two million of them would take longer in Python than twenty million rows in the engine."""
    rows, labels = "SELECT 'a' AS page, '1' AS who", "SELECT unnest(['a', 'b', 'b']) AS page"
    for query, file in ((rows, tmp_path / visits), (labels, tmp_path / name)):
        (duckdb.sql(query).write_csv if file.suffix == ".csv" else duckdb.sql(query).write_parquet)(str(file))
    with open_table(tmp_path / visits, columns=["page", "who"], user="who") as opened:
        domain, table = opened.candidates(tmp_path / name, "page")
        assert open_engine(table).joins(open_engine(domain))
        assert public_domain(open_engine(table), domain, item="page", kind=STRING).size == 2


# --- a signal never costs a release that is paid for ------------------------------------------------------------------

VISITS = pandas.DataFrame({"page": ["a"] * 40 + ["b"] * 30, "who": [*range(40), *range(30)]})


class StoppedAccount:
    """An account during whose charge somebody presses Ctrl-C."""

    def __init__(self) -> None:
        self.kept: list[Mapping[str, Any]] = []

    def spend(self, **_: object) -> int:
        signal.raise_signal(signal.SIGINT)
        return 1

    def keep(self, entry: int, gave: Mapping[str, Any]) -> None:
        self.kept.append(gave)


@pytest.mark.parametrize("kind", ["pandas", "database"])
def test_ctrl_c_waits_until_what_is_paid_for_is_kept(kind: str, tmp_path: Path) -> None:
    data: Any = VISITS
    if kind == "database":
        VISITS.to_sql("visits", sqlalchemy.create_engine(f"sqlite:///{tmp_path}/visits.db"), index=False)
        data = Table(f"sqlite:///{tmp_path}/visits.db", table="visits")
    account, before = StoppedAccount(), signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        sg.top_items(data, item="page", user="who", count=1, epsilon=1, domain=["a", "b"], ledger=account)
    assert [gave["release"] for gave in account.kept] == ["top_items"]
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("case", ["before the charge", "an error of the engine", "no signal"])
def test_a_signal_ends_what_is_not_paid_for_and_is_heard_where_an_engine_made_an_error_of_it(case: str) -> None:
    done: list[str] = []

    def work() -> None:
        with PaidWork() as signals:
            if case == "no signal":
                signals.pay()
            else:
                with suppress(KeyboardInterrupt) if case == "an error of the engine" else nullcontext():
                    signal.raise_signal(signal.SIGINT)
                done.append("more")
            raise TableError("SQLite could not run a query (OperationalError)")

    with pytest.raises(TableError if case == "no signal" else KeyboardInterrupt):
        work()
    assert done == (["more"] if case == "an error of the engine" else [])
