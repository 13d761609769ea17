"""Packages installed into folders of their own, and the command line beside them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import commands

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PLUGIN = EXAMPLES / "plugin"


def installed_by_pip(source: Path, site: Path) -> None:
    """Build a package and install it, without the network."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"),
            *("--no-deps", "--no-build-isolation", "--target", str(site), str(source)),
        ],
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def laid_out(site: Path, project: Mapping[str, object], groups: Mapping[str, Mapping[str, str]]) -> None:
    """What an installer writes of a package beside its modules."""
    folder = site / f"{str(project['name']).replace('-', '_')}-{project['version']}.dist-info"
    folder.mkdir(parents=True)
    about = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (folder / "METADATA").write_text(about, encoding="utf-8")
    lines = [
        line
        for group, entries in groups.items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()), "")
    ]
    (folder / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


def environment(*sites: Path) -> dict[str, str]:
    """This process's, with packages of these folders before its own."""
    path = [*map(str, sites), *(os.path.abspath(entry) for entry in sys.path if entry)]
    plain = {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "120", "PYTHONIOENCODING": "utf-8"}
    return {**os.environ, **plain, "PYTHONPATH": os.pathsep.join(path)}


def assay(*arguments: str | Path, folder: Path, sites: tuple[Path, ...]) -> subprocess.CompletedProcess[str]:
    """The command line in a folder, with packages of these folders."""
    return commands.run([str(one) for one in arguments], cwd=folder, env=environment(*sites))
