"""`--format`: one option for every way to print, and a result that is paid for is printed whatever happens next."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.cli.conftest import ASK, PAGES, Command

import sparsegate as sg
from sparsegate.cli import options as formats
from sparsegate.cli.errors import Interrupted
from sparsegate.cli.printing import draw_bars
from sparsegate.display import published as published_top
from sparsegate.display.published import PrintedTop
from sparsegate.errors import ParameterError, SparsegateError, SparsegateWarning

TOP = ("top", "visits.csv", *ASK, "--domain", "pages.csv", "--answers-epsilon", "300")
CHARGED = ("--ledger", "x.ledger", "--budget", "1000", "--dataset", "visits")
AGAIN = ("ledger", "show", "x.ledger", "--release", "2")

OLD = {
    "release": "top_items",
    "item": "page",
    "items": sorted(PAGES),
    "estimates": [1000, 1001, 999],
    "error_bar": 6,
    "confidence": 0.95,
    "record": {
        "epsilon": "330",
        "delta": "0",
        "answers_epsilon": "300",
        "method": "subset",
        "ordered": False,
        "unit": "user",
        "count": 3,
        "domain": "public",
        "itemset_size": 1,
    },
}
"""What version 0.1 kept in a ledger."""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger of that time, in the working directory."""
    monkeypatch.chdir(tmp_path)
    with sg.Ledger.create("x.ledger", dataset="visits", budget=1000) as ledger:
        ledger.keep(ledger.spend(epsilon=330, what="top 3 of page"), OLD)


def valid(shown: Any) -> bool:
    schema = json.loads(files("sparsegate.display").joinpath("schemas.json").read_text(encoding="utf-8"))
    return bool(jsonschema_rs.validator_for(schema).is_valid(shown))


def test_every_format_shows_the_same_items(command: Command, folder: Path) -> None:
    first = command(*TOP, *CHARGED, "--format", "json")[1]
    shown = {
        word: command(*AGAIN, "--format", word) for word, about in formats.WORDS.items() if about == formats.OUTPUT
    }
    assert {(code, err) for code, _, err in shown.values()} == {(0, "")}
    text = {word: out for word, (_, out, _) in shown.items()}
    assert all(page in out for out in text.values() for page in PAGES)
    assert text["json"] == first
    assert valid(json.loads(first))
    assert {row["page"] for row in csv.DictReader(io.StringIO(text["csv"]))} == PAGES
    assert text["html"].startswith("<!doctype html>")
    assert "| /home | 1,000 |" in text["markdown"]
    assert all("all at once" in " ".join(text[word].split()) for word in ("table", "html", "markdown"))
    assert text["json"] == command(*AGAIN, "--json")[1]
    assert text["csv"] == command(*AGAIN, "--csv")[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--format", "json", "--format", "csv"), "--format must be given once for how the result is printed"),
        (("--json", "--csv"), "--format must be given once for how the result is printed"),
        (("--format", "xml"), "--format must be one of"),
    ],
)
def test_two_formats_and_unknown_ones_are_refused(
    command: Command, folder: Path, options: tuple[str, ...], said: str
) -> None:
    code, out, err = command(*TOP, *CHARGED, *options)
    assert (code, out) == (2, "")
    assert said in err
    assert not Path("x.ledger").exists()


def test_a_word_may_be_said_twice() -> None:
    assert formats.chosen_formats(["json"], as_json=True)[formats.OUTPUT] == "json"
    with pytest.raises(ParameterError):
        formats.chosen_formats(["json"], as_csv=True)


@pytest.mark.parametrize(
    "words", [("variants",), ("variants", "standard"), ("loss", "roth-2011"), ("ledger", "show", "x.ledger")]
)
def test_other_tables_have_formats_too(command: Command, kept: None, words: tuple[str, ...]) -> None:
    code, out, _ = command(*words, "--format", "markdown")
    assert code == 0
    lines = [line for line in out.splitlines() if line.startswith("|")]
    assert len(lines) > 3
    assert {line.count("|") - line.count("\\|") for line in lines} == {lines[0].count("|")}
    assert command(*words, "--format", "html")[1].startswith("<!doctype html>")
    found = json.loads(command(*words, "--format", "json")[1])
    assert all(valid(entry) for entry in (found if isinstance(found, list) else [found]))


def test_a_label_that_is_a_formula_is_printed_exactly_and_warned_of(command: Command, folder: Path) -> None:
    Path("pages.csv").write_text('page\n"=HYPERLINK(1)"\n')
    ask = ("top", "visits.csv", *ASK[:4], "-c", "1", "--epsilon", "1", "--domain", "pages.csv", "--csv")
    with pytest.warns(SparsegateWarning, match="formulas"):
        _, out, _ = command(*ask)
    assert next(csv.DictReader(io.StringIO(out)))["page"] == "=HYPERLINK(1)"


def test_a_release_that_an_older_version_stored_prints_in_every_format(command: Command, kept: None) -> None:
    for word in ("table", "csv", "html", "markdown"):
        code, out, err = command(*AGAIN, "--format", word)
        assert (code, err) == (0, "")
        assert all(page in out for page in PAGES)
        assert "all at once" not in out
    found = json.loads(command(*AGAIN, "--json")[1])
    assert valid(found)
    assert {row["item"] for row in found["items"]} == PAGES


@pytest.mark.parametrize(
    ("failure", "kind", "said"),
    [
        (KeyboardInterrupt(), Interrupted, "interrupted while x.png was drawn; the result above is complete; see N"),
        (RuntimeError("a font broke"), SparsegateError, "x.png could not be drawn (RuntimeError); the result above"),
        (
            OSError(28, "No space left on device"),
            SparsegateError,
            "could not be written (No space left on device), and",
        ),
        (MemoryError(), SparsegateError, "could not be drawn (MemoryError)"),
    ],
    ids=["ctrl-c", "font", "disk", "memory"],
)
def test_a_picture_that_fails_says_that_the_result_is_complete(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
    kind: type[BaseException],
    said: str,
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)

    def fails(*_: Any, **__: Any) -> Any:
        raise failure

    Path("x.png").write_text("as it was")
    monkeypatch.setattr(published_top, "bar_chart", fails)
    with pytest.raises(kind) as raised:
        draw_bars("x.png", PrintedTop(kept=OLD), "see N")
    assert said in str(raised.value)
    assert "see N" in str(raised.value)
    assert "a font broke" not in str(raised.value)
    assert Path("x.png").read_text() == "as it was"


def test_ctrl_c_in_the_middle_of_a_picture_costs_nothing_but_the_picture(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real signal, while the figure is being saved; the ledger draws it again."""
    figures = pytest.importorskip("matplotlib.figure")
    with monkeypatch.context() as broken:
        broken.setattr(figures.Figure, "savefig", lambda *_, **__: os.kill(os.getpid(), signal.SIGINT))
        code, out, err = command(*TOP, *CHARGED, "--plot", "x.png")
    assert code == 130
    assert all(page in out for page in PAGES)
    assert err == (
        "sparsegate: interrupted while x.png was drawn; the result above is complete; "
        "print it again: sparsegate ledger show x.ledger --release 2 --plot x.png\n"
    )
    assert not Path("x.png").exists()
    assert command(*AGAIN, "--plot", "x.png")[0] == 0
    assert Path("x.png").read_bytes()[:4] == b"\x89PNG"


def test_a_picture_needs_a_release_with_counts(command: Command, kept: None) -> None:
    with sg.Ledger("x.ledger") as ledger:
        bare = {**OLD, "estimates": None, "error_bar": None}
        ledger.keep(ledger.spend(epsilon=1, what="top 3 of page"), bare)
    code, out, err = command("ledger", "show", "x.ledger", "--release", "3", "--plot", "x.png")
    assert code == 2
    assert all(page in out for page in PAGES)
    assert "needs noisy counts to draw" in err
    assert command("ledger", "show", "x.ledger", "--plot", "x.png")[0] == 2
