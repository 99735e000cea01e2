"""Where the options of `sparsegate serve` come from, and TLS."""

from __future__ import annotations

import re
import ssl
from pathlib import Path

import httpx
import pytest
from tests.support.certificates import write_certificate
from tests.support.served_process import spawned

import sparsegate as sg
from sparsegate.service.client.client import connect
from sparsegate.service.web.server import tls_context


@pytest.fixture
def visits(tmp_path):
    file = tmp_path / "visits.csv"
    file.write_text("visitor,country\n" + "".join(f"{person},DE\n" for person in range(30)))
    return file


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> tuple[Path, Path]:
    return write_certificate(tmp_path_factory.mktemp("tls"))


def test_the_file_the_environment_and_the_command_line_in_this_order(visits, tmp_path, certificate):
    cert, key = certificate
    config = tmp_path / "serve.toml"
    config.write_text(
        f'files = "{visits}"\nuser = "nobody"\nnew-ledger = true\nbudget = 7\ndelay = 0.3\n'
        f'log-format = "json"\nallowed-host = ["gates.example"]\ntls-cert = "{cert}"\ntls_key = "{key}"\n'
        "metrics-port = 0\n"
    )
    environment = {"SPARSEGATE_SERVE_USER": "visitor", "SPARSEGATE_SERVE_BUDGET": "5"}
    with spawned("--config", config, "--budget", "3", **environment) as (process, url, said):
        assert "unit user" in said
        assert "left of epsilon 3" in said
        assert "answers leave 0.3 s" in said
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


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("prot = 1", "config must name options of serve, got 'prot'"),
        ("port = [1]", "config must give port one text, number or truth value"),
        ("user = {a = 1}", "config must give user one text, number or truth value"),
        ("port = ", "config must be TOML"),
        ("config = 'other.toml'", "config must name options of serve, got 'config'"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(command, visits, tmp_path, text, says):
    (tmp_path / "serve.toml").write_text(text)
    code, _, err = command("serve", visits, "--config", tmp_path / "serve.toml")
    assert code == 2
    assert says in err
    assert command("serve", visits, "--config", tmp_path / "no.toml")[0] == 2


@pytest.mark.parametrize("name", ["https://gates.example", "gates.example:443", "gates.example/", ""])
def test_a_name_that_no_browser_would_send_is_refused(command, visits, name):
    code, _, err = command("serve", visits, "--allowed-host", "gates.example", "--allowed-host", name)
    assert code == 2
    assert f"allowed_host must be a name alone, without https://, a port or a path, got {name!r}" in err


def test_a_variable_that_is_no_option_is_named(command, visits, monkeypatch):
    monkeypatch.setenv("SPARSEGATE_SERVE_MAX_CONECTIONS", "10")
    code, _, err = command("serve", visits)
    assert code == 2
    assert "environment must name options of serve, got 'SPARSEGATE_SERVE_MAX_CONECTIONS'" in err


def test_a_certificate_that_cannot_be_served_is_refused_at_the_start(command, visits, certificate, tmp_path):
    cert, key = certificate
    (tmp_path / "junk").write_text("junk")
    start = ("serve", visits, "--user", "visitor", "--tls-cert")
    for arguments, says in [
        ((cert,), "--tls-cert and --tls-key must be given together"),
        ((tmp_path / "none", "--tls-key", key), "--tls-cert must be a file in PEM that can be read"),
        ((cert, "--tls-key", tmp_path / "none"), "--tls-key must be a file in PEM that can be read"),
        ((tmp_path / "junk", "--tls-key", key), "--tls-cert must be a certificate, and --tls-key its key"),
        ((key, "--tls-key", key), "--tls-cert must be a certificate, and --tls-key its key"),
        ((cert, "--tls-key", key.with_name("sealed.pem")), "without a password"),
    ]:
        code, _, err = command(*start, *arguments)
        assert code == 2
        assert says in err
        assert not Path(f"{visits}.ledger").exists()
    assert tls_context(cert, key).minimum_version is ssl.TLSVersion.TLSv1_2


def test_the_help_does_not_repeat_the_name_in_the_environment_of_each_option(command):
    code, out, _ = command("serve", "--help")
    assert code == 0
    assert "SPARSEGATE_SERVE_PORT=8460" in out
    assert out.count("SPARSEGATE") == 1


def test_text_is_read_as_the_types_that_are_declared_and_the_schema_says_so(tmp_path):
    file, config = tmp_path / "visits.csv", tmp_path / "serve.toml"
    rows = "".join(f"{n},{n},2030-01-{n:02} 12:00+02,{n}\n" for n in range(1, 31))
    file.write_text(f"visitor,age,seen,note\n{rows}31,x,y,z\n")
    config.write_text('read = ["age=integer", "seen=timestamptz"]\n')
    rest = ("--user", "visitor", "--new-ledger", "--budget", "900", "--delay", "off")
    with spawned(file, *rest, "--config", config) as (_, url, said):
        token = re.search(r"sg_[\w-]{43}", said).group()
        with connect(url, token) as service:
            kinds = {column.name: column.kind for column in service.schema().schema.columns}
            assert kinds == {"age": "integer", "seen": "timestamp", "note": "text"}
            gate = service.open_gate(threshold=20, cutoff=1, epsilon=800)
            with pytest.raises(sg.errors.ConditionError, match="sparsegate serve --read note=timestamptz"):
                gate.ask("CAST(note AS TIMESTAMPTZ) IS NULL")
            assert not gate.ask("age IS NULL OR seen > '2030-01-16 11:00:00'")
            assert gate.ask("age > 5 AND seen < TIMESTAMP '2030-01-30 10:00:00'")


def test_a_declaration_that_is_none_is_refused_before_anything_is_read(visits, command):
    for given, message in {
        "country": "read must be COLUMN=TYPE",
        "country=money": "must give 'country' one of",
    }.items():
        code, _, err = command("serve", visits, "--user", "visitor", "--read", given, "--new-ledger", "--budget", "1")
        assert code == 2
        assert message in err
