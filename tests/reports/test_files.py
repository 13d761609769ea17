"""A report's file is written whole or not at all."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from assay.reports.files import replace_file


def full_disk(self: Path, content: bytes) -> int:
    with self.open("wb") as file:
        file.write(content[: len(content) // 2])
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("before", [None, b"", b"the last report"])
def test_a_full_disk_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bytes | None
) -> None:
    path = tmp_path / "out.html"
    if before is not None:
        path.write_bytes(before)
    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(OSError, match="No space"):
        replace_file(path, b"a new report")
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
