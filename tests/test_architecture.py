"""The shape of the package: which room may import which, what a bare import loads, what is public, what is named."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path, PurePosixPath

import pytest
from tests.mutants import catalogue
from tests.support import names

import sparsegate

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
FILES = sorted((SOURCE / "sparsegate").rglob("*.py"))

# A room may import itself and the rooms of its row. The root is `sparsegate/__init__.py`: it gathers the
# public names, so a room that imported it would import everything.
_CORE = {"errors", "display", "budget", "noise", "gates", "selection"}
MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "display": {"errors"},
    "budget": {"errors"},
    "noise": {"errors"},
    "gates": {"errors", "display", "budget", "noise"},
    "selection": {"errors", "display", "budget", "noise", "gates"},
    "privacy": _CORE,
    "ledger": {"errors", "display", "budget", "noise", "gates"},
    "conditions": {"errors"},
    "tables": _CORE | {"ledger", "conditions"},
    "uses": _CORE | {"privacy", "tables", "ledger", "conditions"},
    "paper": _CORE | {"privacy", "tables", "ledger", "conditions", "uses"},
    "service": _CORE | {"privacy", "tables", "ledger", "conditions", "uses"},
    "cli": _CORE
    | {"privacy", "paper", "tables", "ledger", "conditions", "uses", "service", "auditor", "testing", "root"},
    "auditor": {"errors", "display"},
    "testing": {"errors", "auditor"},
    "opendp": _CORE,
    "__main__": {"cli"},
    "variants": {"gates"},
    "root": _CORE | {"privacy", "paper", "tables", "ledger", "uses", "service", "auditor", "testing", "variants"},
}

HEAVY = {
    *("scipy", "mpmath", "matplotlib", "sklearn"),
    *("duckdb", "pandas", "polars", "pyarrow", "pyspark"),
    *("fastapi", "uvicorn", "sqlalchemy", "httpx"),
    *("typer", "rich"),
}

MOST_LINES = 900
EMPTY_NAMES = {"utils", "common", "base", "helpers", "misc"}


def room_of(module: str) -> str:
    """The room of a module: `sparsegate.noise.sources` is in `noise`, `sparsegate` itself is the root."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "root"


def imported_modules(path: PurePosixPath, source: str) -> Iterator[str]:
    """Every module of ours that the file imports, at whatever depth in the code, as an absolute name."""
    package = path.with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "sparsegate")
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            origin = ".".join([*start, *([node.module] if node.module else [])])
            if origin == "sparsegate":
                # `from sparsegate import noise` names a room; `from sparsegate import laplace` the root.
                for alias in node.names:
                    yield f"sparsegate.{alias.name}" if alias.name in MAY_IMPORT else "sparsegate"
            elif origin.split(".")[0] == "sparsegate":
                yield origin


def wrong_imports(path: PurePosixPath, source: str) -> list[str]:
    """What is wrong with the imports of the file at `path` (relative to src/): one line per offence."""
    room = room_of(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
    if room not in MAY_IMPORT:
        return [f"{path}: {room} is not a room; add it to MAY_IMPORT and to CONTRIBUTING.md"]
    allowed = MAY_IMPORT[room] | {room}
    return [
        f"{path}: {room} may not import {module}"
        for module in imported_modules(path, source)
        if room_of(module) not in allowed
    ]


def wrong_shape(path: PurePosixPath, source: str) -> list[str]:
    """What is wrong with a file's name or length: one line per offence."""
    wrong = [f"{path}: {part} says nothing" for part in path.with_suffix("").parts if part in EMPTY_NAMES]
    lines = len(source.splitlines())
    if lines > MOST_LINES:
        wrong.append(f"{path}: {lines} lines, at most {MOST_LINES}")
    return wrong


def heavy_modules_after(statement: str) -> set[str]:
    """The heavy packages that a fresh interpreter has loaded after running `statement`."""
    script = f"import sys\n{statement}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return HEAVY & set(done.stdout.split())


def documented_names(markdown: str) -> list[str]:
    """The names in backticks in the first column of the tables of a page."""
    return re.findall(r"^\|\s*`(\w+)`\s*\|", markdown, flags=re.MULTILINE)


def folders_without_init(paths: list[PurePosixPath]) -> set[PurePosixPath]:
    """The folders that hold modules but no `__init__.py`, so that doctests would import them twice."""
    return {path.parent for path in paths} - {path.parent for path in paths if path.name == "__init__.py"}


def inside(file: Path) -> PurePosixPath:
    return PurePosixPath(file.relative_to(SOURCE).as_posix())


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(inside(file)))
def test_imports_point_one_way(file: Path) -> None:
    assert wrong_imports(inside(file), file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("sparsegate/errors.py", "import sparsegate.budget"),
        ("sparsegate/budget.py", "from sparsegate.noise import Secure"),
        ("sparsegate/noise/sources.py", "from ..gates import variants"),
        ("sparsegate/noise/sources.py", "from .. import budget"),
        ("sparsegate/noise/__init__.py", "from ..budget import Budget"),
        ("sparsegate/noise/sources.py", "def draw():\n    from sparsegate.budget import Budget"),
        ("sparsegate/gates/research.py", "from sparsegate import privacy"),
        ("sparsegate/gates/research.py", "import sparsegate as sg"),
        ("sparsegate/gates/research.py", "from sparsegate import select_top"),
        ("sparsegate/privacy/loss.py", "import numpy, sparsegate.paper.ranked"),
        ("sparsegate/auditor/certify.py", "from sparsegate.gates.variants import VARIANTS"),
        ("sparsegate/testing.py", "from sparsegate.privacy import loss"),
        ("sparsegate/service/page.py", "from sparsegate.cli import main"),
        ("sparsegate/__init__.py", "from .cli import main"),
        ("sparsegate/ledger/ledger.py", "from sparsegate.service.gates import Tally"),
        ("sparsegate/gates/gate.py", "from sparsegate.ledger.ledger import Ledger"),
        ("sparsegate/attic.py", ""),
    ],
)
def test_an_import_against_the_grain_is_caught(path: str, source: str) -> None:
    assert len(wrong_imports(PurePosixPath(path), source)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("sparsegate/gates/research.py", "from sparsegate.noise import Secure\nfrom . import variants"),
        ("sparsegate/gates/__init__.py", "from . import variants\nfrom ..errors import GateClosed"),
        ("sparsegate/cli/app.py", "from sparsegate import __version__\nimport typer, sparsegates"),
        ("sparsegate/__init__.py", "from sparsegate.gates import VARIANTS"),
    ],
)
def test_an_import_with_the_grain_passes(path: str, source: str) -> None:
    assert wrong_imports(PurePosixPath(path), source) == []


@pytest.mark.parametrize(
    "file", [*FILES, *sorted((ROOT / "pages").rglob("*.py"))], ids=lambda file: str(file.relative_to(ROOT))
)
def test_files_are_short_and_named_for_what_they_hold(file: Path) -> None:
    assert wrong_shape(PurePosixPath(file.relative_to(ROOT)), file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("sparsegate/noise/utils.py", ""),
        ("sparsegate/helpers/text.py", ""),
        ("sparsegate/noise/sources.py", "x = 1\n" * (MOST_LINES + 1)),
    ],
)
def test_a_long_file_or_an_empty_name_is_caught(path: str, source: str) -> None:
    assert len(wrong_shape(PurePosixPath(path), source)) == 1


def test_every_room_is_a_package() -> None:
    assert folders_without_init([inside(file) for file in FILES]) == set()


def test_a_folder_that_is_no_package_is_caught() -> None:
    paths = [PurePosixPath("sparsegate/__init__.py"), PurePosixPath("sparsegate/attic/trunk.py")]
    assert folders_without_init(paths) == {PurePosixPath("sparsegate/attic")}


def contributing_table(page: str) -> dict[str, set[str]]:
    """What CONTRIBUTING says that each room may import: names, "the above", "without" some of it, or everything."""
    rows = re.findall(r"^\| `(\w+)(?:/|\.py)` \|[^|]*\| ([^|]+) \|$", page, flags=re.MULTILINE)
    told: dict[str, set[str]] = {}
    for room, words in rows:
        first, _, without = words.partition("without")
        named = set(re.findall(r"\w+", first))
        above = set(told) if "above" in named else {other for other, _ in rows} if "everything" in named else named
        told[room] = above - set(re.findall(r"\w+", without)) - {"nothing", room}
    return told


def test_contributing_says_what_each_room_may_import() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    held = {
        room: rooms - {"root"} for room, rooms in MAY_IMPORT.items() if room not in {"__main__", "variants", "root"}
    }
    told = contributing_table(page)
    assert {room: told[room] - held[room] - {"opendp"} for room in told} == {room: set() for room in held}
    assert {room: held[room] - told[room] for room in told} == {room: set() for room in held}
    assert contributing_table(page.replace("the above without privacy", "the above"))["tables"] - held["tables"] == {
        "privacy"
    }


def test_a_bare_import_loads_nothing_heavy() -> None:
    assert heavy_modules_after("import sparsegate") == set()
    assert heavy_modules_after("from sparsegate import SparseVector, select_top, run, laplace, Secure") == set()


def test_the_command_line_starts_without_what_only_some_commands_need() -> None:
    assert heavy_modules_after("import sparsegate.cli.app") == {"typer"}


def test_a_heavy_import_is_caught() -> None:
    assert heavy_modules_after("import sparsegate, mpmath") == {"mpmath"}


def test_the_documented_names_are_the_public_names() -> None:
    documented = documented_names((ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8"))
    assert sorted(documented) == sorted(sparsegate.__all__)


@pytest.mark.parametrize("room", ["privacy", "paper", "testing", "uses", "variants"])
def test_the_documented_names_of_a_room_are_those_it_exports(room: str) -> None:
    page = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    documented = re.findall(rf"^\| `{room}\.(\w+)` \| [^|]+\. \|$", page, flags=re.MULTILINE)
    assert sorted(documented) == sorted(import_module(f"sparsegate.{room}").__all__)


def test_every_public_name_exists() -> None:
    assert [name for name in sparsegate.__all__ if not hasattr(sparsegate, name)] == []


def test_only_the_first_column_of_a_table_names_anything() -> None:
    page = "Use `x`.\n\n| Name | What |\n| --- | --- |\n| `run` | Runs a `Variant`. |\n| `__all__` | |\n"
    assert documented_names(page) == ["run", "__all__"]


def test_every_mutant_is_well_formed_and_names_what_exists() -> None:
    """Source and tests move on, and an entry that no longer fits would never be run again."""
    assert catalogue.problems(catalogue.read(), parse=False) == []


def test_one_name_has_one_meaning_and_tests_mirror_the_source() -> None:
    """`python -m tests.support.names` prints the same list; `test_names.py` shows that it catches what it must."""
    assert names.offences() == []
