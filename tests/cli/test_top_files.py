"""`sparsegate top` on what people bring: forms of text, standard input, and bad files that cost nothing."""

from __future__ import annotations

import csv
import gzip
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.cli.conftest import ASK, PAGES, PROGRAM, Command, Refused

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
        ("baskets.csv", lines("\t"), ("--input-format", "baskets", "--separator", r"\t")),
        ("-", lines(";"), ("--input-format", "baskets", "--separator", ";", "--encoding", "utf-16")),
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


def test_a_table_from_standard_input_alone_and_beside_files(command: Command, folder: Path) -> None:
    ask = (*ASK, "--domain", "pages.csv", "--csv")
    assert chosen(command("top", "-", *ask, stdin=gzip.compress(Path("visits.csv").read_bytes()))[1]) == PAGES
    assert command("top", "visits.csv", "-", *ask, stdin=b"pages,whose\n")[0] == 0


BAD = {
    "late.csv": (b"page,visitor\n" + b"/home,u1\n" * 30_000 + b"SECRET,u1,1,2,3\n", (), "late.csv is ragged"),
    "book.xlsx": (b"PK\x03\x04SECRET", (), "book.xlsx is a workbook"),
    "book.csv": (b"PK\x03\x04SECRET", (), "save its sheet as CSV"),
    "latin.csv": ("page,visitor\nSECRETé,1\n".encode("latin-1"), (), "not UTF-8 text: pass --encoding"),
    "one.csv": (b"page\nSECRET\n", (), "no column 'visitor'"),
    "twice.csv": (b"page,visitor,Visitor\nSECRET,1,2\n", (), "must name the column 'visitor' once"),
    "wrong.csv": (b"page,visitor\nSECRET,1\n", ("--encoding", "utf-16"), "is not written in utf-16"),
    "cut.csv.zst": (b"\x28\xb5\x2f\xfdSECRET", (), "cut.csv.zst"),
    "mixed.json": (b"[]", ("visits.csv",), "one kind"),
    "words.txt": (b"SECRET\n", (), "--input-format must say"),
    "visits.db": (b"SQLite format 3\0SECRET", ("--input-format", "fimi"), "--input-format is for text"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_line_that_shows_no_cell_and_costs_nothing(refused: Refused, folder: Path, name: str) -> None:
    content, options, hint = BAD[name]
    Path(name).write_bytes(content)
    ledger = Ledger.create("x.ledger", dataset="visits", budget=99)
    said = refused("top", name, *options, *ASK, "--domain", "pages.csv", "--ledger", "x.ledger")
    assert "SECRET" not in said
    assert hint in said
    assert len(ledger.entries()) == 1


def test_ctrl_c_ends_a_wait_for_standard_input_and_leaves_nothing(folder: Path) -> None:
    spill = folder / "spill"
    spill.mkdir()
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = {**os.environ, "TMPDIR": str(spill)}
    with subprocess.Popen([*PROGRAM, "top", "-", *ASK, "--domain", "5"], env=environment, **pipes) as running:
        assert running.stdin is not None
        running.stdin.write(b"page,visitor\n" * 100)
        running.stdin.flush()
        until = time.monotonic() + 60
        while not list(spill.rglob("standard-input*")) and time.monotonic() < until:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=30) == 130
        assert not list(spill.iterdir())
