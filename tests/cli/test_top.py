"""`sparsegate top`: what it prints, what it never prints, and what it refuses.

Scores are 1,000 for three pages and 0 for the rest, at epsilon 30 for three items: by a union bound over the domain of
at most 1,001 candidates a wrong selection has a probability below 3 * 1001 * exp(-10 * 1000), so nothing fails by
chance.
"""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.conftest import ABOVE, ASK, PAGES, Command

from sparsegate.ledger.ledger import Ledger

duckdb = pytest.importorskip("duckdb")


def items(out: str) -> list[object]:
    return [entry["item"] for entry in json.loads(out)["items"]]


def test_the_table_holds_the_items_and_the_record(command: Command, folder: Path) -> None:
    code, out, err = command("top", "visits.csv", *ASK, "--domain", "pages.csv")
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines() if line.strip()]
    assert [line[0] for line in lines[1:4]] == sorted(PAGES)
    record = {line[0]: line[1:] for line in lines[4:]}
    assert record["epsilon"] == ["30"]
    assert record["delta"] == ["0"]
    assert record["method"] == ["subset"]
    assert record["unit"] == ["user"]
    assert record["recorded"] == ["not", "recorded"]
    assert ["domain", "size", "100"] in lines


@pytest.mark.parametrize("ending", ["json", "sqlite"])
def test_one_person_is_one_however_their_id_is_written(command: Command, folder: Path, ending: str) -> None:
    """A thousand users of /one write their id in two ways, and 1,100 of /two in one."""
    rows = [("/one", str(user), f"{user}.0") for user in range(1000)]
    rows += [("/two", str(user), str(user)) for user in range(2000, 3100)]
    path = folder / f"ids.{ending}"
    if ending == "json":
        path.write_text(
            "".join(f'{{"page": "{page}", "who": {who}}}\n' for page, *both in rows for who in both), encoding="utf-8"
        )
    else:
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("CREATE TABLE visits (page, who)")
            cells = ((page, float(who) if "." in who else int(who)) for page, *both in rows for who in both)
            database.executemany("INSERT INTO visits VALUES (?, ?)", cells)
    (folder / "two.txt").write_text("/one\n/two\n")
    options = ("--item", "page", "--user", "who", "-c", "2", "--epsilon", "30", "--answers-epsilon", "200", "--json")
    table = ("--table", "visits") if ending == "sqlite" else ()
    code, out, _ = command("top", path.name, *table, *options, "--domain", "two.txt")
    assert code == 0
    # Noise of scale 2/200: another count has a probability below 4 exp(-100).
    assert {entry["item"]: entry["estimate"] for entry in json.loads(out)["items"]} == {"/one": 1000, "/two": 1100}


@pytest.mark.parametrize("style", [(), ("--json",), ("--csv",)])
def test_all_above_a_bar_are_a_set_without_ranks(command: Command, folder: Path, style: tuple[str, ...]) -> None:
    """Every page has 1,000 visitors, and from 503 on all are kept; the one of /elsewhere is never."""
    code, out, err = command("top", "visits.csv", *ABOVE, *style)
    assert (code, err) == (0, "")
    if style == ("--json",):
        found = json.loads(out)
        assert found["items"] == [{"item": page} for page in sorted(PAGES)]
        assert [found["record"][name] for name in ("above", "never_below", "always_from")] == [500, 498, 503]
    elif style == ("--csv",):
        assert [row["page"] for row in csv.DictReader(out.splitlines())] == sorted(PAGES)
        assert out.startswith("page,epsilon")
    else:
        assert [line.strip() for line in out.splitlines()[:4]] == ["page", *sorted(PAGES)]
        assert "always from" in out
        assert "#" not in out


@pytest.mark.parametrize("style", [(), ("--json",), ("--csv",)])
def test_nothing_tells_how_much_was_read_or_dropped(command: Command, folder: Path, style: tuple[str, ...]) -> None:
    _, out, err = command("top", "visits.csv", *ASK, "--domain", "pages.csv", *style)
    assert not {"1000", "3000", "6000", "6003", "6002", "2000", "97"} & set(re.findall(r"\d+", out.replace(",", " ")))
    assert "/elsewhere" not in out
    assert err == ""


def test_json_and_csv_say_the_same(command: Command, folder: Path) -> None:
    options = ("top", "visits.csv", *ASK, "--domain", "pages.csv", "--answers-epsilon", "300", "--ordered")
    whole = json.loads(command(*options, "--json")[1])
    rows = list(csv.DictReader(command(*options, "--csv")[1].splitlines()))
    assert {entry["item"] for entry in whole["items"]} == {row["page"] for row in rows} == PAGES
    assert [entry["rank"] for entry in whole["items"]] == [1, 2, 3]
    # Noise of scale 3/300: another count than 1,000 has a probability below 6 exp(-100).
    assert {entry["estimate"] for entry in whole["items"]} == {1000}
    assert {row["estimate"] for row in rows} == {"1000"}
    record = whole["record"]
    assert {
        "epsilon": "330",
        "delta": "0",
        "answers_epsilon": "300",
        "unit": "user",
        "domain_size": 100,
    }.items() <= record.items()
    assert (whole["error_bar"], whole["confidence"], record["recorded"]) == (0, 0.95, "not recorded")
    assert all(row["epsilon"] == "330" and row["domain_size"] == "100" for row in rows)


def test_every_way_to_give_the_domain(command: Command, folder: Path) -> None:
    Path("only.txt").write_text("\n".join([*PAGES, *(f"/page/{number}" for number in range(97))]) + "\n")
    duckdb.sql("SELECT 'x' AS other, unnest(['/home', '/pay', '/docs', '/jobs']) AS name").write_parquet(
        "names.parquet"
    )
    for domain in ("pages.csv", "pages.csv:page", "only.txt", "names.parquet:name"):
        assert set(items(command("top", "visits.csv", *ASK, "--domain", domain, "--json")[1])) == PAGES
    numbers = ("--item", "number", "--user", "visitor", "-c", "3", "--epsilon", "30")
    assert set(items(command("top", "visits.csv", *numbers, "--domain", "1_001", "--json")[1])) == {0, 1, 2}
    observed = command("top", "visits.csv", *ASK, "--domain", "observed", "--delta", "1e-6", "--json")[1]
    assert set(items(observed)) == PAGES
    assert json.loads(observed)["record"]["delta"] == "0.000001"
    assert "domain_size" not in json.loads(observed)["record"]
    assert json.loads(observed)["record"]["dbar"] == 30
    longer = command("top", "visits.csv", *ASK, "--domain", "observed", "--delta", "1e-6", "--dbar", "99", "--json")[1]
    assert json.loads(longer)["record"]["dbar"] == 99


def test_a_text_domain_meets_numbers_of_a_typed_file_by_type(command: Command, folder: Path) -> None:
    duckdb.sql("SELECT range % 3 AS page, range AS visitor FROM range(3000)").write_parquet("typed.parquet")
    Path("numbers.csv").write_text("page\n" + "".join(f"{number}\n" for number in range(50)))
    assert set(items(command("top", "typed.parquet", *ASK, "--domain", "numbers.csv", "--json")[1])) == {0, 1, 2}
    code, out, err = command("top", "typed.parquet", *ASK, "--domain", "pages.csv")
    assert (code, out) == (2, "")
    assert "BIGINT" in err


def test_items_that_are_no_labels_are_refused_before_the_domain_is_looked_at(command: Command, folder: Path) -> None:
    duckdb.sql("SELECT [1] AS page, 1 AS visitor").write_parquet("real.parquet")
    code, out, err = command("top", "real.parquet", *ASK, "--domain", "pages.csv")
    assert (code, out) == (2, "")
    assert "column 'page' must be numbers, strings, booleans, bytes, UUIDs, dates" in err


def test_all_items_above_a_threshold(command: Command, folder: Path) -> None:
    options = ("top", "visits.csv", *ASK, "--domain", "pages.csv", "--method", "sparse-vector", "--json")
    assert set(items(command(*options, "--threshold", "500")[1])) == PAGES
    assert items(command(*options, "--threshold", "2000")[1]) == []
    assert "no item was selected" in command(*options[:-1], "--threshold", "2000")[1]


def test_only_rows_that_meet_a_condition_are_counted(command: Command, folder: Path) -> None:
    ask = ("top", "visits.csv", *ASK, "--domain", "pages.csv", "--answers-epsilon", "300", "--json")
    whole = json.loads(command(*ask, "--where", "page = '/docs' AND CAST(number AS INTEGER) >= 0")[1])
    estimates = {entry["item"]: entry["estimate"] for entry in whole["items"]}
    assert estimates.pop("/docs") == 1000
    assert set(estimates.values()) == {0}
    assert whole["record"]["where"].startswith("page = '/docs'")


def test_the_columns_of_json_hold_those_of_the_condition(command: Command, folder: Path) -> None:
    lines = [{"page": page, "visitor": user, "country": "DE"} for page in sorted(PAGES) for user in range(1000)]
    (folder / "visits.jsonl").write_text("\n".join(map(json.dumps, lines)))
    _, out, err = command("top", "visits.jsonl", *ASK, "--domain", "pages.csv", "--where", "country = 'DE'", "--json")
    assert (set(items(out)), err) == (PAGES, "")


def test_a_transaction_file_needs_no_columns(command: Command, folder: Path) -> None:
    Path("baskets.dat").write_text("1 2 3\n" * 1000 + "7\n")
    options = ("top", "baskets.dat", "-c", "3", "--epsilon", "30", "--domain", "1000", "--json")
    assert set(items(command(*options)[1])) == {1, 2, 3}


def test_databases_by_table_and_by_query(command: Command, folder: Path) -> None:
    with duckdb.connect("visits.duckdb") as database:
        database.execute("CREATE TABLE visits AS FROM read_csv('visits.csv', all_varchar=true)")
    options = (*ASK, "--domain", "pages.csv", "--json")
    assert set(items(command("top", "visits.duckdb", "--table", "visits", *options)[1])) == PAGES
    query = "SELECT page, visitor FROM visits WHERE page <> '/pay'"
    found = items(command("top", "visits.duckdb", "--sql", query, *options)[1])
    assert {"/home", "/docs"} < set(found)
    assert set(items(command("top", "visits.csv", "--sql", "FROM data", *options)[1])) == PAGES


def test_an_empty_table_still_answers(command: Command, folder: Path) -> None:
    Path("empty.csv").write_text("page,visitor\n")
    code, out, err = command("top", "empty.csv", *ASK, "--domain", "pages.csv", "--json")
    assert (code, err, len(items(out))) == (0, "", 3)


def test_long_and_hostile_names_fit_and_do_not_steer_the_terminal(command: Command, folder: Path) -> None:
    Path("pages.csv").write_text("page\n" + "/x" * 200 + "\n\x1b[31m[red]evil[/red]\n")
    _, out, _ = command(
        "top", "visits.csv", "--item", "page", "--user", "visitor", "-c", "2", "--epsilon", "1", "--domain", "pages.csv"
    )
    assert max(map(len, out.splitlines())) <= 80
    assert "\x1b" not in out
    assert "[red]evil[/red]" in out


def test_a_picture_is_drawn_and_refused_before_it_costs(command: Command, folder: Path) -> None:
    options = (
        "top",
        "visits.csv",
        *ASK,
        "--domain",
        "pages.csv",
        "--ledger",
        "x.ledger",
        "--budget",
        "99",
        "--dataset",
        "v",
    )
    for wrong in (
        ("--plot", "x.png"),
        ("--plot", "x.bmp", "--answers-epsilon", "1"),
        ("--plot", "no/x.png", "--answers-epsilon", "1"),
    ):
        code, out, err = command(*options, *wrong)
        assert (code, out, err.count("\n")) == (2, "", 1)
    assert not Path("x.ledger").exists()
    assert command(*options, "--plot", "x.png", "--answers-epsilon", "1")[0] == 0
    free = ("-c", "3", "--max-items-per-user", "1")  # counts come with the selection
    assert command(*options, "--plot", "y.png", *free)[::2] == (0, "")
    assert Path("x.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ({"--item": "pge"}, "did you mean 'page'"),
        ({"--user": "visiter"}, "did you mean 'visitor'"),
        ({"--user": None}, "whose row"),
        ({"--item": None}, "item must name the column to rank"),
        ({"--domain": None}, "--domain observed"),
        ({"--domain": "nothing.csv"}, "no file matches"),
        ({"--domain": "pages.csv:nme"}, "page, title"),
        ({"--domain": "visits.csv:page"}, "which items are in it is private data"),
        ({"--domain": "x.ledger"}, "not a database"),
        ({"--domain": "observed"}, "delta"),
        ({"--dbar": "50"}, "dbar"),
        ({"--domain": "0"}, "domain"),
        *(({"--domain": bad}, "no file matches") for bad in ("1__0", "_1", "1_", "١٢")),
        ({"--user": "page"}, "must not be the column of the items"),
        ({"--delta": "1e-6", "--method": "exponential"}, "delta must not be given"),
        ({"-c": "101"}, "100"),
        ({"-c": "0"}, "count"),
        ({"-c": None}, "give -c 50, or --above 500"),
        ({"--above": "500"}, "--count or --above must be given, and not both"),
        ({"-c": None, "--above": "500"}, "above must not be given with a public domain"),
        ({"--epsilon": "nan"}, "epsilon"),
        ({"--epsilon": "-1"}, "epsilon"),
        ({"--answers-epsilon": "inf"}, "--answers-epsilon"),
        ({"--threshold": "5"}, "threshold"),
        ({"--method": "sparse-vector"}, "threshold"),
        ({"--method": "best"}, "method"),
        ({"--unit": "row"}, "unit"),
        ({"--table": "visits"}, "--table is for a database"),
        ({"--sql": "DELETE FROM data"}, "one SELECT"),
        ({"--where": "pge = '/home'"}, "near it: page"),
        ({"--where": "number > 3"}, "CAST(number AS INTEGER)"),
        ({"--dataset": "sales"}, "belongs to the dataset 'visits'"),
        ({"--budget": "98"}, "sparsegate ledger raise"),
    ],
)
def test_bad_input_is_one_line_and_spends_nothing(command: Command, folder: Path, change, hint: str) -> None:
    ledger = Ledger.create("x.ledger", dataset="visits", budget=99, budget_delta=0.1)
    given = {**dict(zip(ASK[::2], ASK[1::2], strict=True)), "--domain": "pages.csv", "--ledger": "x.ledger", **change}
    options = [word for name, value in given.items() if value is not None for word in (name, value)]
    code, out, err = command("top", "visits.csv", *options)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert hint in err
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize(
    "rows",
    ["SECRET,u1,1,2,3\n", "SECRET\n", '"SECRET,u1,1\n', "SECRET\xff,u1,1\n"],
    ids=["long", "short", "quote", "code"],
)
@pytest.mark.parametrize("lines", [1, 30_000])
def test_a_malformed_row_is_never_echoed_and_costs_nothing(
    command: Command, folder: Path, rows: str, lines: int
) -> None:
    good = "page,visitor,number\n" + "/home,u1,1\n" * lines
    Path("bad.csv").write_bytes((good + rows).encode("latin-1"))
    ledger = Ledger.create("x.ledger", dataset="visits", budget=99)
    code, out, err = command("top", "bad.csv", *ASK, "--domain", "pages.csv", "--ledger", "x.ledger")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "SECRET" not in err
    assert len(ledger.entries()) == 1
