"""A session calls what is there, with the table, the person, the domains and the ledger said once."""

from __future__ import annotations

import inspect
import signal
import sqlite3
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sparsegate as sg
from sparsegate.errors import ConditionError
from sparsegate.tables.matching import MatchingUsers

PAGES = ["/home", "/docs", "/jobs"]
VISITS: dict[str, list[Any]] = {
    "page": ["/home"] * 400 + ["/docs"] * 300,
    "visitor": [*range(400), *range(300)],
    "country": ["DE"] * 250 + ["FR"] * 450,
    "paid": [2.5] * 700,
}


def seeded() -> dict[str, Any]:
    return {"source": sg.Seeded(3), "not_private": True}


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    file = tmp_path / "visits.parquet"
    rows = ", ".join(f"unnest($columns.{name}) AS {name}" for name in VISITS)
    with duckdb.connect() as engine:
        engine.sql(f"SELECT {rows}", params={"columns": VISITS}).write_parquet(str(file))
    return file


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    file = tmp_path / "visits.csv"
    lines = [",".join(VISITS), *(",".join(map(str, row)) for row in zip(*VISITS.values(), strict=True))]
    file.write_text("\n".join(lines))
    return file


def test_five_lines_from_a_csv_to_a_top_and_what_it_cost(csv: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "visits.ledger"
    with sg.session(csv, user="visitor", budget=2, ledger=ledger, domains={"page": PAGES}) as s:
        top = s.top("page", count=2, epsilon=1)
        assert set(top.items) == {"/home", "/docs"}
        assert s.remaining.epsilon == 1
        assert s.top.preview("page", count=1, epsilon=1).domain_size == 3
    with sg.session(csv, user="visitor", ledger=ledger) as s:  # the ledger is there, and remembers
        assert s.remaining == s.statement().remaining
        assert s.remaining.epsilon == 1
        assert s.statement().dataset == "visits.csv"
        with pytest.raises(sg.BudgetExceeded):
            s.top("page", count=2, epsilon=1.5, domain=PAGES)
        assert [entry.what for entry in s.statement().entries][1:] == [top.record.what]
        assert "visits.csv" in repr(s)


@pytest.mark.parametrize("ledger", [None, "visits.ledger"])
def test_a_session_that_is_closed_releases_nothing(csv: Path, tmp_path: Path, ledger: str | None) -> None:
    """Also where its ledger is a file, which could be charged still."""
    place = None if ledger is None else tmp_path / ledger
    with sg.session(csv, user="visitor", budget=2, ledger=place, domains={"page": PAGES}, **seeded()) as s:
        gate = s.gate(threshold=1, cutoff=1, epsilon=1)
    for release in (
        lambda: s.top("page", count=2, epsilon=0.1),
        lambda: s.count(epsilon=0.1),
        lambda: s.gate(threshold=1, cutoff=1, epsilon=0.1),
        gate.ask,
    ):
        with pytest.raises(sg.LedgerError, match="session is closed"):
            release()
    s.close()
    assert repr(s) == "<Session: visits.csv: epsilon 1 spent of epsilon 2>"
    assert (s.remaining.epsilon, s.describe().name) == (1, "visits.csv")
    assert ledger is not None or not Path(s.ledger.database.address).exists()  # it went with its session


def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Each opening of a table to count it, from here on."""
    seen: list[Any] = []
    before = MatchingUsers.__init__

    def noted(self: Any, relation: Any, *, user: str | None) -> None:
        seen.append(user)
        before(self, relation, user=user)

    monkeypatch.setattr(MatchingUsers, "__init__", noted)
    return seen


@pytest.mark.parametrize("kind", ["csv", "parquet", "json", "dict", "duckdb"])
def test_files_stay_open_between_two_counts_and_a_change_is_seen(
    kind: str, csv: Path, parquet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of this process can change unseen, and a database would be locked: both are opened for each count."""
    place, table = tmp_path / f"changing.{kind}", {name: [*cells] for name, cells in VISITS.items()}
    read_as = {"duckdb": {"table": "visits"}, "csv": {"encoding": "latin-1"}}.get(kind, {})  # that CSV is copied
    data: Any = table if kind == "dict" else sg.Table(place, **read_as)

    def write(rows: int) -> None:
        for name, cells in VISITS.items():
            table[name] = cells[:rows]
        place.unlink(missing_ok=True)
        with duckdb.connect(place if kind == "duckdb" else ":memory:") as engine:
            engine.execute(f"CREATE TABLE visits AS SELECT * FROM read_parquet('{parquet}') WHERE visitor < {rows}")
            if kind not in ("duckdb", "dict"):
                engine.sql(f"COPY visits TO '{place}' (FORMAT {kind})")

    write(400)
    seen = opened(monkeypatch)
    with sg.session(data, user="visitor", budget=500) as s:  # of noise of scale 1/50 more than 0 has a chance of e**-50
        assert [s.count(where, epsilon=50) for where in ("page = '/home'", "page = '/blog'")] == [400, 0]
        assert len(seen) == (2 if kind in ("dict", "duckdb") else 1)
        write(100)
        assert [s.count(where, epsilon=50) for where in ("page = '/home'", "country = 'DE'", None)] == [100, 100, 100]


def test_threads_count_one_after_the_other_and_a_fork_opens_its_own_and_leaves_no_file(
    csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with sg.session(csv, user="visitor", budget=900) as s:
        with ThreadPoolExecutor(4) as pool:
            assert [*pool.map(lambda _: s.count("page = '/docs'", epsilon=50), range(8))] == [300] * 8
        before = set(folder.iterdir())
        assert before

        def count() -> None:
            right = s._people_counts.count("page = '/docs'") == 300
            sys.exit(0 if right and set(folder.iterdir()) > before else 1)

        child = get_context("fork").Process(target=count)
        child.start()
        child.join()
        assert child.exitcode == 0
        assert set(folder.iterdir()) == before
        assert s.count("page = '/docs'", epsilon=50) == 300
    assert not any(folder.iterdir())


def test_a_count_that_is_stopped_costs_nothing_and_the_next_one_is_right(
    csv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the middle: the engine that was stopped is not asked again."""
    with sg.session(csv, user="visitor", budget=100) as s:
        assert s.count("page = '/docs'", epsilon=50) == 300
        with monkeypatch.context() as stopped:
            stopped.setattr(MatchingUsers, "count", lambda *_: signal.raise_signal(signal.SIGINT) or time.sleep(1))
            with pytest.raises(KeyboardInterrupt):
                s.count("page = '/docs'", epsilon=25)
        assert s.remaining.epsilon == 50
        assert s.count("page = '/docs'", epsilon=50) == 300


def test_a_column_that_is_not_there_is_named_before_its_domain_is_missed(csv: Path) -> None:
    with sg.session(csv, user="visitor", budget=1, domains={"page": PAGES}) as s:
        for release, more in ((s.top, {}), (s.sums, {"value": "paid", "clip": (0, 5)})):
            with pytest.raises(sg.TableError, match="did you mean 'page'"):
                release("pgae", count=1, epsilon=0.5, **more)
            with pytest.raises(sg.ParameterError, match="domain"):
                release("country", count=1, epsilon=0.5, **more)
        assert s.remaining.epsilon == 1


@pytest.mark.parametrize(
    ("name", "function", "asked"),
    [
        ("top", sg.top_items, {"count": 2, "epsilon": 1, "domain": PAGES, "answers_epsilon": 1}),
        ("above", sg.items_above, {"above": 150, "epsilon": 1, "delta": 1e-6, "max_items_per_user": 2}),
        ("sums", sg.top_sums, {"value": "paid", "clip": (0, 5), "count": 1, "epsilon": 1, "domain": PAGES}),
    ],
)
def test_a_release_is_that_of_the_library_and_has_its_parameters(
    parquet: Path, name: str, function: Any, asked: dict[str, Any]
) -> None:
    known = {"data", "user", "unit", "ledger", "source", "not_private", "granularity"}
    with sg.session(parquet, user="visitor", budget=(9, 1e-5), delta=1e-6, **seeded()) as s:
        release = getattr(s, name)
        assert {*inspect.signature(release).parameters} == {*inspect.signature(function).parameters} - known
        alone = function(parquet, item="page", user="visitor", **asked, **seeded())
        released, look = release("page", **asked), release.preview("page", **asked)
        assert (released.items, released.estimates) == (alone.items, alone.estimates)
        assert (look.epsilon, look.delta) == (released.record.epsilon, released.record.delta)
        assert len(s.statement().entries) == 2
        with pytest.raises(TypeError, match="epsilom"):
            release("page", **asked, epsilom=1)


@pytest.mark.parametrize("ledger", [None, "visits.ledger"])
@pytest.mark.parametrize("budget", [9, (9, 1e-5)])
def test_deltas_of_releases_have_a_budget_beside_that_of_epsilon(
    parquet: Path, tmp_path: Path, ledger: str | None, budget: Any
) -> None:
    """On a zCDP ledger, too: the delta at which its rho becomes an epsilon pays for no release."""
    place = None if ledger is None else tmp_path / ledger
    above: dict[str, Any] = {"item": "page", "above": 150, "epsilon": 1, "max_items_per_user": 2}
    with sg.session(parquet, user="visitor", budget=budget) as s, pytest.raises(sg.BudgetExceeded, match="delta=1e-6"):
        s.above(**above, delta=1e-6)
    assert len(s.statement().entries) == 1
    with sg.session(parquet, user="visitor", budget=budget, delta=3e-6, ledger=place) as s:
        assert s.statement().budget.delta == Fraction(3, 10**6)
        assert set(s.above(**above, delta=1e-6).items) == {"/home", "/docs"}
        s.top("page", count=1, epsilon=1, delta=1e-6, domain="observed", max_items_per_user=2)
        assert s.remaining.delta == Fraction(1, 10**6)
        with pytest.raises(sg.BudgetExceeded, match="sparsegate ledger raise"):
            s.above(**above, delta=2e-6)
        assert s.remaining.delta == Fraction(1, 10**6)
    if place is not None:
        for delta in (0, 3e-6):
            with sg.session(parquet, user="visitor", budget=budget, delta=delta, ledger=place) as s:
                assert s.remaining.delta == Fraction(1, 10**6)
        with sg.Ledger(place) as opened:
            for held in (place, opened):
                with pytest.raises(sg.ParameterError) as refused:
                    sg.session(parquet, user="visitor", delta=1e-6, ledger=held)
                assert refused.value.parameter == "delta"


def test_a_gate_asks_conditions_and_gives_back_what_they_did_not_cost(parquet: Path) -> None:
    """No seed: a gate with one gives nothing back. Counts are 90 and more from thresholds, noise of scale 4: e**-20."""
    with sg.session(parquet, user="visitor", budget=2) as s:
        assert s.gate.preview(cutoff=2, epsilon=1).margin < 40
        with s.gate(threshold=150, cutoff=2, epsilon=1, where="page = '/home'") as gate:
            assert s.remaining.epsilon == 1
            assert [bool(gate.ask(f"country = '{name}'")) for name in ("US", "DE", "SE")] == [False, True, False]
            assert not gate.ask("country = 'DE' OR page = '/docs'", threshold=350)  # 250 of 400 at /home
            assert (gate.remaining, gate.closed) == (1, False)
            assert gate.margin() == gate.gate.margin(confidence=0.95)
            for wrong in ("contry = 'DE'", "country = 'DE"):
                with pytest.raises(ConditionError):
                    gate.ask(wrong)
            assert gate.ask()
            assert gate.closed
            with pytest.raises(sg.GateClosed):
                gate.ask("no condition at all")
        assert s.remaining.epsilon == 1
        with s.gate(threshold=150, cutoff=2, epsilon=1) as gate:
            gate.ask("country = 'US'")
        assert s.remaining.epsilon > 0.2
        before = s.remaining
        with pytest.raises(ConditionError):
            s.gate(threshold=150, cutoff=2, epsilon=0.1, where="contry = 'DE'")
        assert s.remaining == before


def test_a_condition_cannot_leave_its_brackets_and_may_end_with_a_comment(parquet: Path) -> None:
    """It is read by itself when a gate is paid for: with a bracket behind it, it must still be one."""
    with sg.session(parquet, user="visitor", budget=200, **seeded()) as s:
        gate = s.gate(threshold=10, cutoff=2, epsilon=1, where="page = '/nowhere'")
        with pytest.raises(ConditionError):
            gate.ask("country = 'DE') OR (country = 'FR'")
        assert gate.remaining == 2
        gate = s.gate(threshold=50, cutoff=2, epsilon=100, where="country = 'DE' -- at home")
        assert gate.ask("page = '/home' -- the first") == sg.ABOVE
        assert s.count("page = '/docs' -- the second", epsilon=50) == 300


def test_a_table_in_a_database_is_ranked_there_and_not_counted(tmp_path: Path) -> None:
    file = tmp_path / "visits.sqlite"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE visits (page TEXT, visitor INTEGER)")
        pairs = zip(VISITS["page"], VISITS["visitor"], strict=True)
        database.executemany("INSERT INTO visits VALUES (?, ?)", list(pairs))
    table = sg.Table(f"sqlite:///{file}", table="visits")
    with sg.session(table, user="visitor", budget=2, dataset="visits", **seeded()) as s:
        assert s.top("page", count=1, epsilon=1, domain=PAGES).items == ("/home",)
        with pytest.raises(sg.ParameterError, match="serve"):
            s.count("page = '/home'", epsilon=0.5)
        assert s.remaining.epsilon == 1


@pytest.mark.parametrize(
    "kind", ["dict", "records", "pandas", "polars", "pyarrow", "relation", "parquet", "csv", "row"]
)
def test_every_table_is_counted_with_the_noise_of_laplace_and_described_without_data(
    kind: str, csv: Path, parquet: Path
) -> None:
    """Of records only those columns are named that were written: whoever is in them has keys."""
    person: dict[str, Any] = {"unit": "row"} if kind == "row" else {"user": "visitor"}
    table: Any = parquet if kind == "parquet" else VISITS
    if kind == "records":
        table = [dict(zip(VISITS, row, strict=True)) for row in zip(*VISITS.values(), strict=True)]
    elif kind in ("pandas", "polars", "pyarrow"):
        library = pytest.importorskip(kind)
        table = library.table(VISITS) if kind == "pyarrow" else library.DataFrame(VISITS)
    with duckdb.connect() as engine:
        setting = "SELECT current_setting('disabled_optimizers')"
        before = engine.sql(setting).fetchall()
        table = engine.read_csv(str(csv)) if kind == "relation" else table
        with sg.session(table, **person, budget=1, domains={"page": PAGES}, **seeded()) as s:
            # In FR: visitors 250 to 399 at /home, and 0 to 299 at /docs.
            people = 450 if kind == "row" else 400
            noisy = sg.laplace(people, epsilon=0.5, sensitivity=1, **seeded())
            assert s.count("country = 'FR'", epsilon=0.5) == noisy
            assert (s.remaining.epsilon, s.count.preview(epsilon=0.5).error_bar) == (Fraction(1, 2), 6)
            shown = s.describe()
        assert engine.sql(setting).fetchall() == before, "the engine of the owner is as it was"
    text = str(shown) + shown._repr_html_() + repr(shown)
    assert {*shown.columns} == ({"page", "visitor"} if kind == "records" else {*VISITS})
    assert shown.domains == {"page": "3 listed"}
    assert not any(cell in text for cell in ("/home", "DE", "700", "400", "2.5"))


def test_an_open_ledger_stays_open(parquet: Path, tmp_path: Path) -> None:
    with sg.Ledger.create(tmp_path / "a.ledger", dataset="visits", budget=1) as ledger:
        with sg.session(parquet, user="visitor", ledger=ledger) as s:
            s.count(epsilon=0.5)
        assert ledger.statement().remaining.epsilon == pytest.approx(0.5)
        for name, other in (("budget", 3), ("dataset", "clicks")):
            with pytest.raises(sg.ParameterError) as refused:
                sg.session(parquet, user="visitor", ledger=ledger, **{name: other})
            assert refused.value.parameter == name


@pytest.mark.parametrize(
    ("asked", "refused"),
    [
        ({"user": None}, "user"),
        ({"unit": "row"}, "unit"),
        ({"budget": None}, "budget"),
        ({"domains": ["page"]}, "domains"),
        ({"budget": float("nan")}, "budget"),
        *(({"delta": bad}, "delta") for bad in (1, -1e-6)),
        ({"data": "-"}, "data"),
        ({"user": "visiter"}, None),
        ({"domains": {"pagge": PAGES}}, None),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_and_makes_no_ledger(
    asked: dict[str, Any], refused: str | None, parquet: Path, tmp_path: Path
) -> None:
    """Also what can be read only once, and a column that is not there."""
    place = tmp_path / "new.ledger"
    asked = {"data": parquet, "user": "visitor", "budget": 1} | asked
    with pytest.raises((sg.ParameterError, sg.TableError)) as error:
        sg.session(asked.pop("data"), ledger=place, **asked)
    assert getattr(error.value, "parameter", None) == refused
    assert not place.exists()
