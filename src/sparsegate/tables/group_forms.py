"""How the groups of an expression are written, told from the expression alone.

``year_week(day)`` gives texts such as "2031-W07" and never "7". Whoever lists groups in another form would pay for
releases of empty counts. What an expression can give is public, as the list of groups is, so a group that it can never
give is refused before anything is charged, and the right form is shown.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable
from typing import Final

from sparsegate.conditions import Kind
from sparsegate.conditions.tree import Apply, CaseWhen, Cast, Coalesce, Literal, Node
from sparsegate.errors import ParameterError


def check_forms(labels: Iterable[str], tree: Node, per: str) -> None:
    """Raise a ParameterError for the first of the groups that the expression ``per``, read as ``tree``, never gives."""
    may_give, example = given_by(tree), _example(tree)
    for label in labels:
        if not may_give(label):
            step = f'write for instance groups="{example}"' if example else "list the groups as it writes them"
            raise ParameterError("groups", f"must be groups that {per} can give", label, step)


def given_by(tree: Node) -> Callable[[str], bool]:
    """Whether an expression may give a text; where nothing is known of it, it may."""
    match tree:
        case Literal(constant=constant):
            return lambda label: label == _constant(constant)
        case CaseWhen(branches=branches, otherwise=otherwise):
            parts = [given_by(value) for _, value in branches] + [given_by(otherwise)]
            return lambda label: any(part(label) for part in parts)
        case Coalesce(arguments=arguments):
            parts = [given_by(value) for value in arguments]
            return lambda label: any(part(label) for part in parts)
        case Apply(operation=operation) if operation in _FORMS:
            return _FORMS[operation][0]
        case Cast(arguments=(argument,), kind=Kind.TEXT) if argument.kind is not Kind.TEXT:
            return given_by(argument)
    return _KINDS[tree.kind][0] if tree.kind in _KINDS else lambda label: True


def _example(tree: Node) -> str:
    match tree:
        case Apply(operation=operation) if operation in _FORMS:
            return _FORMS[operation][1]
        case Cast(arguments=(argument,), kind=Kind.TEXT) if argument.kind is not Kind.TEXT:
            return _example(argument)
        case CaseWhen(branches=branches, otherwise=otherwise):
            known = [_constant(each.constant) for *_, each in (*branches, (otherwise,)) if isinstance(each, Literal)]
            return ",".join(dict.fromkeys(text for text in known if text is not None))
    return _KINDS.get(tree.kind, (None, ""))[1]


def _constant(constant: object) -> str | None:
    if isinstance(constant, bool):
        return str(constant).lower()
    return None if constant is None else str(constant)


def _whole(low: float, high: float) -> Callable[[str], bool]:
    return lambda label: bool(re.fullmatch("0|-?[1-9][0-9]*", label)) and low <= int(label) <= high


def _in_form(pattern: str, real: Callable[[str], object] = bool) -> Callable[[str], bool]:
    def fits(label: str) -> bool:
        try:
            return bool(re.fullmatch(pattern, label)) and not label.startswith("0000") and bool(real(label))
        except ValueError:
            return False

    return fits


_FORMS: Final[dict[str, tuple[Callable[[str], bool], str]]] = {
    "year_month": (_in_form("[0-9]{4}-(0[1-9]|1[0-2])"), "2031-01..2031-12"),
    "year_quarter": (_in_form("[0-9]{4}-Q[1-4]"), "2031-Q1..2031-Q4"),
    "year_week": (
        _in_form("[0-9]{4}-W[0-9]{2}", lambda label: datetime.date.fromisocalendar(int(label[:4]), int(label[6:]), 1)),
        "2031-W01..2031-W20",
    ),
    "year": (_whole(-float("inf"), float("inf")), "2030..2031"),
    "quarter": (_whole(1, 4), "1..4"),
    "month": (_whole(1, 12), "1..12"),
    "week": (_whole(1, 53), "1..53"),
    "day": (_whole(1, 31), "1..31"),
    "dow": (_whole(0, 6), "0..6"),
    "isodow": (_whole(1, 7), "1..7"),
    "doy": (_whole(1, 366), "1..366"),
    "hour": (_whole(0, 23), "0..23"),
    "minute": (_whole(0, 59), "0..59"),
    "second": (_whole(0, 59), "0..59"),
    "length": (_whole(0, float("inf")), "1..9"),
    # Of other letters engines and Python disagree in places.
    "lower": (lambda label: not re.search("[A-Z]", label), ""),
    "upper": (lambda label: not re.search("[a-z]", label), ""),
    "trim": (lambda label: label == label.strip(" "), ""),
    "ltrim": (lambda label: not label.startswith(" "), ""),
    "rtrim": (lambda label: not label.endswith(" "), ""),
}
"""By the operation that is done last: what it may give, and an example of groups."""

_KINDS: Final[dict[Kind | None, tuple[Callable[[str], bool], str]]] = {
    Kind.INTEGER: (_whole(-float("inf"), float("inf")), "1..12"),
    Kind.BOOLEAN: (lambda label: label in ("true", "false"), "true,false"),
    Kind.DATE: (_in_form("[0-9]{4}-[0-9]{2}-[0-9]{2}", datetime.date.fromisoformat), "2031-01-01..2031-01-31"),
}
"""By the kind of an expression, where no more is known of it."""
