"""What is made when the site is built: every part has its place, and every command, request and field is in it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from pages.blocks import ROOT, fences, pages
from pages.command_reference import commands_part, exit_codes_part
from pages.generated import FILLED, GENERATED, filled
from pages.hooks import anchor
from pages.http_reference import PRACTICE, http_part, openapi_file
from pages.manual import MANUAL, documented_commands, manual
from pages.package_page import addressed

PARTS = {"commands": commands_part(), "http": http_part()}
API = json.loads(openapi_file())
OPERATIONS = [(method.upper(), path) for path, methods in API["paths"].items() for method in methods]


def test_every_part_that_is_made_has_one_place_and_fills_it() -> None:
    places = re.findall(r"<!-- filled: (.*?) -->", "\n".join(page.read_text(encoding="utf-8") for page in pages()))
    assert sorted(places) == sorted(FILLED)
    for word in FILLED:
        made = filled(f"before\n\n<!-- filled: {word} -->\nSee the\nmanual.\n<!-- filled -->\n\nafter\n")
        assert re.fullmatch(r"before\n(?!.*(?:<!-- filled|See the\n)).{100,}\nafter\n", made, re.DOTALL)
    for place in ("<!-- filled: http -->", "<!-- filled: http -->\n<!-- filled -->", "<!-- filled -->"):
        with pytest.raises(ValueError, match="words for a code host"):
            filled(f"before\n\n{place}\n\nafter\n")


@pytest.mark.parametrize("part", PARTS)
def test_the_links_of_a_part_lead_to_sections_and_pages_that_are_there(part: str) -> None:
    headings = {anchor(heading, "-") for heading in re.findall(r"^#+ (.*)$", PARTS[part], re.MULTILINE)}
    targets = re.findall(r"\]\(([^)]*)\)", PARTS[part])
    assert len(targets) > 15
    assert [target for target in targets if target.startswith("#") and target[1:] not in headings] == []
    files = [target.partition("#")[0] for target in targets if not target.startswith(("#", "https:"))]
    files = [file for file in files if f"reference/{file}" not in GENERATED]
    assert [file for file in files if not (ROOT / "docs" / "reference" / file).is_file()] == []


def test_every_command_and_option_is_in_the_reference_and_in_the_manual() -> None:
    made, reference = manual(), PARTS["commands"]
    assert MANUAL.read_text(encoding="utf-8") == made, "run `python -m pages.manual`"
    commands = documented_commands()
    assert re.findall(r"^###? (sparsegate .*)$", reference, re.MULTILINE) == [
        f"sparsegate {command.words}" for command in commands
    ]
    groups = [group for command in commands for group in command.panels.values()]
    options = {option.names.split(", ")[-1] for group in groups for option in group if option.names}
    assert len(options) > 100
    assert options - {name.replace(r"\-", "-") for name in re.findall(r"\\fB(.*?)\\fR", made)} == set()
    assert [option for option in options if option not in reference] == []
    for line in (reference + exit_codes_part()).splitlines():
        if line.startswith("|"):
            assert re.sub(r"`[^`]*`|\\.", "", line).count("|") == 3, line
    shared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert shared["shared-data"] == {MANUAL.relative_to(ROOT).as_posix(): "share/man/man1/sparsegate.1"}


@pytest.mark.skipif(shutil.which("man") is None or shutil.which("groff") is None, reason="no man")
def test_man_shows_it_without_a_warning() -> None:
    environment = {"MANWIDTH": "80", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANROFFOPT": "-c", "TERM": "dumb"}
    command = ["man", "--warnings", "-E", "UTF-8", "-l", str(MANUAL)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    lines = re.sub(r".\x08", "", done.stdout).splitlines()
    assert done.stderr == ""
    assert max(map(len, lines)) <= 80
    assert {"EXIT STATUS", "       -c, --count N"} <= {*lines}


def test_every_operation_object_field_and_parameter_of_the_service_is_explained() -> None:
    real = [f"{method} {path}" for method, path in OPERATIONS if not path.startswith(PRACTICE)]
    headings = re.findall(r"^### (.*)$", PARTS["http"], re.MULTILINE)
    assert headings == [*real, "To practise", *API["components"]["schemas"]]
    operations = [operation for path in API["paths"].values() for operation in path.values()]
    objects = API["components"]["schemas"]
    explained = [
        *((operation["operationId"], operation) for operation in operations),
        *((f"?{one['name']}", one) for operation in operations for one in operation.get("parameters", [])),
        *objects.items(),
        *((f"{name}.{field}", one) for name, model in objects.items() for field, one in model["properties"].items()),
    ]
    assert [name for name, one in explained if not one.get("description")] == []
    for fence in fences(PARTS["http"]):
        if fence.language == "json":
            json.loads("\n".join(fence.lines))


def test_every_request_is_what_the_shell_makes_of_it(tmp_path: Path) -> None:
    """A curl that prints its arguments and its input stands in for the real one."""
    print_all = 'for word in "$@"; do printf "%s\\n" "$word"; done; case "$*" in *@-*) cat;; esac; echo --'
    for name, script in {"curl": print_all, "uuidgen": "echo a-key"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    blocks = ["\n".join(fence.lines) for fence in fences(PARTS["http"]) if fence.language == "sh"]
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "URL": "http://here", "TOKEN": "sg_x"}
    command = ["bash", "-euc", "\n".join(blocks)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    calls = [call.splitlines() for call in done.stdout.removesuffix("--\n").split("--\n")]
    assert len(calls) == sum(not path.startswith(PRACTICE) for _, path in OPERATIONS)
    assert not any("{" in word for call in calls for word in call if word.startswith("http"))
    assert {"where": "country = 'DE'"} in [json.loads(call[-1]) for call in calls if "@-" in call]


def test_the_readme_of_a_package_has_addresses_for_its_links() -> None:
    address = "https://example.org/somebody/sparsegate"
    page = addressed("[a](docs/b.md#c) [d](proofs) ![e](f.png) [g](#h) `[i](j)`", address=address, tag="v9")
    links = [f"[a]({address}/blob/v9/docs/b.md#c)", f"[d]({address}/tree/v9/proofs)", f"![e]({address}/raw/v9/f.png)"]
    assert page == " ".join([*links, "[g](#h)", "`[i](j)`"])
    with pytest.raises(ValueError, match="https://"):
        addressed("[a](b.md)", address="example.org/a", tag="v9")


def test_the_glossary_is_in_order_and_each_word_has_an_anchor_a_meaning_and_a_link() -> None:
    glossary = (ROOT / "docs" / "reference" / "glossary.md").read_text(encoding="utf-8")
    row = re.compile(r'^\| <a id="([\w-]+)"></a>([^|]+) \| [^|]+\. \| \[[^|]+\]\([^|]+\) \|$', re.MULTILINE)
    words = row.findall(glossary)
    assert len({key for key, _ in words}) == len(words) == glossary.count("\n| ") - 2 > 80
    assert [word.lower() for _, word in words] == sorted(word.lower() for _, word in words)
