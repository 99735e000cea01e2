"""The demo runs as it stands, and no page links to what is not there."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]

of_the_repository = pytest.mark.skipif(
    "](docs/" not in (ROOT / "README.md").read_text(encoding="utf-8"),
    reason="the README of a released sdist has addresses already",
)


def links(page: str) -> list[str]:
    """What a page links to, pictures included, without what stands in its code."""
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", page, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"\]\(([^()\s]+)\)", prose)


def anchors(page: str) -> set[str]:
    """The anchors of a page: of its headings, and those that are written."""
    headings = re.findall(r"^#+ (.*)$", page, flags=re.MULTILINE)
    made = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return made | set(re.findall(r'<a id="([^"]+)"></a>', page))


def dead_links(page: Path) -> list[str]:
    """The links of a page to files, or to headings in them, that do not exist."""
    dead = []
    for link in links(page.read_text(encoding="utf-8")):
        if not link.startswith(("https://", "http://")):
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            if not target.exists() or (anchor and anchor not in anchors(target.read_text(encoding="utf-8"))):
                dead.append(link)
    return dead


def test_the_demo_runs_and_the_picture_of_the_plan_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    assert "ABOVE" in capsys.readouterr().out
    draw_plan = runpy.run_path(str(ROOT / "examples" / "plan_picture.py"))["draw_plan"]
    draw_plan(tmp_path / "plan.png", cutoff=4)
    assert (tmp_path / "plan.png").stat().st_size > 10_000


def test_every_link_leads_somewhere(tmp_path: Path) -> None:
    assert {page.name: dead for page in PAGES if (dead := dead_links(page))} == {}
    page = tmp_path / "page.md"
    page.write_text("# A head, ing\n[a](#a-head-ing) [b](#b) [c](page.md#c) [d](d.md) ![e](e.png) [f](.) `[g](g)`\n")
    assert dead_links(page) == ["#b", "page.md#c", "d.md", "e.png"]


def pages_by_file_name(markdown: str) -> list[str]:
    """The links to pages that read as the name of a file, which nobody sees on the site."""
    return re.findall(r"\[`?([\w/.-]+\.md)`?\]\(", markdown)


def test_a_link_to_a_page_reads_as_words() -> None:
    assert pages_by_file_name("[top.md](a) [`docs/top.md`](a) [top](top.md)") == ["top.md", "docs/top.md"]
    found = {page.name: pages_by_file_name(page.read_text(encoding="utf-8")) for page in PAGES}
    assert {name: texts for name, texts in found.items() if texts} == {}


def named_extras(text: str) -> set[str]:
    """The extras that a page, or a message of the code, tells people to install."""
    told = re.findall(r"""(?:load_extra\([^()]*extra="|_EXTRA = "|(?:sparsegate|'\.)\[)([a-z,]+)""", text)
    return {extra for extras in told for extra in extras.split(",")}


def test_every_extra_that_people_are_told_to_install_exists() -> None:
    texts = [file.read_text(encoding="utf-8") for file in [*PAGES, *(ROOT / "src").rglob("*.py")]]
    told = set().union(*map(named_extras, texts))
    assert {"plots", "frames", "postgres", "serve"} <= told
    assert told <= set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])


TOLD = [
    file
    for folder in ("", "src", "docs", "deploy", "examples", "benchmarks", "pages", "proofs", ".ci", ".github")
    for file in ((ROOT / folder).rglob("*") if folder else ROOT.glob("*"))
    if file.is_file() and file.suffix not in (".png", ".pyc", ".woff2") and file.name != "CHANGELOG.md"
]
"""What people read: pages, messages, scripts."""


def unpublished(text: str) -> list[str]:
    """The lines that would fetch this library by its name, from where it is not; a wheel that one has is none."""
    fetched = re.finditer(r"pip install(?:[^`\n]*[ ']|\s+'?)sparsegate(?![\w/-])(?!(?:\[[\w,]+\])? @ )", text)
    return [found[0] for found in fetched if "once it is published" not in text[found.start() - 30 : found.start()]]


def test_every_install_line_works_before_the_library_is_published() -> None:
    """`pip install 'sparsegate[plots]'` finds nothing: from a checkout it is '.[plots]', and errors name packages."""
    told = ["pip install 'sparsegate[plots]'", "pip install\n'sparsegate[plots]' pytest", "pip install -U sparsegate"]
    assert [len(unpublished(f"run `{line}`")) for line in told] == [1, 1, 1]
    works = ["pip install '.[a]'", "pip install 'sparsegate[a] @ file:///x.whl'", "/opt/sparsegate/bin/pip install ."]
    assert [unpublished(f"run `{line}`") for line in works] == [[], [], []]
    found = {str(file.relative_to(ROOT)): unpublished(file.read_text("utf-8", "replace")) for file in TOLD}
    assert len(found) > 300
    assert {name: lines for name, lines in found.items() if lines} == {}


@of_the_repository
def test_the_page_of_the_package_links_to_no_file() -> None:
    """A package page has no files beside it, so the build replaces the README's links by names of files."""
    hooks = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["metadata"]["hooks"]
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    assert any(not link.startswith("https://") for link in links(page))
    for change in hooks["fancy-pypi-readme"]["substitutions"]:
        page = re.sub(change["pattern"], change["replacement"], page)
    assert [link for link in links(page) if not link.startswith("https://")] == []
    assert "`docs/how-to/top.md`" in page
