"""`sparsegate serve`: where its options come from, what it needs, what it says, and that it stops cleanly."""

from __future__ import annotations

import io
import re
import signal
import socket
import ssl
from pathlib import Path

import duckdb
import httpx
import pytest
from tests.support.certificates import write_certificate
from tests.support.pretend_service import until
from tests.support.served_process import spawned

from sparsegate.ledger.ledger import Ledger
from sparsegate.service.client import connect
from sparsegate.service.gates import KeyedRequest
from sparsegate.service.keys import SealingKey
from sparsegate.service.web.server import tls_context

NEW = ("--new-ledger", "--budget", 2)


@pytest.fixture
def visits(tmp_path):
    file = tmp_path / "visits.csv"
    file.write_text("visitor,country\n" + "".join(f"{person},DE\n" for person in range(300)))
    return file


@pytest.fixture
def serve(visits):
    """The words of a service over these visits, on any port."""
    return ("serve", visits, "--user", "visitor", "--port", 0)


@pytest.fixture
def started(monkeypatch):
    """The service starts and stops at once; the app that it would have run is kept."""
    apps = []
    monkeypatch.setattr("sparsegate.service.web.server.run", lambda app, *_, **__: apps.append(app))
    return apps


@pytest.fixture
def gates(monkeypatch):
    """The service opens a gate when it first runs, and stops; what each run sees of that gate is kept."""
    seen = []

    def run(app, *_, **__):
        keeper = app.state.service.keeper
        if not seen:
            opened = keeper.open_gate(KeyedRequest(token=1, key="k"), threshold=5, cutoff=1, epsilon=1)
            seen.append(opened)
        seen.append(keeper.gate(seen[0]["id"]))

    monkeypatch.setattr("sparsegate.service.web.server.run", run)
    return seen


def test_a_service_starts_answers_stops_on_a_signal_and_goes_on_where_it_was(visits):
    arguments = (visits, "--user", "visitor")
    first = ("--new-ledger", "--budget", "200", "--delay", "0.5", "--headroom", "1")
    with spawned(*arguments, *first) as (process, url, said):
        assert url.startswith("http://127.0.0.1:")
        assert "'visits.csv', unit user: 1 column may be asked about" in said
        assert "visits.csv.ledger: epsilon 199.95, delta 0.000000999 left of epsilon 200, delta 0.000001" in said
        assert "answers leave 0.5 s after their work began" in said
        token = re.search(r"sg_[\w-]{43}", said).group()
        with connect(url, token) as owner:
            gate = owner.open_gate(threshold=100, cutoff=3, epsilon=100)
            assert gate.ask("country = 'DE'")
            assert owner.schema().delay == 0.5
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        log = process.stderr.read()
    assert "Traceback" not in log
    assert log.endswith("sparsegate: stopped; what is open stays open\n")
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


def test_the_file_the_environment_and_the_command_line_in_this_order_and_tls(visits, tmp_path, certificate):
    cert, key = certificate
    config = tmp_path / "serve.toml"
    config.write_text(
        f'files = "{visits}"\nuser = "nobody"\nnew-ledger = true\nbudget = 7\ndelay = 0.3\n'
        f'log-format = "json"\nallowed-host = ["gates.example"]\ntls-cert = "{cert}"\ntls_key = "{key}"\n'
        "metrics-port = 0\n"
    )
    environment = {"SPARSEGATE_SERVE_USER": "visitor", "SPARSEGATE_SERVE_BUDGET": "5"}
    with spawned("--config", config, "--budget", "3", **environment) as (process, url, said):
        assert all(part in said for part in ("unit user", "left of epsilon 3", "answers leave 0.3 s"))
        assert url.startswith("https://127.0.0.1:")
        trusting = ssl.create_default_context(cafile=str(cert))
        named = {"Host": "gates.example", "X-Request-Id": "r-1"}
        with httpx.Client(verify=trusting, base_url=url) as client:
            assert client.get("/v1/ready", headers=named).json() == {"status": "ready"}
            assert client.get("/v1/ready", headers={"Host": "evil.example"}).status_code == 421
        with pytest.raises(httpx.HTTPError):
            httpx.get(url.replace("https:", "http:"))
        inside = re.search(r"metrics (http://127\.0\.0\.1:\d+/metrics)", said).group(1)
        assert "sparsegate_budget_epsilon" in httpx.get(inside).text
        old = ssl.create_default_context(cafile=str(cert))
        with pytest.warns(DeprecationWarning, match="TLSv1"):
            old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{url}/v1/health", verify=old)
        process.terminate()
        log = process.communicate()[1]
    assert '"request_id": "r-1"' in log
    assert "Traceback" not in log


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> tuple[Path, Path]:
    return write_certificate(tmp_path_factory.mktemp("tls"))


def test_what_may_be_asked_about_is_declared_and_what_is_left_out_is_named(command, tmp_path, started):
    file, config = tmp_path / "visits.parquet", tmp_path / "serve.toml"
    rows = "SELECT i AS visitor, '5' AS age, 'x'::BLOB AS photo, [1] AS \"Tags\", 'flu' AS ill FROM range(300) AS t(i)"
    duckdb.sql(f"COPY ({rows}) TO '{file}'")
    config.write_text('read = ["age=integer"]\n')
    options = ("serve", file, "--user", "visitor", "--port", 0, "--config", config)
    out = command(*options, *NEW)[1]
    assert "unit user: 2 columns may be asked about" in out
    assert "left out, of a type that cannot be asked about: photo, Tags; cast them with --sql" in out
    command(*options, "--columns", "age", "--close-gates")
    schemas = [app.state.service.keeper.dataset.schema for app in started]
    assert [[(column.name, column.kind) for column in schema.columns] for schema in schemas] == [
        [("age", "integer"), ("ill", "text")],
        [("age", "integer")],
    ]


class Terminal(io.TextIOWrapper):
    def isatty(self):
        return True


@pytest.mark.parametrize(("said", "closed"), [("n\n", False), ("y\n", True)])
def test_where_there_is_a_terminal_the_owner_is_asked(command, visits, serve, monkeypatch, gates, said, closed):
    monkeypatch.setattr("tests.cli.conftest.io.TextIOWrapper", Terminal)
    command(*serve, *NEW)
    code, _, err = command("serve", visits, "--user", "country", "--port", 0, stdin=said)
    assert "1 gate is open that other data or another key opened. Close for good?" in err
    assert (code, [gate["closed"] for gate in gates[1:]]) == ((0, [False, True]) if closed else (2, [False]))


def test_the_first_token_goes_to_a_file_of_its_own_or_nothing_is_made(command, refused, serve, started, tmp_path):
    file = tmp_path / "owner.token"
    file.write_text("mine")
    assert refused(*serve, *NEW, "--token-file", file).startswith("--token-file must be a new file: file exists")
    assert {path.name for path in tmp_path.iterdir()} == {"visits.csv", "owner.token"}
    file.unlink()
    code, out, err = command(*serve, *NEW, "--token-file", file)
    assert (code, f"token   in {file}" in out, "sg_" in out + err) == (0, True, False)
    assert file.stat().st_mode & 0o777 == 0o600
    assert re.fullmatch(r"sg_[\w-]{43}\n", file.read_text())


def test_a_missing_ledger_is_an_error_and_a_new_one_replaces_none(refused, serve, visits):
    assert "there is no ledger" in refused(*serve, "--budget", "2")
    assert refused(*serve, "--new-ledger").startswith("--budget must be given for a new ledger")
    said = refused(*serve, "--new-ledger", "--budget", 0.01)
    assert said.startswith("--budget must be enough for the sizes of the data, epsilon 0.05, delta 0.000000001")
    assert list(visits.parent.iterdir()) == [visits]
    Ledger.create(f"{visits}.ledger", dataset="visits.csv", budget=1).close()
    assert "is already there" in refused(*serve, *NEW)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "--ledger must be given"),
        (["--ledger", "x.ledger"], "--table must be given"),
        (["--ledger", "x.ledger", "--table", "visits"], "the database cannot be read"),
    ],
)
def test_a_table_in_a_database_is_asked_for_by_name(refused, arguments, named):
    url = "postgresql://u:hunter2@/db?host=/nowhere"
    said = refused("serve", url, "--user", "visitor", *arguments, "--port", 0)
    assert said.startswith(named)
    assert "hunter2" not in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--budget", "2"], "--budget must be that of the ledger"),
        (["--dataset", "clicks"], "belongs to the dataset 'visits.csv', not 'clicks'"),
        ([], "visits.csv.ledger.key cannot be read; restore it, or start with --new-key"),
        (["--ledger", "postgresql://x/y"], "--key must be given"),
        (["--delay", "soon"], "--delay must"),
        (["--delay", "0"], "--delay must"),
        (["--refresh", "0"], "--refresh must"),
        (["--refresh", "24", "--workers", "2"], "--refresh is for a service of one worker"),
        (["--unit", "row"], "--user or "),
        (["--columns", "cuntry"], "no column 'cuntry'; did you mean 'country'?"),
        (["--host", "nowhere.invalid"], "cannot listen on nowhere.invalid port 0"),
        (["--read", "country=money"], "--read must"),
        (["--tls-cert", "x"], "--tls-cert and --tls-key must be given together"),
        (["--allowed-host", "a.example", "--allowed-host", "https://a.example"], "allowed_host must be a name alone"),
        (["--token-file", "x"], "--token-file is for the first token"),
    ],
)
def test_what_is_wrong_is_one_line(refused, serve, visits, arguments, said):
    Ledger.create(f"{visits}.ledger", dataset="visits.csv", budget=1).close()
    assert said in refused(*serve, *arguments)


def test_what_is_wrong_with_a_file_or_the_environment_is_named(refused, serve, tmp_path, monkeypatch):
    config = tmp_path / "serve.toml"
    assert refused(*serve, "--config", config).startswith("config must")
    for text in ("prot = 1", "port = [1]", "user = {a = 1}", "port = ", "config = 'other.toml'"):
        config.write_text(text)
        assert refused(*serve, "--config", config).startswith("config must")
    monkeypatch.setenv("SPARSEGATE_SERVE_MAX_CONECTIONS", "10")
    assert "'SPARSEGATE_SERVE_MAX_CONECTIONS'" in refused(*serve)


def test_a_certificate_that_cannot_be_served_is_refused_at_the_start(refused, serve, visits, certificate, tmp_path):
    cert, key = certificate
    (tmp_path / "junk").write_text("junk")
    for first, second, says in [
        (tmp_path / "none", key, "--tls-cert must be a file in PEM that can be read"),
        (cert, tmp_path / "none", "--tls-key must be a file in PEM that can be read"),
        (tmp_path / "junk", key, "--tls-cert must be a certificate, and --tls-key its key"),
        (key, key, "--tls-cert must be a certificate, and --tls-key its key"),
        (cert, key.with_name("sealed.pem"), "without a password"),
    ]:
        assert says in refused(*serve, "--tls-cert", first, "--tls-key", second)
        assert not Path(f"{visits}.ledger").exists()
    assert tls_context(cert, key).minimum_version is ssl.TLSVersion.TLSv1_2


def test_a_key_that_others_can_read_and_a_port_that_is_taken_are_refused(refused, serve, visits):
    Ledger.create(f"{visits}.ledger", dataset="visits.csv", budget=1).close()
    key = visits.parent / "key"
    key.write_text("x")
    key.chmod(0o644)
    assert "chmod 600" in refused(*serve, "--key", key)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"cannot listen on 127.0.0.1 port {port}: address already in use; " in refused(*serve, "--port", port)


def test_the_delay_is_a_multiple_of_a_look_on_a_busy_machine_and_at_least_a_quarter_of_a_second(
    command, serve, started, monkeypatch
):
    monkeypatch.setattr("sparsegate.ledger.ledger.Ledger.commit_seconds", lambda self: 0.0001)
    monkeypatch.setattr("sparsegate.service.data.dataset.ServedTable.look_seconds", lambda self: 0.0001)
    assert "answers leave 0.25 s" in command(*serve, *NEW)[1]
    monkeypatch.setattr("sparsegate.ledger.ledger.Ledger.commit_seconds", lambda self: 0.05)
    monkeypatch.setattr("sparsegate.service.data.dataset.ServedTable.look_seconds", lambda self: 0.2)
    monkeypatch.setattr("sparsegate.service.opening.slowdown", lambda work, at_once: 2 if work() == 0 else 0)
    _, out, _ = command(*serve)
    assert "answers leave 3.6 s" in out
    assert "questions of up to 2.5 times a look at every column" in out
    told = []
    monkeypatch.setattr("sparsegate.service.web.server.run", lambda *_, delay, **__: told.append(delay))
    assert "answers leave 6 s" in command(*serve, "--headroom", 5)[1]
    assert told == [6], "a stop waits for answers under way"


@pytest.mark.parametrize(("options", "spent"), [((), 0.05), (("--no-refund",), 1.05)])
def test_an_owner_may_keep_the_old_rule(command, serve, monkeypatch, options, spent):
    found = []

    def run(app, *_, **__):
        keeper = app.state.service.keeper
        gate = keeper.open_gate(KeyedRequest(token=1, key="k"), threshold=5, cutoff=1, epsilon=1)
        keeper.close_gate(gate["id"])
        found.append(float(keeper.budget().spent.epsilon))

    monkeypatch.setattr("sparsegate.service.web.server.run", run)
    command(*serve, *NEW, *options)
    assert found == [spent]


def test_gates_are_closed_by_other_data_or_another_key_only_where_that_is_agreed(
    command, refused, serve, visits, gates
):
    command(*serve, *NEW)
    before = Ledger(f"{visits}.ledger").entries()
    said = refused("serve", visits, "--user", "country", "--port", 0)
    assert "has 1 open gate that this would close for good, because the data has changed" in said
    assert "--close-gates" in said
    assert Ledger(f"{visits}.ledger").entries() == before, "refused before the sizes are paid for"
    command(*serve)
    key = visits.parent / "visits.csv.ledger.key"
    assert "already there" in refused(*serve, "--new-key")
    old = key.read_bytes()
    key.unlink()
    assert "would close for good, because its key was replaced" in refused(*serve, "--new-key")
    assert not key.exists()
    assert command(*serve, "--new-key", "--close-gates")[0] == 0
    assert key.read_bytes() != old
    assert [gate["because"] for gate in gates[1:]] == [None, None, "its key was replaced"]


def test_a_ledger_without_a_delta_is_refused_in_words_that_say_what_to_do(command, refused, serve, visits, started):
    Ledger.create(f"{visits}.ledger", dataset="visits.csv", budget=2).close()
    SealingKey.create(Path(f"{visits}.ledger.key"))
    said = refused(*serve)
    assert "the sizes of the data are not paid for" in said
    assert "`sparsegate ledger raise --budget-delta`, or give public sizes, which cost nothing, with --capacity" in said
    assert len(Ledger(f"{visits}.ledger").entries()) == 1
    said = refused(*serve, "--capacity", "299")
    assert said.startswith("--capacity must be at least the rows that there are, got 299")
    assert "300" not in said.replace("299", "")
    code, out, err = command(*serve, "--capacity", "1000,country=300", "--host", "0.0.0.0")
    assert (code, ": epsilon 2 left of epsilon 2\n" in out) == (0, True)
    assert err.startswith("warning: this listens beyond this machine, without TLS")
