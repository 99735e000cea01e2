"""The README for the package page: `python -m pages.package_page ADDRESS TAG` gives its links the repository's address.

A package page has no files beside it. Without an address, the build leaves out the picture and puts a file's name in
place of a link to it (`pyproject.toml`, the substitutions of its readme). The release knows the address and the tag: it
runs this in its checkout before it builds, and what is an address then stays as it is.
"""

from __future__ import annotations

import re
import sys

from pages.elsewhere import ROOT, replace_links

PICTURES = (".png", ".svg")


def addressed(markdown: str, *, address: str, tag: str) -> str:
    """The text with each link to a file or folder of the repository as an address: `ADDRESS/blob/TAG/docs/x.md`."""
    if not re.fullmatch(r"https://[^\s()]+[^\s()/]", address):
        raise ValueError(f"the address of a repository begins with https:// and does not end in a slash: {address!r}")

    def with_address(target: str) -> str:
        if target.startswith("#"):
            return target
        kind = "raw" if target.endswith(PICTURES) else "tree" if (ROOT / target).is_dir() else "blob"
        return f"{address}/{kind}/{tag}/{target}"

    return replace_links(markdown, with_address)


def main(address: str, tag: str) -> None:
    """Rewrite the README of this checkout."""
    readme = ROOT / "README.md"
    readme.write_text(addressed(readme.read_text(encoding="utf-8"), address=address, tag=tag), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
