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
from tests.cli.conftest import ABOVE, ASK, PAGES, Command, Refused

from sparsegate.ledger.ledger import Ledger

duckdb = pytest.importorskip("duckdb")
pytestmark = pytest.mark.usefixtures("folder")

TOP = ("top", "visits.csv", *ASK, "--domain", "pages.csv")
CHARGED = ("--ledger", "x.ledger", "--budget", "99", "--dataset", "visits")


def items(out: str) -> list[object]:
    return [entry["item"] for entry in json.loads(out)["items"]]


@pytest.mark.parametrize("style", [(), ("--json",), ("--csv",)])
def test_the_items_and_the_record_are_told_and_not_how_much_was_read_or_dropped(command: Command, style) -> None:
    code, out, err = command(*TOP, *style)
    assert (code, err) == (0, "")
    assert not {"1000", "3000", "6000", "6003", "6002", "2000", "97"} & set(re.findall(r"\d+", out.replace(",", " ")))
    assert "/elsewhere" not in out
    if not style:
        lines = [line.split() for line in out.splitlines() if line.strip()]
        assert [line[0] for line in lines[1:4]] == sorted(PAGES)
        record = {line[0]: " ".join(line[1:]) for line in lines[4:]}
        expected = {"epsilon": "30", "delta": "0", "method": "subset", "unit": "user", "recorded": "not recorded"}
        assert record.items() >= expected.items()


def test_all_above_a_bar_are_a_set_without_ranks(command: Command) -> None:
    """Every page has 1,000 visitors, and from 503 on all are kept; the one of /elsewhere is never."""
    table, whole = (command("top", "visits.csv", *ABOVE, *style)[1] for style in ((), ("--json",)))
    release = json.loads(whole)
    assert release["items"] == [{"item": page} for page in sorted(PAGES)]
    assert [release["record"][name] for name in ("above", "never_below", "always_from")] == [500, 498, 503]
    assert [line.strip() for line in table.splitlines()[:4]] == ["page", *sorted(PAGES)]
    assert "always from" in table


def test_json_and_csv_say_the_same(command: Command) -> None:
    options = (*TOP, "--answers-epsilon", "300", "--ordered")
    whole = json.loads(command(*options, "--json")[1])
    rows = list(csv.DictReader(command(*options, "--csv")[1].splitlines()))
    assert {entry["item"] for entry in whole["items"]} == {row["page"] for row in rows} == PAGES
    assert [entry["rank"] for entry in whole["items"]] == [1, 2, 3]
    # Noise of scale 3/300: another count than 1,000 has a probability below 6 exp(-100).
    assert {entry["estimate"] for entry in whole["items"]} == {1000}
    assert {row["estimate"] for row in rows} == {"1000"}
    expected = {"epsilon": "330", "delta": "0", "answers_epsilon": "300", "unit": "user", "domain_size": 100}
    assert whole["record"].items() >= expected.items()
    assert all(row["epsilon"] == "330" and row["domain_size"] == "100" for row in rows)


def test_every_option_reaches_the_question_and_its_record(command: Command) -> None:
    """What each of them does is tested in tests/tables."""
    numbers = ("--item", "number", "--user", "visitor", "-c", "3", "--epsilon", "60", "--domain", "1_001")
    auto = ("--max-items-per-user", "auto", "--choice-epsilon", "5", "--json")
    whole = json.loads(command("top", "visits.csv", *numbers, *auto)[1])
    assert {entry["item"] for entry in whole["items"]} == {0, 1, 2}
    assert (whole["record"]["choice_epsilon"], whole["record"]["chosen"]) == ("5", ["max_items_per_user"])
    observed = ("top", "visits.csv", *ASK, "--domain", "observed", "--delta", "1e-6", "--dbar", "99", "--json")
    record = json.loads(command(*observed)[1])["record"]
    assert (record["delta"], record["dbar"], "domain_size" in record) == ("0.000001", 99, False)
    assert "no item was selected" in command(*TOP, "--method", "sparse-vector", "--threshold", "2000")[1]
    where = ("--where", "page = '/docs' AND CAST(number AS INTEGER) >= 0", "--sql", "FROM data")
    whole = json.loads(command(*TOP, "--answers-epsilon", "300", "--json", *where)[1])
    assert {entry["item"] for entry in whole["items"] if entry["estimate"]} == {"/docs"}
    assert whole["record"]["where"].startswith("page = '/docs'")


def test_a_database_is_named_by_its_url_which_is_shown_to_nobody(
    command: Command, refused: Refused, folder: Path
) -> None:
    options = (*ASK, "--domain", "pages.csv", "--json")
    with closing(sqlite3.connect("visits.db")) as made, made:
        made.execute("CREATE TABLE visits (page TEXT, visitor INTEGER)")
        made.executemany("INSERT INTO visits VALUES (?, ?)", [(page, who) for page in PAGES for who in range(1000)])
    url = f"sqlite:///{folder}/visits.db"
    asked = ("top", url, "--table", "visits", *options)
    assert set(items(command(*asked, "--ledger", "l", "--budget", "40", "--dataset", "d")[1])) == PAGES
    assert url not in refused(*asked, "--ledger", "l")
    assert refused("top", url, *options).startswith("--table must be given for a database")
    elsewhere = ("top", "postgresql://ann:hunter2@127.0.0.1:1/shop", "--table", "v", *ASK, "--domain", "9")
    assert "hunter2" not in refused(*elsewhere)


def test_long_and_hostile_names_fit_and_do_not_steer_the_terminal(command: Command) -> None:
    Path("pages.csv").write_text("page\n" + "/x" * 200 + "\n\x1b[31m[red]evil[/red]\n")
    _, out, _ = command(*TOP, "-c", "2")
    assert max(map(len, out.splitlines())) <= 80
    assert "\x1b" not in out
    assert "[red]evil[/red]" in out


def test_a_picture_is_drawn_and_refused_before_it_costs(command: Command, refused: Refused) -> None:
    paid = ("--answers-epsilon", "1")
    for wrong in (("--plot", "x.png"), ("--plot", "x.bmp", *paid), ("--plot", "no/x.png", *paid)):
        assert refused(*TOP, *CHARGED, *wrong).startswith("--plot ")
    assert not Path("x.ledger").exists()
    assert command(*TOP, *CHARGED, "--plot", "x.png", *paid)[0] == 0
    assert Path("x.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"--item": "pge"}, "did you mean 'page'"),
        ({"--user": None}, "--user "),
        ({"--domain": None}, "--domain "),
        ({"--domain": "١٢"}, "no file matches"),
        ({"--domain": "pages.csv:nme"}, "page, title"),
        ({"--domain": "observed"}, "--delta "),
        ({"-c": None}, "--count or --above must be given"),
        ({"--epsilon": "nan"}, "--epsilon "),
        ({"--method": "best"}, "--method "),
        ({"--sql": "DELETE FROM data"}, "one SELECT"),
        ({"--where": "pge = '/home'"}, "--where "),
        ({"--dataset": "sales"}, "belongs to the dataset 'visits'"),
        ({"--budget": "98"}, "sparsegate ledger raise"),
        *(({"--value": "number", "--clip": bad}, "--clip ") for bad in (None, "5", "0,x", "9,1")),
        ({"--people": "1", "--epsilon": "0.1"}, "--epsilon "),
        ({"--per": "page", "--groups": ""}, "--groups "),
        ({"--per": "page", "--groups": "none.csv"}, "no file matches 'none.csv'"),
        ({"--input-format": "xls"}, "--input-format "),
        ({"--format": "xml"}, "--format "),
        ({"--within": "9"}, "--within "),
        ({"--max-items-per-user": "2.5"}, "--max-items-per-user must be a whole number, or auto"),
        ({"--conversion-delta": "1e-6"}, "--conversion-delta needs a budget"),
    ],
)
def test_bad_input_is_one_line_that_names_the_option_and_spends_nothing(refused: Refused, change, named: str) -> None:
    ledger = Ledger.create("x.ledger", dataset="visits", budget=99, budget_delta=0.1)
    given = {**dict(zip(ASK[::2], ASK[1::2], strict=True)), "--domain": "pages.csv", "--ledger": "x.ledger", **change}
    options = [word for name, value in given.items() if value is not None for word in (name, value)]
    said = refused("top", "visits.csv", *options)
    assert said.startswith(named) if named.endswith(" ") else named in said
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize(("closed", "code"), [("stdout", 2), ("stderr", 0)])
def test_a_stream_that_is_closed_costs_no_release(command: Command, monkeypatch, closed: str, code: int) -> None:
    monkeypatch.setattr(f"sys.{closed}", None)  # as after `>&-`
    assert command(*TOP, *CHARGED)[0] == code
    assert Path("x.ledger").exists() == (code == 0)


# /docs has ten orders of 100 or more, /home a hundred of 1; at epsilon 3,000 for a clip of 100 the noise that it would
# take to confuse them has a probability below exp(-1000).
SUMS = ("--item", "page", "--user", "who", "-c", "1", "--epsilon", "3000", "--value", "amount", "--clip", "0,100")


@pytest.fixture
def orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"/home,h{n},1.00" for n in range(100)] + [f"/docs,d{n},{10**n}00" for n in range(10)]
    rows += ["/blog,b1,", "/blog,b2,free", "/blog,b3,nan"]
    Path("orders.csv").write_text("page,who,amount\n" + "\n".join(rows) + "\n")
    Path("pages.txt").write_text("/home\n/docs\n/blog\n")


@pytest.mark.usefixtures("orders")
def test_sums_are_printed_in_the_units_of_their_column(command: Command) -> None:
    code, out, err = command("top", "orders.csv", *SUMS, "--domain", "pages.txt", "--answers-epsilon", "3000")
    assert (code, err) == (0, "")
    heading, first, *_ = (line.split() for line in out.splitlines())
    assert (heading, first[0]) == (["page", "amount", "±", "0.100"], "/docs")
    assert float(first[1].replace(",", "")) == pytest.approx(1000, abs=2)
    _, out, _ = command("top", "orders.csv", *SUMS, "--domain", "pages.txt", "--json", "--granularity", "0.01")
    expected = {"value": "amount", "clip": [0, 100], "granularity": 0.01, "sensitivity": 100}
    assert json.loads(out)["record"].items() >= expected.items()


def test_a_zcdp_ledger_is_made_and_charged_in_rho(command: Command, refused: Refused) -> None:
    """Where it does not fit is said before the data is read; what needs a delta for its epsilon is charged none."""
    zcdp = ("--ledger", "z.ledger", "--conversion-delta", "1e-6", "--dataset", "visits", "--budget")
    assert "must cover this release, rho " in refused("top", "nowhere.csv", *TOP[2:], *zcdp, "1")
    assert not Path("z.ledger").exists()
    assert "needs a ledger" in refused(*TOP, "--conversion-delta", "1e-6")
    assert "conversion-delta must lie strictly" in refused(*TOP, *zcdp, "99", "--conversion-delta", "nan")
    assert command(*TOP, "--method", "gumbel", "--delta", "0.001", *zcdp, "99")[0] == 0
    with Ledger("z.ledger") as ledger:
        amount = ledger.entries()[-1].amount
        assert (amount.epsilon, amount.delta, ledger.rule) == (30, 0, "zcdp")
    assert amount.rho < 30**2 / 8
