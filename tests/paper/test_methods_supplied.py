"""Methods of one's own, and those that packages bring: what is one, how it is called, when its cases are kept."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import count as count_on
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages.blocks import steps
from scipy import stats
from tests.support.goodness import FALSE_ALARM

from sparsegate.errors import ParameterError
from sparsegate.paper import Ladder, Progress, SuppliedMethod, measure, run, simulate, simulation
from sparsegate.paper.methods import GROUP, installed, method, methods_of
from sparsegate.paper.report import method_table
from sparsegate.paper.results import load_findings
from sparsegate.paper.workers import WorkerPool

Array = Any
Generator = np.random.Generator
GRID = {"datasets": ["zipf"], "counts": [5], "runs": 3}
SCORES = np.repeat([90.0, 70, 60, 50, 40, 10], [2, 3, 1, 4, 5, 40])
CASE: dict[str, Any] = {"count": 3, "epsilon": 0.1, "runs": 2, "rng": 1}


def peeled(scores: Array, count: int, epsilon: float, rng: Generator) -> Array:
    """EM by Gumbel noise."""
    return (scores + rng.gumbel(0, count / epsilon, scores.size)).argsort()[-count:]


def first(scores: Array, count: int, epsilon: float, rng: Generator) -> Array:
    return range(count)


@dataclass
class Louder:
    """EM at ``times`` its noise. Equal ones are equal, so that it has no hash."""

    times: float = 1.0
    title = "Louder"
    version = 3

    def select(self, scores: Array, count: int, epsilon: float, rng: Generator) -> Array:
        return peeled(scores, count, epsilon / self.times, rng)


class PeeledGroups:
    """EM on groups: each item on its own, named by its group."""

    def select_grouped(self, values: Array, sizes: Array, count: int, epsilon: float, rng: Generator) -> Array:
        groups = np.repeat(np.arange(values.size), sizes)
        return groups[peeled(np.repeat(values, sizes), count, epsilon, rng)]


def numbers(**options: Any) -> list[dict[str, Any]]:
    return run(**GRID | options).to_arrow().drop_columns(["seconds"]).to_pylist()


@pytest.mark.parametrize(("way", "same"), [(peeled, True), (PeeledGroups(), True), (Louder(1.2), False)])
def test_em_given_as_somebody_elses_has_its_law_and_a_fifth_more_noise_is_seen(way: object, same: bool) -> None:
    tables = []
    for chosen, seed in ((way, 1), ("em", 2)):
        rungs = simulate(chosen, SCORES, count=6, epsilon=0.5, runs=2000, rng=seed)
        missed = measure(SCORES, rungs, count=6).fnr * 6
        tables.append(np.bincount(missed.round().astype(int), minlength=7))
    both = np.array(tables)
    assert (stats.chi2_contingency(both[:, both.sum(axis=0) > 0]).pvalue > FALSE_ALARM) == same


def test_items_come_in_random_order() -> None:
    """Who takes the first c, unseen, is as wrong as chance: c (n - c) / n of c are missed in the mean."""
    ladder = Ladder.of(np.arange(20.0))
    missed = measure(ladder, simulate(first, ladder, count=5, epsilon=1, runs=4000, rng=3), count=5).fnr
    z = (missed.mean() - 0.75) / (missed.std() / np.sqrt(missed.size))
    assert abs(z) < stats.norm.isf(FALSE_ALARM / 2)


def test_what_a_method_does_to_what_it_is_given_harms_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoils(scores: Array, count: int, epsilon: float, rng: Generator) -> Array:
        best = scores.argsort()[-count:]
        scores[:] = -1
        rng.bit_generator.state = np.random.default_rng(0).bit_generator.state
        print("done")  # noqa: T201
        return best

    class SpoilsGroups:
        version, calls = 1, 0

        def select_grouped(self, values: Array, sizes: Array, count: int, epsilon: float, rng: Generator) -> Array:
            self.calls += 1
            best = np.repeat(np.arange(values.size), sizes)[: count - self.calls + 1]
            values[:], sizes[:] = -1, 99
            return best

    for way, missed in ((spoils, [0, 0]), (SpoilsGroups(), [0, 1 / 3])):
        assert measure(SCORES, simulate(way, SCORES, **CASE), count=3).fnr.tolist() == missed
    assert capsys.readouterr() == ("", "done\ndone\n")
    # What an object remembers of one case changes no other.
    assert run(**GRID | {"counts": [5, 6]}, methods=SpoilsGroups(), out=tmp_path)["selected_mean"] == [4, 5]
    monkeypatch.setattr(simulation, "MOST_ITEMS", 54)
    assert simulate(PeeledGroups(), SCORES, **CASE).shape == (2, 3)
    with pytest.raises(ParameterError, match=r"method peeled must have select_grouped for more than 54 items, got 55"):
        simulate(peeled, SCORES, **CASE)


@pytest.mark.parametrize("returned", [{3, 1}, np.array([3, 1], dtype=np.uint8), iter([3, 1]), {3: "a", 1: "b"}.keys()])
def test_indices_may_come_in_any_flat_form_and_be_fewer_than_c(returned: Array) -> None:
    rungs = simulate(lambda scores, count, epsilon, rng: returned, [5] * 5, **CASE | {"runs": 1})
    assert rungs.tolist() == [[0, 0, -1]]


NO_SELECTIONS = (
    *(count_on(), [2, 2], [0, 55], [0, -1], np.array([2**64 - 1], dtype=np.uint64), [float("nan"), 1]),
    *(np.full(55, True), [10**30], np.zeros((2, 1), dtype=int), None, [[1, 2], [3]], "abc"),
)


@pytest.mark.parametrize("returned", NO_SELECTIONS, ids=repr)
def test_what_is_no_selection_is_refused_by_the_name_of_the_method(returned: Array) -> None:
    way = SuppliedMethod.of(lambda scores, count, epsilon, rng: returned, key="mine")
    with pytest.raises(ParameterError, match="must return .*; at c = 3, epsilon = 0.1, run 1$") as refused:
        simulate(way, SCORES, **CASE)
    assert refused.value.parameter == "method mine"


def test_a_group_may_come_as_often_as_it_has_items(monkeypatch: pytest.MonkeyPatch) -> None:
    for groups, allowed in (([0, 0, 2], nullcontext()), ([2, 2], pytest.raises(ParameterError))):
        monkeypatch.setattr(PeeledGroups, "select_grouped", lambda *_, chosen=groups, **__: chosen)
        with allowed:
            assert simulate(PeeledGroups(), SCORES, **CASE | {"runs": 1}).tolist() == [groups]


class SilentError(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize("error", [ZeroDivisionError("no\nscore"), SystemExit(3), SilentError(), KeyboardInterrupt()])
def test_an_exception_names_the_method_and_ctrl_c_passes_through(error: BaseException) -> None:
    def fails(scores: Array, count: int, epsilon: float, rng: Generator) -> Array:
        raise error

    stops = isinstance(error, KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt if stops else ParameterError) as caught:
        simulate(fails, SCORES, **CASE)
    assert stops or ("\n" not in str(caught.value) and caught.value.parameter == "method fails")


def fails_at_20(scores: Array, count: int, epsilon: float, rng: Generator) -> Array:
    return [0 // 0] if count == 20 else range(count)


def test_other_processes_give_the_same_numbers_and_the_same_errors_and_what_was_done_before_is_kept(
    tmp_path: Path,
) -> None:
    failing = SuppliedMethod.of(fails_at_20, version="1")
    messages = []
    with WorkerPool(2) as pool:
        assert numbers(methods=[peeled, Louder()], pool=pool, seed=4) == numbers(methods=[peeled, Louder()], seed=4)
        for options in ({"pool": pool}, {"out": tmp_path}):
            with pytest.raises(ParameterError, match="ZeroDivisionError.*; at c = 20, .*, run 1, on zipf$") as caught:
                numbers(methods=["em", failing], counts=[10, 20], **options)
            messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert len(list((tmp_path / "cases").iterdir())) == 1  # c = 10 of it; what costs less comes later
    with pytest.raises(ParameterError) as refused:
        run(**GRID, methods=[lambda scores, count, epsilon, rng: range(count)], jobs=2)
    assert refused.value.parameter == "jobs"


def half_renamed(scores: Array, epsilon: float, k: int, rng: Generator) -> Array:
    return peeled(scores, k, epsilon, rng)


@pytest.mark.parametrize(
    "way",
    [
        lambda values, k, eps, generator: (values, k, eps, generator),
        lambda rng, epsilon, count, scores: (scores, count, epsilon, rng),
        lambda *, scores, epsilon, count, rng: (scores, count, epsilon, rng),
    ],
)
def test_arguments_go_by_name_or_by_place(way: Any) -> None:
    called = SuppliedMethod.of(way, key="mine").caller()
    assert called(count=2, scores=7, epsilon=1, rng=0) == (7, 2, 1, 0)
    assert SuppliedMethod.of(max).caller()(count=2, scores=7, epsilon=1, rng=0) == 7  # it hides its parameters


@pytest.mark.parametrize(
    ("way", "options", "parameter"),
    [
        (half_renamed, {}, "method half_renamed"),
        *((way, {}, "method lambda") for way in (lambda: 0, lambda scores, count, epsilon, rng, more: 0)),
        *((way, {}, "method") for way in (3, None, Louder)),
        *((peeled, {"key": key}, "method") for key in ("", "a,b", "two words", "<b>", 7)),
        (peeled, {"delta": 1e-6}, "method peeled"),
    ],
)
def test_what_is_no_method_is_refused(way: Any, options: dict[str, Any], parameter: str) -> None:
    with pytest.raises(ParameterError) as refused:
        SuppliedMethod.of(way, **options)
    assert refused.value.parameter == parameter


def test_delta_is_given_to_who_has_a_parameter_for_it() -> None:
    seen: list[float] = []

    def approximate(scores: Array, count: int, epsilon: float, rng: Generator, delta: float) -> Array:
        seen.append(delta)
        return range(count)

    way = SuppliedMethod.of(approximate)
    assert (way.takes_delta, SuppliedMethod.of(peeled).takes_delta) == (True, False)
    results = run(**GRID | {"runs": 1}, methods=[way, way.at_delta(1e-6)])
    assert seen == [0.0, 1e-6]
    assert results["method"] == ["approximate", "approximate-delta-1e-06"]


@pytest.mark.parametrize(
    ("before", "again", "resumed"),
    [
        (Louder(), Louder(), 1),
        (Louder(), Louder(2.0), 0),
        (Louder(), SuppliedMethod.of(Louder(), version="4"), 0),
        (peeled, peeled, 0),  # without a version nobody knows whether it changed
    ],
)
def test_a_finished_case_is_found_by_version_and_state(tmp_path: Path, before: Any, again: Any, resumed: int) -> None:
    run(**GRID, methods=[before], out=tmp_path)
    seen: list[Progress] = []
    run(**GRID, methods=[again], out=tmp_path, progress=seen.append)
    assert seen[-1].resumed == resumed


def test_the_manifest_and_the_report_say_whose_it_is_and_no_statement_is_about_it(tmp_path: Path) -> None:
    run(**GRID, methods=["svt-s-1:1", SuppliedMethod.of(Louder(), key="svt-s-mine")], out=tmp_path)
    _, entry = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))["methods"]
    assert entry["source"].endswith("test_methods_supplied:Louder")
    assert (entry["key"], entry["version"], entry["row"]) == ("svt-s-mine", "3", None)
    findings = load_findings(tmp_path)
    assert f"Supplied: {entry['source']}, 3<" in method_table(findings)
    assert findings.keys("svt-s-") == ["svt-s-1:1"]


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


def test_the_package_of_the_page_is_run_by_its_key(site: Path) -> None:
    files = {step.title: step.code for step in steps(PAGE) if step.title}
    project, out = tomllib.loads(files.pop("pyproject.toml"))["project"], site / "out"
    about = lay(site, project["name"], project["entry-points"][GROUP], files)
    (about / "RECORD").write_text("gumbel_top.py,sha256=1,5\n", encoding="utf-8")
    ours, theirs = run(datasets=["zipf"], counts=[25], methods=["em", "gumbel-top"], runs=50, out=out)
    assert (theirs["method"], theirs["runs"]) == ("gumbel-top", ours["runs"])
    assert theirs["fnr_mean"] == pytest.approx(ours["fnr_mean"], abs=0.05)  # both are EM: 5 standard errors or more
    entry = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["methods"][1]
    assert (entry["title"], entry["source"]) == ("Gumbel, at once", "gumbel_top:gumbel_top")
    assert re.fullmatch(r"gumbel-top 1\.0 [0-9a-f]{16}", entry["version"])
    assert len(list((out / "cases").iterdir())) == 2


LISTED = "a.py,sha256=1,5\n"
EDITABLE = '{"url": "file:///a", "dir_info": {"editable": true}}'


@pytest.mark.parametrize(
    ("record", "origin", "kept"),
    [
        (LISTED, None, True),
        (LISTED, EDITABLE.replace("true", "false"), True),
        *((LISTED, origin, False) for origin in (EDITABLE, "[]", "{")),
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
    way = method("kept")
    assert way.kept is kept
    if record is not None:
        (about / "RECORD").write_text(record.replace("=1", "=2"), encoding="utf-8")
        assert (method("kept").law(count=1, epsilon=1) != way.law(count=1, epsilon=1)) is kept


@pytest.mark.parametrize("target", ["nowhere_at_all:first", "broken_one:second", "broken_one:fails", "broken_one:Kind"])
def test_a_broken_package_is_named_and_harms_no_other_method(site: Path, target: str) -> None:
    code = SELECTS + "def fails(scores): ...\nclass Kind: ...\n"
    lay(site, "broken-one", {"broken": target}, {"broken_one.py": code})
    sys.modules.pop("broken_one", None)
    assert installed()["broken"][0].value == target
    assert method("em").key == "em"
    assert "broken_one" not in sys.modules, "nothing is imported before it is asked for"
    with pytest.raises(ParameterError) as caught:
        method("broken")
    assert caught.value.parameter == ("method" if target.endswith("Kind") else "method broken")


def test_a_key_is_of_one_package_and_never_one_of_ours(site: Path) -> None:
    for name in ("one", "two"):
        lay(site, name, {"twice": f"{name}:first", "em": f"{name}:first"}, {f"{name}.py": SELECTS})
    for key in ("twice", "twicc"):
        with pytest.raises(ParameterError) as refused:
            method(key)
        assert refused.value.parameter == "method"
    assert methods_of(["em", "em"])[0].title == "EM"
    for rivals in ([SuppliedMethod.of(peeled, key="em")], [SuppliedMethod.of(way, key="x") for way in (peeled, first)]):
        with pytest.raises(ParameterError) as refused:
            methods_of(rivals)
        assert refused.value.parameter == "methods"
