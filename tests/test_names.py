"""One name, one meaning: files, classes and tests."""

from __future__ import annotations

from pathlib import PurePosixPath as P

import pytest
from tests.support import names


@pytest.mark.parametrize(
    ("first", "second", "wrong"),
    [
        ("class Law: ...", "class Law: ...", 1),
        ("class Law: ...", "def f():\n    class Law: ...", 1),
        ("class _Law: ...", "class _Law: ...", 0),
        ("class Law: ...", "class Laws: ...", 0),
    ],
)
def test_two_classes_with_one_name_are_caught(first: str, second: str, wrong: int) -> None:
    assert len(names.repeated_classes({P("noise/laws.py"): first, P("privacy/rules.py"): second})) == wrong


@pytest.mark.parametrize(
    ("test", "wrong"),
    [
        ("tests/noise/test_sources.py", 0),
        ("tests/noise/test_sources_after_a_fork.py", 0),
        ("tests/noise/test_sourcest.py", 1),
        ("tests/noise/test_fountains.py", 1),
        ("tests/test_sources.py", 1),
        ("tests/tables/test_engines.py", 0),
    ],
)
def test_a_test_that_mirrors_no_module_is_caught(test: str, wrong: int) -> None:
    paths = [P("noise/sources.py"), P("tables/engines/spark.py")]
    listed = map(P, names.CROSS_MODULE)
    assert len(names.tests_without_module([*listed, P(test)], paths)) == wrong


def test_a_place_on_the_list_that_is_not_needed_is_caught() -> None:
    (needless, *others) = sorted(names.CROSS_MODULE)
    wrong = names.tests_without_module(map(P, others), [])
    assert wrong == [f"{needless}: needs no place in CROSS_MODULE"]
