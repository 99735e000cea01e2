"""The picture docs/pictures/page.png: the page of the service, on made-up patients, in a real browser.

    python examples/page_picture.py              that picture
    python examples/page_picture.py FOLDER       every view: wide and on a phone, light and dark

It needs Chromium, and `pip install '.[serve,dev]'` in a checkout.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
from PIL import Image
from playwright.sync_api import Page, ViewportSize, sync_playwright

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "page.png"
PATIENTS = """
COPY (
    SELECT n AS patient,
        ['Cardiology', 'Dialysis', 'Maternity', 'Oncology', 'Surgery'][1 + n % 5] AS ward,
        18 + n * 37 % 75 AS age,
        DATE '2029-01-01' + (n * 101 % 700)::INTEGER AS admitted,
        n % 8 = 0 AS diabetic,
        100 + n * 211 % 800 / 10.0 AS systolic
    FROM range(20000) AS numbers(n)
) TO '{file}' (FORMAT parquet)
"""
QUESTIONS = (
    "ward = 'Dialysis' AND age >= 60",
    "ward = 'Maternity' AND age >= 60 AND systolic > 175",
    "diabetic AND admitted >= DATE '2030-06-01'",
    "ward = 'Oncology' AND age BETWEEN 18 AND 25 AND diabetic",
)
SIZES: dict[str, ViewportSize] = {"wide": {"width": 1100, "height": 800}, "phone": {"width": 390, "height": 844}}


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, str, subprocess.Popen[str]]]:
    """The address of a new service, its owner's token, and its process."""
    file = folder / "patients.parquet"
    duckdb.execute(PATIENTS.format(file=file))
    options = ["--user", "patient", "--new-ledger", "--budget", "4", "--port", "0"]
    command = [str(Path(sys.executable).with_name("sparsegate")), "serve", str(file), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        said = ""
        while not (url := re.search(r"http://[\d.:]+", said)) or not (token := re.search(r"sg_[\w-]{43}", said)):
            line = process.stdout.readline()
            if not line:
                raise SystemExit(f"the service did not start:\n{said}")
            said += line
        try:
            yield url[0], token[0], process
        finally:
            process.terminate()


def open_gate(page: Page, *, threshold: int, epsilon: str, name: str = "", description: str = "") -> None:
    """Fill the form, and wait for the preview."""
    for label, text in {"Name": name, "Description": description, "Threshold": str(threshold)}.items():
        page.get_by_label(label, exact=True).fill(text)
    page.get_by_label("Cutoff (c)").fill("10")
    page.get_by_label("Epsilon", exact=True).fill(epsilon)
    page.locator("#preview-list dt").first.wait_for()


def fill(page: Page) -> str:
    """A gate with some answers: its address."""
    page.get_by_role("link", name="Open a gate").click()
    open_gate(page, threshold=500, epsilon="0.5", name="Winter planning", description="Beds that may be needed at once")
    page.get_by_role("button", name="Open, and reserve").click()
    for where in QUESTIONS:
        page.get_by_label("Count where").fill(where)
        page.keyboard.press("Enter")
        page.locator("#answers td.code").get_by_text(where, exact=True).wait_for()
    return page.url


def look(page: Page, gate: str, process: subprocess.Popen[str] | None) -> Iterator[str]:
    """Every view in turn, by its name; at the end, where there is a process, without it."""
    base = gate.partition("#")[0]
    page.goto(gate)
    page.locator("#answers tr").first.wait_for()
    yield "gate"
    page.get_by_label("Count where").fill("ward = ‘Surgery’")
    yield "curly"
    page.get_by_label("Count where").fill("wart = 'Surgery'")
    page.keyboard.press("Enter")
    page.locator("#where-wrong mark").wait_for()
    page.get_by_label("Count where").press_sequentially(" OR a")
    yield "wrong"
    page.get_by_role("button", name="Copy as curl").first.press("Enter")
    yield "code"
    page.get_by_role("button", name="Done").press("Enter")
    for name, ready in {
        "gates": "[data-gate]",
        "budget": "#entries tr",
        "tokens": "#token-list tr",
        "activity": "#activity tr",
        "me": "#me dd",
    }.items():
        page.goto(f"{base}#/{name}")
        page.locator(ready).first.wait_for()
        yield name
    page.goto(f"{base}#/practice/open")
    open_gate(page, threshold=300, epsilon="1", name="A first try")
    page.get_by_role("button", name="Open (free)").press("Enter")
    page.locator("#examples button").first.press("Enter")
    page.get_by_role("button", name="Ask", exact=True).press("Enter")
    page.locator("#answers tr").first.wait_for()
    yield "practice"
    page.goto(f"{base}#/open")
    open_gate(page, threshold=5, epsilon="0.1")
    yield "open"
    page.get_by_role("button", name="Open, and reserve").press("Enter")
    yield "sure"
    page.get_by_role("button", name="Back").press("Enter")
    page.goto(gate)
    page.locator("#answers tr").first.wait_for()
    if process is not None:
        process.kill()
        page.get_by_text("has not answered since").wait_for()
        yield "dead"
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Token").fill("“sg_" + "x" * 43 + "”")
    yield "enter"


def main(folder: Path | None) -> None:
    """Take the picture, or all of them."""
    browser_file = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_file, args=["--no-sandbox"])
        with served(Path(place)) as (url, token, process):

            def tab(size: str, scheme: Any) -> Page:
                page = browser.new_context(viewport=SIZES[size], color_scheme=scheme, locale="en-GB").new_page()
                page.goto(url)
                page.get_by_label("Token").fill(token)
                page.keyboard.press("Enter")
                page.get_by_role("link", name="Open a gate").wait_for()
                return page

            gate = fill(first := tab("wide", "light"))
            if folder is None:
                first.locator("#latest strong").wait_for()
                first.screenshot(path=PICTURE, full_page=True)
                Image.open(PICTURE).quantize(64).save(PICTURE, optimize=True)
                return
            folder.mkdir(exist_ok=True)
            sorts = [(size, scheme) for size in SIZES for scheme in ("light", "dark")]
            tabs = {sort: tab(*sort) for sort in sorts}
            for (size, scheme), page in tabs.items():
                for name in look(page, gate, process if (size, scheme) == sorts[-1] else None):
                    page.screenshot(path=folder / f"{name}-{size}-{scheme}.png", full_page=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
