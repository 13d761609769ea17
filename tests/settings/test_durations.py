"""Times: one way to write them, on the command line and in the settings file."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import CaseFileError
from assay.settings import declarations, read_run_file
from assay.settings.setting import Setting
from many_cases import each

DURATIONS = {names: setting for names, setting in declarations() if setting.is_duration}
TIMEOUT = Setting("--timeout", "Limits", "Time limit per query.", "TIME", least=0.01, most=1_000_000)


@each(
    ("written", "seconds"),
    [
        *[("30", 30), ("0.5", 0.5), (".5", 0.5), ("1e1", 10), (30, 30), (2.5, 2.5)],
        *[("500ms", 0.5), ("2s", 2), ("1.5m", 90), ("10min", 600), ("1h", 3600), (" 2 s ", 2)],
    ],
)
def test_a_time_is_in_seconds_or_has_a_unit(written: object, seconds: float) -> None:
    assert TIMEOUT.seconds(written) == pytest.approx(seconds)


@each(
    "written", ["", "s", "-1s", "0", "0s", "1ms", "1e400", "1e400s", "nan", "inf", "30x", "1h30m", "2 S", "1,5s", True]
)
def test_what_is_no_time_or_out_of_reach_has_no_seconds(written: object) -> None:
    assert TIMEOUT.seconds(written) is None


@each("names", sorted(DURATIONS))
def test_each_time_takes_a_unit_in_a_settings_file(names: tuple[str, ...], tmp_path: Path) -> None:
    *sections, name = names
    path = tmp_path / "eval.yaml"

    def written(value: str) -> Path:
        text = f"{name}: {value}"
        for section in reversed(sections):
            text = f"{section}: {{{text}}}"
        path.write_text(f"cases: c.jsonl\npredictions: p.jsonl\ndb: sqlite:///s.sqlite\n{text}\n", encoding="utf-8")
        return path

    setting = read_run_file(written("2m"))
    for part in names:
        setting = getattr(setting, part)
    assert setting == 120
    with pytest.raises(CaseFileError, match=r"a time from .* is expected"):
        read_run_file(written("2 fortnights"))
