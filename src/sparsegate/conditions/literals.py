"""Constants as a value of a kind, and how each kind is written in a condition."""

from __future__ import annotations

import datetime
import re
from typing import Final

from sparsegate.conditions.schema import Kind
from sparsegate.conditions.tree import Constant

MOST_INTEGER: Final = 2**127 - 1

WRITTEN: Final = {
    Kind.TEXT: ("text", "in single quotes"),
    Kind.INTEGER: ("a whole number", "in digits, as 42"),
    Kind.REAL: ("a number", "as 0.5 or 1e9"),
    Kind.BOOLEAN: ("a truth value", "TRUE or FALSE"),
    Kind.DATE: ("a date that exists", "DATE 'YYYY-MM-DD'"),
    Kind.TIMESTAMP: ("a timestamp that exists", "TIMESTAMP 'YYYY-MM-DD HH:MM:SS'"),
    Kind.TIME: ("a time of day", "TIME 'HH:MM:SS'"),
}
"""How an error calls a value of the kind, and how it is written."""

_DAY: Final = r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
_TIME: Final = r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?"
_ZONE: Final = r"|Z|[+-][0-9]{2}(?::?[0-9]{2})?"
_TRUTHS: Final = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}


def number(text: str) -> tuple[Kind, Constant]:
    """A number as it is written: whole up to 127 bits, else the nearest double. Raises OverflowError beyond doubles.

    >>> number("007"), number("1e3")
    ((<Kind.INTEGER: 'integer'>, 7), (<Kind.REAL: 'real'>, 1000.0))
    """
    if text.isdigit() and len(text.lstrip("0")) < 40 and int(text) <= MOST_INTEGER:
        return Kind.INTEGER, int(text)
    value = float(text)
    if value == float("inf"):
        raise OverflowError
    return Kind.REAL, value


def converted(value: Constant, kind: Kind, *, zoned: bool = False) -> Constant:
    """A constant as one of another kind; raises ValueError where it is none. With ``zoned`` a time may have a zone.

    >>> converted(" 5 ", Kind.INTEGER), converted("2024-1-31", Kind.DATE), converted(5, Kind.REAL)
    (5, '2024-01-31', 5.0)
    """
    if value is None:
        return None
    text = value.strip() if isinstance(value, str) else repr(value)
    match kind:
        case Kind.TEXT if isinstance(value, str):
            return value
        case Kind.INTEGER if re.fullmatch("[+-]?[0-9]{1,39}", text) and abs(int(text)) <= MOST_INTEGER:
            return int(text)
        case Kind.REAL if re.fullmatch(r"[-+.0-9eE]+|[+-]?(?i:inf|infinity|nan)", text):
            return float(text)
        case Kind.BOOLEAN if text.lower() in _TRUTHS:
            return _TRUTHS[text.lower()]
        case Kind.DATE | Kind.TIMESTAMP if re.fullmatch("-?(?i:infinity)", text):
            return text.lower()
        case Kind.DATE if day := re.fullmatch(_DAY, text):
            return datetime.date(*map(int, day.groups())).isoformat()
        case Kind.TIMESTAMP if moment := re.fullmatch(f"{_DAY}(?:[ T]{_TIME}({_ZONE if zoned else ''}))?", text):
            return _moment(moment)
        case Kind.TIME if clock := re.fullmatch(_TIME, text):
            hour, minute, second, fraction = (part or "0" for part in clock.groups())
            return datetime.time(int(hour), int(minute), int(second), int(fraction.ljust(6, "0"))).isoformat()
    raise ValueError


def _moment(found: re.Match[str]) -> str:
    """To the microsecond, in UTC where a zone is given."""
    *parts, fraction, zone = found.groups()
    year, month, day, hour, minute, second = (int(part or 0) for part in parts)
    moment = datetime.datetime(year, month, day, hour, minute, second, int((fraction or "0").ljust(6, "0")))
    if zone and zone != "Z":
        minutes = int(zone[1:3]) * 60 + int(zone[3:].strip(":") or 0)
        try:
            moment -= datetime.timedelta(minutes=minutes if zone[0] == "+" else -minutes)
        except OverflowError:  # in UTC it lies before the year 1, or after 9999
            raise ValueError from None
    return moment.isoformat(" ")
