"""Errors of DuckDB and SQLite in words that hold no cell: a CSV or conversion error of theirs quotes the row."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NoReturn

from sparsegate.errors import ParameterError, SparsegateError, TableError

NO_MEMORY: Final = (
    "the engine ran out of memory, or of disk to spill to; raise memory_limit, if one was given, or set TMPDIR to a "
    "folder on a larger disk"
)
_UNKNOWN = "its tables or columns are not those that were asked for; check the query, if one was given, and the file"
_UNREAD = "it is missing, cut short, unreadable or in use, or the disk is full"
_REASONS: Final = {
    "OutOfMemoryException": NO_MEMORY,
    **dict.fromkeys(("ParserException", "BinderException", "CatalogException"), _UNKNOWN),
    **dict.fromkeys(("IOException", "PermissionException", "OSError"), _UNREAD),
    "Error": "it is damaged, or a row does not fit; check the file (its content is not shown here)",
}
"""By the name of the class of an error, or of one above it."""


@contextmanager
def quiet(trouble: str) -> Iterator[None]:
    """Turn an error of an engine, which may quote a row, into a ``TableError`` of these constant words."""
    import duckdb

    try:
        yield
    except BrokenPipeError:  # whoever read our output has left: no trouble of the engine's
        raise
    except (duckdb.Error, sqlite3.Error, OSError) as error:
        reason = next(_REASONS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _REASONS)
        raise_alone(TableError(f"{trouble}: {reason}"))


@contextmanager
def refused(parameter: str) -> Iterator[None]:
    """Turn an engine's refusal to bind a query, before a row is read, into a ``ParameterError`` with its first line."""
    import duckdb

    try:
        yield
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException, sqlite3.OperationalError) as error:
        reason = str(error).partition("\n")[0]
        raise_alone(ParameterError(parameter, f"is refused by the engine: {reason}"))


def raise_alone(error: SparsegateError) -> NoReturn:
    """Raise an error without a link to the one being handled, which ``from None`` would leave in ``__context__``."""
    try:
        raise error
    except SparsegateError:
        error.__context__ = None
        raise
