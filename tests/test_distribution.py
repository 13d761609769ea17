"""What is shipped: the wheel and the source archive hold what they must and nothing else, are the same to the byte each
time, and work alone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BUILDS = "import sys; from hatchling.build import build_sdist, build_wheel; build_{kind}(sys.argv[1])"
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".*_cache", ".hypothesis", ".venv*", "*.pyc", "__pycache__", "*.egg-info", "dist", "build", "site"
)

pytestmark = [
    pytest.mark.skipif(not (ROOT / "src").is_dir(), reason="needs the source"),
]


def _built(source: Path, kind: str, into: Path, **environment: str) -> Path:
    """Build without git and without the network: nothing but the source tells what belongs."""
    pytest.importorskip("hatchling")
    done = subprocess.run(
        [sys.executable, "-c", BUILDS.format(kind=kind), str(into)],
        cwd=source, env={**os.environ, **environment}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (found,) = into.iterdir()
    return found


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("distribution")


def _copy(whence: Path, to: Path) -> Path:
    to.mkdir(parents=True)
    for name in (*_shipped(), "README.md", "LICENSE", "pyproject.toml"):
        if (whence / name).is_dir():
            shutil.copytree(whence / name, to / name, ignore=LEFT_OUT)
        else:
            shutil.copy2(whence / name, to / name)
    return to


def _shipped() -> list[str]:
    return list(PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"])


@pytest.fixture(scope="module")
def source(places: Path) -> Path:
    return _copy(ROOT, places / "source")


@pytest.fixture(scope="module")
def sdist(source: Path, places: Path) -> Path:
    return _built(source, "sdist", places / "sdist")


@pytest.fixture(scope="module")
def unpacked(sdist: Path, places: Path) -> Path:
    """The source archive's content: a folder without git."""
    with tarfile.open(sdist) as archive:
        archive.extractall(places / "unpacked", filter="data")
    (found,) = (places / "unpacked").iterdir()
    return found


@pytest.fixture(scope="module")
def wheel(unpacked: Path, places: Path) -> Path:
    """The wheel as who has the source archive alone builds it."""
    return _built(unpacked, "wheel", places / "wheel")


def test_the_wheel_holds_the_package_whole_and_nothing_else(source: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    package = {path.relative_to(source / "src").as_posix() for path in (source / "src").rglob("*") if path.is_file()}
    about = {name for name in names if name.startswith("assay-")}
    folders = ("start", "guides", "reference", "background")
    pages = {f"assay/docs/{path.relative_to(source / 'docs').as_posix()}" for path in (source / "docs").rglob("*.md")}
    assert {page.split("/")[2] for page in pages} >= set(folders)
    assert names - about == package | pages
    assert {"assay/py.typed", "assay/demo/cases.jsonl", "assay/reports/html/templates/report.css"} <= names
    version = PROJECT["project"]["version"]
    folder = f"assay-{version}.dist-info"
    assert about == {
        f"{folder}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    }


def test_the_source_archive_holds_what_is_promised_and_no_leftovers(unpacked: Path) -> None:
    found = {path.name for path in unpacked.iterdir()}
    assert found == {*_shipped(), "README.md", "LICENSE", "pyproject.toml", "PKG-INFO"}
    left = [
        path for path in unpacked.rglob("*") if re.search(r"\.pyc$|__pycache__|^\.\w+_cache$|\.egg-info$", path.name)
    ]
    assert not left


def test_builds_are_the_same_to_the_byte(source: Path, sdist: Path, wheel: Path, places: Path) -> None:
    """Made elsewhere, later, of files with other times and rights."""
    other = _copy(source, places / "elsewhere" / "deeper")
    long_ago = time.time() - 1e8
    for path in other.rglob("*"):
        os.utime(path, (long_ago, long_ago))
        if path.is_file():
            path.chmod(0o600 | path.stat().st_mode & 0o111)
    again = _built(other, "sdist", places / "sdist again")
    assert again.name == sdist.name
    assert again.read_bytes() == sdist.read_bytes()
    assert _built(other, "wheel", places / "wheel again").read_bytes() == wheel.read_bytes()


def test_the_wheel_works_without_the_source(wheel: Path, places: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(places / "installed")
    program = (
        "import assay, sys; from importlib.metadata import distribution; "
        "assert assay.__file__.startswith(sys.argv[1]), assay.__file__; "
        "assert str(distribution('assay').locate_file('')).startswith(sys.argv[1]); "
        "sys.argv[1:] = ['demo', '--quiet']; from assay.__main__ import main; main()"
    )
    entries = [str(places / "installed"), *(entry for entry in sys.path if entry and not entry.startswith(str(ROOT)))]
    done = subprocess.run(
        [sys.executable, "-c", program, str(places / "installed")],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(entries)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "assay-demo" / "report.html").stat().st_size > 100_000
