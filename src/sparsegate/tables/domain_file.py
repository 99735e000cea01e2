"""Public candidates from a file: ``pages.csv``, or ``pages.csv:path`` where a column must be named.

The file is read like the owner's own (see ``tables.workspace``), and its labels become what the items of the table are,
whole numbers or strings, by a rule that looks at types alone. The file is public, so an error may name its columns.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparsegate.errors import ParameterError, TableError
from sparsegate.tables.columns import identifier
from sparsegate.tables.engine_errors import quiet, raise_alone
from sparsegate.tables.files import DATABASES, expand, kind_of
from sparsegate.tables.text_lines import NO_TEXT
from sparsegate.tables.workspace import Workspace

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation


def read_labels(domain: os.PathLike[str], *, item: str, whole: bool, parameter: str = "domain") -> list[Any]:
    """The labels in a file, in its order, as whole numbers or as strings; errors name the ``parameter``."""
    with Workspace(ordered=True) as workspace, quiet(f"the {parameter} cannot be read"):
        kind = "BIGINT" if whole else "VARCHAR"
        labels = file_labels(workspace, os.fspath(domain), item=item, kind=kind, parameter=parameter)
        return [label for (label,) in labels.fetchall()]


def file_labels(
    workspace: Workspace, domain: str, *, item: str, kind: str, parameter: str = "domain"
) -> DuckDBPyRelation:
    """The labels as a relation of one column in the workspace, of the SQL type ``kind`` that the items have.

    The column is the one named behind a colon, the only one of the file, or the one called like the item.
    """
    file, column = split_column(domain)
    with _public():
        kinds = {kind_of(name) for name in expand([file])}
        if kinds & set(DATABASES):
            raise ParameterError(parameter, "must be a file of labels, not a database", file, "export the column first")
        public = workspace.open([file], columns=[column] if column and kinds == {"CSV"} else None)
    there = public.columns
    column = column or (there[0] if len(there) == 1 else item)
    if column not in there:
        hint = f"write {file}:COLUMN with one of {', '.join(there[:9])}"
        raise ParameterError(parameter, f"must name a column of {file}", column, hint)
    converted = (
        whole_numbers("held", kind) if kind.endswith("INT") or kind == "INTEGER" else f"TRY_CAST(held AS {kind})"
    )
    held = public.select(f"{identifier(column)} AS held, {converted} AS label").filter("held IS NOT NULL")
    with _public(), workspace.explained(workspace.files, workspace.kind), quiet(f"{file} cannot be read"):
        ((lost,),) = held.aggregate("count(*) - count(label)").fetchall()
    if lost:
        raise ParameterError(parameter, f"must hold values of the item's type, {kind}", next_step="convert them")
    return held.select("label")


@contextmanager
def _public() -> Iterator[None]:
    """Where an error speaks of a public file: of its encoding nothing can be said, so that it must be UTF-8."""
    try:
        yield
        return
    except TableError as error:
        reason = str(error).replace(NO_TEXT, "save it in UTF-8")
    raise_alone(TableError(reason))


def whole_numbers(held: str, kind: str = "BIGINT") -> str:
    """SQL for text as whole numbers, null where it is none: a plain cast would make 2 of '1.7' and 1000 of '1e3'."""
    return f"TRY_CAST(nullif(regexp_extract(CAST({held} AS VARCHAR), '^\\s*([+-]?[0-9]+)\\s*$', 1), '') AS {kind})"


def split_column(domain: str) -> tuple[str, str]:
    """The file and the name of the column; the latter is empty where none is given.

    >>> split_column("pages.csv:path"), split_column("pages.csv")
    (('pages.csv', 'path'), ('pages.csv', ''))
    """
    if ":" not in domain or Path(domain).exists():
        return domain, ""
    file, _, column = domain.rpartition(":")
    return file, column
