"""What an answer says of whom it counts: people with rows in several cells, and where one row is required."""

from __future__ import annotations

from typing import Any

import pandas

from sparsegate.noise import Seeded
from sparsegate.tables.online import SEVERAL_CELLS, OnlineAnswers

COLUMNS = {"country": ["DE", "FR", "IT"], "smokes": [0, 1]}


def online(rows: dict[str, list[Any]], **options: Any) -> OnlineAnswers:
    """With hardly any noise, over the people named in the column "who"."""
    given = {"user": "who", "population": 3, "tolerance": 0.3, "cutoff": 3, "epsilon": 10**6} | options
    given = {name: value for name, value in given.items() if value is not None}
    return OnlineAnswers(pandas.DataFrame(rows), COLUMNS, source=Seeded(1), not_private=True, **given)


def test_where_people_may_be_in_several_cells_every_answer_says_so_whether_or_not_they_are() -> None:
    """The note is a function of public numbers: one that depended on the rows would tell about them."""
    alone = {"country": ["DE", "FR"], "smokes": [1, 0], "who": ["ann", "bob"]}
    notes = []
    for rows in (alone, alone | {"who": ["ann", "ann"]}):
        made = online(rows)
        notes += [made.ask({"country": "DE"}).note, made.ask({"country": "DE"}).note]
        made.close()
        notes += [made.ask({"country": "DE"}, unchecked=True).note]
        assert online(rows, one_row_per_user=True).ask({"country": "FR"}).note is None
    assert set(notes) == {SEVERAL_CELLS}
    assert online(alone, user=None, unit="row").ask({}).note is None, "every row is another person"


def test_where_one_row_is_required_who_has_several_is_not_counted_and_nothing_is_refused() -> None:
    rows = {"country": ["DE", "FR", "FR", "IT"], "smokes": [1, 0, 0, 1], "who": ["ann", "ann", "bob", "cyd"]}
    counts = {}
    for required in (False, True):
        made = online(rows, one_row_per_user=required)
        counts[required] = [round(made.ask(query).estimate, 1) for query in ({}, {"country": "DE"}, {"country": "FR"})]
    assert counts == {False: [3, 1, 1], True: [2, 0, 1]}
