"""A link that works in the repository works on the site."""

from __future__ import annotations

import pytest

from pages import elsewhere


@pytest.mark.parametrize(
    ("page", "written", "on_the_site"),
    [
        ("how-to/top.md", "ledger.md#backups", "ledger.md#backups"),
        ("how-to/top.md", "#files", "#files"),
        ("how-to/top.md", "../pictures/plan.png", "../pictures/plan.png"),
        ("explanation/proofs.md", "../../proofs", "../project/proofs.md"),
        ("explanation/proofs.md", "../../proofs/", "../project/proofs.md"),
        ("explanation/proofs.md", "../../proofs/sums.v", "../files/proofs/sums.v.txt"),
        ("index.md", "../README.md", "project/readme.md"),
        ("project/readme.md", "docs/how-to/ledger.md", "../how-to/ledger.md"),
        ("project/readme.md", "docs", "../index.md"),
        ("project/readme.md", "CITATION.cff", "../files/CITATION.cff.txt"),
        ("project/security.md", "README.md#install", "readme.md#install"),
        ("project/proofs.md", "gate.v", "../files/proofs/gate.v.txt"),
        ("project/deploy.md", "../docs/how-to/ledger.md#backups", "../how-to/ledger.md#backups"),
    ],
)
def test_a_link_of_the_repository_becomes_one_of_the_site(page: str, written: str, on_the_site: str) -> None:
    assert elsewhere.site_links(page, f"See [this]({written}).") == f"See [this]({on_the_site})."


@pytest.mark.parametrize(
    "markdown",
    [
        "[a](https://example.org/x.md)",
        "[a](mailto:someone@example.org)",
        "`[a](../../proofs)`",
        "``[a](../../proofs) ` ``",
        "```python\nf[a](../../proofs)\n```",
        "````text\n```\n[a](../../proofs)\n```\n````",
    ],
)
def test_an_address_and_what_stands_in_code_stay(markdown: str) -> None:
    assert elsewhere.site_links("explanation/proofs.md", markdown) == markdown


def test_prose_between_two_code_spans_is_prose() -> None:
    assert (
        elsewhere.site_links("explanation/proofs.md", "`a` [b](../../proofs) `c`")
        == "`a` [b](../project/proofs.md) `c`"
    )


def test_only_files_that_are_there_and_are_no_pages_are_copied() -> None:
    markdown = (
        "[a](gate.v) [b](gate.v#x) [c](missing.v) [d](README.md) [e](../docs/how-to/top.md) [f](.) `[g](laplace.v)`"
    )
    assert elsewhere.copied_files("project/proofs.md", markdown) == {"proofs/gate.v"}
