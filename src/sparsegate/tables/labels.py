"""What the items of a column are, in its type's own words; and what their labels are in Python.

Inside an engine an item is a *cell* of one of two types, which every engine counts, joins, sorts and hashes alike: a
whole number of 64 bits, or a string. A date is its number of days, an instant its number of units since 1970, a float
the 64 bits of its double, a decimal its digits, bytes are in hexadecimal. Different values have different cells, and
equal ones the same. On the way out a cell is read back as the value it stands for: an instant in UTC, or, between two
microseconds, as text in ISO form; a whole float as a whole number, because pandas makes floats of whole numbers where
one is missing. Cells outside of what Python can hold are no labels, like nulls. JSON has the labels as text
(``display.plain``), and that text is a label of a domain again.
"""

from __future__ import annotations

import functools
import re
import uuid
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any, Final, TypeAlias

import numpy as np

from sparsegate.errors import ParameterError
from sparsegate.tables.identity import labels

Cell: TypeAlias = int | str

_LIMIT: Final = 2**63
_SECOND: Final = 10**9
_DAY: Final = 86_400 * _SECOND
_EPOCH: Final = datetime(1970, 1, 1)
_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)


@dataclass(frozen=True, eq=False)
class LabelKind:
    """What the items of a column are."""

    name: str
    write: Callable[[Any], Cell | None]
    """The cell of a public label, None of not-a-number; a Value-, Type- or ArithmeticError for what can be no cell."""
    read: Callable[[Any], Hashable]
    """The label of a cell."""
    range: tuple[int, int] | None = None
    """The least and the largest cell that is a label, where not all are."""

    def __str__(self) -> str:
        return self.name

    def cells(self, public: Iterable[Any], parameter: str = "domain") -> dict[Cell, Any]:
        """The cells of public labels, each with the first label that is written so."""
        public = public.tolist() if isinstance(public, np.ndarray) and public.dtype.kind in "biufU" else list(public)
        own = {STRING: str, INTEGER: int}.get(self)
        if set(map(type, public)) == {own} and (own is str or (min(public) >= -_LIMIT and max(public) < _LIMIT)):
            return dict(zip(public, public, strict=True))  # a million of them in no time
        cells: dict[Cell, Any] = {}
        for label in public:
            value = plain_value(label)
            try:
                cell = None if value is None else self.write(value)
            except (TypeError, ValueError, ArithmeticError):
                rule = f"must hold {self}, as the table's {'items' if parameter == 'domain' else parameter} are"
                raise ParameterError(parameter, rule, next_step="convert its labels") from None
            if cell is not None:
                cells.setdefault(cell, value)
        return cells


def plain_value(label: Any) -> Any:
    """A value of numpy's or pandas' as Python's; None for a null of theirs."""
    if isinstance(label, np.datetime64):
        unit, _ = np.datetime_data(label.dtype)
        return None if np.isnat(label) else Nanoseconds(label.astype(np.int64)) if unit == "ns" else label.item()
    plain = label.item() if isinstance(label, np.generic) else label
    return None if type(plain).__name__ in ("NaTType", "NAType") else plain


class Nanoseconds(int):
    """Nanoseconds since 1970, of an instant that a ``datetime`` cannot hold."""


def _of(label: Any, *kinds: type) -> Any:
    if not isinstance(label, kinds) or (isinstance(label, bool) and bool not in kinds):
        raise TypeError
    return label


def _exactly(number: Any, step: int = 1) -> int:
    cell, rest = divmod(number, step)
    if rest or not -_LIMIT <= cell < _LIMIT:
        raise ValueError
    return int(cell)


def _integer(label: Any) -> int | None:
    return _exactly(label) if _of(label, int, float, Decimal) == label else None


def _float(label: Any) -> int | None:
    number = float(_of(label, int, float, Decimal, str))
    if number != number:
        return None
    if not isinstance(label, str) and number != label:
        raise ValueError
    return int(np.float64(number + 0.0).view(np.int64))  # 0 for -0


def _of_bits(cell: int) -> int | float:
    number = float(np.int64(cell).view(np.float64))
    return int(number) if number.is_integer() else number


def _boolean(label: Any) -> int:
    return ("false", "true").index(label.lower()) if isinstance(label, str) else (0, 1).index(_of(label, bool, int))


@functools.cache
def decimals(scale: int) -> LabelKind:
    """Decimals with this many digits behind the point."""
    step = Decimal(1).scaleb(-scale)

    def write(label: Any) -> str | None:
        number = Decimal(str(_of(label, int, float, Decimal, str)))  # a float is the decimal it prints as
        if number.is_nan():
            return None
        exact = number.quantize(step, context=_EXACT)
        if exact != number:
            raise ValueError
        return format(exact if exact else abs(exact), "f")

    return LabelKind(f"decimals of {scale} places", write, Decimal)


def _time(label: Any) -> int:
    more, label = _split(label, time.fromisoformat)
    if _of(label, time).tzinfo is not None:
        raise ValueError
    return _nanoseconds(datetime.combine(_EPOCH, label)) + more


def _as_time(cell: int) -> time | str:
    moment, more = _of_nanoseconds(cell)
    return moment.time().isoformat("microseconds") + more if more else moment.time()


def _moment(label: Any, *, zoned: bool) -> int:
    if isinstance(label, Nanoseconds) and not zoned:
        return int(label)
    more, label = _split(label, datetime.fromisoformat)
    if type(label) is date:
        label = datetime.combine(label, time())
    if (_of(label, datetime).utcoffset() is not None) != zoned:
        raise ValueError
    return _nanoseconds(label.astimezone(UTC).replace(tzinfo=None) if zoned else label) + more


def _split(label: Any, read: Callable[[str], Any]) -> tuple[int, Any]:
    """What a label has beyond microseconds, in nanoseconds, and the rest; of pandas' Timestamp, or of text."""
    if isinstance(label, str):
        finer = re.fullmatch(r"(.*\.\d{6})(\d{1,3})(.*)", label)
        return (int(finer[2].ljust(3, "0")), read(finer[1] + finer[3])) if finer else (0, read(label))
    if hasattr(label, "nanosecond"):
        return label.nanosecond, label.to_pydatetime(warn=False)
    return 0, label


def _nanoseconds(moment: datetime) -> int:
    since = moment.replace(tzinfo=None) - _EPOCH
    return (since.days * 86_400 + since.seconds) * _SECOND + since.microseconds * 1000


def _of_nanoseconds(nanoseconds: int) -> tuple[datetime, str]:
    microseconds, more = divmod(nanoseconds, 1000)
    return _EPOCH + timedelta(microseconds=microseconds), f"{more:03}" if more else ""


@functools.cache
def moments(unit: str, *, zoned: bool) -> LabelKind:
    """Instants in a time zone, or without one, counted in this unit."""
    step = {"s": _SECOND, "ms": 10**6, "us": 1000, "ns": 1}[unit]

    def write(label: Any) -> int:
        return _exactly(_moment(label, zoned=zoned), step)

    def read(cell: int) -> datetime | str:
        moment, more = _of_nanoseconds(cell * step)
        if more:
            return moment.isoformat(timespec="microseconds") + more + ("+00:00" if zoned else "")
        return moment.replace(tzinfo=UTC) if zoned else moment

    held = _nanoseconds(datetime.min) // step, _nanoseconds(datetime.max) // step
    name = "instants with a time zone" if zoned else "instants without a time zone"
    return LabelKind(f"{name}, in {unit}", write, read, None if unit == "ns" else held)


INTEGER: Final = LabelKind("whole numbers", _integer, int)
STRING: Final = LabelKind("strings", lambda label: str(_of(label, str)), str)
OBJECTS: Final = LabelKind("objects", lambda label: labels([label])[0], str)
FLOAT: Final = LabelKind("floats", _float, _of_bits)
BOOLEAN: Final = LabelKind("booleans", _boolean, bool)
DATE: Final = LabelKind(
    "dates",
    lambda label: _exactly(_moment(label, zoned=False), _DAY),
    lambda cell: (_EPOCH + timedelta(days=cell)).date(),
    ((datetime.min - _EPOCH).days, (datetime.max - _EPOCH).days),
)
TIME: Final = LabelKind("times of day", _time, _as_time, (0, _DAY - 1))
BINARY: Final = LabelKind(
    "bytes", lambda label: (bytes.fromhex(label) if isinstance(label, str) else _of(label, bytes)).hex(), bytes.fromhex
)
UUID: Final = LabelKind("UUIDs", lambda label: str(uuid.UUID(str(_of(label, str, uuid.UUID)))), uuid.UUID)
