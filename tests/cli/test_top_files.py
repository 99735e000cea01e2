"""`sparsegate top` on what people bring: forms of text, standard input, and bad files that cost nothing."""

from __future__ import annotations

import csv
import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.conftest import ASK, PAGES, Command

from sparsegate.ledger.ledger import Ledger

pytest.importorskip("duckdb")

BASKETS = ("-c", "3", "--epsilon", "30", "--domain", "pages.csv:page", "--csv")


def chosen(out: object) -> set[str]:
    return {row["page" if "page" in row else "item"] for row in csv.DictReader(str(out).splitlines())}


def lines(separator: str) -> str:
    return "\n".join([separator.join(sorted(PAGES))] * 1000 + ["/elsewhere", ""])


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("baskets", lines(" "), ("--format", "fimi")),
        ("baskets.txt", lines(" , "), ("--format", "baskets")),
        ("baskets.csv", lines("|"), ("--format", "baskets", "--separator", "|")),
        ("baskets.csv", lines("\t"), ("--format", "baskets", "--separator", r"\t")),
        ("-", lines(" "), ("--format", "fimi")),
        ("-", lines(";"), ("--format", "baskets", "--separator", ";", "--encoding", "utf-16")),
    ],
)
def test_baskets_under_any_name(command: Command, folder: Path, name: str, text: str, options) -> None:
    raw = text.encode("utf-16" if "utf-16" in options else "utf-8")
    if name != "-":
        Path(name).write_bytes(raw)
    code, out, err = command("top", name, *options, *BASKETS, stdin=raw)
    assert (code, err, chosen(out)) == (0, "", PAGES)
    header = next(csv.reader(out.splitlines()))
    assert len(set(header)) == len(header)  # the column of the items is called like a part of the record


def test_a_table_from_standard_input_or_in_another_encoding(command: Command, folder: Path) -> None:
    raw = Path("visits.csv").read_bytes()
    ask = (*ASK, "--domain", "pages.csv", "--csv")
    assert chosen(command("top", "-", *ask, stdin=raw)[1]) == PAGES
    assert chosen(command("top", "-", *ask, stdin=gzip.compress(raw))[1]) == PAGES
    Path("wide.csv").write_bytes(raw.decode().encode("utf-16"))
    assert chosen(command("top", "wide.csv", *ask, "--encoding", "utf-16")[1]) == PAGES
    Path("odd.csv").write_bytes(raw.replace(b"page,visitor,number", b"page,visitor,2019"))
    assert chosen(command("top", "odd.csv", *ask)[1]) == PAGES
    code, _, err = command("top", "visits.csv", "-", *ask, stdin=b"pages,whose\n")
    assert code == 0, err


BAD = {
    "empty.csv": (b"", (), "empty.csv is empty"),
    "ragged.csv": (b"page,visitor\n/home,1\nSECRET,1,2\n", (), "ragged.csv is ragged"),
    "book.xlsx": (b"PK\x03\x04SECRET", (), "book.xlsx is a workbook"),
    "book.csv": (b"PK\x03\x04SECRET", (), "save its sheet as CSV"),
    "empty.parquet": (b"", (), "cannot be read as Parquet"),
    "garbage.csv": (bytes(range(256)), (), "not UTF-8 text: give --encoding"),
    "garbage.parquet": (b"SECRET" * 99, (), "cannot be read as Parquet"),
    "latin.csv": ("page,visitor\nSECRETé,1\n".encode("latin-1"), (), "not UTF-8 text: give --encoding"),
    "nul.csv": (b"page,visitor\nSECRET\0,1,2\n", (), "nul.csv is ragged"),
    "one.csv": (b"page\nSECRET\n", (), "no column 'visitor'"),
    "row.csv": (b"SECRET,17\n", (), "must name the column"),
    "twice.csv": (b"page,visitor,Visitor\nSECRET,1,2\n", (), "must name the column 'visitor' once"),
    "wrong.csv": (b"page,visitor\nSECRET,1\n", ("--encoding", "utf-16"), "is not written in utf-16"),
    "cut.csv.gz": (gzip.compress(b"page,visitor\nSECRET,1\n" * 99)[:-20], (), "visits.csv"),
    "cut.csv.zst": (b"\x28\xb5\x2f\xfdSECRET", (), "cut.csv.zst"),
    "mixed.json": (b"[]", ("visits.csv",), "one kind"),
    "unknown.xls": (b"SECRET", (), "give --format fimi or --format baskets"),
    "words.txt": (b"SECRET\n", (), "--format must say"),
    "visits.db": (b"SQLite format 3\0SECRET", ("--format", "fimi"), "--format is for text"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_line_that_shows_no_cell_and_costs_nothing(command: Command, folder: Path, name: str) -> None:
    content, options, hint = BAD[name]
    Path(name).write_bytes(content)
    ledger = Ledger.create("x.ledger", dataset="visits", budget=99)
    code, out, err = command("top", name, *options, *ASK, "--domain", "pages.csv", "--ledger", "x.ledger")
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert "SECRET" not in err
    if hint != "visits.csv":
        assert hint in err
    assert len(ledger.entries()) == 1


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (("--format", "fimi", "--format", "baskets"), "--format must be given once for how the files are written"),
        (("--format", "xls"), "--format must be one of"),
        (("--separator", ""), "--separator must be"),
        (("--separator", ",", "--format", "fimi"), "--separator must not be given"),
        (("--encoding", "klingon"), "--encoding must be"),
    ],
)
def test_a_wrong_option_is_refused_before_the_file_is_looked_at(command: Command, folder: Path, options, hint) -> None:
    code, out, err = command("top", "missing.csv", *options, *ASK, "--domain", "pages.csv")
    assert (code, out) == (2, "")
    assert hint in err


def test_words_for_the_files_and_for_the_result_go_together(command: Command, folder: Path) -> None:
    Path("x").write_text(lines(","))
    code, out, _ = command("top", "x", "--format", "baskets", "--format", "markdown", *BASKETS[:-1])
    assert code == 0
    assert all(page in out for page in PAGES)


def test_ctrl_c_ends_a_wait_for_standard_input_and_leaves_nothing(folder: Path) -> None:
    spill = folder / "spill"
    spill.mkdir()
    program = [sys.executable, "-c", "from sparsegate.cli import main; main()", "top", "-", *ASK, "--domain", "5"]
    with subprocess.Popen(
        program,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(spill)},
    ) as running:
        assert running.stdin is not None
        running.stdin.write(b"page,visitor\n" * 100)
        running.stdin.flush()
        until = time.monotonic() + 60
        while not list(spill.rglob("standard-input*")) and time.monotonic() < until:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=30) == 130
        assert not list(spill.iterdir())
