"""Outcomes of any kind as two arrays: a word for each outcome, and its numbers.

An outcome is flattened into cells. Numbers become columns; booleans become bits; strings, None inside a tuple,
brackets and so the lengths of sequences become its *shape*, which is numbered. The word holds the number of the shape
and up to 40 bits. ``("above", True, 3.5)`` is the shape ``("above", ?, #)`` with the bit 1 and the column ``[3.5]``.
Numbers are compared as doubles: whole numbers beyond 2^53 that are one double are one outcome, which can hide a leak
and never invents one. All this is a function of the outcome alone, so an array is encoded exactly as the list of its
rows, and those that a mechanism returns for one input must have one kind and one width.
"""

from __future__ import annotations

import dataclasses
import enum
import numbers
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sparsegate.errors import ParameterError

Shape = tuple[str, ...]
Integers = NDArray[np.int64]
Reals = NDArray[np.float64]
BOOLEAN, NUMBER = "?", "#"
BITS: Final = 40
UNKNOWN: Final = -1
_MOST_SHAPES: Final = 1 << 14
_MOST_CELLS: Final = 4096
_KINDS: Final = "booleans, numbers, strings, or sequences, arrays, sets, mappings and dataclasses of them"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Outcomes side by side. ``word[i]``: the bits of outcome i, and above them the number of its shape (-1: unknown).

    ``columns[i]``: the booleans that had no room in the word, then its numbers, NaN behind the last.
    """

    word: Integers
    columns: Reals

    def __len__(self) -> int:
        return self.word.size

    def part(self, where: slice | Integers) -> Sample:
        return Sample(word=self.word[where], columns=self.columns[where])

    def wide(self, width: int) -> Reals:
        """The first ``width`` columns, NaN where there are none."""
        missing = max(width - self.columns.shape[1], 0)
        return np.pad(self.columns[:, :width], ((0, 0), (0, missing)), constant_values=np.nan)


def joined(samples: Sequence[Sample]) -> Sample:
    """Samples one after the other."""
    width = max(sample.columns.shape[1] for sample in samples)
    columns = np.concatenate([sample.wide(width) for sample in samples])
    return Sample(word=np.concatenate([sample.word for sample in samples]), columns=columns)


class Encoder:
    """Turns what a mechanism returned into samples; numbers the shapes as they come, until it is frozen."""

    def __init__(self, mechanism: str) -> None:
        self.shapes: list[Shape] = []
        self.frozen = False
        self._mechanism = mechanism
        self._numbers: dict[Shape, int] = {}
        self._layouts: dict[object, list[object]] = {}

    def encode(self, raw: Any, count: int, asked: object = None) -> Sample:
        """The outcomes of one call that was asked for ``count`` of them; arrays for one input must be alike."""
        if isinstance(raw, np.ma.MaskedArray):
            raw = raw.tolist()  # what lies behind the mask is not released
        if isinstance(raw, np.ndarray):
            parts = [raw[name] for name in raw.dtype.names] if raw.dtype.names else [raw]
        elif isinstance(raw, tuple) and raw and all(isinstance(part, np.ndarray) for part in raw):
            parts = list(raw)
        else:
            parts = []
        for part in parts:
            self._require(part.shape[0] if part.ndim else None, count)
        if asked is not None:
            self._require_alike(parts, asked)
        if parts and all(part.dtype.kind in "biuf" for part in parts):
            return self._tables(parts, count, alone=isinstance(raw, np.ndarray) and not raw.dtype.names)
        if parts:
            raw = raw.tolist() if isinstance(raw, np.ndarray) else list(zip(*(p.tolist() for p in parts), strict=True))
        if isinstance(raw, str | bytes) or not isinstance(raw, Sequence):
            rule = f"must return {count} outcomes as a list or an array, {{}} returned {_kind(raw)}"
            raise self._nonsense(rule, "pass batch=False (--single) if it returns one outcome for each call")
        self._require(len(raw), count)
        return self._listed(raw)

    def _tables(self, parts: list[NDArray[Any]], count: int, *, alone: bool) -> Sample:
        """Arrays of booleans or numbers side by side, one row for each outcome."""
        cells: list[str] = []
        spare: list[NDArray[Any]] = []
        numeric: list[NDArray[Any]] = []
        word, bits = np.zeros(count, dtype=np.int64), 0
        for part in parts:
            table = part.reshape(count, -1)
            boolean = part.dtype.kind == "b"
            cells += _bracketed(BOOLEAN if boolean else NUMBER, part.shape[1:])
            if boolean:
                fit = min(table.shape[1], BITS - bits)
                word |= _packed(table[:, :fit]) << bits
                bits, table = bits + fit, table[:, fit:]
            (spare if boolean else numeric).append(table)
        columns = np.concatenate([table.astype(np.float64) for table in (*spare, *numeric)], axis=1)
        odd = np.flatnonzero(np.isnan(columns).any(axis=1))
        if odd.size < count:
            number = self._number(tuple(cells) if alone else ("(", *cells, ")"))
            word = np.full(count, UNKNOWN) if number == UNKNOWN else word | (number << BITS)
        if odd.size:  # NaN is part of a shape
            rows = [tuple(part[place].tolist() for part in parts) for place in odd]
            listed = self._listed([row[0] for row in rows] if alone else rows)
            word[odd], columns[odd] = listed.word, listed.wide(columns.shape[1])
        return Sample(word=word, columns=columns)

    def _listed(self, outcomes: Sequence[Any]) -> Sample:
        words = np.empty(len(outcomes), dtype=np.int64)
        rows: list[list[float]] = []
        for place, outcome in enumerate(outcomes):
            if outcome is None:
                raise self._nonsense("must return an outcome, but {} returned None", "return what is to be released")
            cells: list[str] = []
            truths: list[bool] = []
            values: list[float] = []
            try:
                self._flatten(outcome, cells, truths, values)
            except RecursionError:
                raise self._nonsense("must return finite outcomes, but {} returned one that holds itself") from None
            if len(cells) > _MOST_CELLS:
                raise self._nonsense(f"must return outcomes of at most {_MOST_CELLS} parts, {{}} returned a longer one")
            number = self._number(tuple(cells))
            bits = sum(truth << bit for bit, truth in enumerate(truths[:BITS]))
            words[place] = UNKNOWN if number == UNKNOWN else bits | (number << BITS)
            rows.append([*truths[BITS:], *values])
        width = max(map(len, rows), default=0)
        columns = np.full((len(outcomes), width), np.nan)
        for place, row in enumerate(rows):
            columns[place, : len(row)] = row
        return Sample(word=words, columns=columns)

    def _flatten(self, value: Any, cells: list[str], truths: list[bool], values: list[float]) -> None:
        def inside(opening: str, parts: Any, closing: str) -> None:
            cells.append(opening)
            for part in parts:
                self._flatten(part, cells, truths, values)
            cells.append(closing)

        if isinstance(value, bool | np.bool_):
            cells.append(BOOLEAN)
            truths.append(bool(value))
        elif value is None:
            cells.append("None")
        elif isinstance(value, enum.Enum):
            cells.append(f"{type(value).__name__}.{value.name}")
        elif isinstance(value, str | bytes):
            cells.append(repr(str(value) if isinstance(value, str) else value))  # numpy's strings as any other
        elif isinstance(value, numbers.Real | Decimal | np.integer | np.floating):
            number = _real(value)
            cells.append(NUMBER if number == number else "nan")
            values += [number] if number == number else []
        elif isinstance(value, np.ndarray | np.void):
            self._flatten(value.tolist(), cells, truths, values)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            inside(f"{type(value).__name__}(", [getattr(value, f.name) for f in dataclasses.fields(value)], ")")
        elif isinstance(value, Mapping):
            inside("{", [(key, value[key]) for key in sorted(value, key=repr)], "}")
        elif isinstance(value, Set):
            inside("{", sorted(value, key=repr), "}")
        elif isinstance(value, Sequence):
            inside("(", value, ")")
        else:
            raise self._nonsense(f"must return {_KINDS}, but {{}} returned {_kind(value)}", "convert it")

    def _number(self, shape: Shape) -> int:
        if shape not in self._numbers and not self.frozen and len(self.shapes) < _MOST_SHAPES:
            self._numbers[shape] = len(self.shapes)
            self.shapes.append(shape)
        return self._numbers.get(shape, UNKNOWN)

    def _require(self, length: int | None, count: int) -> None:
        if length != count:
            rule = "must return as many outcomes as it is asked for"
            raise self._nonsense(f"{rule}, {{}} returned {'one' if length is None else length} instead of {count}")

    def _require_alike(self, parts: list[NDArray[Any]], asked: object) -> None:
        """Numpy chose a kind and a width for the whole call; objects keep each outcome as it is."""
        if not parts or any(part.dtype.kind == "O" for part in parts):
            return
        layout: list[object] = [
            ("number" if part.dtype.kind in "iuf" else part.dtype.kind, part.shape[1:]) for part in parts
        ]
        if self._layouts.setdefault(asked, layout) != layout:
            raise self._nonsense(
                "must return arrays of one kind and one width for one input, but those of {} changed with the call",
                "return a list of outcomes, or give np.array a dtype= and all rows the same length in every call",
            )

    def _nonsense(self, rule: str, next_step: str = "") -> ParameterError:
        return ParameterError("mechanism", rule.format(self._mechanism), next_step=next_step)


def outcome_text(shape: Shape, word: int, columns: Reals, blank: Set[int] = frozenset()) -> str:
    """An outcome in words; x stands for the columns in ``blank``.

    >>> encoder = Encoder("doctest")
    >>> sample = encoder.encode([("above", True, 3.5, {"a": (1, 2)})], 1)
    >>> outcome_text(encoder.shapes[0], int(sample.word[0]), sample.columns[0])
    "('above', True, 3.5, {('a', (1, 2))})"
    """
    truths = sum(cell == BOOLEAN for cell in shape)
    spare = max(truths - BITS, 0)
    bits = [bool(word >> bit & 1) for bit in range(truths - spare)] + [bool(value) for value in columns[:spare]]
    numeric = ["x" if place in blank else f"{value:.6g}" for place, value in enumerate(columns.tolist())]
    booleans, values = iter(map(str, bits)), iter(numeric[spare:])
    text = ""
    for cell in shape:
        word_text = next(booleans) if cell == BOOLEAN else next(values) if cell == NUMBER else cell
        text += word_text if not text or text[-1] in "({" or word_text in ")}" else f", {word_text}"
    return text


def _bracketed(cell: str, sizes: tuple[int, ...]) -> list[str]:
    return ["(", *_bracketed(cell, sizes[1:]) * sizes[0], ")"] if sizes else [cell]


def _packed(table: NDArray[np.bool_]) -> Integers:
    """Each row as an integer, the first column its lowest bit."""
    packed = np.packbits(table, axis=1, bitorder="little")
    octets = np.zeros((table.shape[0], 8), dtype=np.uint8)
    octets[:, : packed.shape[1]] = packed
    return octets.view("<i8")[:, 0]


def _real(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    except ValueError:  # a signalling NaN
        return float("nan")


def _kind(value: object) -> str:
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
