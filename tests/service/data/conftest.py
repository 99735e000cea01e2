"""The rows as a file."""

from __future__ import annotations

import pyarrow
import pyarrow.parquet
import pytest
from tests.support.rows import COLUMNS, ROWS


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("data") / "visits.parquet"
    columns = dict(zip(COLUMNS, zip(*ROWS, strict=True), strict=True))
    pyarrow.parquet.write_table(pyarrow.table({name: list(cells) for name, cells in columns.items()}), path)
    return str(path)
