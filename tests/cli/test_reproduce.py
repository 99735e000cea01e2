"""`sparsegate reproduce`: options in, files out, and the last lines say what did not hold."""

from __future__ import annotations

import contextlib
import errno
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.display import valid

from sparsegate.cli import evaluation_options
from sparsegate.cli.reproduce import reading_lines, verdict_lines
from sparsegate.paper import Progress, read, report
from sparsegate.paper import uses as measured_uses
from sparsegate.paper.decisions import Judgement, Support
from sparsegate.paper.results import ResultFolder
from sparsegate.paper.statements import Checked, PaperStatement, ReadingVerdicts

RUNS = ("--runs", "3", "--most-runs", "3", "--jobs", "1")
FEW = ("--datasets", "zipf", "--counts", "25", "--methods", "em,svt-dpbook", *RUNS)
SMALL = (*FEW, "--paper-only")


@pytest.fixture
def reproduce(command, monkeypatch, tmp_path):
    """Run `sparsegate reproduce` with ``--out`` in a folder of the test, and no report."""
    monkeypatch.setattr(report.Reproduction, "write", lambda self, pool, latex: None)
    monkeypatch.setattr(measured_uses, "use_tasks", lambda **given: [])  # as of an empty table of uses
    monkeypatch.setattr(evaluation_options, "LINE_SECONDS", 600.0)  # a slow machine writes no line either
    return lambda *arguments: command("reproduce", *arguments, "--out", tmp_path / "out")


def manifest(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "out" / "manifest.json").read_text(encoding="utf-8"))


def checked(key: str, support: Support, kind: str = "statement") -> Checked:
    statement = PaperStatement(key=key, claim="", rule="", decide=lambda _: (), kind=kind, where="6")
    return Checked(statement=statement, judgement=Judgement(support=support, numbers=""))


def test_results_are_written_where_they_are_asked_for(reproduce, tmp_path: Path) -> None:
    code, out, err = reproduce(*SMALL)
    assert (code, err) == (0, "")
    assert f"\n2 rows: {tmp_path / 'out' / 'results.csv'}, " in out
    assert out.endswith(f"report: {tmp_path / 'out' / 'report.html'}\n")
    assert read(tmp_path / "out")["method"] == ["em", "svt-dpbook"]


def test_the_options_reach_the_experiment(reproduce, tmp_path: Path) -> None:
    asked = "--counts 25,50 --epsilon 0.1,0.5 --methods em --runs 2 --most-runs 4 --seed 9 --reading ser=totals"
    reproduce(*SMALL[:2], "--paper-only", *asked.split(), "--jobs", "1")
    told = {"counts": [25, 50], "epsilon": [0.1, 0.5], "runs": 2, "most_runs": 4, "seed": 9, "reading": "ser=totals"}
    assert manifest(tmp_path)["parameters"] == told | {"scale_to_records": False}


def test_files_are_used_scaled_and_more_datasets_under_a_new_name(reproduce, tmp_path: Path) -> None:
    transactions, counts = tmp_path / "baskets.dat", tmp_path / "counts.csv"
    transactions.write_text("1 2 3\n1\n" * 50, encoding="utf-8")
    counts.write_text("item,count\na,9\nb,5\nc,1\n", encoding="utf-8")
    few = ("--counts", "2", "--methods", "em", *RUNS, "--paper-only")
    files = ("--data", f"kosarak={transactions}", "--data", f"visits={counts}", "--records", "visits=12")
    assert reproduce("--datasets", "kosarak", *files, "--scale-to-records", *few)[0] == 0
    assert [(data["name"], data["kind"]) for data in manifest(tmp_path)["datasets"]] == [
        ("kosarak", "unverified file"),
        ("visits", "own file"),
    ]
    code, _, err = reproduce(*SMALL, "--records", "visits=12")
    assert (code, err.startswith("sparsegate: --records must be for datasets that have a file")) == (2, True)


def test_json_is_one_object_of_the_published_schema(reproduce, tmp_path: Path) -> None:
    code, out, _ = reproduce(*FEW, "--json")
    told = json.loads(out)
    assert (code, valid(told), told["rows"]) == (0, True, 2)
    assert told["files"]["results"] == str(tmp_path / "out" / "results.csv")
    assert "passes=100" in told["readings"]


@pytest.mark.parametrize(("kind", "code"), [("self-check", 1), ("statement", 0)])
def test_a_self_check_that_is_not_met_is_exit_code_1(reproduce, monkeypatch, kind: str, code: int) -> None:
    wrong = checked("own", Support.NOT_SUPPORTED, kind)
    monkeypatch.setattr(report, "check_all", lambda _: [wrong, checked("open", Support.UNDECIDED, "self-check")])
    ended, out, _ = reproduce(*SMALL)
    assert (ended, "not supported: own\n" in out) == (code, True)


def test_what_the_report_needs_is_asked_for_before_the_work(reproduce, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert reproduce(*SMALL) == (2, "", "sparsegate: this needs matplotlib; run: pip install 'matplotlib>=3.9'\n")
    assert not (tmp_path / "out").exists()


def test_a_full_disk_and_ctrl_c_are_one_line_that_says_how_to_go_on(reproduce, tmp_path: Path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def interrupt(progress: Progress) -> None:
        if progress.done == 1:
            raise KeyboardInterrupt

    kept = f"{tmp_path / 'out'} keeps what is finished: the same command goes on"
    with monkeypatch.context() as patched:
        patched.setattr(ResultFolder, "save", full)
        said = f"sparsegate: could not read or write (No space left on device); {kept}\n"
        assert reproduce(*SMALL) == (2, "", said)
    monkeypatch.setattr(evaluation_options, "shown_progress", lambda: contextlib.nullcontext(interrupt))
    assert reproduce(*SMALL) == (130, "", f"sparsegate: interrupted; {kept}\n")
    assert len(list((tmp_path / "out" / "cases").iterdir())) == 1


def test_what_did_not_hold_is_named_and_what_is_open_too() -> None:
    judged = [
        checked("em-best", Support.SUPPORTED),
        checked("dpbook-worst", Support.NOT_SUPPORTED),
        checked("5d", Support.UNDECIDED),
        checked("deviates", Support.NOT_SUPPORTED),
        checked("allocations", Support.NOT_RUN),
        checked("value-kosarak", Support.NOT_RUN, "printed"),  # a number of other data is no news
        checked("value-zipf", Support.SUPPORTED, "self-check"),
    ]
    first, *others = verdict_lines(judged)
    assert first.startswith("1 of 5 statements supported, 2 not, 0 depend on the reading, 1 undecided")
    assert others == ["not supported: dpbook-worst, deviates", "undecided: 5d", "not run: allocations"]


def test_a_reading_that_changes_verdicts_has_a_line_and_one_that_changes_none_has_not() -> None:
    supports = {
        "ours": (Support.SUPPORTED, Support.NOT_SUPPORTED),
        "raise-unit=scale": (Support.SUPPORTED, Support.NOT_SUPPORTED),
        "passes=100": (Support.SUPPORTED, Support.SUPPORTED),
    }
    judged = {
        name: {key: Judgement(support=one, numbers="") for key, one in zip(("em-best", "5d"), both, strict=True)}
        for name, both in supports.items()
    }
    assert reading_lines(ReadingVerdicts(by_reading=judged)) == [
        "Readings of the paper: 1 of 2 verdicts are the same under all that it leaves open.",
        "passes=100: 5d supported",
    ]
    assert reading_lines(None) == []
