"""`python -m pages run|write [PAGE ...]`: run the blocks of pages; `write` puts into them what their blocks print.

`--minutes` also runs what takes minutes. A PAGE is a path, or the end of one: `top`, `how-to/top.md`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pages.blocks import ROOT, pages
from pages.outputs import rewritten
from pages.page_run import Report, run_page


def chosen(words: list[str]) -> list[Path]:
    """The pages that the words name, by their path or its end; all of them where there are no words."""
    paths = {page.relative_to(ROOT).with_suffix("").as_posix(): page for page in pages()}
    found = []
    for word in (word.removesuffix(".md") for word in words):
        ends = [name for name in paths if f"/{name}".endswith(f"/{word}")]
        name = word if word in paths else ends[0] if len(ends) == 1 else sys.exit(f"{word}: which of {ends}?")
        found.append(paths[name])
    return found if words else list(paths.values())


def put_in(page: Path, report: Report) -> None:
    """Put what was printed, and the pictures that were made, into the docs."""
    text = page.read_text(encoding="utf-8")
    page.write_text(rewritten(text, report.printed), encoding="utf-8")
    for name, data in report.pictures.items():
        (ROOT / "docs" / "pictures" / name).write_bytes(data)


def main() -> int:
    """Run the pages; the number of those with something wrong."""
    parser = argparse.ArgumentParser(prog="python -m pages", description=__doc__)
    parser.add_argument("what", choices=["run", "write"])
    parser.add_argument("page", nargs="*")
    parser.add_argument("--minutes", action="store_true", help="also run what takes minutes")
    given = parser.parse_intermixed_args()
    bad = 0
    for page in chosen(given.page):
        report = run_page(page, minutes=given.minutes)
        name = page.relative_to(ROOT)
        sys.stdout.write(f"{name}: {len(report.ran)} run, {len(report.skipped)} skipped, {report.seconds:.1f} s\n")
        sys.stdout.write("".join(f"  line {step.line}: {why}\n" for step, why in report.skipped))
        if given.what == "write" and not report.failures:  # a page is written as a whole
            put_in(page, report)
            sys.stdout.write(f"  {len(report.printed)} outputs and {len(report.pictures)} pictures written\n")
        wrong = report.failures if given.what == "write" else report.wrong
        sys.stdout.write("".join(f"{each}\n" for each in wrong))
        bad += bool(wrong)
    return bad


if __name__ == "__main__":
    sys.exit(main())
