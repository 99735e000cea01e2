"""Datasets from their public addresses, checked before anything may use them."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from sparsegate.errors import ParameterError, SparsegateError, load_extra
from sparsegate.evaluation.data import known_files
from sparsegate.evaluation.data.datasets import PUBLISHED, Published, load, named
from sparsegate.evaluation.data.readers import unpacked


def fetch(name: str, *, folder: str | Path | None = None) -> Path:
    """Download a dataset unless it is there already, check it, return its path.

    ``name`` is that of a published dataset with an address. ``folder`` replaces the user's cache. The file must have
    the public checksum where there is one, and the published numbers of records and items; one that fails is removed.
    ``how_checked`` says it in words. Nothing uses a fetched file by itself: pass its path where you want it used.

    >>> from sparsegate import evaluation
    >>> [name for name, row in evaluation.PUBLISHED.items() if row.url]  # what can be fetched
    ['bms-pos', 'kosarak']
    >>> evaluation.fetch("aol")
    Traceback (most recent call last):
    sparsegate.errors.ParameterError: dataset must be one of bms-pos, kosarak to be fetched; aol has no public ...
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
        _check(published, path)
    except ParameterError:
        path.unlink()
        (target / _file_name(published.url)).unlink(missing_ok=True)  # the archive it came in
        raise
    return path


def how_checked(name: str) -> str:
    """How a fetched file is checked, and what that is worth.

    >>> how_checked("kosarak")
    'checked by its public SHA-256, and by its numbers of records and items'
    """
    numbers = "its numbers of records and items"
    if name not in known_files.CHECKSUMS:
        return f"warning: no checksum of it is public; checked by {numbers} alone"
    algorithm = known_files.CHECKSUMS[name][0].partition(":")[0]
    if algorithm == "sha256":
        return f"checked by its public SHA-256, and by {numbers}"
    return f"warning: only a SHA-1 of it is public, which can be forged; checked by that, and by {numbers}"


def _check(published: Published, path: Path) -> None:
    if known_files.has_checksum(published.name, unpacked(path)) is False:
        checksum, source = known_files.CHECKSUMS[published.name]
        raise ParameterError(
            "data",
            f"must have the public checksum of {published.title}, {checksum} ({source}); what was downloaded has not",
            path.name,
            "if you trust a file of another origin, pass it with --data",
        )
    load(published.name, path)


def _retrieve(pooch: Any, url: str, member: str | None, folder: Path) -> Path:
    processor = pooch.Unzip(members=[member]) if member else None
    try:
        found = pooch.retrieve(
            url, known_hash=None, fname=_file_name(url), path=folder, processor=processor, progressbar=False
        )
    except (OSError, ValueError, BadZipFile) as error:  # requests' errors are OSErrors
        (folder / _file_name(url)).unlink(missing_ok=True)  # half of it, or not what its name says
        raise SparsegateError(
            f"could not download {url} ({type(error).__name__}); where there is a network, download it and pass the "
            "file with --data"
        ) from None
    if not member:
        return Path(found)
    files = [Path(file) for file in found if file.endswith(Path(member).name)]
    if not files:
        (folder / _file_name(url)).unlink(missing_ok=True)
        raise SparsegateError(f"could not find {member} in what was downloaded from {url}")
    return files[0]


def _file_name(url: str) -> str:
    return url.rpartition("/")[2]
