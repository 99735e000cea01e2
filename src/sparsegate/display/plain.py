"""Values as JSON takes them: amounts of privacy are exact decimals in text, and nothing is beyond JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import date, time
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, localcontext
from enum import Enum
from fractions import Fraction
from typing import Any

_LONGEST_BITS = 12_000  # Python turns integers of up to 4,300 digits into text, and 14,000 bits are those


def exact_text(value: Fraction) -> str:
    """The exact value as text: a decimal where one ends, else p/q; a sum that no text can hold, to 15 digits.

    >>> exact_text(Fraction(1, 8)), exact_text(Fraction(1, 3)), exact_text(Fraction(20))
    ('0.125', '1/3', '20')
    """
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > _LONGEST_BITS:
        # No amount, but a sum of amounts of hundreds of digits may be as long as this.
        with localcontext(_decimals(15)):
            return f"about {Decimal(value.numerator) / Decimal(value.denominator)}"
    digits = value.denominator.bit_length()  # at least as many as the powers of 2 and of 5 that divide it
    if 10**digits % value.denominator:
        return str(value)
    with localcontext(_decimals(digits + len(str(value.numerator)) + 1)):
        return f"{Decimal(value.numerator) / Decimal(value.denominator):f}"


def _decimals(precision: int) -> Context:
    """A context of our own: that of whoever calls may round otherwise, or make an error of it."""
    return Context(prec=precision, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, capitals=1, traps=[])


def amount_text(value: float | Fraction) -> str:
    """An epsilon or a delta; a float stands for the decimal that it prints as.

    >>> amount_text(1e-8), amount_text(0.1), amount_text(Fraction(1, 2))
    ('0.00000001', '0.1', '0.5')
    """
    return exact_text(value if isinstance(value, Fraction) else Fraction(str(value)))


def plain(value: Any) -> Any:
    """The value as JSON takes it: a number that is none there, and anything else that JSON lacks, as text.

    >>> plain({"loss": math.inf, "epsilon": Fraction(1, 10), "answers": (1, 2)})
    {'loss': 'inf', 'epsilon': '0.1', 'answers': [1, 2]}
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, Fraction):
        return exact_text(value)
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: plain(getattr(value, part.name)) for part in fields(value) if part.compare or part.repr}
    if hasattr(value, "tolist"):  # an array of numpy, or one of its numbers
        return plain(value.tolist())
    return [plain(part) for part in value] if isinstance(value, Sequence) else str(value)


def plain_label(label: Any) -> Any:
    """What an item is called, as JSON takes it: a number or text, a tuple as a list, anything else as it reads.

    Nothing here fails, because what is named is paid for; and nothing tells an address. The labels of a table lose
    nothing: ``tables.labels`` reads their text again.

    >>> plain_label(("a", 1)), plain_label(Fraction(1, 2)), plain_label(object())
    (['a', 1], '1/2', '<object>')
    >>> plain_label((date(2024, 1, 31), Decimal("17.00"), b"\\xff", 2.5))
    ['2024-01-31', '17.00', 'ff', 2.5]
    """
    if type(label).__module__ == "numpy" and not getattr(label, "ndim", 1):
        label = label.item()
    if isinstance(label, tuple):
        return [plain_label(part) for part in label]
    if label is None or isinstance(label, str | bool | int) or (isinstance(label, float) and math.isfinite(label)):
        return label
    kind: Any = type(label)
    with suppress(Exception):
        if isinstance(label, bytes):
            return label.hex()
        if isinstance(label, date | time):
            return label.isoformat()
        if not (kind.__repr__ is object.__repr__ and kind.__str__ is object.__str__):
            return str(label)
    return f"<{kind.__qualname__}>"


def rounded(estimate: float, bar: float) -> str:
    """A noisy count, or a noisy sum to two digits of its error bar: more of them would be noise.

    >>> rounded(1234, 9), rounded(1234.5678, 0.25)
    ('1,234', '1,234.57')
    """
    whole = isinstance(estimate, int) and isinstance(bar, int)
    return f"{estimate:,.{0 if whole else max(0, 1 - math.floor(math.log10(bar))) if bar else 6}f}"


def noisy_text(estimate: float | None, standard_error: float | None) -> str:
    """What one line says of a noisy number after what it is of; nothing where there is none.

    >>> noisy_text(4021, 4.0824), noisy_text(0.1234567, 0.01), noisy_text(None, None)
    (', about 4,021, standard error 4.08', ', about 0.123457, standard error 0.01', '')
    """
    if estimate is None:
        return ""
    about = f", about {estimate:,}" if isinstance(estimate, int) else f", about {estimate:,.6g}"
    return about + ("" if standard_error is None else f", standard error {standard_error:,.3g}")


def printable(value: object) -> str:
    """A cell as text without control characters: an item's name must not steer what it is shown on."""
    return "".join(mark if mark.isprintable() else "�" for mark in str(value))
