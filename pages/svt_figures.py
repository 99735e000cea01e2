"""The figures of docs/explanation/svt_in_pictures.md: the table of rows for their scripts, and their still pictures.

The scripts of docs/scripts/ draw a figure as text, from the state of its controls. `python -m pages.svt_figures` lets a
browser draw each of them once, as it stands before anybody moves a control, into docs/pictures/svt_NAME.svg: that is
what a code host shows, and the site where scripts are off.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from typing import Any, Final

from pages.elsewhere import ROOT
from sparsegate import VARIANTS
from sparsegate.variants import Closes, Compared, Released, Scale

PICTURES: Final = ROOT / "docs" / "pictures"
_FOLDER: Final = ROOT / "docs" / "scripts"
_STYLE: Final = ROOT / "docs" / "styles" / "figures.css"
_CLOSES: Final = {Closes.NEVER: "never", Closes.ABOVE: "above", Closes.RARER: "rarer"}


def rows_script() -> str:
    """scripts/rows.js: the rows of `VARIANTS`, as far as their loss depends on them.

    >>> rows_script().splitlines()[1]
    'globalThis.svt = { ...globalThis.svt, rows: {'
    """

    def scale(given: Scale) -> list[Any]:
        return [float(given.factor), given.per_cutoff]

    lines = (
        f"  {json.dumps(row.key)}: "
        + json.dumps(
            {
                "key": row.key,
                "allocation": row.allocation,
                "threshold": scale(row.threshold_noise),
                "query": scale(row.query_noise),
                "queryMonotonic": scale(row.query_noise_monotonic),
                "redraws": row.redraws_threshold,
                "closes": _CLOSES[row.closes],
                "inside": row.compared is Compared.ERROR_NOISE_INSIDE,
                "comparesAnswer": row.compared is Compared.ANSWER,
                "oneSided": row.noise.one_sided,
                "gap": row.gap,
                "releasesNoisy": row.released is Released.NOISY_ANSWER,
            }
        )
        for row in VARIANTS.values()
    )
    return "\n".join(
        (
            "// Made from sparsegate.VARIANTS.",
            "globalThis.svt = { ...globalThis.svt, rows: {",
            ",\n".join(lines),
            "} };\n",
        )
    )


def load_scripts(page: Any) -> None:
    """Run the scripts in a tab of a browser."""
    for name in re.findall(r'"(\w+\.js)"', (_FOLDER / "figures.js").read_text("utf-8")):
        page.add_script_tag(content=rows_script() if name == "rows.js" else (_FOLDER / name).read_text("utf-8"))


def still_pictures(page: Any) -> dict[str, str]:
    """The file of each figure, by its name, drawn in a tab that has the scripts."""
    light, dark = re.findall(r"\{[^{}]*--figure-ink[^{}]*\}", _STYLE.read_text("utf-8"))
    style = f".svt-picture {light} @media (prefers-color-scheme: dark) {{ .svt-picture {dark} }}"
    code = (
        "style => Object.fromEntries(Object.entries(svt.figures).map(([name, each]) => [name, svt.still(each, style)]))"
    )
    drawn: dict[str, str] = page.evaluate(code, " ".join(style.split()))
    return {f"svt_{name}.svg": text for name, text in drawn.items()}


def main() -> None:
    """Draw all of them."""
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=found, args=sandbox)
        page = browser.new_page()
        load_scripts(page)
        for name, text in still_pictures(page).items():
            (PICTURES / name).write_text(text, "utf-8")
        browser.close()


if __name__ == "__main__":
    main()
