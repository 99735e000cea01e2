"""Pairs of tables that differ in one person: the worst that could be thought of for whoever times a count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import duckdb

from sparsegate.service.data.dataset import ServedTable, TableSource

PATIENTS = 19_000
BASE = f"""SELECT i AS patient, 'ward ' || i % 40 AS ward, i % 90 AS age, i % 97 AS stay, 'note ' || i % 500 AS note
FROM range({PATIENTS}) AS t(i)"""
ONE_MORE = {
    "a note of 30 KB": f"SELECT {PATIENTS}, 'ICU', 50, 3, repeat('0', 30000)",
    "a row like the others": f"SELECT {PATIENTS}, 'ward 1', 50, 3, 'note 1'",
    "cells that nobody else has": f"SELECT {PATIENTS}, 'ICU', -1, -1, repeat('é', 1000)",
    "nothing but nulls": f"SELECT {PATIENTS}, NULL, NULL, NULL, NULL",
    "many rows": f"SELECT {PATIENTS}, 'ward 1', 50, 3, 'note 1' FROM range(50)",
    "fifty long notes": f"SELECT {PATIENTS}, 'ward 1', 50, 3, repeat('😀', 998) || i FROM range(50) AS t(i)",
    "fifty short notes": f"SELECT {PATIENTS}, 'ward 1', 50, 3, 'mine ' || i FROM range(50) AS t(i)",
}
"""What the one person more has."""

DEAR = " OR ".join(f"note LIKE '%{'_' * 180}{number}#'" for number in range(45))
ATTACK = f"ward = 'ICU' AND ({DEAR})"
"""Almost free where nobody is in the ward, and hundreds of scans where the one with the long note is."""

CONDITIONS = (
    "TRUE",
    "ward = 'ICU'",
    "ward = 'ICU' AND note LIKE '%00#%'",
    "ward = 'ICU' OR age < 0 OR stay IS NULL",
    "NOT (note LIKE '%a%b%c') AND age BETWEEN 10 AND 20",
    "ward IN ('ICU', 'ward 1') AND CASE WHEN age > 40 THEN stay ELSE age END > 30",
    "age < stay AND note <> ward",
    "lower(note) = 'note 1' OR coalesce(age, stay) = 3",
)


CHARACTERS = 250_000
SHOWN = dict.fromkeys(["rows", *(f"values of {name}" for name in ("ward", "age", "stay", "note"))], 20_000)


@contextmanager
def opened(
    folder: Path,
    query: str,
    name: str = "patients",
    *,
    shown: Mapping[str, int] | None = None,
    **options: int,
) -> Iterator[ServedTable]:
    file = folder / f"{name}.parquet"
    duckdb.sql(f"COPY ({query}) TO '{file}' (FORMAT parquet)")
    if shown is None:
        with ServedTable.open([str(file)], user="patient", **options) as data:  # type: ignore[arg-type]
            yield data
    else:
        with ServedTable.read(TableSource(files=[str(file)], user="patient", **options)) as data:  # type: ignore[arg-type]
            data.fill(shown, characters=lambda counted: [CHARACTERS for _ in counted])
            yield data


@contextmanager
def neighbours(folder: Path, more: str) -> Iterator[tuple[ServedTable, ServedTable]]:
    """The patients, and the patients with one more, where the same sizes are shown of both.

    That is what the draws are for: whatever is shown of the one is shown of the other about as often
    (``test_sizes``). Here is tested that there is nothing else to see.
    """
    with ExitStack() as stack:
        enter = stack.enter_context
        without = enter(opened(folder, BASE, "without", shown=SHOWN))
        yield without, enter(opened(folder, f"{BASE} UNION ALL {ONE_MORE[more]}", "with", shown=SHOWN))
