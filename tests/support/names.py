"""What is wrong with the names in the house: `python -m tests.support.names` prints one line per offence.

One name has one meaning. No two classes share a name, and the tests of
`src/sparsegate/<room>/x.py` are in `tests/<room>/test_x.py`, and where that grows long, also in `test_x_<aspect>.py`.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]

# Tests of a subject that more than one module serves.
CROSS_MODULE = {
    "tests/test_architecture.py",
    "tests/test_deploy.py",
    "tests/test_figures.py",
    "tests/test_makefile.py",
    "tests/test_names.py",
    "tests/test_mutants.py",
    "tests/test_proofs.py",
    "tests/test_proofs_models.py",
    "tests/test_readme.py",
    "tests/auditor/test_public_hall.py",
    "tests/auditor/test_traps.py",
    "tests/ledger/test_charged_releases.py",
    "tests/gates/test_timing.py",
    "tests/noise/test_digits.py",
    "tests/noise/test_samplers.py",
    "tests/pages/test_site.py",
    "tests/privacy/test_frequencies.py",
    "tests/service/test_crashes.py",
    "tests/service/test_timing.py",
    "tests/service/web/test_page.py",
    "tests/uses/test_interrupts.py",
    "tests/uses/test_refusals.py",
    "tests/uses/test_wrong_tools.py",
}


def modules(root: Path = ROOT) -> dict[PurePosixPath, Path]:
    """Every module by its room: of the package relative to it, and of `pages/`; without those that Python names."""
    found = {
        file.relative_to(root / "src" / "sparsegate"): file for file in (root / "src" / "sparsegate").rglob("*.py")
    }
    found |= {file.relative_to(root): file for file in (root / "pages").rglob("*.py")}
    return {PurePosixPath(path): file for path, file in sorted(found.items()) if not path.name.startswith("__")}


def repeated_classes(sources: Mapping[PurePosixPath, str]) -> list[str]:
    """Two classes with one name, of those whose names do not start with an underscore."""
    by_name: dict[str, list[str]] = defaultdict(list)
    for path, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                by_name[node.name].append(f"{path}:{node.lineno}")
    return [f"{name}: the class of {', '.join(there)}" for name, there in sorted(by_name.items()) if len(there) > 1]


def tests_without_module(tests: Iterable[PurePosixPath], paths: Iterable[PurePosixPath]) -> list[str]:
    """Test files that mirror no module and are not on the list; entries of the list that are not needed."""
    modules_and_folders = {path.with_suffix("") for path in paths}
    modules_and_folders |= {folder for path in modules_and_folders for folder in path.parents}
    unknown = set()
    for test in tests:
        words = test.stem.removeprefix("test_").split("_")
        room = test.parent.relative_to("tests")
        if not {room / "_".join(words[:end]) for end in range(1, len(words) + 1)} & modules_and_folders:
            unknown.add(str(test))
    return [f"{test}: no module of this name" for test in sorted(unknown - CROSS_MODULE)] + [
        f"{test}: needs no place in CROSS_MODULE" for test in sorted(CROSS_MODULE - unknown)
    ]


def offences(root: Path = ROOT) -> list[str]:
    """Everything above, about this tree."""
    paths = modules(root)
    sources = {path: file.read_text(encoding="utf-8") for path, file in paths.items()}
    tests = sorted(PurePosixPath(file.relative_to(root).as_posix()) for file in (root / "tests").rglob("test_*.py"))
    return [
        *repeated_classes(sources),
        *tests_without_module(tests, paths),
        *(f"{path}: fmt: skip" for path, source in sources.items() if "fmt: skip" in source),
    ]


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in offences()))
