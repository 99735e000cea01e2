"""What MkDocs is told beyond `mkdocs.yml`: generated pages, files from outside docs/, links that work on the site."""

from __future__ import annotations

import logging
import re
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from pages import elsewhere, generated, notebooks, public_names
from pages.api_pages import BESIDES
from pages.name_links import name_links

_log = logging.getLogger("mkdocs.hooks.sparsegate")


def anchor(heading: str, separator: str) -> str:
    """The anchor of a heading as code hosts make it, so that one link works in the repository and on the site."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", separator)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Anchors as on code hosts."""
    config.mdx_configs["toc"] = {**config.mdx_configs.get("toc", {}), "slugify": anchor}
    return config


def on_pre_build(config: MkDocsConfig) -> None:
    """A public name that nobody can read about is a warning, which a strict build does not pass."""
    for complaint in public_names.undocumented(public_names.source(), besides=BESIDES):
        _log.warning(complaint)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made now, the project's own pages, and the files that pages link to."""
    for path, make in generated.GENERATED.items():
        files.append(File.generated(config, path, content=make()))
    for file, path in elsewhere.PROJECT.items():
        files.append(File.generated(config, path, abs_src_path=str(elsewhere.ROOT / file)))
    linked = set().union(
        *(elsewhere.copied_files(page.src_uri, page.content_string) for page in files.documentation_pages())
    )
    for file in sorted(linked):
        files.append(
            File.generated(
                config,
                elsewhere.on_site(file),
                abs_src_path=str(elsewhere.ROOT / file),
                inclusion=InclusionLevel.NOT_IN_NAV,
            )
        )
    return files


def fences_in_lists(markdown: str) -> str:
    """A block of code in a list is two or three spaces in; MkDocs takes it for a part of the list from four on."""
    block = re.compile(r"^(?P<indent> {1,3})(?P<ticks>`{3,}).*?^(?P=indent)(?P=ticks)$", re.MULTILINE | re.DOTALL)
    return block.sub(lambda match: re.sub(rf"^{match['indent']}", "    ", match[0], flags=re.MULTILINE), markdown)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """What is made now, in its places; links of the repository as they are on the site; what the theme is told."""
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]
    if page.file.src_uri in elsewhere.PROJECT.values():
        # Theorems and changes name everything: whoever searches wants the page that explains it.
        page.meta["search"] = {"boost": 0.2}
    path = page.file.src_uri
    if path.startswith(("how-to/", "reference/command_line")):
        # Whoever searches for a word such as "ledger" has a task, rather than a field of that name in an answer.
        page.meta["search"] = {"boost": 2}
    markdown = name_links(path, elsewhere.site_links(path, generated.filled(markdown)))
    return notebooks.with_notebook(path, fences_in_lists(markdown), config.repo_url or "")


def dashed_words(html: str) -> str:
    """An option (`--max-items-per-user`) in a line of text is one word: browsers would break it after any dash."""
    code = re.compile(r"(?<!</span>)<code>([^<]*-[^<]*)</code>")
    word = re.compile(r"(?<!\S)(?=\S*-)\S{2,36}(?!\S)")
    return code.sub(lambda found: f"<code>{word.sub(_whole, found[1])}</code>", html)


def _whole(word: re.Match[str]) -> str:
    return f'<span class="whole">{word[0]}</span>'


def on_page_content(html: str, **_: Any) -> str:
    """A picture of pixels that stands alone leads to itself: on a small screen its words are too small to read."""
    html = re.sub(r'<p>(<img [^>]*src="([^"]+\.png)"[^>]*>)</p>', r'<p><a href="\2">\1</a></p>', html)
    return dashed_words(html)
