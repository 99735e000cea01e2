"""Settings of a process at their worst: numpy's error state, decimals, locale, warnings, how arrays print."""

from __future__ import annotations

import decimal
import locale
import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any, Literal, NoReturn

import numpy as np

LOCALES = ("de_DE.UTF-8", "tr_TR.UTF-8", "fr_FR.UTF-8", "C")
"""A comma for a point, and letters that grow otherwise, where the machine has such a locale."""


def _fails(kind: str, flag: int) -> NoReturn:
    raise FloatingPointError(f"{kind} of a private number")


@contextmanager
def hostile_settings(error_state: Literal["raise", "call"]) -> Iterator[None]:
    """All of them at once, in this block; ``error_state`` is what numpy does on every error: "raise" or "call"."""
    spoken = locale.setlocale(locale.LC_ALL)
    traps = [signal for signal in decimal.Context().flags]  # noqa: C416
    context = decimal.Context(prec=1, Emax=1, Emin=-1, capitals=0, rounding=decimal.ROUND_UP, traps=traps)
    try:
        with (
            np.errstate(all=error_state, call=_fails),
            decimal.localcontext(context),
            np.printoptions(legacy="1.13", precision=0, threshold=2, edgeitems=1, sign="+"),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("error")
            for name in LOCALES:
                with suppress(locale.Error):
                    locale.setlocale(locale.LC_ALL, name)
                    break
            yield
    finally:
        locale.setlocale(locale.LC_ALL, spoken)


def plain(result: Any) -> Any:
    """What was released, so that two of them can be compared: not-a-number is like itself."""
    if isinstance(result, np.ndarray):
        return (result.dtype.str, result.shape, plain(result.tolist()))
    if isinstance(result, np.generic):
        return plain(result.item())
    if isinstance(result, float):
        return "nan" if math.isnan(result) else result.hex()
    if is_dataclass(result) and not isinstance(result, type):
        return (type(result).__name__, {each.name: plain(getattr(result, each.name)) for each in fields(result)})
    if isinstance(result, Mapping):
        return [(plain(name), plain(value)) for name, value in result.items()]
    if isinstance(result, list | tuple):
        return [plain(part) for part in result]
    return result if isinstance(result, str | int | bytes | bool | Fraction | None) else repr(result)
