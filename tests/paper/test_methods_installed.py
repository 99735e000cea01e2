"""Methods that other packages bring: the template of the page, installed by pip and run by its key."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from pages.blocks import steps

from sparsegate.errors import ParameterError
from sparsegate.paper import run
from sparsegate.paper.methods import GROUP, installed, method, methods_of

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "methods.md").read_text(encoding="utf-8")
SELECTS = "def first(scores, count, epsilon, rng):\n    return range(count)\n"


def lay(folder: Path, name: str, points: dict[str, str], files: dict[str, str]) -> Path:
    """An installed package, version 1.0: its modules, and beside them what an installer writes of it."""
    about = f"{name.replace('-', '_')}-1.0.dist-info"
    lines = "".join(f"{key} = {value}\n" for key, value in points.items())
    written = {
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{about}/entry_points.txt": f"[{GROUP}]\n{lines}",
        **files,
    }
    (folder / about).mkdir(parents=True)
    for file, text in written.items():
        (folder / file).write_text(text, encoding="utf-8")
    return folder / about


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which Python looks for packages."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_the_package_of_the_page_is_installed_and_run_by_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {step.title: step.code for step in steps(PAGE) if step.title}
    project = tomllib.loads(files.pop("pyproject.toml"))["project"]
    built = tmp_path / "built"
    about = lay(built, project["name"], project["entry-points"][GROUP], files)
    (about / "WHEEL").write_text("Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n", encoding="utf-8")
    (about / "RECORD").touch()
    with zipfile.ZipFile(tmp_path / "gumbel_top-1.0-py3-none-any.whl", "w") as wheel:
        for file in filter(Path.is_file, built.rglob("*")):
            wheel.write(file, file.relative_to(built))
    site, out = tmp_path / "site", tmp_path / "out"
    pip = "pip install --quiet --no-deps --no-index --disable-pip-version-check --target"
    subprocess.run([sys.executable, "-m", *pip.split(), str(site), str(wheel.filename)], check=True)
    monkeypatch.syspath_prepend(str(site))
    ours, theirs = run(datasets=["zipf"], counts=[25], methods=["em", "gumbel-top"], runs=50, out=out)
    assert (theirs["method"], theirs["runs"]) == ("gumbel-top", ours["runs"])
    assert theirs["fnr_mean"] == pytest.approx(ours["fnr_mean"], abs=0.05)  # both are EM: 5 standard errors or more
    entry = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["methods"][1]
    assert (entry["title"], entry["source"]) == ("Gumbel, at once", "gumbel_top:gumbel_top")
    assert re.fullmatch(r"gumbel-top 1\.0 [0-9a-f]{16}", entry["version"])
    assert len(list((out / "cases").iterdir())) == 2


def test_a_package_is_not_imported_before_its_method_is_asked_for(site: Path) -> None:
    lay(site, "late-one", {"late": "late_one:first"}, {"late_one.py": SELECTS})
    assert [point.value for point in installed()["late"]] == ["late_one:first"]
    assert "late_one" not in sys.modules
    assert method("late").key == "late"
    assert "late_one" in sys.modules


@pytest.mark.parametrize(
    ("record", "origin", "kept"),
    [
        ("a.py,sha256=1,5\n", None, True),
        ("a.py,sha256=1,5\n", '{"url": "file:///a", "dir_info": {}}', True),
        ("a.py,sha256=1,5\n", '{"url": "file:///a", "dir_info": {"editable": true}}', False),
        ("a.py,sha256=1,5\n", "[]", False),
        ("a.py,sha256=1,5\n", "{", False),
        (None, None, False),
    ],
)
def test_cases_are_kept_only_where_the_files_cannot_change(
    site: Path, record: str | None, origin: str | None, kept: bool
) -> None:
    about = lay(site, "kept-one", {"kept": "kept_one:first"}, {"kept_one.py": SELECTS})
    for name, text in (("RECORD", record), ("direct_url.json", origin)):
        if text is not None:
            (about / name).write_text(text, encoding="utf-8")
    sys.modules.pop("kept_one", None)
    assert method("kept").kept is kept


def test_other_files_are_another_version_and_one_of_its_own_is_what_counts(site: Path) -> None:
    about = lay(site, "changed-one", {"changed": "changed_one:first"}, {"changed_one.py": SELECTS})
    seen = set()
    for digest in "12":
        (about / "RECORD").write_text(f"changed_one.py,sha256={digest},5\n", encoding="utf-8")
        seen.add(method("changed").law(count=1, epsilon=1))
    assert len(seen) == 2
    lay(site, "own-one", {"own": "own_one:first"}, {"own_one.py": SELECTS + "first.version = 7\n"})
    assert (method("own").version, method("own").kept) == ("7", True)


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("nowhere_at_all:first", "method broken must be importable from broken-one 1.0 (ModuleNotFoundError: "),
        ("broken_one:second", "method broken must be importable from broken-one 1.0 (AttributeError: "),
        ("broken_one:fails", "method broken must take (scores, count, epsilon, rng)"),
        ("broken_one:Kind", "method must be a function or an object, not a class"),
    ],
)
def test_a_broken_package_is_named_and_harms_no_other_method(site: Path, target: str, said: str) -> None:
    code = SELECTS + "def fails(scores): ...\nclass Kind: ...\n"
    lay(site, "broken-one", {"broken": target}, {"broken_one.py": code})
    sys.modules.pop("broken_one", None)
    assert method("em").key == "em"
    with pytest.raises(ParameterError) as caught:
        method("broken")
    assert str(caught.value).startswith(said)


def test_a_key_is_of_one_package_and_never_one_of_ours(site: Path) -> None:
    for name in ("here", "there"):
        lay(site, name, {"twice": f"{name}:first", "em": f"{name}:first"}, {f"{name}.py": SELECTS})
    with pytest.raises(ParameterError, match=r"must be of one package, and here 1.0 and there 1.0 both have it"):
        method("twice")
    assert methods_of(["em"])[0].title == "EM"
    with pytest.raises(ParameterError, match=r"^method must be the key of a method, .*; did you mean 'twice'\?"):
        method("twicc")
