"""The picture docs/pictures/report.png: the head of the report of a small reproduction, in a real browser.

    python examples/report_picture.py            that picture
    python examples/report_picture.py FILE       the same, of a report that is there

It needs Chromium, and `pip install '.[evaluation,plots,dev]'` in a checkout.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "report.png"
COMMAND = "reproduce --datasets zipf --counts 25,50,75,100 --paper-only --jobs 1 --out small"
"""The grid of docs/tutorials/first_reproduction.md."""


def main(report: Path | None) -> None:
    """Run the small grid unless there is a report, open it, and take the picture."""
    browser_file = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        if report is None:
            program = str(Path(sys.executable).with_name("sparsegate"))
            subprocess.run([program, *COMMAND.split()], cwd=folder, check=True)
            report = Path(folder, "small", "report.html")
        browser = playwright.chromium.launch(executable_path=browser_file, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": 760}, color_scheme="light", locale="en-GB")
        page.goto(report.resolve().as_uri())
        page.locator("summary").nth(1).click()  # one statement open: the reader sees what is behind it
        page.screenshot(path=PICTURE)
    Image.open(PICTURE).quantize(64).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
