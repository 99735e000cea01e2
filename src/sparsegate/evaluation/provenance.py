"""Where results come from: parameters, datasets, versions and commit, for the manifest beside them."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sparsegate.evaluation.datasets import Dataset
from sparsegate.evaluation.methods import Method

THRESHOLD = "oracle: the mean of the c-th and the (c+1)-th true score, which is not private"

_LIBRARIES = ("sparsegate", "numpy", "pyarrow")


def manifest(
    *, datasets: Sequence[Dataset], methods: Sequence[Method], parameters: Mapping[str, object]
) -> dict[str, Any]:
    """Everything needed to say what was run, and to run it again."""
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "parameters": dict(parameters),
        "threshold": THRESHOLD,
        "datasets": [
            {
                "name": data.name,
                "title": data.title,
                "kind": data.kind,
                "stand_in": data.stand_in,
                "records": data.records,
                "items": data.items,
                "distinct_scores": data.ladder.values.size,
                "sum_of_scores": float(data.ladder.values @ data.ladder.sizes),
                "description": data.description,
                "fingerprint": data.fingerprint,
            }
            for data in datasets
        ],
        "methods": [
            {
                "key": method.key,
                "title": method.title,
                "row": method.row and method.row.key,
                "allocation": None if method.allocation is None else str(method.allocation),
                "raise_by": method.raise_by,
                "passes": method.passes,
                "interactive": method.interactive,
            }
            for method in methods
        ],
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in _LIBRARIES}},
        "commit": commit(Path(__file__).parent),
    }


def commit(folder: Path) -> str | None:
    """The commit of the checkout that holds the folder, "+" added where files differ from it; None outside of one."""
    if not any((parent / ".git").exists() and (parent / "src" / "sparsegate").is_dir() for parent in folder.parents):
        return None
    try:
        head, changes = (
            subprocess.run(
                ["git", "-C", str(folder), *command], capture_output=True, text=True, check=True, timeout=10
            ).stdout.strip()
            for command in (("rev-parse", "HEAD"), ("status", "--porcelain"))
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return head + ("+" if changes else "")


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None
