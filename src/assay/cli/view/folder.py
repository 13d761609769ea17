"""The pages of a folder of runs: their list, a leaderboard for each question set, each run, each comparison.

The folder is read for every request, so that new runs appear. A page is named by the paths of its
runs below the folder, and only runs that were found there are read.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode

from assay.cli.view.server import LivePage, ServedPage, served
from assay.errors import InputError, plural
from assay.model import HistoryPoint
from assay.runs.store.folder import RUN_FILE
from assay.runs.store.history import QuestionSet, question_set, run_name, scan_runs

if TYPE_CHECKING:
    from assay.model import Run as RunRecord

_ASKED = {"/run": ("at",), "/diff": ("a", "b"), "/leaderboard": ("of",)}
"""The names by which the pages are asked for their runs."""
_KEPT = 8
"""Pages that stay drawn: the one of a large run takes seconds."""


def holds_runs(folder: Path) -> bool:
    """Whether it is not a run itself, but contains one."""
    if (folder / RUN_FILE).exists() or not folder.is_dir():
        return False
    try:
        scan_runs(folder)
    except InputError:
        return False
    return True


class FolderSite:
    """``/``, ``/run?at=KEY``, ``/diff?a=KEY&b=KEY`` and ``/leaderboard?of=KEY``, which is of the runs that share
    that run's question set."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pages: OrderedDict[tuple[str, ...], LivePage] = OrderedDict()
        self._lock = Lock()

    def find(self, path: str, query: str) -> ServedPage | None:
        """The page at a path; None for an unknown one, and for a missing run."""
        points = scan_runs(self._folder)
        if path == "/":
            return served(self._list(points))
        finished = {self._key(point): point for point in points if point.status == "finished"}
        asked = parse_qs(query)
        keys = [asked.get(name, [""])[0] for name in _ASKED.get(path, ())]
        if not keys or any(key not in finished for key in keys):
            return None
        folders = [Path(finished[key].folder) for key in keys]
        if path == "/leaderboard":
            alike = [one for one in finished.values() if question_set(one) == question_set(finished[keys[0]])]
            folders = [Path(one.folder) for one in alike]
            return self._drawn(path, folders, lambda: self._leaderboard(folders))

        return self._drawn(path, folders, lambda: draw_report(folders))

    def _drawn(self, path: str, folders: Sequence[Path], draw: Callable[[], bytes]) -> ServedPage:
        """The page as it was drawn before, unless one of its runs has changed since."""
        name = (path, *map(str, folders))
        with self._lock:
            page = self._pages.pop(name, None) or LivePage(folders, draw)
            self._pages[name] = page
            if len(self._pages) > _KEPT:
                self._pages.popitem(last=False)
        return page.current()

    def _key(self, point: HistoryPoint) -> str:
        return Path(point.folder).relative_to(self._folder).as_posix()

    def _leaderboard(self, folders: Sequence[Path]) -> bytes:
        from assay.api.diffing import leaderboard
        from assay.reports.html.leaderboard import leaderboard_page

        board = leaderboard(folders, optional=folders).record
        heads = [one.run.folder or "" for one in board.standings]
        return leaderboard_page(
            board, keys=tuple(Path(one).relative_to(self._folder).as_posix() for one in heads), home="/"
        )

    def _list(self, points: Sequence[HistoryPoint]) -> bytes:
        from assay.reports.html.history import ServedSet, runs_html
        from assay.reports.html.leaderboard import diff_link, run_link

        sets: dict[QuestionSet | None, list[HistoryPoint]] = {}
        for point in points:
            if point.status == "finished":
                sets.setdefault(question_set(point), []).append(point)
        shown = []
        for asked, alike in sets.items():
            keys = [self._key(point) for point in alike]
            before = ["", *keys]
            shown.append(
                ServedSet(
                    title="runs" if asked is None else f"{asked.name}, {plural(asked.cases, 'case')}",
                    leaderboard=f"/leaderboard?{urlencode({'of': keys[0]})}",
                    runs=tuple(
                        (run_name(point), run_link(key), diff_link(earlier, key) if earlier else "")
                        for point, key, earlier in reversed([*zip(alike, keys, before, strict=False)])
                    ),
                )
            )
        return runs_html(points, folder=str(self._folder), served=shown)


def draw_report(runs: Sequence[Path]) -> bytes:
    """The page of a run, or of two side by side."""
    from assay import registry
    from assay.api.run import load_run

    if len(runs) == 1:
        return registry.reporter("html").render(load_run(runs[0]).record)
    from assay.api.diffing import diff as compare
    from assay.reports.diff_formats import render_diff

    def both() -> tuple[RunRecord, RunRecord]:
        before, after = (load_run(run).record for run in runs)
        return before, after

    return render_diff(compare(*runs).record, "html", runs=both)
