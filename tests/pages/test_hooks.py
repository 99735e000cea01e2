"""What the hooks do to pages, and what `mkdocs build --strict` refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort
from pages.elsewhere import ROOT
from tests.test_readme import anchors

from pages import hooks


@pytest.mark.parametrize("heading", ["A head, ing", "`select_top`: what it *is*", "ε₁ : ε₂ — a ratio", "Two  spaces"])
def test_the_anchor_of_a_heading_is_that_of_a_code_host(heading: str) -> None:
    assert {hooks.anchor(heading, "-")} == anchors(f"# {heading}\n")


@pytest.mark.parametrize(
    ("html", "after"),
    [
        ('<p><img alt="a" src="../b.png"></p>', '<p><a href="../b.png"><img alt="a" src="../b.png"></a></p>'),
        ('<p><img src="b.svg"></p>', '<p><img src="b.svg"></p>'),
        ('<p>See <img src="b.png"></p>', '<p>See <img src="b.png"></p>'),
        ('<p><a href="c"><img src="b.png"></a></p>', '<p><a href="c"><img src="b.png"></a></p>'),
    ],
)
def test_a_picture_that_stands_alone_leads_to_itself(html: str, after: str) -> None:
    assert hooks.on_page_content(html) == after


def test_an_option_in_a_line_of_text_is_one_word_and_a_block_of_code_is_left_alone() -> None:
    whole = '<code>top - <span class="whole">--max-items-per-user</span> 3</code>'
    assert hooks.on_page_content("<code>top - --max-items-per-user 3</code>") == whole
    for kept in ("<pre><span></span><code>top --domain 3</code></pre>", "<code>top</code> --domain <code>a</code>"):
        assert hooks.on_page_content(kept) == kept


def test_a_block_of_code_in_a_list_stays_in_it() -> None:
    inside = "- a\n\n  ```python\n  if b:\n      c\n\n  ```\n\n- d\n"
    assert hooks.fences_in_lists(inside) == "- a\n\n    ```python\n    if b:\n        c\n\n    ```\n\n- d\n"
    assert hooks.fences_in_lists("```text\n  a\n```\n  b\n```\n  c\n```") == "```text\n  a\n```\n  b\n```\n  c\n```"


def built(folder: Path, pages: dict[str, str], **options: object) -> Path:
    """A small site with the settings and the hooks of ours, built strictly."""
    (folder / "docs").mkdir()
    for name, text in pages.items():
        (folder / "docs" / name).write_text(text, encoding="utf-8")
    settings: dict[str, object] = {
        "docs_dir": str(folder / "docs"),
        "site_dir": str(folder / "site"),
        "nav": ["index.md"],
        "not_in_nav": "project/",
        "plugins": [],
        "extra_css": [],
        "extra_javascript": [],
        "strict": True,
    }
    build(load_config(str(ROOT / "mkdocs.yml"), **settings | options))
    return folder / "site"


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the pages of the repository, which link to pages that a small site lacks."""
    monkeypatch.setattr("pages.elsewhere.PROJECT", {})
    monkeypatch.setattr("pages.generated.GENERATED", {})


WRONG = ("[a](missing.md)", "[a](#nothing)", "[a](lost.md#nothing)", "[a](/index.md)", "![a](a.png)", "[a](../b.v)")


@pytest.mark.usefixtures("alone")
def test_links_that_lead_nowhere_and_a_page_that_nothing_leads_to_stop_the_build(tmp_path: Path) -> None:
    with pytest.raises(Abort, match=f"{len(WRONG) + 1} warnings"):
        built(tmp_path, {"index.md": "# A\n\n" + "\n".join(WRONG), "lost.md": "# B\n"})


@pytest.mark.usefixtures("alone")
def test_a_generated_page_a_copied_file_and_the_repository_are_on_the_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.generated.GENERATED", {"made.md": lambda: "# Made\n"})
    page = "# A b\n\n[made](made.md) [heading](#a-b) [file](../LICENSE)\n"
    site = built(
        tmp_path, {"index.md": page}, nav=["index.md", "made.md"], repo_url="https://example.org/a/b", site_url=""
    )
    index = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="made.html"' in index
    assert (site / "files" / "LICENSE.txt").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert 'href="https://example.org/a/b"' in index
    assert 'data-md-component="source"' not in index, "the theme would ask the code host for stars"


@pytest.mark.usefixtures("alone")
def test_a_public_name_that_nobody_can_read_about_stops_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pages.public_names.undocumented", lambda _, **__: iter(["sparsegate.run has no docstring"]))
    with pytest.raises(Abort, match="1 warning"):
        built(tmp_path, {"index.md": "# A\n"})
