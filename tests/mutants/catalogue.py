"""The catalogue of mutants: small mistakes put into the source, each with the tests that must notice it.

One TOML file per room, one table per mutant:

    [[mutant]]
    name = "aes-key-of-four-bytes"              # unique in the whole catalogue, kebab-case
    file = "src/sparsegate/noise/sources.py"
    search = '''exact text that occurs once in the file'''
    replace = '''what stands there instead'''
    tests = ["tests/noise/test_sources.py::test_name"]
    why = "what would go wrong, in one sentence"

A mutant that changes nothing anyone can observe has `equivalent = "the reason"` and no tests.
"""

from __future__ import annotations

import ast
import functools
import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One mistake: where it is put, and who must notice."""

    room: str
    name: str
    file: str
    search: str
    replace: str
    why: str
    tests: tuple[str, ...] = ()
    equivalent: str = ""

    def applied(self, source: str) -> str:
        """`source` with the mistake in it."""
        if source.count(self.search) != 1:
            raise ValueError(f"{self.name}: the text occurs {source.count(self.search)} times in {self.file}")
        return source.replace(self.search, self.replace)


def read(folder: Path = FOLDER) -> list[Mutant]:
    """Every mutant of the catalogue, room by room. A key that is unknown or missing is an error that names it."""
    mutants = []
    for path in sorted(folder.glob("*.toml")):
        for number, entry in enumerate(tomllib.loads(path.read_text(encoding="utf-8"))["mutant"], start=1):
            entry = {**entry, "tests": tuple(entry.get("tests", ()))}
            try:
                mutants.append(Mutant(room=path.stem, **entry))
            except TypeError as wrong:
                raise ValueError(f"{path.name}, mutant {number} ({entry.get('name', 'no name')}): {wrong}") from None
    return mutants


def problems(mutants: Sequence[Mutant], root: Path = ROOT, *, parse: bool = True) -> list[str]:
    """What is wrong with the entries, one line each: so that they do not rot when the source moves on.

    ``parse``: whether the mutated files are read as Python, too, which takes seconds for a whole catalogue.
    """
    repeated = [name for name, times in Counter(mutant.name for mutant in mutants).items() if times > 1]
    return [f"{name}: the name occurs twice" for name in repeated] + [
        f"{mutant.room}.toml: {mutant.name}: {wrong}" for mutant in mutants for wrong in _problems(mutant, root, parse)
    ]


def _problems(mutant: Mutant, root: Path, parse: bool) -> list[str]:
    wrong = []
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", mutant.name):
        wrong.append("the name is not kebab-case")
    if not mutant.why.strip():
        wrong.append("why is empty")
    if bool(mutant.tests) == bool(mutant.equivalent.strip()):
        wrong.append("give either tests or equivalent, not both or neither")
    wrong += [f"{test} does not exist" for test in mutant.tests if not _exists(test, root)]
    path = root / mutant.file
    if not (mutant.file.startswith("src/") and path.is_file()):
        return [*wrong, f"{mutant.file} is not a file of src/"]
    source = path.read_text(encoding="utf-8")
    if mutant.search == mutant.replace:
        wrong.append("the replacement is the text itself")
    if source.count(mutant.search) != 1:
        wrong.append(f"the text occurs {source.count(mutant.search)} times in {mutant.file}")
    elif parse and path.suffix == ".py":
        try:
            ast.parse(mutant.applied(source))
        except SyntaxError as error:
            wrong.append(f"the mutated file is not Python: {error}")
    return wrong


def _exists(test: str, root: Path) -> bool:
    """Whether a test id names a file, and a function in it. What stands in [] is known only when the test runs."""
    file, *names = test.partition("[")[0].split("::")
    if not (file.startswith("tests/") and (root / file).is_file()):
        return False
    scope: ast.AST = _parsed((root / file).read_text(encoding="utf-8"))
    for name in names:
        inner = [
            node
            for node in ast.iter_child_nodes(scope)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name
        ]
        if not inner:
            return False
        scope = inner[0]
    return True


_parsed = functools.cache(ast.parse)  # one file of tests kills many mutants
