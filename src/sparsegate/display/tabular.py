"""What every result can do: be printed, become a dataframe or JSON, show itself in a notebook, be drawn."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sparsegate.display.plain import exact_text, plain_label, printable
from sparsegate.display.sheet import Sheet
from sparsegate.errors import load_extra

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from matplotlib.figure import Figure

_EXTRA = "frames"
_SHOWN_ROWS = 100
_TITLE = 100
_DIGITS = 20
_SIMPLE = (str, bool, int, float, Fraction, Decimal, Enum, date)
_LABELS = {str, int, float, bool}


class Printed:
    """A result that `print` shows as a table, whose ``repr`` is one short line. What a class adds: ``sheet``.

    Without one it has a single row: the fields that are a number, a text or the like.
    """

    __slots__ = ()

    def sheet(self) -> Sheet:
        """The result as named columns, with what there is to say about them."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if not field.name.startswith("_")}  # type: ignore[arg-type]
        shown = {name: _shown(value) for name, value in values.items() if value is None or isinstance(value, _SIMPLE)}
        numbers = frozenset(name for name, value in shown.items() if type(value) in (int, float))
        columns = {name.replace("_", " "): [value] for name, value in shown.items()}
        title = "".join(f" {mark.lower()}" if mark.isupper() else mark for mark in type(self).__name__).strip()
        return Sheet(title=title, columns=columns, numbers=frozenset(name.replace("_", " ") for name in numbers))

    def __str__(self) -> str:
        return self.sheet().text(most=_SHOWN_ROWS)

    def _repr_html_(self) -> str:
        return self.sheet().html(most=_SHOWN_ROWS)

    def __repr__(self) -> str:
        title = printable(self.sheet().title)
        return f"<{type(self).__name__}: {title if len(title) <= _TITLE else title[: _TITLE - 1] + '…'}>"


class Tabular(Printed):
    """A result with rows. What a class adds: ``sheet``, ``to_dict`` and ``plot``."""

    __slots__ = ()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The result as JSON takes it, by the schema that it names; see docs/reference/json.md."""

    @abstractmethod
    def plot(self) -> Figure:
        """A picture: a Matplotlib figure of its own, that no global state knows."""

    def to_pandas(self) -> pd.DataFrame:
        """A pandas dataframe; ``attrs`` hold the rest of ``to_dict``."""
        frame = load_extra("pandas", extra=_EXTRA).DataFrame(self._columns())
        frame.attrs.update(self._rest())
        return frame

    def to_polars(self) -> pl.DataFrame:
        """A Polars dataframe."""
        polars, numbers, columns = load_extra("polars", extra=_EXTRA), self.sheet().numbers, self._columns()
        empty = {name: polars.Int64 if name in numbers else polars.String for name in columns if not len(columns[name])}
        return polars.DataFrame(columns, schema_overrides=empty)  # type: ignore[no-any-return]

    def to_arrow(self) -> pa.Table:
        """A PyArrow table; its metadata hold the rest of ``to_dict``, as JSON under "sparsegate"."""
        import json

        arrow, numbers, arrays = load_extra("pyarrow", extra=_EXTRA), self.sheet().numbers, {}
        for name, values in self._columns().items():
            empty = arrow.int64() if name in numbers else arrow.string()
            arrays[name] = arrow.array(values, type=None if len(values) else empty)
        return arrow.table(arrays, metadata={"sparsegate": json.dumps(self._rest())})

    def _columns(self) -> dict[str, list[Any]]:
        sheet = self.sheet()
        columns = sheet.columns.items()
        return {name: list(values) if name in sheet.numbers else labels(values) for name, values in columns}

    def _rest(self) -> dict[str, Any]:
        return {name: value for name, value in self.to_dict().items() if name != "items"}


class Single(Tabular):
    """A result of one row: its fields are read by name, as from a mapping."""

    __slots__ = ()

    def keys(self) -> Sequence[str]:
        """The names of the fields; ``dict(result)`` has them with their values."""
        return [field.name for field in fields(self)]  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __getitem__(self, name: str) -> Any:
        if name not in self.keys():
            raise KeyError(name)
        return getattr(self, name)


def labels(values: Sequence[Any]) -> list[Any]:
    """Labels that every dataframe takes: of one type that they all know; others become text.

    >>> labels(["a", "b"]), labels([1, 2**70]), labels([1, "a"])
    (['a', 'b'], ['1', '1180591620717411303424'], ['1', 'a'])
    """
    kinds = set(map(type, values))
    fits = all(not isinstance(value, int) or abs(value) < 2**63 for value in values)
    if len(kinds) <= 1 and kinds <= _LABELS and fits:
        return list(values)
    return [str(plain_label(value)) for value in values]


def _shown(value: Any) -> Any:
    if isinstance(value, Fraction):
        exact = exact_text(value)
        return exact if len(exact) <= _DIGITS else f"about {float(value):.6g}"
    return value.name.lower() if isinstance(value, Enum) else value
