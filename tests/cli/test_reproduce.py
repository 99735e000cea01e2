"""`sparsegate reproduce`: options in, files out."""

from __future__ import annotations

import errno
import json
import sys
from importlib.resources import files
from pathlib import Path

import jsonschema_rs
import pytest

from sparsegate.cli import evaluation_options
from sparsegate.cli import evaluation_options as long_run
from sparsegate.paper import Progress, read, report
from sparsegate.paper.findings import Checked, Judgement, PaperStatement, Support
from sparsegate.paper.results import ResultFolder
from sparsegate.paper.uses import measured as measured_uses
from sparsegate.paper.workers import WorkPlan

RUNS = ("--runs", "3", "--most-runs", "3", "--jobs", "1")
FEW = ("--datasets", "zipf", "--counts", "25", "--methods", "em,svt-dpbook", *RUNS)
SMALL = (*FEW, "--paper-only")


@pytest.fixture
def reproduce(command, monkeypatch, tmp_path):
    """Run `sparsegate reproduce` with ``--out`` in a folder of the test, and no report."""
    monkeypatch.setattr(report.Reproduction, "write", lambda self, pool: None)
    monkeypatch.setattr(measured_uses, "use_tasks", lambda **given: [])  # as of an empty table of uses
    monkeypatch.setattr(long_run, "LINE_SECONDS", 600.0)  # a slow machine writes no line either
    return lambda *arguments: command("reproduce", *arguments, "--out", tmp_path / "out")


def manifest(folder: Path) -> dict[str, object]:
    return json.loads((folder / "out" / "manifest.json").read_text(encoding="utf-8"))


def test_results_are_written_where_they_are_asked_for(reproduce, tmp_path: Path) -> None:
    code, out, err = reproduce(*SMALL)
    assert (code, err) == (0, "")
    assert f"\n2 rows: {tmp_path / 'out' / 'results.csv'}, " in out
    assert out.endswith(f"report: {tmp_path / 'out' / 'report.html'}\n")
    assert read(tmp_path / "out")["method"] == ["em", "svt-dpbook"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_where_nothing_can_be_printed_one_line_says_where_all_of_it_is(
    reproduce, tmp_path: Path, monkeypatch, form: tuple[str, ...]
) -> None:
    with Path("/dev/full").open("w") as full, monkeypatch.context() as patched:
        patched.setattr("sys.stdout", full)
        code, _, err = reproduce(*SMALL, *form)
    reason = "standard output cannot be written: No space left on device"
    assert (code, err) == (2, f"sparsegate: {reason}; all of it is in {tmp_path / 'out' / 'report.html'}\n")
    assert (tmp_path / "out" / "results.csv").exists()


def test_the_options_reach_the_experiment(reproduce, tmp_path: Path) -> None:
    asked = {
        "--counts": "25, 50",
        "--epsilon": "0.1,0.5",
        "--methods": "em",
        "--runs": "2",
        "--most-runs": "4",
        "--seed": "9",
        "--reading": "ser=totals",
        "--jobs": "1",
    }
    reproduce(*SMALL[:2], "--paper-only", *(word for pair in asked.items() for word in pair))
    assert manifest(tmp_path)["parameters"] == {
        "counts": [25, 50],
        "epsilon": [0.1, 0.5],
        "runs": 2,
        "most_runs": 4,
        "seed": 9,
        "scale_to_records": False,
        "reading": "ser=totals",
    }


def test_a_file_is_used_and_scaled(reproduce, tmp_path: Path) -> None:
    file = tmp_path / "part.dat"
    file.write_text("1 2 3\n1\n" * 50, encoding="utf-8")
    code, _, _ = reproduce(
        "--datasets",
        "kosarak",
        "--data",
        f"kosarak={file}",
        "--scale-to-records",
        "--counts",
        "2",
        "--methods",
        "em",
        *RUNS,
    )
    assert code == 0
    assert manifest(tmp_path)["datasets"][0]["kind"] == "unverified file"


def test_a_file_under_a_new_name_is_one_more_dataset(reproduce, tmp_path: Path) -> None:
    transactions, counts = tmp_path / "baskets.dat", tmp_path / "counts.csv"
    transactions.write_text("1 2 3\n1\n" * 50, encoding="utf-8")
    counts.write_text("item,count\na,9\nb,5\nc,1\n", encoding="utf-8")
    files = ("--data", f"baskets={transactions}", "--data", f"visits={counts}", "--records", "visits=12")
    code, _, _ = reproduce(*SMALL[:2], *files, "--counts", "2", "--methods", "em", *RUNS, "--paper-only")
    assert code == 0
    assert [(data["name"], data["kind"], data["records"]) for data in manifest(tmp_path)["datasets"]] == [
        ("zipf", "exact", 1_000_000),
        ("baskets", "own file", 100),
        ("visits", "own file", 12),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--data", "a=x.csv", "--data", "a=y.csv"), "--data must name a dataset once"),
        (("--records", "12"), "--records must look like NAME=N"),
        (("--data", "a=x.csv", "--records", "many"), "--records must look like NAME=N"),
        (("--records", "visits=12"), "records must be for datasets that have a file"),
    ],
)
def test_files_and_records_that_make_no_sense_are_refused(reproduce, arguments, message: str) -> None:
    code, _, err = reproduce(*SMALL, *arguments)
    assert code != 0
    assert message in err


def test_json_is_one_object_of_the_published_schema(reproduce, tmp_path: Path) -> None:
    code, out, _ = reproduce(*FEW, "--json")
    found = json.loads(out)
    schema = json.loads(files("sparsegate.display").joinpath("schemas.json").read_text(encoding="utf-8"))
    jsonschema_rs.validator_for(schema).validate(found)
    assert (code, found["rows"]) == (0, 2)
    assert found["files"]["results"] == str(tmp_path / "out" / "results.csv")
    assert "passes=100" in found["readings"]
    assert sum(found["tally"]["statement"].values()) == sum(one["kind"] == "statement" for one in found["statements"])


def test_a_self_check_that_is_not_met_is_exit_code_1(reproduce, monkeypatch: pytest.MonkeyPatch) -> None:
    statement = PaperStatement(key="own", claim="", rule="", check=None, kind="self-check", where="")
    wrong = Checked(statement=statement, judgement=Judgement(support=Support.NOT_SUPPORTED, numbers=""))
    monkeypatch.setattr(report, "check_all", lambda _: [wrong])
    code, out, _ = reproduce(*SMALL)
    assert code == 1
    assert "not supported: own\n" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--counts", "25,many"), "--counts must be numbers"),
        (("--epsilon", "x"), "--epsilon must be numbers"),
        (("--data", "kosarak"), "--data must look like kosarak=FILE"),
        (("--methods", "svt"), "method must be the key of a method"),
        (("--datasets", "kosarak", "--data", "kosarak=nowhere.dat"), "--data must name a file that can be read"),
    ],
)
def test_a_bad_option_is_one_line_and_exit_code_2(reproduce, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = reproduce(*arguments)
    assert (code, out) == (2, "")
    assert f"sparsegate: {message}" in err


def test_what_the_report_needs_is_asked_for_before_the_work(reproduce, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert reproduce(*SMALL) == (2, "", "sparsegate: this needs matplotlib; run: pip install 'matplotlib>=3.9'\n")
    assert not (tmp_path / "out").exists()


def test_a_full_disk_is_one_line_that_says_how_to_go_on(
    reproduce, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ResultFolder, "save", full)
    code, out, err = reproduce(*SMALL)
    assert (code, out) == (2, "")
    said = f"could not read or write (No space left on device); {tmp_path / 'out'} keeps what is finished"
    assert err == f"sparsegate: {said}: the same command goes on\n"


def test_ctrl_c_exits_130_keeps_the_cases_and_says_how_to_go_on(
    reproduce, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.done == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(evaluation_options, "WorkPlan", lambda _: WorkPlan(interrupt))
    code, out, err = reproduce(*SMALL)
    assert (code, out) == (130, "")
    assert err == f"sparsegate: interrupted; {tmp_path / 'out'} keeps what is finished: the same command goes on\n"
    assert len(list((tmp_path / "out" / "cases").iterdir())) == 1
