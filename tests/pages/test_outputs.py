"""What a page shows is compared with what its blocks print."""

from __future__ import annotations

import pytest
from pages.blocks import steps
from pages.outputs import agree, rewritten


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ([], []),
        ([], ["", ""]),
        (["a   "], ["a"]),
        (["..."], []),
        (["a", "...", "c"], ["a", "c"]),
        (["a", "...", "c"], ["a", "b", "b", "c"]),
    ],
)
def test_lines_that_agree(shown: list[str], printed: list[str]) -> None:
    assert agree(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        (["a"], []),
        ([], ["a"]),
        (["a"], [" a"]),
        (["a", "...", "c"], ["a", "b"]),
        (["1"], ["2"]),
        (["a.c"], ["abc"]),
        (["a ..."], ["a b"]),
    ],
)
def test_lines_that_do_not(shown: list[str], printed: list[str]) -> None:
    assert not agree(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("about 1,024.5 people", "about -7 people", True),
        ("| 12 | 3 |", "|  1 |  333 |", True),
        ("----- -----", "------- ---", True),
        ("1e-06", "0.5", True),
        ("[[7923. 12.]", "[[ 1.5e+03  -3. ]", True),
        ("from 1 to 2", "from 1, 2", False),
        ("/home 12", "/pay 12", False),
        ("12 people", "people", False),
        ("1 2", "1", False),
    ],
)
def test_numbers_of_a_noisy_output_may_be_others(shown: str, printed: str, same: bool) -> None:
    assert agree([shown], [printed], noisy=9) is same


def test_no_more_numbers_are_noise_than_the_page_says() -> None:
    """A cost or an error bar that is wrong must not pass for noise."""
    shown = ["...", "/home  11,010 ± 60", "", "epsilon  1", "...", "made 2031-05-03 10:00"]
    printed = ["first 7", "/home  9,990 ± 60", "", "epsilon  1", "b 2", "made 2031-06-04 11:12"]
    assert agree(shown, printed, noisy=1)
    assert not agree(shown, [*printed[:3], "epsilon  2", *printed[4:]], noisy=1)
    assert not agree(shown, printed, noisy=0)
    assert not agree(shown, printed)


def test_the_outputs_of_a_page_are_replaced_in_place() -> None:
    page = "- x\n  ```sh\n  ls\n  ```\n  ```text\n  old\n  old\n  ```\nwords\n```console\n$ a\n$ b\nold\n```\nend\n"
    new = (("a", "", "b  "), ("said",), ())
    given = [(step.expected, lines) for step, lines in zip(steps(page), new, strict=True) if step.expected]
    assert rewritten(page, given) == (
        "- x\n  ```sh\n  ls\n  ```\n  ```text\n  a\n\n  b\n  ```\nwords\n```console\n$ a\nsaid\n$ b\n```\nend\n"
    )
