"""`sparsegate watch`: answers as they come, one gate, bad conditions that cost nothing, and what is recorded.

Counts are 0 or 1,000 against a threshold of 500 at epsilon 10 and a cutoff of at most 3: a wrong answer has
a probability below e**-400, so these tests do not fail by chance.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
from tests.cli.conftest import PROGRAM
from tests.support.in_database import Store
from tests.support.postgres_cluster import Cluster

from sparsegate.cli import watch
from sparsegate.errors import TableError
from sparsegate.gates.sparse_vector import SparseVector
from sparsegate.ledger.gate import rounded_down
from sparsegate.ledger.ledger import Ledger
from sparsegate.tables.matching import MatchingUsers

PUBLIC = {"threshold": 500, "cutoff": 2, "epsilon": 10, "sensitivity": 1, "monotonic": True}
GATE = ("--threshold", "500", "--cutoff", "2", "--epsilon", "10", "--user", "visitor")


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """A thousand visitors, all from DE, each with two rows."""
    path = tmp_path / "visits.csv"
    rows = [f"/home,u{user},DE,{user % 90}\n/pay,u{user},DE,SECRET\n" for user in range(1000)]
    path.write_text("page,visitor,country,age\n" + "".join(rows))
    return path


def answers(out: str) -> list[tuple[str, str]]:
    """Each side with its condition, without the estimate."""
    said = [line for line in out.splitlines() if line.startswith(("ABOVE", "below"))]
    return [(line[:5], line[7:].partition("  (about ")[0]) for line in said]


def test_each_condition_is_answered_in_its_turn_until_the_cutoff(command, visits: Path) -> None:
    code, out, err = command("watch", visits, *GATE, "--where", "country = 'FR'", "--where", "country = 'DE'")
    assert (code, err) == (0, "")
    assert answers(out) == [("below", "country = 'FR'"), ("ABOVE", "country = 'DE'")]
    assert "threshold 500, at most 2 above, epsilon 10, delta 0" in out
    assert "not recorded" in out
    _, out, _ = command("watch", visits, *GATE, *["--where", "true"] * 5)
    assert len(answers(out)) == 2
    assert out.endswith("closed: the last ABOVE is given\n")


def test_a_stream_is_answered_line_by_line_and_a_bad_condition_harms_nothing(command, visits: Path) -> None:
    stream = "# a comment\n\ncountry = 'DE'\ncuontry = 'DE'\nage > 3\npage = (SELECT 1)\nfalse\n"
    code, out, err = command("watch", visits, *GATE, "--conditions", "-", stdin=stream)
    assert (code, answers(out)) == (2, [("ABOVE", "country = 'DE'"), ("below", "false")])
    hints = ("got 'cuontry'; near it: country", "CAST(age AS INTEGER)", "subquery")
    assert [hint in line for hint, line in zip(hints, err.splitlines(), strict=True)] == [True] * 3


def test_no_output_tells_a_count(command, visits: Path) -> None:
    """With noise of scale 2e8 an estimate is 1,000 or 2,000 with a probability below 2e-8."""
    gate = ("--threshold", str(-(10**12)), "--cutoff", "2", "--epsilon", "1e-8", "--user", "visitor")
    for style in ((), ("--json",)):
        out = command("watch", visits, *gate, *style, "--where", "country = 'DE'")[1]
        assert "standard" in out
        assert re.search(r"\b[12]000\b", out.replace(",", "")) is None


def test_an_above_says_about_how_many_and_a_ledger_repeats_it(command, visits: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "x.ledger"
    charge = ("--ledger", ledger, "--budget", "10", "--dataset", "visits")
    asked = ("--where", "country = 'FR'", "--where", "country = 'DE'", "--where", "true")
    lines = command("watch", visits, *GATE, *charge, "--json", *asked)[1].splitlines()
    record, below, above, last, closed = map(json.loads, lines)
    assert record["record"]["epsilon"] == "10"
    assert [(line["above"], line["remaining"]) for line in (below, above, last)] == [(False, 2), (True, 1), (True, 0)]
    assert closed == {"schema": "sparsegate/watch/1", "closed": True}
    assert "estimate" not in below
    assert abs(above["estimate"] - 1000) < 200  # noise of scale 0.3
    shown = command("ledger", "show", ledger, "--release", "2")[1]
    assert f"ABOVE  country = 'DE'  (about {above['estimate']:,}, standard error {above['standard_error']})\n" in shown


@pytest.mark.parametrize("kept", [(), ("--no-refund",)])
def test_the_gate_is_charged_once_and_what_its_answers_did_not_cost_goes_back(
    command, refused, visits: Path, tmp_path: Path, kept: tuple[str, ...]
) -> None:
    ledger = tmp_path / "x.ledger"
    asked = ("watch", visits, *GATE, "--ledger", ledger, *kept, "--where", "false")
    assert command(*asked, "--budget", "15", "--dataset", "visits")[0] == 0
    back = 0 if kept else rounded_down(10 - SparseVector(**PUBLIC).cost(below=1, above=0))
    assert Ledger(ledger).statement().given_back.epsilon == back
    assert Ledger(ledger).total_spent().epsilon == 10 - back
    assert not kept or "epsilon 5 remains" in refused(*asked)


def test_a_bad_condition_and_a_file_that_is_damaged_inside_cost_nothing(refused, visits, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    path, ledger = tmp_path / "visits.parquet", tmp_path / "x.ledger"
    duckdb.sql("SELECT range AS visitor, sha256(range::VARCHAR) AS page FROM range(50_000)").write_parquet(str(path))
    content = bytearray(path.read_bytes())
    content[1000 : len(content) - 5000] = b"\xff" * (len(content) - 6000)
    path.write_bytes(content)
    charge = ("--ledger", ledger, "--budget", "10", "--dataset", "visits")
    for where in ("false", "page = 'x'"):
        assert refused("watch", path, *GATE, *charge, "--where", where)
    assert refused("watch", visits, *GATE, *charge, "--where", "true", "--where", "page =")
    assert not ledger.exists()


def test_trouble_after_the_charge_says_what_is_paid_for(command, visits: Path, monkeypatch) -> None:
    def fail(self: object, where: str) -> int:
        raise TableError("the table cannot be counted")

    monkeypatch.setattr(MatchingUsers, "count", fail)
    code, _, err = command("watch", visits, *GATE, "--where", "true")
    assert (code, err.count("\n"), "the answers above are paid for" in err) == (2, 1, True)


def test_the_columns_of_json_are_those_of_the_conditions(command, refused, tmp_path: Path) -> None:
    """No refusal tells whether a record has a key, or whether there is a record."""
    path = tmp_path / "visits.jsonl"
    for text in ("", '{"visitor": 1}\n', '{"visitor": 1, "page": "/home"}\n'):
        path.write_text(text)
        code, out, err = command("watch", path, *GATE, "--where", "page = '/home'", "--where", "page IS NULL")
        assert (code, err, len(answers(out))) == (0, "", 2)
        assert "must be listed for JSON" in refused("watch", path, *GATE, "--conditions", "-", stdin="true\n")
        query = ("--sql", "SELECT visitor, page FROM data")
        assert command("watch", path, *GATE, *query, "--conditions", "-", stdin="page = 'x'\n")[0] == 0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("--user visitor", "--where "),
        ("--where true", "--user "),
        ("--where true --unit person", "--user "),
        ("--where true --user visitr", "did you mean 'visitor'"),
        ("--where true --user visitor --budget 2", "--budget "),
        ("--where true --user visitor --epsilon nan", "--epsilon "),
        ("--conditions missing.txt --user visitor", "--conditions "),
    ],
)
def test_wrong_options_are_named_in_one_line(refused, visits: Path, options: str, named: str) -> None:
    said = refused("watch", visits, *GATE[:-2], *options.split())
    assert said.startswith(named) if named.endswith(" ") else named in said


def test_answers_leave_before_the_next_condition_is_read_and_ctrl_c_names_the_cost(
    visits: Path, tmp_path: Path
) -> None:
    """A line that is no UTF-8 is refused on the way, in a locale that would not take it."""
    program = [*PROGRAM, "watch", str(visits), *GATE]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONIOENCODING": "utf-8:strict"}
    with subprocess.Popen([*program, "--conditions", "-"], text=True, env=environment, **pipes) as watch:
        assert watch.stdin is not None
        assert watch.stdout is not None
        assert watch.stderr is not None
        watch.stdin.buffer.write(b"page = '\xff'\n")
        watch.stdin.write("country = 'DE'\n")
        watch.stdin.flush()
        assert any(line.startswith("ABOVE  country = 'DE'  (") for line in iter(watch.stdout.readline, ""))
        watch.send_signal(signal.SIGINT)
        assert watch.wait(timeout=30) == 130
        assert watch.stdout.read() == ""
        assert watch.stderr.read() == (
            "sparsegate: line 1: where must be UTF-8 text without a zero byte (character 9), got '\\udcff'\n"
            "sparsegate: interrupted after epsilon 10 was paid: count it as spent; the answers above are paid for, and "
            "kept nowhere: with --ledger they would be\n"
        )
    assert list(tmp_path.glob("sparsegate-*")) == []


def test_whoever_stops_a_gate_on_a_ledger_is_told_that_the_rest_goes_back(
    command, visits, tmp_path, monkeypatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(watch.WatchReport, "add", stop)
    with Ledger.create(tmp_path / "x.ledger", dataset="visits", budget=30) as ledger:
        code, _, err = command("watch", visits, *GATE, "--where", "page = '/pay'", "--ledger", tmp_path / "x.ledger")
        assert (code, ledger.statement().spent.epsilon) == (130, 0)
    assert (
        "epsilon 10 was paid: charged as entry 2 of the ledger of 'visits'; what its answers did not cost goes" in err
    )


def test_a_file_of_conditions_has_each_bad_line_named_before_anything_is_paid(command, visits: Path, tmp_path) -> None:
    listed = tmp_path / "questions.txt"
    listed.write_text("# of the shop\ncountry = 'DE'\n\ncountry =\nnowhere = 1\npage = '/pay'\n")
    ledger = Ledger.create(tmp_path / "x.ledger", dataset="visits", budget=30)
    code, out, err = command("watch", visits, *GATE, "--conditions", listed, "--ledger", tmp_path / "x.ledger")
    first, second, last = err.splitlines()
    assert (code, out) == (2, "")
    assert first.startswith(f"sparsegate: {listed}:4: where ")
    assert second.startswith(f"sparsegate: {listed}:5: where ")
    assert "2 of 4 conditions are refused, nothing was spent" in last
    assert len(ledger.entries()) == 1


def test_baskets_standard_input_and_encodings_are_watched_too(command, refused) -> None:
    """A thousand baskets against 500, with epsilon 10 for two answers: nothing fails by chance."""
    baskets = ("--input-format", "baskets", "--separator", ";", "--encoding", "utf-16")
    raw, gate = ("café;rye\n" * 1000).encode("utf-16"), (*GATE[:-1], "user")
    code, out, err = command("watch", "-", *baskets, *gate, "--where", "item = 'café'", stdin=raw)
    assert (code, err, "ABOVE  item = 'café'" in out) == (0, "", True)
    assert refused("watch", "-", *gate, "--conditions", "-").startswith("--conditions must not be standard input")


def test_a_table_in_postgresql_is_watched_too(command, refused, cluster: Cluster) -> None:
    store = Store(cluster.database())
    store.fill([(page, visitor) for page in ("/home", "/pay", "/docs") for visitor in range(1000)])
    asked = ("watch", store.url, "--table", "visits", *GATE[:3], "1", *GATE[4:])
    code, out, err = command(*asked, "--where", "page = 'nowhere'", "--where", "page IN ('/home', '/pay')")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["below", "ABOVE", "closed:"]
    assert refused(*asked, "--where", "page = 'a'", "--encoding", "latin-1").startswith("--encoding ")
