"""A report's file is written whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.reports.files import replace_file
from many_cases import each


def until_full() -> Iterator[bytes]:
    """A report whose second half finds no room."""
    yield b"a new"
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize("before", [None, "file", "link"])
def test_a_secret_is_for_its_owner_from_the_first_byte_on(tmp_path: Path, before: str | None) -> None:
    path = tmp_path / "eval.yaml"
    if before is not None:
        target = path if before == "file" else tmp_path / "target.yaml"
        target.write_bytes(b"old")
        target.chmod(0o644)
        if before == "link":
            path.symlink_to(target)

    def pieces() -> Iterator[bytes]:
        yield b"a secret"
        written = [one for one in tmp_path.iterdir() if before != "file" or one != path]
        assert [one.stat().st_mode & 0o777 for one in written] == [0o600] * len(written)

    replace_file(path, pieces(), mode=0o600)
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"a secret", 0o600)


@pytest.mark.parametrize("before", [None, b"", b"the last report"])
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, before: bytes | None) -> None:
    path = tmp_path / "out.html"
    if before is not None:
        path.write_bytes(before)
    with pytest.raises(OSError, match="No space"):
        replace_file(path, until_full())
    assert [one.read_bytes() for one in tmp_path.iterdir()] == ([] if before is None else [before])


def test_what_was_there_is_replaced_with_its_mode_and_a_link_stays_one(tmp_path: Path) -> None:
    path, link = tmp_path / "out.html", tmp_path / "link.html"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    replace_file(link, b"new")
    assert (link.is_symlink(), path.read_bytes()) == (True, b"new")
    replace_file(path, b"newer")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"newer", 0o640)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.html", "out.html"]


@each("pieces", [b"whole report", [b"whole ", b"", b"report"], [b"", b"whole report"]])
@each("there", [b"", b"a much longer report that was there before"])
def test_a_report_is_the_same_whole_and_in_pieces(tmp_path: Path, pieces: bytes | list[bytes], there: bytes) -> None:
    path = tmp_path / "out.json"
    if there:
        path.write_bytes(there)
    replace_file(path, pieces)
    assert path.read_bytes() == b"whole report"
    assert [one.name for one in tmp_path.iterdir()] == ["out.json"]


@pytest.mark.parametrize("fails", ["open", "replace"])
def test_a_file_in_a_folder_that_may_not_be_changed_is_written_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    path = tmp_path / "out.json"
    path.write_bytes(b"the last report")
    real = getattr(Path, fails)

    def refused(self: Path, *rest: Any, **named: Any) -> Any:  # played, since root may do everything
        if self.name.endswith(".part"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(self, *rest, **named)

    monkeypatch.setattr(Path, fails, refused)
    replace_file(path, iter([b"a new ", b"report"]))
    assert path.read_bytes() == b"a new report"
    assert [one.name for one in tmp_path.iterdir()] == ["out.json"]
    with pytest.raises(PermissionError):
        replace_file(tmp_path / "other.json", b"report")
