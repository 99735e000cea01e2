"""Tables of this process count alike, in whatever form they come, and none is refused because of who is in it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.dataset
import pytest
from tests.support.table_counts import TYPED_ENGINES, counts
from tests.tables.conftest import FORMS, table

from sparsegate.errors import ParameterError, SparsegateError, TableError
from sparsegate.noise import Seeded
from sparsegate.tables.top import top_items, top_sums

PAGES = ["a", "a", "a", "b", None, "b", "c"]
VISITORS = [1, 1, 2, 3, 4, None, 5]
COUNTED = {"a": 2, "b": 1, "c": 1}
ARROW = pyarrow.table({"page": PAGES, "more": [[1]] * 7, "visitor": VISITORS})


class Stream:
    """Any library's Arrow table, as far as anybody can see."""

    def __init__(self, held: Any) -> None:
        self._held = held

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self._held.__arrow_c_stream__(requested_schema)


BROUGHT: dict[str, Callable[[], Any]] = {
    **{form: partial(table, form, {"page": PAGES, "visitor": VISITORS}) for form in FORMS},
    "lists": lambda: {"page": PAGES, "visitor": VISITORS, "unused": [1]},
    "arrays": lambda: {"page": np.array(PAGES, dtype=object), "visitor": np.array(VISITORS, dtype=float)},
    "masked": lambda: {"page": PAGES, "visitor": np.ma.masked_invalid(np.array(VISITORS, dtype=float))},
    "pandas series": lambda: {
        "page": pandas.Series(PAGES, index=range(9, 2, -1)),
        "visitor": pandas.Series(VISITORS, dtype="Int64"),
    },
    "polars series": lambda: {"page": polars.Series(PAGES), "visitor": polars.Series(VISITORS)},
    "arrow arrays": lambda: {"page": pyarrow.array(PAGES), "visitor": ARROW["visitor"]},
    "mixed": lambda: {"page": tuple(PAGES), "visitor": polars.Series(VISITORS)},
    "rows": lambda: [*ARROW.to_pylist(), {"page": "a"}, {"visitor": 9}, {}, None, "page", 17],
    "dataset": lambda: pyarrow.dataset.dataset(ARROW),
    "scanner": lambda: pyarrow.dataset.dataset(ARROW).scanner(),
    "reader": lambda: ARROW.to_reader(max_chunksize=2),
    "batch": lambda: ARROW.combine_chunks().to_batches()[0],
    "stream": lambda: Stream(ARROW),
    "stream of a reader": lambda: Stream(ARROW.to_reader()),
    "stream of polars": lambda: Stream(polars.from_arrow(ARROW)),
}


@pytest.mark.parametrize("name", BROUGHT)
def test_what_is_brought_is_counted_as_a_dataframe_is(name: str) -> None:
    assert counts(BROUGHT[name]()) == COUNTED


def test_a_condition_finds_columns_that_are_no_text() -> None:
    data: Any = {"page": PAGES, "visitor": VISITORS, "seconds": np.array([9, 9, 9, 1, 1, 1, 1])}
    for each in (data, Stream(pyarrow.table(data))):
        assert counts(each, where="seconds < 5") == COUNTED | {"a": 0}


def test_a_reader_that_was_read_is_refused_and_not_taken_for_an_empty_table() -> None:
    stream = ARROW.to_reader()
    assert counts(stream) == COUNTED
    with pytest.raises(SparsegateError):
        counts(stream)


def test_a_list_has_no_type_and_its_cells_are_read_one_by_one() -> None:
    visitors = [17, 17.0, Decimal("17.00"), "17", [17], float("nan"), object()]
    assert counts({"page": ["a"] * 7, "visitor": visitors})["a"] == 2
    assert counts([{"page": "a", "visitor": visitor} for visitor in visitors])["a"] == 2
    spent = {"page": ["a", "a", "b"], "visitor": [1, 2, 3], "spent": [5, Decimal("2.50"), "9"]}  # text is no number
    asked: dict[str, Any] = {"item": "page", "user": "visitor", "value": "spent", "clip": (0, 10), "count": 2}
    asked |= {"domain": ["a", "b"], "epsilon": 4000, "answers_epsilon": 4000, "source": Seeded(1), "not_private": True}
    assert dict(top_sums(spent, **asked)) == {"a": pytest.approx(7.5, abs=0.1), "b": pytest.approx(0, abs=0.1)}


def test_candidates_come_back_as_they_were_given() -> None:
    asked = {"user": "visitor", "count": 1, "epsilon": 4000, "source": Seeded(1), "not_private": True}
    for label in (17, date(2024, 1, 31), Decimal("2.5"), True, "x"):
        (found,) = top_items([{"day": label, "visitor": 1}], item="day", domain=[label], **asked).items
        assert (type(found), found) == (type(label), label)
    rows = [{"day": 17, "visitor": who} for who in range(9)]
    assert top_items(rows, item="day", domain="observed", delta=0.5, **asked).items == ("17",)
    assert top_items(rows, item="day", domain=20, **asked).items == (17,)


def test_nobody_at_all_is_no_reason_to_refuse() -> None:
    nobody = {"a": 0, "b": 0, "c": 0}
    none = pyarrow.table({"page": ["a"], "visitor": [1]})[:0]
    empty: list[Any] = [[], {"page": [], "visitor": []}, [None], [{}], ARROW[:0].to_reader()]
    assert all(counts(data) == nobody for data in empty)
    for data in (none, none.to_pandas(), polars.from_arrow(none)):  # nor where a condition is
        assert counts(data, where="visitor < 5") == nobody


def test_what_is_no_table_is_refused_by_its_form_alone() -> None:
    for pages in (PAGES[1:], np.zeros((7, 2)), "aaabb", 17):
        with pytest.raises(ParameterError, match="data must have columns of one length"):
            counts({"page": pages, "visitor": VISITORS})
    with pytest.raises(TableError, match="no two columns of one name"):
        counts(pandas.DataFrame([["a", 1, "b"]], columns=["page", "visitor", "page"]))
    with pytest.raises(TableError, match="no column 'visitor'"):
        counts({"page": PAGES, "visitors": VISITORS})
    with pytest.raises(TableError, match="no column 'visitor'; did you mean 'visitors'"):
        counts(ARROW.rename_columns(["page", "more", "visitors"]).to_reader())


def test_a_stream_that_fails_shows_no_cell() -> None:
    def batches() -> Any:
        yield ARROW.combine_chunks().to_batches()[0]
        raise ValueError("secret")

    with pytest.raises(TableError) as caught:
        counts(pyarrow.RecordBatchReader.from_batches(ARROW.schema, batches()))
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


LARGEST = 2**62


@pytest.mark.parametrize("unit", ["s", "ms"])
@pytest.mark.parametrize("engine", ["pyarrow", "pandas", "polars", "reader", "dataset"])
def test_an_instant_beyond_all_microseconds_fails_no_release(engine: str, unit: str) -> None:
    """DuckDB has no such instant, and would raise."""
    seen = pyarrow.array([0, LARGEST, -LARGEST, None], pyarrow.int64()).view(pyarrow.timestamp(unit, "UTC"))
    rows = pyarrow.table({"page": ["a", "b", "b", "b"], "visitor": [1, 2, 3, 4], "seen": seen})
    if (engine, unit) == ("polars", "s"):
        return  # Polars has no seconds
    made = (TYPED_ENGINES | {"reader": pyarrow.Table.to_reader, "dataset": pyarrow.dataset.dataset})[engine]
    assert counts(made(rows), where="year_month(seen) = '1970-01'") == {"a": 1, "b": 0, "c": 0}
    asked: dict[str, Any] = {"item": "page", "user": "visitor", "count": 2, "epsilon": 60, "answers_epsilon": 60}
    grouped = top_items(made(rows), **asked, domain=["a", "b"], per="year_month(seen)", groups=["1970-01"])
    assert dict(grouped.groups["1970-01"]) == {"a": 1, "b": 0}  # other noise has a probability below e**-29


def test_a_person_named_by_a_date_that_python_has_not_fails_no_release() -> None:
    """Where people are cut they are put in order."""
    born = pyarrow.array([0, 2**31 - 1, 2**31 - 1, 0], pyarrow.int32()).cast(pyarrow.date32())
    table = pyarrow.table({"page": ["a", "a", "b", "a"], "visitor": born})
    found = counts(table.to_pandas(types_mapper=pandas.ArrowDtype), max_items_per_user=1)
    assert sum(found.values()) == 2
