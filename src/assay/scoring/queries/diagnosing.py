"""Ask why an answer is wrong, without risk to its verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from assay.model import DatabaseUrl, Diagnosis, Evidence
from assay.ports import Diagnoser
from assay.scoring.timekeeping import OutOfTimeError, Timekeeper


def diagnosed(
    diagnoser: Diagnoser, keeper: Timekeeper, evidence: Evidence, url: DatabaseUrl, is_right: Callable[[str], bool]
) -> Evidence:
    """The evidence with its causes. A diagnosis that fails or takes too long says so in its place."""
    what = ("diagnosis", url.text, *evidence.case.golds, evidence.prediction.query)
    try:
        found = keeper.hold(what, lambda: diagnoser.diagnose(evidence, url, is_right))
    except OutOfTimeError as error:
        found = Diagnosis(causes=(), notes=(f"looking for the cause {error}",))
    except Exception as error:  # noqa: BLE001 - the case's boundary: a verdict must not be lost for want of its cause
        found = Diagnosis(causes=(), notes=(f"looking for the cause failed: {type(error).__name__}: {error}",))
    return evidence if found is None else replace(evidence, diagnosis=found, cause=found.title)
