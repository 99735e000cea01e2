"""A top-c for every group of a public list, one accounting: ``--per country``, ``--per "year_month(day)"``.

The groups are public, like the domain: those that the table lacks get a release of empty counts, and rows of other
groups are left out. A person with candidates in more than k = ``groups_per_user`` listed groups is cut to k of them, by
``counting.cut_users`` with groups for items: what is kept depends on that person's rows alone. (Few sets of groups are
possible, and people with one and the same set must not all lose the same group: so their items are hashed, too.) Then
each group is a table of its own, and its release is that of ``top_items`` for this table, at (epsilon / k, delta / k).

*Theorem* (parallel composition). If the release M_g of one table is (epsilon / k, delta / k)-differentially private for
neighbours that differ by one person, then all of them together, each of its own group and with coins of its own, are
(epsilon, delta)-DP for neighbours that differ by one person; and if M_g is d-approximately r-zCDP, they are (k
d)-approximately (k r)-zCDP. Proof: docs/explanation/proofs_in_words/table_releases.md.

So it holds for each M_g that has a theorem of its own; the bound ``max_items_per_user`` is for each group. Where each
row is a person, k = 1, and nothing is cut.

**How groups are written.** ``year_week(day)`` gives texts such as "2031-W07" and never "7". What an expression can give
is public, so a group that it can never give is refused before anything is charged, and the right form is shown.
"""

from __future__ import annotations

import datetime
import decimal
import itertools
import math
import os
import re
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final, TypeAlias

from sparsegate.conditions import Kind
from sparsegate.conditions.tree import Apply, CaseWhen, Cast, Literal, Node
from sparsegate.errors import ParameterError
from sparsegate.tables.columns import MOST_LABEL
from sparsegate.tables.domain import read_labels
from sparsegate.tables.labels import INTEGER, STRING, LabelKind, plain_value

MOST_GROUPS: Final = 10_000
"""Each is named by queries of its own."""

EXPLAINED: Final = (
    "must list the groups, because which groups the table has is private data",
    'pass for instance groups="DE,FR", or groups="2024-01..2024-12", or a file with a public list of them',
)


def check_expression(groups: Any, per: str, tree: Node) -> None:
    """Raise a ParameterError for the first of the groups that the expression ``per``, read as ``tree``, never gives."""
    may_give, example = form_of(tree)
    for label in public_groups(groups, per, STRING):
        if not may_give(label):
            step = f'write for instance groups="{example}"' if example else "list the groups as it writes them"
            raise ParameterError("groups", f"must be groups that {per} can give", label, step)


def public_groups(groups: Any, per: str, kind: LabelKind) -> dict[Any, Hashable]:
    """The groups as they were given, by the cell that a row of a column of this kind has. Twice counts once.

    >>> public_groups([3, "x", 3, True], "ward", STRING), public_groups("3, 7..9", "ward", INTEGER)
    ({'3': 3, 'x': 'x', 'true': True}, {3: 3, 7: 7, 8: 8, 9: 9})
    """
    if isinstance(groups, os.PathLike):
        groups = read_labels(groups, item=per, parameter="groups")
    if isinstance(groups, str):
        parts = [part.strip() for part in groups.split(",")]
        if not all(parts):
            rule = "must have a label between commas, and before and after them"
            raise ParameterError("groups", rule, groups, "remove the comma, or pass a list or a file")
        groups = list(itertools.chain(*map(_expanded, parts)))
    try:
        listed: dict[Any, Hashable] = {_text(label): label for label in map(plain_value, groups)}
    except TypeError:
        raise ParameterError("groups", EXPLAINED[0], groups, EXPLAINED[1]) from None
    if kind is INTEGER:
        for text in itertools.filterfalse(_written(_WHOLE, -MOST_LABEL, MOST_LABEL), listed):
            raise ParameterError("groups", "must be whole numbers, as the column has", text, "convert one of the two")
        listed = {int(text): int(text) for text in listed}
    elif kind is not STRING:
        listed = kind.cells(listed.values(), "groups")
    if not 1 <= len(listed) <= MOST_GROUPS:
        raise ParameterError("groups", f"must be from 1 to {MOST_GROUPS:,} public groups, got {len(listed):,}")
    if len(set(listed.values())) < len(listed):  # the release has one place for both
        rule = "must be told apart: Python calls 1 and True equal"
        raise ParameterError("groups", rule, next_step="write them as text")
    return listed


def _text(label: Any) -> str:
    """The label as the conditions language writes it as text."""
    if isinstance(label, bool):
        return str(label).lower()
    if isinstance(label, str | int | decimal.Decimal) or type(label) is datetime.date:
        return str(label)
    raise ParameterError("groups", "must be texts, whole numbers, decimals, truth values or dates", label)


def _expanded(text: str) -> list[str]:
    """A group, or a range of numbers, months, quarters, weeks or days, both ends included.

    >>> _expanded("2023-Q4..2024-Q2"), _expanded("9..12"), _expanded("2024-02-28..2024-03-01"), _expanded("DE")
    (['2023-Q4', '2024-Q1', '2024-Q2'], ['9', '10', '11', '12'], ['2024-02-28', '2024-02-29', '2024-03-01'], ['DE'])
    >>> _expanded("2026-W52..2027-W01")
    ['2026-W52', '2026-W53', '2027-W01']
    """
    first, dots, last = text.partition("..")
    if not dots:
        return [text]
    for form in (_WHOLE, _WEEK, _QUARTER, _MONTH, _DAY):
        if _written(form)(first) and _written(form)(last):
            read, write = form
            if 0 <= read(last) - read(first) < MOST_GROUPS:
                return [write(place) for place in range(read(first), read(last) + 1)]
    rule = f'must have ranges such as "2024-01..2024-12" or "1..12", with at most {MOST_GROUPS:,} groups'
    raise ParameterError("groups", rule, text, "write both ends alike, the earlier one first")


Numbered: TypeAlias = tuple[Callable[[str], int], Callable[[int], str]]
"""How a text is read as a number, and how that is written again: what is written otherwise is no such text."""


def _in_year(mark: str, parts: int, width: int) -> Numbered:
    def read(text: str) -> int:
        year, _, part = text.partition(mark)
        if not 1 <= int(year) <= 9999:
            raise ValueError
        return parts * int(year) + int(part) - 1

    return read, lambda place: f"{place // parts:04}{mark}{place % parts + 1:0{width}}"


def _week_read(text: str) -> int:
    year, _, week = text.partition("-W")
    return datetime.date.fromisocalendar(int(year), int(week), 1).toordinal() // 7


def _week_written(place: int) -> str:
    year, week, _ = datetime.date.fromordinal(place * 7 + 1).isocalendar()
    return f"{year:04}-W{week:02}"


_WHOLE: Final[Numbered] = int, str
_WEEK: Final[Numbered] = _week_read, _week_written
_QUARTER: Final = _in_year("-Q", 4, 1)
_MONTH: Final = _in_year("-", 12, 2)
_DAY: Final[Numbered] = (
    lambda text: datetime.date.fromisoformat(text).toordinal(),
    lambda day: str(datetime.date.fromordinal(day)),
)


def _written(form: Numbered, low: float = -math.inf, high: float = math.inf) -> Callable[[str], bool]:
    """Whether a text is written in this form, and its number is from ``low`` to ``high``."""
    read, write = form

    def fits(text: str) -> bool:
        try:
            place = read(text)
        except ValueError:
            return False
        return low <= place <= high and write(place) == text

    return fits


Form: TypeAlias = tuple[Callable[[str], bool], str]
"""Whether an expression may give a text, and an example of groups; where nothing is known of it, it may."""


def form_of(tree: Node) -> Form:
    """What an expression may give."""
    match tree:
        case Literal(constant=constant):
            text = str(constant).lower() if isinstance(constant, bool) else str(constant)
            return lambda label: constant is not None and label == text, "" if constant is None else text
        case CaseWhen(branches=branches, otherwise=otherwise):
            return _any_of([*(value for _, value in branches), otherwise])
        case Apply("coalesce", arguments):
            return _any_of(arguments)
        case Apply(operation=operation) if operation in _FORMS:
            return _FORMS[operation]
        case Cast(arguments=(argument,), kind=Kind.TEXT) if argument.kind is not Kind.TEXT:
            return form_of(argument)
    return _KINDS.get(tree.kind, (lambda label: True, ""))


def _any_of(trees: Iterable[Node]) -> Form:
    forms = [form_of(tree) for tree in trees]
    examples = dict.fromkeys(example for _, example in forms if example)
    return lambda label: any(may_give(label) for may_give, _ in forms), ",".join(examples)


_FORMS: Final[dict[str, Form]] = {
    "year_month": (_written(_MONTH), "2031-01..2031-12"),
    "year_quarter": (_written(_QUARTER), "2031-Q1..2031-Q4"),
    "year_week": (_written(_WEEK), "2031-W01..2031-W20"),
    "year": (_written(_WHOLE), "2030..2031"),
    "quarter": (_written(_WHOLE, 1, 4), "1..4"),
    "month": (_written(_WHOLE, 1, 12), "1..12"),
    "week": (_written(_WHOLE, 1, 53), "1..53"),
    "day": (_written(_WHOLE, 1, 31), "1..31"),
    "dow": (_written(_WHOLE, 0, 6), "0..6"),
    "isodow": (_written(_WHOLE, 1, 7), "1..7"),
    "doy": (_written(_WHOLE, 1, 366), "1..366"),
    "hour": (_written(_WHOLE, 0, 23), "0..23"),
    "minute": (_written(_WHOLE, 0, 59), "0..59"),
    "second": (_written(_WHOLE, 0, 59), "0..59"),
    "length": (_written(_WHOLE, 0), "1..9"),
    # Of other letters engines and Python disagree in places.
    "lower": (lambda label: not re.search("[A-Z]", label), ""),
    "upper": (lambda label: not re.search("[a-z]", label), ""),
    "trim": (lambda label: label == label.strip(" "), ""),
    "ltrim": (lambda label: not label.startswith(" "), ""),
    "rtrim": (lambda label: not label.endswith(" "), ""),
}
"""By the operation that is done last."""

_KINDS: Final[dict[Kind | None, Form]] = {
    Kind.INTEGER: (_written(_WHOLE), "1..12"),
    Kind.BOOLEAN: (lambda label: label in ("true", "false"), "true,false"),
    Kind.DATE: (_written(_DAY), "2031-01-01..2031-01-31"),
}
"""By the kind of an expression, where no more is known of it."""
