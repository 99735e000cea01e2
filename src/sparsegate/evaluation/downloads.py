"""Fetch a public dataset once, into the user's cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sparsegate.errors import ParameterError, SparsegateError
from sparsegate.evaluation.datasets import PUBLISHED, load, named
from sparsegate.evaluation.extras import load_extra


def fetch(name: str, *, folder: str | Path | None = None) -> Path:
    """Download a dataset unless it is there already, check its numbers of records and items, return its path.

    ``folder`` replaces the user's cache. No published checksum exists, so the published numbers are the check; a file
    that fails it is removed. Nothing uses a fetched file by itself: pass its path where you want it used.
    """
    published = named(name)
    if published.url is None:
        known = ", ".join(row.name for row in PUBLISHED.values() if row.url)
        what = "is made and not read" if name == "zipf" else "has no public address"
        raise ParameterError("dataset", f"must be one of {known} to be fetched; {name} {what}", name)
    pooch = load_extra("pooch", extra="datasets")
    target = Path(pooch.os_cache("sparsegate") if folder is None else folder)
    path = _retrieve(pooch, published.url, published.member, target)
    try:
        load(name, path)
    except ParameterError:
        path.unlink()
        (target / _file_name(published.url)).unlink(missing_ok=True)  # the archive it came in
        raise
    return path


def _retrieve(pooch: Any, url: str, member: str | None, folder: Path) -> Path:
    processor = pooch.Unzip(members=[member]) if member else None
    try:
        found = pooch.retrieve(
            url, known_hash=None, fname=_file_name(url), path=folder, processor=processor, progressbar=False
        )
    except (OSError, ValueError) as error:  # requests' errors are OSErrors
        raise SparsegateError(
            f"could not download {url} ({type(error).__name__}); where there is a network, download it and pass the "
            "file with --data"
        ) from None
    if not member:
        return Path(found)
    return next(Path(file) for file in found if file.endswith(Path(member).name))


def _file_name(url: str) -> str:
    return url.rpartition("/")[2]
