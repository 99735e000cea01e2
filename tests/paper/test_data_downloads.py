"""Downloads: once, checked, and removed where the check fails."""

from __future__ import annotations

import gzip
import hashlib
import zipfile
from pathlib import Path

import pooch
import pytest

from sparsegate.errors import ParameterError, SparsegateError
from sparsegate.paper import PUBLISHED, fetch
from sparsegate.paper import data as datasets
from sparsegate.paper import data as downloads
from sparsegate.paper import data as known_files
from sparsegate.paper.data import Published, how_checked


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Publish a dataset of three records and two items at an address that pooch can reach without a network."""

    def publish(url: str, content: bytes, member: str | None = None) -> None:
        row = Published(name="kosarak", title="Kosarak", records=3, items=2, source="clicks", url=url, member=member)
        monkeypatch.setattr(datasets, "PUBLISHED", {**PUBLISHED, "kosarak": row})
        digest = hashlib.sha256(content).hexdigest()
        monkeypatch.setattr(known_files, "CHECKSUMS", {"kosarak": (f"sha256:{digest}", "here")})

    copied = []

    def copy(url: str, output_file: object, _: object) -> None:
        copied.append(url)
        Path(str(output_file)).write_bytes(Path(url.removeprefix("http://here")).read_bytes())

    monkeypatch.setattr(pooch.core, "choose_downloader", lambda *_, **__: copy)
    publish.copied = copied
    return publish


def test_a_file_is_fetched_once_and_checked(address, tmp_path: Path) -> None:
    source = tmp_path / "kosarak.dat.gz"
    source.write_bytes(gzip.compress(b"1 2\n1\n2\n"))
    address(f"http://here{source}", b"1 2\n1\n2\n")
    first, second = fetch("kosarak", folder=tmp_path / "cache"), fetch("kosarak", folder=tmp_path / "cache")
    assert first == second
    assert datasets.load("kosarak", first).kind == "real"
    assert len(address.copied) == 1


def test_a_member_of_an_archive_is_unpacked(address, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "cup.zip", "w") as archive:
        archive.writestr("assoc/data.dat", content := "7\t1\n7\t2\n8\t1\n9\t2\n")
    address(f"http://here{tmp_path}/cup.zip", content.encode(), member="assoc/data.dat")
    path = fetch("kosarak", folder=tmp_path / "cache")
    assert path.name == "data.dat"


def test_what_is_no_archive_or_has_not_the_file_is_one_line_and_is_not_kept(address, tmp_path: Path) -> None:
    source = tmp_path / "cup.zip"
    address(f"http://here{source}", b"", member="assoc/data.dat")
    source.write_bytes(b"<html>moved</html>")
    with pytest.raises(SparsegateError, match=r"^could not download .*cup.zip \(BadZipFile\)"):
        fetch("kosarak", folder=tmp_path / "cache")
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("assoc/other.dat", "1")
    with pytest.raises(SparsegateError, match=r"^could not find assoc/data.dat in what was downloaded"):
        fetch("kosarak", folder=tmp_path / "cache")
    assert not (tmp_path / "cache" / "cup.zip").exists()


def test_a_file_with_other_numbers_is_not_kept(address, tmp_path: Path) -> None:
    source = tmp_path / "kosarak.dat"
    source.write_bytes(b"1 2\n1\n")
    address(f"http://here{source}", b"1 2\n1\n")
    with pytest.raises(ParameterError, match=r"2 records \(expected 3\)"):
        fetch("kosarak", folder=tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_no_network_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ConnectionError("unreachable")

    monkeypatch.setattr(pooch, "retrieve", fail)
    with pytest.raises(SparsegateError, match=r"^could not download https://.*kosarak.*--data$") as refused:
        fetch("kosarak", folder=tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("name", "reason"), [("aol", "has no public address"), ("zipf", "is made")])
def test_what_has_no_address_is_not_fetched(name: str, reason: str) -> None:
    with pytest.raises(ParameterError, match=reason):
        fetch(name)


def test_a_file_with_another_checksum_is_not_kept(address, tmp_path: Path) -> None:
    source = tmp_path / "kosarak.dat"
    source.write_bytes(b"1 2\n1\n2\n")
    address(f"http://here{source}", b"2 1\n1\n2\n")  # the same numbers, other bytes
    with pytest.raises(ParameterError, match=r"^data must have the public checksum of Kosarak, sha256:"):
        fetch("kosarak", folder=tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_addresses_are_https_and_what_has_no_sha_256_warns() -> None:
    assert all(row.url.startswith("https://") for row in PUBLISHED.values() if row.url)
    said = {row.name: how_checked(row.name).startswith("warning: ") for row in PUBLISHED.values() if row.url}
    assert said == {"bms-pos": True, "kosarak": False}
    assert "no checksum" in how_checked("aol")


def test_importing_the_evaluation_does_not_import_pooch() -> None:
    assert "pooch" not in vars(downloads)
