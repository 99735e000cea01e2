"""The files of deploy/: every option that they give exists, and tools that are here find nothing wrong."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import typer

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DOCKERFILE = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
README = (DEPLOY / "README.md").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVE: dict[str, Any] = tomllib.loads((DEPLOY / "serve.toml").read_text(encoding="utf-8"))


class Unit(configparser.RawConfigParser):
    """A name may come several times in a unit; the last one is enough here."""

    def optionxform(self, optionstr: str) -> str:
        return optionstr


UNIT = Unit(strict=False)
UNIT.read(DEPLOY / "sparsegate.service")


def checked(words: list[str]) -> str:
    """Raise if the words after `sparsegate` are no command, or an option of them is none; the command."""
    from sparsegate.cli.app import app

    command: Any = typer.main.get_command(app)
    context, name = typer.Context(command), ""
    while hasattr(command, "get_command"):
        name, words = words[0], words[1:]
        command = command.get_command(context, name)
        assert command is not None, name
    known = {option for parameter in command.params for option in parameter.opts}
    given = {word for word in words if word.startswith("--")}
    assert given <= known, given - known
    return name


def test_the_unit_starts_the_service_and_its_folders_are_those_of_the_configuration() -> None:
    service = UNIT["Service"]
    program, *words = shlex.split(service["ExecStart"])
    assert program == "/opt/sparsegate/bin/sparsegate"
    assert checked(words) == "serve"
    folders = {f"/var/lib/{name}" for name in service["StateDirectory"].split()}
    assert {str(Path(SERVE[name]).parent) for name in ("ledger", "key")} == folders
    for name in ("NoNewPrivileges", "PrivateUsers", "ProtectHome", "DynamicUser", "MemoryDenyWriteExecute"):
        assert service[name] == "yes"
    assert (service["ProtectSystem"], service["CapabilityBoundingSet"]) == ("strict", "")


def test_the_configuration_is_read_by_the_command_line(tmp_path: Path) -> None:
    checked(["serve", *(f"--{name}" for name in SERVE if name != "files")])
    from sparsegate.cli.serve import read_settings

    assert read_settings(DEPLOY / "serve.toml", {name.replace("-", "_") for name in SERVE})["user"] == "visitor"
    assert SERVE["trusted-proxy"] == ["127.0.0.1"], "where the proxies of this folder call from"
    assert SERVE["host"] == "127.0.0.1", "a proxy with TLS is in front of it"


def test_the_image_runs_as_nobody_from_a_base_that_is_pinned() -> None:
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert len(set(bases)) == 1
    assert all(re.fullmatch(r"python:\d+\.\d+\.\d+-slim-\w+", base) for base in bases)
    users = re.findall(r"^USER (\S+)", DOCKERFILE, re.MULTILINE)
    assert users == ["10001:10001"]
    assert DOCKERFILE.count("pip install --no-cache-dir ") == DOCKERFILE.count("pip install")
    assert len(re.findall(r"^HEALTHCHECK .* CMD \[", DOCKERFILE, re.MULTILINE)) == 1
    for folder in {str(Path(SERVE[name]).parent) for name in ("ledger", "key")}:
        assert f'"{folder}"' in DOCKERFILE
    words = re.search(r"^CMD \[(.*)\]", DOCKERFILE, re.MULTILINE)
    assert words is not None
    assert checked([word.strip(' "') for word in words[1].split(",")]) == "serve"


HADOLINT = Path(sys.executable).with_name("hadolint")
WORSE = {
    "DL3025": (r"^ENTRYPOINT .*", "ENTRYPOINT sparsegate"),
    "DL3007": (r"^FROM \S+$", "FROM python:latest"),
    "DL3002": (r"^USER .*", "USER root"),
}
"""What hadolint calls a mistake, and how to make it."""


@pytest.mark.skipif(not HADOLINT.exists(), reason="needs hadolint")
def test_hadolint_finds_nothing_wrong_with_the_image_and_something_with_worse_ones() -> None:
    def complaints(file: str) -> list[str]:
        done = subprocess.run([HADOLINT, "-"], input=file, capture_output=True, text=True, check=False)
        return re.findall(r"\b(?:DL|SC)\d+|error", done.stdout + done.stderr)

    assert complaints(DOCKERFILE) == []
    for rule, (part, by) in WORSE.items():
        assert rule in complaints(re.sub(part, by, DOCKERFILE, flags=re.MULTILINE))


CONDA_NAMES = {"duckdb": "python-duckdb"}
"""Packages that conda-forge has under another name."""


def on_conda_forge(requirements: list[str]) -> list[str]:
    """Requirements of pyproject.toml as a recipe writes them: `SQLAlchemy>=2` is `sqlalchemy >=2`."""
    parts = [re.fullmatch(r"([\w.-]+)(>=[\d.]+)", requirement) for requirement in requirements]
    return [f"{CONDA_NAMES.get(each[1].lower(), each[1].lower())} {each[2]}" for each in parts if each]


def test_the_recipe_for_conda_forge_says_what_the_project_says() -> None:
    text = (DEPLOY / "recipe.yaml").read_text(encoding="utf-8")
    project, recipe = PROJECT["project"], yaml.safe_load(text)
    from sparsegate import __version__

    assert recipe["context"] == {"version": __version__, "python_min": project["requires-python"].removeprefix(">=")}
    host, run = (recipe["requirements"][name] for name in ("host", "run"))
    assert host == ["python ${{ python_min }}.*", "pip", *on_conda_forge(PROJECT["build-system"]["requires"])]
    assert run == ["__unix", "python >=${{ python_min }}", *on_conda_forge(project["dependencies"])]
    assert len(run) == 2 + len(project["dependencies"])
    assert recipe["build"]["python"]["entry_points"] == [" = ".join(*project["scripts"].items())]
    assert (recipe["about"]["license"], recipe["about"]["summary"]) == (project["license"], project["description"])
    assert checked(recipe["tests"][1]["script"][1].split()[1:]) == "variants"
    # What the release puts in is in one place.
    hashing = re.search(r'sed "s/(.*?)/', (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    assert hashing is not None
    assert len(re.findall(hashing[1], text, re.MULTILINE)) == 1


def test_the_containers_have_no_rights_and_the_database_no_way_out() -> None:
    gates, database = COMPOSE["services"]["gates"], COMPOSE["services"]["database"]
    assert checked(gates["command"]) == "serve"
    from sparsegate.cli.app import app

    serve: Any = typer.main.get_command(app).get_command(typer.Context(typer.main.get_command(app)), "serve")  # type: ignore[attr-defined]
    variables = {f"SPARSEGATE_SERVE_{parameter.name.upper()}" for parameter in serve.params}
    assert {name for name in gates["environment"] if name.startswith("SPARSEGATE_")} <= variables
    assert gates["cap_drop"] == ["ALL"]
    assert gates["read_only"] is True
    assert all(port.startswith("127.0.0.1:") for port in gates["ports"])
    proxy = gates["command"][gates["command"].index("--trusted-proxy") + 1]
    assert proxy == COMPOSE["networks"]["outside"]["ipam"]["config"][0]["gateway"]
    assert database["networks"] == ["inside"]
    assert COMPOSE["networks"]["inside"]["internal"] is True
    assert re.fullmatch(r"postgres:\d+\.\d+-\w+", database["image"])
    used = {name for service in (gates, database) for name in service["secrets"]}
    assert used == set(COMPOSE["secrets"])
    named = {volume.partition(":")[0] for service in (gates, database) for volume in service["volumes"]}
    assert {name for name in named if name.isalpha()} == set(COMPOSE["volumes"])
    assert "password" not in gates["environment"]["SPARSEGATE_SERVE_LEDGER"]
    assert ":" not in gates["environment"]["SPARSEGATE_SERVE_LEDGER"].removeprefix("postgresql://")


def test_the_commands_of_the_page_exist() -> None:
    text = "\n".join(re.findall(r"```sh\n(.*?)```", README, re.DOTALL)).replace("\\\n", " ")
    lines = re.findall(r"(?:bin/sparsegate|run --rm gates) ((?:ledger|token|serve) .*)", text)
    assert [checked(shlex.split(line)) for line in lines] == ["create", "add"] * 2
    for name in re.findall(r"\[[\w.-]+\]\(([\w.-]+)\)", README):
        assert (DEPLOY / name).exists()
    with pytest.raises(AssertionError, match="--allowed-hosts"):
        checked(["serve", "x", "--allowed-hosts", "y"])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    unit = (DEPLOY / "sparsegate.service").read_text(encoding="utf-8")
    copy = tmp_path / "sparsegate.service"
    copy.write_text(unit.replace("/opt/sparsegate/bin/sparsegate", "/bin/true"))
    found = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
    copy.write_text(copy.read_text().replace("ProtectSystem=strict", "ProtectSystem=perhaps"))
    assert subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False).stderr


@pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx")
@pytest.mark.parametrize("name", ["nginx.conf", "nginx-oidc.conf"])
def test_nginx_finds_nothing_wrong(tmp_path: Path, name: str) -> None:
    from tests.support.reverse_proxy import nginx_files

    settings = nginx_files(tmp_path, DEPLOY / name, port=0)
    found = subprocess.run(["nginx", "-t", "-c", settings, "-p", tmp_path], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert "warn" not in found.stderr


@pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx")
def test_gates_are_opened_and_asked_through_the_proxies(tmp_path: Path) -> None:
    import httpx
    from tests.support.reverse_proxy import free_port, nginx_files, proxied, sign_in
    from tests.support.served_process import spawned

    data = tmp_path / "visits.csv"
    data.write_text("visitor,country\n" + "".join(f"{person},DE\n" for person in range(300)))
    options = ("--user", "visitor", "--new-ledger", "--budget", 200, "--delay", "off")
    proxy = ("--allowed-host", "gates.example.org", "--trusted-proxy", "127.0.0.1")
    (tmp_path / "plain").mkdir()
    (tmp_path / "oidc").mkdir()
    with spawned(data, *options, *proxy) as (_, url, said), sign_in() as signing:
        found = re.search(r"sg_[\w-]{43}", said)
        assert found is not None
        bearer = {"Authorization": f"Bearer {found[0]}"}
        ports = {"8460": int(url.rpartition(":")[2]), "4180": signing}
        first, second = free_port(), free_port()
        plain = nginx_files(tmp_path / "plain", DEPLOY / "nginx.conf", port=first, ports=ports)
        oidc = nginx_files(tmp_path / "oidc", DEPLOY / "nginx-oidc.conf", port=second, ports=ports)
        (oidc.parent / "tokens.map").write_text(f'"olga@example.org" "{found[0]}";\n')
        with (
            proxied(plain, first),
            proxied(oidc, second),
            httpx.Client(verify=False, headers={"Host": "gates.example.org"}, timeout=30) as client,
        ):
            gate = client.post(
                f"https://127.0.0.1:{first}/v1/gates",
                json={"threshold": 100, "cutoff": 3, "epsilon": "100"},
                headers=bearer | {"Idempotency-Key": "open"},
            )
            assert gate.status_code == 201, gate.text
            path = f"/v1/gates/{gate.json()['id']}/ask"

            def ask(port: int, key: str, **headers: str) -> httpx.Response:
                where = {"where": "country = 'DE'"}
                return client.post(
                    f"https://127.0.0.1:{port}{path}", json=where, headers={"Idempotency-Key": key} | headers
                )

            assert ask(first, "one", **bearer).json()["above"] is True
            assert ask(first, "two").status_code == 401
            assert client.get(f"https://127.0.0.1:{first}/metrics", headers=bearer).status_code == 404
            assert ask(second, "three", Cookie="who=olga@example.org").json()["above"] is True
            # Known to the provider and not to the map; a token of one's own; a name that one gives oneself.
            assert ask(second, "four", Cookie="who=anna@example.org").status_code == 401
            assert ask(second, "five", Cookie="who=anna@example.org", **bearer).status_code == 401
            itself = {"X-Auth-Request-Email": "olga@example.org"}
            assert ask(second, "six", **itself).status_code != 200
            assert ask(second, "seven", Cookie="who=anna@example.org", **itself).status_code == 401
    assert found[0] not in "".join(file.read_text() for file in (tmp_path / "plain").glob("*.log"))


@pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx")
@pytest.mark.parametrize("name", ["nginx.conf", "nginx-oidc.conf"])
def test_strangers_behind_the_proxy_stand_in_the_way_of_nobody(tmp_path: Path, name: str) -> None:
    import httpx
    from tests.support.reverse_proxy import free_port, nginx_files, proxied, sign_in
    from tests.support.serving import listening, serving, visits

    from sparsegate.service.web.admission import Limits
    from sparsegate.service.web.trusted_proxies import TrustedProxies

    proxies = TrustedProxies(SERVE["trusted-proxy"])
    with (
        visits(tmp_path) as data,
        serving(tmp_path, data, limits=Limits(), proxies=proxies) as service,
        listening(service.app) as url,
        sign_in() as signing,
    ):
        ports = {"8460": int(url.rpartition(":")[2]), "4180": signing}
        port = free_port()

        def calling(source: str) -> httpx.Client:
            transport = httpx.HTTPTransport(verify=False, local_address=source)
            # Who they say they are is not believed, and the wrong token is nobody's, in the map or not.
            said = {"Host": "gates.example.org", "X-Forwarded-For": "198.51.100.1", "Authorization": "Bearer sg_no"}
            said["Cookie"] = "who=anna@example.org"
            return httpx.Client(base_url=f"https://127.0.0.1:{port}", transport=transport, timeout=30, headers=said)

        with (
            proxied(nginx_files(tmp_path, DEPLOY / name, port=port, ports=ports), port),
            calling("127.0.0.2") as stranger,
            calling("127.0.0.3") as other,
            calling("127.0.0.4") as bystander,
        ):
            begun = time.monotonic()
            assert {stranger.get("/").status_code for _ in range(60)} == {200}
            assert time.monotonic() - begun < 2, "60 at once are sent on at once, not at 20 a second"
            for each in (stranger, other):
                codes = Counter(each.get("/v1/gates").status_code for _ in range(200))
                assert codes.keys() == {401, 429}
            for path in ("/v1/ready", "/v1/health"):
                assert {each.get(path).status_code for each in (stranger, other) for _ in range(150)} == {200}
            assert bystander.get("/").status_code == 200
            assert bystander.get("/v1/gates").status_code == 401
