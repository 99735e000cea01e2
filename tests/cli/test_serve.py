"""`sparsegate serve`: what it needs, what it says, and that it stops cleanly."""

from __future__ import annotations

import io
import re
import signal
import socket
import sys
from pathlib import Path

import duckdb
import pytest
import typer
from tests.support.pretend_service import until
from tests.support.served_process import spawned

from sparsegate.errors import ConditionError
from sparsegate.ledger.ledger import Ledger
from sparsegate.service.client.client import connect
from sparsegate.service.gates import KeyedRequest
from sparsegate.service.sealed_noise import SealingKey


@pytest.fixture
def visits(tmp_path):
    file = tmp_path / "visits.csv"
    file.write_text("visitor,country\n" + "".join(f"{person},DE\n" for person in range(300)))
    return file


def test_what_is_left_out_is_named_to_whoever_starts_it_and_whoever_asks(tmp_path):
    file = tmp_path / "visits.parquet"
    rows = (
        "SELECT i AS visitor, 1.25::DECIMAL(9, 2) AS price, 'x'::BLOB AS photo, [1] AS \"Tags\" FROM range(300) AS t(i)"
    )
    duckdb.sql(f"COPY ({rows}) TO '{file}'")
    options = ("--user", "visitor", "--new-ledger", "--budget", "200", "--delay", "off")
    with spawned(file, *options) as (_, url, said):
        assert "unit user: 1 column may be asked about" in said
        assert "left out, of a type that cannot be asked about: photo, Tags; cast them with --sql" in said
        with connect(url, re.search(r"sg_[\w-]{43}", said).group()) as owner:
            served = owner.schema().schema
            assert [column.name for column in served.columns] == ["price"]
            assert served.unreadable == ("photo", "Tags")
            gate = owner.open_gate(threshold=100, cutoff=3, epsilon=100)
            assert gate.ask("price = 1.25")
            assert not gate.ask("price > 1.25")
            with pytest.raises(ConditionError, match="whose type can be asked about.*'photo'"):
                gate.ask("photo IS NULL")


def test_a_service_starts_answers_stops_on_a_signal_and_goes_on_where_it_was(visits):
    arguments = (visits, "--user", "visitor")
    with spawned(*arguments, "--new-ledger", "--budget", "200", "--delay", "0.5", "--headroom", "1") as (
        process,
        url,
        said,
    ):
        assert url.startswith("http://127.0.0.1:")
        assert "'visits.csv', unit user: 1 column may be asked about" in said
        assert "visits.csv.ledger: epsilon 199.95, delta 0.000000999 left of epsilon 200, delta 0.000001" in said
        assert "answers leave 0.5 s after their turn came" in said
        token = re.search(r"sg_[\w-]{43}", said).group()
        with connect(url, token) as owner:
            gate = owner.open_gate(threshold=100, cutoff=3, epsilon=100)
            assert gate.ask("country = 'DE'")
            assert owner.schema().delay == 0.5
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        log = process.stderr.read()
    assert "Traceback" not in log
    assert f' owner "POST /v1/gates/{gate.id}/ask" 200 ' in log
    assert token not in log
    assert "country" not in log
    assert (visits.parent / "visits.csv.ledger.key").stat().st_mode & 0o777 == 0o600
    with spawned(*arguments, "--budget", "200", "--delay", "off") as (process, url, said):
        assert "off: whoever has a stopwatch sees how long a count takes" in said
        # The same sizes are shown of the same data, and paid for once.
        assert "epsilon 99.95, delta 0.000000999 left of epsilon 200" in said
        assert "sg_" not in said
        with connect(url, token) as owner:
            # A server that has just started waits D before it shows the newest answer of another.
            until(lambda: owner.gate(gate.id).remaining == 2)
            assert not owner.gate(gate.id).ask("country = 'XX'")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == -signal.SIGTERM


def test_a_mistyped_second_start_is_refused_and_the_gates_of_the_first_live(command, visits):
    arguments = (visits, "--user", "visitor", "--new-ledger", "--budget", "200", "--delay", "off")
    with (
        spawned(*arguments) as (_, url, said),
        connect(url, re.search(r"sg_[\w-]{43}", said).group()) as owner,
    ):
        gate = owner.open_gate(threshold=100, cutoff=3, epsilon=100)
        err = refused(command, visits, "--user", "country")
        assert "has 1 open gate that this would close for good, because the data has changed" in err
        assert "--close-gates" in err
        assert owner.gate(gate.id).ask("country = 'DE'")


class Terminal(io.TextIOWrapper):
    def isatty(self):
        return True


@pytest.mark.parametrize(("said", "closed"), [("n\n", False), ("y\n", True)])
def test_where_there_is_a_terminal_the_owner_is_asked(command, visits, monkeypatch, said, closed):
    gates = []

    def run(app, *_, **__):
        keeper = app.state.service.keeper
        if not gates:
            gates.append(keeper.open_gate(KeyedRequest(token=1, key="k"), threshold=5, cutoff=1, epsilon=1)["id"])
        gates.append(keeper.gate(gates[0])["closed"])

    monkeypatch.setattr("sparsegate.service.web.server.run", run)
    monkeypatch.setattr("tests.cli.conftest.io.TextIOWrapper", Terminal)
    command("serve", visits, "--user", "visitor", "--port", 0, "--new-ledger", "--budget", 2)
    code, _, err = command("serve", visits, "--user", "country", "--port", 0, stdin=said)
    assert "1 gate is open that other data or another key opened. Close for good?" in err
    assert (code, gates[1:]) == ((0, [False, True]) if closed else (2, [False]))


def test_ctrl_c_at_that_question_is_one_line(command, visits, monkeypatch):
    def confirm(*_, **__):
        raise typer.Abort

    monkeypatch.setattr("sparsegate.service.gate_store.GateStore.open_gates", lambda *_, **__: 1)
    monkeypatch.setattr("typer.confirm", confirm)
    monkeypatch.setattr("tests.cli.conftest.io.TextIOWrapper", Terminal)
    code, _, err = command("serve", visits, "--user", "visitor", "--port", 0, "--new-ledger", "--budget", 2)
    assert (code, err) == (130, "sparsegate: interrupted, nothing was spent\n")


def test_ctrl_c_is_how_a_service_is_stopped(command, visits, monkeypatch):
    class Interrupted:
        def run(self):
            raise KeyboardInterrupt

    # In place of the whole server: uvicorn's sets up the logging of this process, and so closes what pytest logs to.
    monkeypatch.setattr("sparsegate.service.web.server.guarded_server", lambda *_, **__: Interrupted())
    interval = sys.getswitchinterval()
    try:
        code, out, err = command("serve", visits, "--user", "visitor", "--port", 0, "--new-ledger", "--budget", 2)
    finally:
        sys.setswitchinterval(interval)
    assert "serving http" in out
    assert (code, err) == (130, "sparsegate: stopped; what is open stays open\n")


def test_the_first_token_goes_to_a_file_and_not_to_standard_output(command, visits, started, tmp_path):
    arguments = ("serve", visits, "--user", "visitor", "--port", 0)
    file = tmp_path / "owner.token"
    code, out, err = command(*arguments, "--new-ledger", "--budget", 2, "--token-file", file)
    assert code == 0
    assert f"token   in {file}" in out
    assert "sg_" not in out + err
    assert file.stat().st_mode & 0o777 == 0o600
    assert re.fullmatch(r"sg_[\w-]{43}\n", file.read_text())
    assert "--token-file is for the first token" in refused(command, visits, "--user", "visitor", "--token-file", "x")


def test_a_token_file_that_is_there_stops_the_start_before_a_ledger_is_made(command, visits, tmp_path):
    file = tmp_path / "owner.token"
    file.write_text("mine")
    err = refused(command, visits, "--user", "visitor", "--new-ledger", "--budget", 2, "--token-file", file)
    assert "--token-file must be a new file: file exists" in err
    assert {path.name for path in tmp_path.iterdir()} == {"visits.csv", "owner.token"}


def refused(command, *arguments):
    code, out, err = command("serve", *arguments, "--port", "0")
    assert (code, out) == (2, "")
    assert err.startswith("sparsegate: ")
    assert err.count("\n") == 1
    return err


def test_a_missing_ledger_is_an_error_and_none_is_made(command, visits):
    err = refused(command, visits, "--user", "visitor", "--budget", "2")
    assert "there is no ledger" in err
    assert "--new-ledger" in err
    assert list(visits.parent.iterdir()) == [visits]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "ledger must be given for a table in a database"),
        (["--ledger", "x.ledger"], "table must be given for a database, and sql must not"),
        (["--ledger", "x.ledger", "--sql", "SELECT 1"], "CREATE MATERIALIZED VIEW"),
        (["--ledger", "x.ledger", "--table", "visits"], "the database cannot be read"),
    ],
)
def test_a_table_in_a_database_is_asked_for_by_name(command, arguments, says):
    url = "postgresql://u:hunter2@/db?host=/nowhere"
    said = refused(command, url, "--user", "visitor", *arguments)
    assert says in said
    assert "hunter2" not in said


def test_a_new_ledger_needs_a_budget(command, visits):
    assert "budget must be given for a new ledger" in refused(command, visits, "--user", "visitor", "--new-ledger")


def test_a_new_ledger_does_not_replace_one_that_is_there(command, visits):
    place = f"{visits}.ledger"
    Ledger.create(place, dataset="visits.csv", budget=1).close()
    err = refused(command, visits, "--user", "visitor", "--new-ledger", "--budget", "2")
    assert "is already there" in err
    assert str(Ledger(place).statement().budget) == "epsilon 1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budget", "2"], "budget must be that of the ledger, epsilon 1, or be left out, got 'epsilon 2'"),
        (
            ["--dataset", "clicks"],
            "belongs to the dataset 'visits.csv', not 'clicks'; if the data is of the same people, pass "
            "--dataset 'visits.csv'; other people's data needs a ledger of its own",
        ),
        ([], "visits.csv.ledger.key cannot be read; restore it, or start with --new-key"),
        (["--ledger", "postgresql://x/y"], "key must be given for a ledger in PostgreSQL"),
        (["--ledger", "mysql://x/y", "--key", "k"], "a ledger must be the path of a file, or postgresql://"),
        (["--delay", "soon"], "delay must be a number of seconds"),
        (["--delay", "0"], "delay must be a number of seconds"),
        (["--unit", "row"], 'or --unit "row" must be given, and not both'),
        (["--columns", "cuntry"], "no column 'cuntry'; did you mean 'country'?"),
        (["--host", "nowhere.invalid"], "cannot listen on nowhere.invalid port 0"),
    ],
)
def test_what_is_wrong_is_one_line(command, visits, arguments, message):
    Ledger.create(f"{visits}.ledger", dataset="visits.csv", budget=1).close()
    assert message in refused(command, visits, "--user", "visitor", *arguments)


def test_a_key_that_others_can_read_is_refused(command, visits):
    Ledger.create(f"{visits}.ledger", dataset="visits.csv", budget=1).close()
    key = visits.parent / "key"
    key.write_text("x")
    key.chmod(0o644)
    assert "chmod 600" in refused(command, visits, "--user", "visitor", "--key", key)


def test_a_port_that_is_taken_is_one_line(command, visits):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = command("serve", visits, "--user", "visitor", "--port", port)
    assert code == 2
    assert re.fullmatch(rf"sparsegate: cannot listen on 127.0.0.1 port {port}: address already in use; .*\n", err)


def test_a_missing_file_is_one_line(command, tmp_path):
    assert "nothing.parquet" in refused(command, tmp_path / "nothing.parquet", "--user", "visitor")


@pytest.fixture
def started(monkeypatch):
    """The service starts and stops at once; the app that it would have run is kept."""
    apps = []
    monkeypatch.setattr("sparsegate.service.web.server.run", lambda app, *_, **__: apps.append(app))
    return apps


def test_a_host_beyond_this_machine_is_warned_about(command, visits, started):
    arguments = ("serve", visits, "--user", "visitor", "--port", 0)
    code, _, err = command(*arguments, "--new-ledger", "--budget", 2, "--host", "0.0.0.0")
    assert code == 0
    assert err.startswith("warning: this listens beyond this machine, without TLS")
    assert command(*arguments)[2] == ""


def test_the_delay_is_a_multiple_of_a_look_on_a_busy_machine_and_at_least_a_quarter_of_a_second(
    command, visits, started, monkeypatch
):
    arguments = ("serve", visits, "--user", "visitor", "--port", 0)
    monkeypatch.setattr("sparsegate.ledger.ledger.Ledger.commit_seconds", lambda self: 0.0001)
    monkeypatch.setattr("sparsegate.service.data.dataset.ServedTable.look_seconds", lambda self: 0.0001)
    _, out, _ = command(*arguments, "--new-ledger", "--budget", 2)
    assert "answers leave 0.25 s" in out
    monkeypatch.setattr("sparsegate.ledger.ledger.Ledger.commit_seconds", lambda self: 0.05)
    monkeypatch.setattr("sparsegate.service.data.dataset.ServedTable.look_seconds", lambda self: 0.2)
    monkeypatch.setattr("sparsegate.service.opening.slowdown", lambda work, at_once: 2 if work() == 0 else 0)
    _, out, _ = command(*arguments)
    assert "answers leave 3.6 s" in out
    assert "questions of up to 2.5 times a look at every column" in out
    told = []
    monkeypatch.setattr("sparsegate.service.web.server.run", lambda *_, delay, **__: told.append(delay))
    _, out, _ = command(*arguments, "--headroom", 5)
    assert "answers leave 6 s" in out
    assert told == [6], "a stop waits for answers under way"


@pytest.mark.parametrize(("options", "spent"), [((), 0.05), (("--no-refund",), 1.05)])
def test_an_owner_may_keep_the_old_rule(command, visits, monkeypatch, options, spent):
    found = []

    def run(app, *_, **__):
        keeper = app.state.service.keeper
        gate = keeper.open_gate(KeyedRequest(token=1, key="k"), threshold=5, cutoff=1, epsilon=1)
        keeper.close_gate(gate["id"])
        found.append(float(keeper.budget().spent.epsilon))

    monkeypatch.setattr("sparsegate.service.web.server.run", run)
    command("serve", visits, "--user", "visitor", "--port", 0, "--new-ledger", "--budget", 2, *options)
    assert found == [spent]


def test_a_new_key_closes_the_gates_that_the_old_one_sealed(command, visits, monkeypatch):
    arguments = ("serve", visits, "--user", "visitor", "--port", 0)
    gates = []

    def run(app, *_, **__):
        keeper = app.state.service.keeper
        if not gates:
            gates.append(keeper.open_gate(KeyedRequest(token=1, key="k"), threshold=5, cutoff=1, epsilon=1))
        gates.append(keeper.gate(gates[0]["id"]))

    monkeypatch.setattr("sparsegate.service.web.server.run", run)
    command(*arguments, "--new-ledger", "--budget", 2)
    command(*arguments)
    key = visits.parent / "visits.csv.ledger.key"
    assert "already there" in refused(command, visits, "--user", "visitor", "--new-key")
    old = key.read_bytes()
    key.unlink()
    assert "has 1 open gate that this would close for good, because its key was replaced" in refused(
        command, visits, "--user", "visitor", "--new-key"
    )
    assert not key.exists()
    assert command(*arguments, "--new-key", "--close-gates")[0] == 0
    assert key.read_bytes() != old
    assert [gate["because"] for gate in gates[1:]] == [None, None, "its key was replaced"]


def test_columns_that_are_not_declared_cannot_be_asked_about(command, visits, started):
    visits.write_text("visitor,country,diagnosis\n1,DE,flu\n")
    arguments = ("serve", visits, "--user", "visitor", "--port", 0, "--columns", "country")
    assert command(*arguments, "--new-ledger", "--budget", 2)[0] == 0
    schema = started[0].state.service.keeper.dataset.schema
    assert [column.name for column in schema.columns] == ["country"]


# --- Sizes -----------------------------------------------------------------------------------------------------------


def test_sizes_are_paid_for_once_for_the_same_data_and_again_for_other_data(command, visits, started):
    arguments = ("serve", visits, "--user", "visitor", "--port", 0)
    assert "epsilon 1.95, delta 0.000000999 left" in command(*arguments, "--new-ledger", "--budget", 2)[1]
    assert "epsilon 1.95, delta 0.000000999 left" in command(*arguments)[1]
    with visits.open("a") as file:
        file.write("301,FR\n")
    assert "epsilon 1.9, delta 0.000000998 left" in command(*arguments)[1]
    out = command("ledger", "show", f"{visits}.ledger")[1]
    assert out.count("sizes, for people of up to 8 rows") == 2
    gave = command("ledger", "show", f"{visits}.ledger", "--release", 2)[1]
    assert "values of country" in gave


def test_public_sizes_cost_nothing_and_need_no_delta(command, visits, started):
    arguments = ("serve", visits, "--user", "visitor", "--port", 0, "--capacity", "1000,country=300")
    out = command(*arguments, "--new-ledger", "--budget", 2, "--budget-delta", 0)[1]
    assert ": epsilon 2 left of epsilon 2\n" in out
    err = refused(command, visits, "--user", "visitor", "--capacity", "299")
    assert "--capacity must be at least the rows that there are, got 299" in err
    assert "300" not in err.replace("299", "")


def test_a_ledger_without_a_delta_is_refused_in_words_that_say_what_to_do(command, visits):
    Ledger.create(f"{visits}.ledger", dataset="visits.csv", budget=2).close()
    SealingKey.create(Path(f"{visits}.ledger.key"))
    before = Ledger(f"{visits}.ledger").entries()
    err = refused(command, visits, "--user", "visitor")
    assert "the sizes of the data are not paid for" in err
    assert "and no delta remains; nothing was spent" in err
    assert "`sparsegate ledger raise`, or give public sizes, which cost nothing, with --capacity" in err
    assert Ledger(f"{visits}.ledger").entries() == before


def test_a_budget_that_does_not_pay_for_the_sizes_makes_no_ledger(command, visits):
    err = refused(command, visits, "--user", "visitor", "--new-ledger", "--budget", 0.01)
    assert "--budget must be enough for the sizes of the data, epsilon 0.05, delta 0.000000001" in err
    assert {path.name for path in visits.parent.iterdir()} == {"visits.csv"}


def test_a_start_that_would_close_gates_is_refused_before_the_sizes_are_paid_for(command, visits, monkeypatch):
    def run(app, *_, **__):
        app.state.service.keeper.open_gate(KeyedRequest(token=1, key="k"), threshold=5, cutoff=1, epsilon=1)

    monkeypatch.setattr("sparsegate.service.web.server.run", run)
    command("serve", visits, "--user", "visitor", "--port", 0, "--new-ledger", "--budget", 2)
    before = Ledger(f"{visits}.ledger").entries()
    assert "would close for good" in refused(command, visits, "--user", "country")
    assert Ledger(f"{visits}.ledger").entries() == before
