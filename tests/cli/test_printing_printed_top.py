"""`sparsegate top`: a result that is paid for reaches its reader, and what was not released reaches nobody.

Scores and epsilon are those of test_top: nothing fails by chance.
"""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import ABOVE, ASK, Command

duckdb = pytest.importorskip("duckdb")

PROGRAM = [sys.executable, "-c", "from sparsegate.cli import main; main()"]


@pytest.mark.turns(3)
@pytest.mark.parametrize("style", ["--json", "--csv", None])
def test_an_item_that_the_terminal_cannot_show_is_printed_all_the_same(folder: Path, style: str | None) -> None:
    Path("pages.csv").write_text("page\n/é\n", encoding="utf-8")
    question = ["top", "visits.csv", *ASK[:4], "-c", "1", "--epsilon", "1", "--domain", "pages.csv"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [*PROGRAM, *question, *([style] if style else [])],
        env=environment,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode("ascii")
    if style == "--json":
        assert json.loads(text)["items"] == [{"item": "/é"}]
    elif style == "--csv":
        assert next(csv.DictReader(io.StringIO(text)))["page"] == "/\\xe9"
    else:
        assert "/\\xe9" in text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_picture_that_cannot_be_written_is_one_line_after_the_result(command: Command, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    Path("full.png").symlink_to("/dev/full")
    question = ("top", "visits.csv", *ASK, "--domain", "pages.csv", "--answers-epsilon", "1", "--plot", "full.png")
    code, out, err = command(*question)
    assert (code, err.count("\n")) == (2, 1)
    assert "/home" in out
    assert "--plot could not be written (No space left on device), and the result above is complete" in err


def test_counts_of_cut_users_say_so_wherever_they_are_shown(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.axes import Axes

    captions: list[str] = []
    monkeypatch.setattr(Axes, "set_xlabel", lambda self, text: captions.append(text))
    question = ("top", "visits.csv", *ASK, "--domain", "pages.csv", "--answers-epsilon", "1", "--plot", "x.png")
    whole = command(*question)[1]
    cut = command(*question, "--max-items-per-user", "2")[1]
    said = "at most 2 items of each user, chosen by a hash; counts and error bars leave out the others"
    assert said in " ".join(cut.split())
    assert [said in caption for caption in captions] == [False, True]
    assert "leave out" not in whole
    assert json.loads(command(*question, "--max-items-per-user", "2", "--json")[1])["record"]["counted"] == said


def test_the_picture_of_a_bar_says_where_it_stands(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.axes import Axes

    titles: list[str] = []
    monkeypatch.setattr(Axes, "set_title", lambda self, text, **_: titles.append(text))
    assert command("top", "visits.csv", *ABOVE, "--answers-epsilon", "1", "--plot", "x.png")[0] == 0
    assert titles == ["page: about 500 users or more, ε = 31, δ = 0.000001, not recorded"]


def test_a_large_domain_is_printed_with_all_its_digits(command: Command, folder: Path) -> None:
    question = ("--item", "number", "--user", "visitor", "-c", "1", "--epsilon", "60", "--domain", "4049999999999999")
    code, out, _ = command("top", "visits.csv", *question)
    assert code == 0
    assert "4,049,999,999,999,999" in out


def test_text_that_is_no_whole_number_is_no_numbered_candidate(command: Command, folder: Path) -> None:
    rows = "".join(f"1.7,u{user}\n1e3,u{user}\n" for user in range(1000)) + "".join(f"5,u{n}\n" for n in range(500))
    Path("numbers.csv").write_text("page,visitor\n" + rows)
    question = ("--item", "page", "--user", "visitor", "-c", "1", "--epsilon", "9", "--domain", "2000", "--json")
    code, out, _ = command("top", "numbers.csv", *question)
    assert code == 0
    assert json.loads(out)["items"] == [{"item": 5}]


@pytest.mark.parametrize(
    "options", [(), ("--item", "page", "--user", "visitor"), ("--item", "Jo", "--user", "visitor")]
)
def test_the_first_line_of_a_file_without_a_header_is_not_repeated(
    command: Command, folder: Path, options: tuple[str, ...]
) -> None:
    Path("bare.csv").write_text("SECRETname,Tuesday\nother,Monday\n")
    code, out, err = command("top", "bare.csv", *options, "-c", "1", "--epsilon", "1", "--domain", "pages.csv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    gate = ("--threshold", "5", "--cutoff", "1", "--epsilon", "1", "--unit", "row", "--where", "page = 'x'")
    for said in (err, command("watch", "bare.csv", *gate)[2]):
        assert said
        assert "SECRETname" not in said
        assert "Tuesday" not in said


def test_json_answers_whatever_keys_its_records_have(command: Command, folder: Path) -> None:
    for text in ("", '{"visitor": 1}\n', '{"visitor": 1, "page": "/home"}\n'):
        Path("visits.jsonl").write_text(text)
        code, out, err = command("top", "visits.jsonl", *ASK, "--domain", "pages.csv", "--json")
        assert (code, err) == (0, "")
        assert len(json.loads(out)["items"]) == 3


@pytest.mark.turns(2)
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_data_behind_and_ends_the_process_as_ever(
    folder: Path, tmp_path: Path, ending: signal.Signals
) -> None:
    spill = tmp_path / "spill"
    spill.mkdir()
    gate = ["--threshold", "5", "--cutoff", "9", "--epsilon", "1", "--unit", "row", "--conditions", "-"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = {**os.environ, "TMPDIR": str(spill)}
    pipes["preexec_fn"] = lambda: signal.signal(ending, signal.SIG_DFL)  # the tests may run under nohup
    with subprocess.Popen([*PROGRAM, "watch", "visits.csv", *gate], env=environment, text=True, **pipes) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        assert len(list(spill.glob("sparsegate-*"))) == 1
        process.send_signal(ending)
        assert process.wait(timeout=30) == -ending
        assert process.stderr.read() == ""
    assert list(spill.iterdir()) == []


def test_nohup_is_heard(folder: Path) -> None:
    script = "import os, signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); from sparsegate.cli import app; "
    script += "app.app = lambda **_: os.kill(os.getpid(), signal.SIGHUP); from sparsegate.cli import main; main()"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
