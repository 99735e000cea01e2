"""Cells of SQLite, each with a type of its own: counted in place they are who and what they are in a copied file."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.pool import StaticPool
from tests.support.in_database import top

from sparsegate.errors import SparsegateError

CELLS: list[Any] = [
    *(17, 17.0, "17", b"17", "17.0", 2.5, "2.5", -0.0, 0, 1e300, 2**53 + 1, float(2**53), -(2**63), float("inf")),
    *("a", "A", "a ", "\u00e4", "a\u0308", "a\0b", "a\0c", "a\0", "", b"", b"\xff", b"\xff\xfe", "\t", "日本", None),
]


def filled(folder: Path, pages: list[Any], people: list[Any], collation: str = "BINARY") -> tuple[str, str]:
    """A file with one row for each pair, by its path and by its URL; and a few cells of text that is no Unicode."""
    file = folder / "cells.db"
    file.unlink(missing_ok=True)
    with sqlite3.connect(file) as database:
        database.execute(f"CREATE TABLE visits (page COLLATE {collation}, visitor COLLATE {collation})")
        rows = list(zip(pages, people, strict=True))
        database.executemany("INSERT INTO visits VALUES (?, ?)", rows)
        database.execute("INSERT INTO visits VALUES (CAST(x'ff61' AS TEXT), CAST(x'ff61' AS TEXT))")
        database.execute("INSERT INTO visits VALUES (CAST(x'ff61' AS TEXT), CAST(x'fe61' AS TEXT))")
    database.close()
    return str(file), f"sqlite:///{file}"


def both(places: tuple[str, str], **options: Any) -> tuple[Any, Any]:
    copied, counted = (top(place, table="visits", **options) for place in places)
    return copied, counted


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cells=st.lists(st.tuples(st.sampled_from(CELLS), st.sampled_from(CELLS)), min_size=20, max_size=60),
    collation=st.sampled_from(["BINARY", "NOCASE", "RTRIM"]),
    seed=st.integers(1, 3),
)
def test_people_and_items_are_those_of_a_copy(tmp_path: Path, cells: Any, collation: str, seed: int) -> None:
    places = filled(tmp_path, [page for page, _ in cells], [person for _, person in cells], collation)
    options = {"domain": "observed", "delta": 0.4, "epsilon": 1000 * seed, "answers_epsilon": 1e6, "dbar": 60}
    copied, counted = both(places, count=40, max_items_per_user=seed, **options)
    assert copied == counted
    assert copied.items


def whole_domains() -> dict[str, Any]:
    import numpy as np
    import pandas

    whole = [17, 0, 5]
    return {
        "set": set(whole),
        "range": range(20),
        "number": 20,
        "array": np.array(whole),
        "series": pandas.Series(whole),
        "frame": pandas.DataFrame({"page": whole}),
        "text": ["17", "0", "5"],
        "truth": [True, False],
        "mixed": [17, "0"],
    }


@pytest.mark.parametrize("name", whole_domains())
def test_a_domain_is_taken_or_refused_by_the_path_and_by_the_url_alike(tmp_path: Path, name: str) -> None:
    places = filled(tmp_path, CELLS, list(range(len(CELLS))))
    gave: list[Any] = []
    for place in places:
        try:
            release = top(
                place, table="visits", count=2, domain=whole_domains()[name], epsilon=1e6, answers_epsilon=1e6
            )
            gave.append([(item, type(item), each) for item, each in zip(release.items, release.estimates, strict=True)])
        except SparsegateError as error:
            gave.append(str(error))
    assert gave[0] == gave[1]
    if name in ("set", "range", "number", "array", "series"):
        assert gave[0][0] == (17, int, 4)


@pytest.mark.parametrize("domain", [18, 9000, range(30)])
def test_numbers_in_text_are_candidates_of_a_sized_domain(tmp_path: Path, domain: Any) -> None:
    pages = ["17", " 7 ", "+7", "-7", "007", "7.0", "7e0", 7, 8.0, "9" * 30, "0" * 40 + "5", "seven", b"6", "\u0667"]
    places = filled(tmp_path, pages, list(range(len(pages))))
    copied, counted = both(places, count=6, domain=domain, epsilon=30)
    assert copied == counted


def test_a_connection_that_goes_on_knows_our_functions_no_longer() -> None:
    engine = sqlalchemy.create_engine("sqlite://", poolclass=StaticPool)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE visits AS SELECT 'ä' AS page, 1 AS visitor")
    top(engine, table="visits", count=1, domain=["ä"])
    with engine.begin() as connection, pytest.raises(sqlalchemy.exc.OperationalError, match="no such function|raised"):
        connection.exec_driver_sql("SELECT sparsegate_digest('a')")
    engine.dispose()
