"""Every block of every page runs as written, in order, from a new folder, and prints what the page says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pages.blocks import ROOT, pages, steps
from pages.installed import hidden
from pages.installed import said as named_packages
from pages.needs import NEVER
from pages.page_run import MOST_SECONDS, Report, run_page

TEXTS = {page: page.read_text(encoding="utf-8") for page in pages()}

QUICK = {
    page: sum(step.language != "file" and not {"minutes", *NEVER} & {*step.needs} for step in steps(text))
    for page, text in TEXTS.items()
}
RUN = sorted((page for page in QUICK if QUICK[page]), key=lambda page: -QUICK[page])
"""The pages with something to run; those with most of it first, so that no long one is left at the end."""

NEVER_RUN = {
    ("docs/index.md", "pip install ."),
    ("docs/index.md", "make reproduce  # the paper's evaluation: reproduction/repor"),
    ("deploy/README.md", "python3 -m venv /opt/sparsegate"),
    ("deploy/README.md", 'as="systemd-run --pipe'),
    ("deploy/README.md", "mkdir -m 0700 secrets"),
    ("README.md", "pip install ."),
    ("README.md", "make reproduce"),
    ("CONTRIBUTING.md", "make test"),
    ("docs/how-to/alerts.md", "sparsegate alert access.csv --time at --user visitor \\"),
    ("docs/how-to/alerts.md", "sparsegate alert access.csv --time at --user visitor --window"),
    ("docs/how-to/alerts.md", "seen=0"),
    ("docs/how-to/methods.md", "pip install ."),
    ("docs/how-to/prediction.md", "import torch"),
    ("docs/explanation/hall.md", "python examples/audit_public.py --install --store"),
    ("docs/explanation/hall.md", "sparsegate audit examples.hall.nvflare_filter:sent --epsilon"),
    ("docs/explanation/proofs.md", "apt-get install coq libcoq-mathcomp-analysis"),
    ("docs/how-to/reproduce.md", "make reproduce"),
    ("docs/how-to/reproduce.md", 'sparsegate reproduce --data kosarak="$(sparsegate datasets f'),
    ("docs/tutorials/first_reproduction.md", "kosarak="),
}
"""The page and the beginning of each block that no test runs."""


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def check(page: Path, *, minutes: bool) -> None:
    """What a page shows is what happens. Where a part of it cannot run here, the test is skipped after that."""
    report = run_page(page, minutes=minutes)
    assert report.wrong == (), "\n\n".join(report.wrong)
    missing = {why for step, why in report.skipped if not {"minutes", *NEVER} & {*step.needs}}
    if missing:
        pytest.skip(f"the rest ran: {'; '.join(sorted(missing))}")


@pytest.mark.docs
@pytest.mark.parametrize("page", RUN, ids=name)
def test_the_blocks_of_a_page_run_in_their_order(page: Path) -> None:
    check(page, minutes=False)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "page", [page for page in TEXTS if any("minutes" in step.needs for step in steps(TEXTS[page]))], ids=name
)
def test_the_long_blocks_of_a_page_run_too(page: Path) -> None:
    check(page, minutes=True)


def test_the_blocks_that_no_test_runs_are_known() -> None:
    found = [(name(page), step.code) for page, text in TEXTS.items() for step in steps(text) if {*step.needs} & NEVER]
    listed = [each for each in found if any(each[0] == page and each[1].startswith(line) for page, line in NEVER_RUN)]
    assert listed == found
    assert len(listed) == len(NEVER_RUN)


def ran(tmp_path: Path, text: str) -> Report:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    return run_page(page)


WRONG = {
    "an exception": ("```python\n1/0\n```\n", "page.md:2: ended with 1:"),
    "a part of a pipe that fails": ("```sh\nfalse | cat\n```\n", "page.md:2: ended with 1:"),
    "another output": ("```python\nprint(1)\n```\n```text\n2\n```\n", "page.md:2: printed\n1"),
    "another output of a console": ("```console\n$ echo 1\n1\n$ echo 2\n1\n```\n", "page.md:4: printed\n2"),
    "a package that the page does not name": ("```python\nimport pandas\n```\n", "page.md:2: ended with 1:"),
    "a number that is no noise": (
        "```sh\necho 7 of 9\n```\n<!-- noisy: 1 -->\n```text\n8 of 10\n```\n",
        "page.md:2: printed\n7",
    ),
    "a quiet failure": ("```console\n$ false\n```\n", "page.md:2: ended with 1"),
    "a process that stays": ("```sh\nsleep 60 &\n```\n", "page.md: a process that"),
    "a picture of another size": (
        "![x](../pictures/loss.png)\n```python\nopen('loss.png', 'wb').write(bytes(24))\n```\n",
        "page.md: loss.png is 0 by 0 pixels",
    ),
    "a picture that is not kept": ("![x](pictures/no.png)\n```sh\ntouch no.png\n```\n", "page.md: no.png is not in"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_a_page_is_found(case: str, tmp_path: Path) -> None:
    text, said = WRONG[case]
    (wrong,) = ran(tmp_path, text).wrong
    assert wrong.startswith(said)


def test_a_block_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MOST_SECONDS, False, 0.2)
    (wrong,) = ran(tmp_path, "```sh\nsleep 60\n```\n```sh\ntouch later\n```\n").wrong
    assert wrong.startswith("page.md:2: ended with -9")


def test_a_page_leaves_nothing_to_the_next(tmp_path: Path) -> None:
    assert ran(tmp_path, "```sh\nexport SEEN=1 && touch here\n```\n```python\nseen = 1\n```\n").wrong == ()
    assert ran(tmp_path, "```sh\necho ${SEEN:-0}; ls\n```\n```text\n0\n```\n").wrong == ()
    for unknown in ("seen", "os", "sys", "code"):
        assert "NameError" in ran(tmp_path, f"```python\n{unknown}\n```\n").wrong[0]
    assert "SEEN" not in os.environ


def test_what_is_not_here_is_skipped_and_a_new_need_is_refused(tmp_path: Path) -> None:
    report = ran(tmp_path, "<!-- needs: docker -->\n```sh\nexit 1\n```\n")
    assert ([why for _, why in report.skipped], report.wrong) == (["starts containers"], ())
    with pytest.raises(ValueError, match="needs: 'dokcer' is not one of docker, root"):
        ran(tmp_path, "<!-- needs: dokcer -->\n```sh\nexit 1\n```\n")


def test_a_page_is_told_to_have_what_it_names_and_no_other_package() -> None:
    assert named_packages("`pip install\n'..[plots,serve]' pytest`") == {
        *("matplotlib", "fastapi", "uvicorn", "httpx", "pytest")
    }
    with pytest.raises(ValueError, match="there is no extra plot$"):
        named_packages("`pip install '.[plot]'`")
    assert {"pandas", "matplotlib", "fastapi", "sklearn", "pytest", "mkdocs"} <= hidden("")
    assert hidden("") - hidden("`pip install '.[frames]'`") == {"pandas", "polars", "pyarrow"}
