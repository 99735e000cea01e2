"""A mutant that rots is caught (`test_architecture.py` holds the catalogue to it), and a survivor is called one."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.mutants.__main__ import dozen, main
from tests.mutants.catalogue import FOLDER, Mutant, problems, read

SOURCE = """\
def larger(first, second):
    return first if first > second else second
"""
TESTS = """\
import pytest
from sparsegate import larger

@pytest.fixture
def assured():
    assert larger(2, 1) == 2

def test_the_larger_comes_back():
    assert larger(2, 1) == 2

def test_a_number_comes_back():
    assert larger(2, 1) in (1, 2)

def test_with_an_assurance(assured):
    pass

@pytest.fixture
def emptied():
    held = []
    yield held
    assert not held

def test_that_leaves_something_open(emptied):
    emptied.append(larger(2, 1) == 1)
    assert larger(2, 1) == 2
    emptied.clear()

@pytest.mark.skip(reason="never here")
def test_that_is_skipped():
    assert larger(2, 1) == 2

def test_that_is_broken():
    assert larger(2, 1) == 3
"""
SWAPPED = Mutant(
    room="small",
    name="the-smaller",
    file="src/sparsegate/__init__.py",
    search="first > second",
    replace="first < second",
    why="the smaller comes back",
    tests=("tests/test_small.py::test_the_larger_comes_back",),
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with one function, and tests of every kind of usefulness."""
    root = tmp_path_factory.mktemp("tree")
    for name, text in {
        "src/sparsegate/__init__.py": SOURCE,
        "tests/test_small.py": TESTS,
        "pyproject.toml": "",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / "tests" / "mutants").mkdir()
    shutil.copy(FOLDER / "recorder.py", root / "tests" / "mutants")
    return root


def entry(mutant: Mutant) -> str:
    fields = ("name", "file", "search", "replace", "why", "equivalent")
    lines = [f"{field} = '''{value}'''" for field in fields if (value := getattr(mutant, field))]
    tests = [f"tests = {list(mutant.tests)}"] if mutant.tests else []
    return "\n".join(["[[mutant]]", *lines, *tests, ""])


def run(tree: Path, folder: Path, *mutants: Mutant, options: tuple[str, ...] = ()) -> int:
    (folder / "small.toml").write_text("\n".join(map(entry, mutants)))
    return main(["--catalogue", str(folder), "--tree", str(tree), *options])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "Not Kebab"}, "kebab-case"),
        ({"why": " "}, "why is empty"),
        ({"tests": ()}, "either tests or equivalent"),
        ({"equivalent": "a guard behind a guard"}, "either tests or equivalent"),
        ({"tests": ("tests/test_small.py::test_of_old",)}, "test_of_old does not exist"),
        ({"tests": ("tests/test_gone.py",)}, "test_gone.py does not exist"),
        ({"file": "src/sparsegate/gone.py"}, "not a file of src/"),
        ({"file": "tests/test_small.py"}, "not a file of src/"),
        ({"search": "first"}, "occurs 3 times"),
        ({"search": "third"}, "occurs 0 times"),
        ({"replace": "first > second"}, "the text itself"),
        ({"replace": "first >"}, "not Python"),
    ],
)
def test_an_entry_that_rots_is_caught(tree: Path, change: dict[str, object], said: str) -> None:
    assert problems([SWAPPED], tree) == []
    (wrong,) = problems([replace(SWAPPED, **change)], tree)  # type: ignore[arg-type]
    assert said in wrong


def test_two_mutants_with_one_name_are_caught(tree: Path) -> None:
    assert problems([SWAPPED, SWAPPED], tree) == ["the-smaller: the name occurs twice"]


def test_a_key_that_is_not_known_is_named(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(entry(SWAPPED) + "reason = 'none'\n")
    with pytest.raises(ValueError, match=r"small.toml, mutant 1 \(the-smaller\).*'reason'"):
        read(tmp_path)


ONE_OF_EACH = [
    (SWAPPED, "killed"),
    (replace(SWAPPED, name="weak-test", tests=("tests/test_small.py::test_a_number_comes_back",)), "SURVIVED"),
    (replace(SWAPPED, name="no-change", replace="second < first"), "SURVIVED"),
    (replace(SWAPPED, name="no-such-case", tests=(f"{SWAPPED.tests[0]}[1]",)), "NOT FOUND"),
    (replace(SWAPPED, name="fails-without", tests=("tests/test_small.py::test_that_is_broken",)), "BROKEN"),
    (replace(SWAPPED, name="fails-in-a-fixture", tests=("tests/test_small.py::test_with_an_assurance",)), "BROKEN"),
    (replace(SWAPPED, name="fails-at-import", search="def larger", replace="def other"), "BROKEN"),
    (
        replace(SWAPPED, name="fails-at-its-end-too", tests=("tests/test_small.py::test_that_leaves_something_open",)),
        "killed",
    ),
    (replace(SWAPPED, name="skipped", tests=("tests/test_small.py::test_that_is_skipped",)), "not run"),
]


def test_only_a_test_that_fails_under_the_mutant_kills_it(
    tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One run of one mutant of each kind: a test that fails in any other way, or anywhere else, kills nothing."""
    same = replace(SWAPPED, name="same", tests=(), equivalent="a guard behind a guard")
    assert run(tree, tmp_path, same, *(mutant for mutant, _ in ONE_OF_EACH)) == 1
    said = capsys.readouterr().out
    for mutant, outcome in ONE_OF_EACH:
        assert re.search(rf"^{outcome} .* small: {mutant.name}$", said, re.MULTILINE), said
        assert (f"{outcome}: small: {mutant.name}\n" in said) is (outcome != "killed")
    assert "small: same: a guard behind a guard" in said
    assert said.splitlines()[-1].split() == ["small", "9", "2"]
    assert (tree / SWAPPED.file).read_text() == SOURCE, "the tree itself is never touched"


def test_out_of_time_is_said_and_proves_nothing(tree: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tree, tmp_path, SWAPPED) == 0
    assert run(tree, tmp_path, SWAPPED, options=("--limit", "0")) == 1
    assert "out of time" in capsys.readouterr().out


@pytest.mark.parametrize("how_many", [1, 11, 12, 13, 100])
def test_successive_dozens_bring_every_mutant_its_turn(how_many: int) -> None:
    mutants = [replace(SWAPPED, name=f"m{number}") for number in range(how_many)]
    turns = -(-how_many // 12)
    dozens = [dozen(mutants, 12, number) for number in range(7, 7 + turns)]
    assert max(map(len, dozens)) <= 12
    assert sorted(mutant.name for chosen in dozens for mutant in chosen) == sorted(mutant.name for mutant in mutants)
