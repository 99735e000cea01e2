"""The links of the README on the package page, once there is an address."""

from __future__ import annotations

import re
import tomllib

import pytest
from pages.elsewhere import ROOT
from pages.package_page import addressed
from tests.test_readme import of_the_repository

ADDRESS = "https://example.org/somebody/sparsegate"


@pytest.mark.parametrize(
    ("written", "on_the_page"),
    [
        (
            "[a](docs/how-to/top.md#files)",
            "[a](https://example.org/somebody/sparsegate/blob/v9/docs/how-to/top.md#files)",
        ),
        ("[`a/`](proofs)", "[`a/`](https://example.org/somebody/sparsegate/tree/v9/proofs)"),
        ("![a](docs/b.png)", "![a](https://example.org/somebody/sparsegate/raw/v9/docs/b.png)"),
        ("[a](#install)", "[a](#install)"),
        ("[a](https://example.org/b)", "[a](https://example.org/b)"),
        ("`[a](b.md)`", "`[a](b.md)`"),
    ],
)
def test_a_link_gets_the_address_of_the_repository_at_the_tag(written: str, on_the_page: str) -> None:
    assert addressed(written, address=ADDRESS, tag="v9") == on_the_page


@of_the_repository
def test_the_build_leaves_the_addressed_readme_as_it_is() -> None:
    page = addressed((ROOT / "README.md").read_text(encoding="utf-8"), address=ADDRESS, tag="v9")
    hooks = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["metadata"]["hooks"]
    built = page
    for change in hooks["fancy-pypi-readme"]["substitutions"]:
        built = re.sub(change["pattern"], change["replacement"], built)
    assert built == page
    assert f"]({ADDRESS}/raw/v9/docs/pictures/loss.png)" in page


@pytest.mark.parametrize("address", ["", "example.org/a", "https://example.org/a/", "https://example.org/a b"])
def test_an_address_that_would_make_dead_links_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="https://"):
        addressed("[a](b.md)", address=address, tag="v9")
