"""Run folders of the version before this one are read, with the same numbers, tables and reports.

The folders below `written_by_0_1_0` were written before values were Structs: queries (with lint, timed pairs,
witnesses, and lines that later lines replace), a live system asked repeatedly, a conversation with declined questions
and cells that JSON cannot hold, selections of SDMX data, and LLMSQL.
"""

from __future__ import annotations

import shutil
from hashlib import blake2b
from pathlib import Path

import duckdb
from msgspec.structs import replace

import assay
from assay import registry
from assay.model import Group, MetricInfo
from assay.runs.aggregate.metric_infos import info_of
from assay.runs.aggregate.selections import selection_totals
from assay.runs.aggregate.totals import aggregate
from assay.runs.store.codec import decode_evidence, encode_evidence, identity_without_origin
from assay.runs.store.run_tables import answered, named_runs
from many_cases import each

FOLDER = Path(__file__).parent / "written_by_0_1_0"
RUNS = sorted(path.name for path in FOLDER.iterdir())


def test_there_is_a_run_of_every_kind() -> None:
    assert RUNS == ["llmsql", "queries", "repeats", "selections", "turns"]


@each("name", RUNS)
def test_the_numbers_of_an_earlier_run_follow_from_its_cases(name: str) -> None:
    record = assay.load_run(FOLDER / name).record
    settings = record.settings
    infos: list[MetricInfo] = [info_of(metric, settings) for metric in settings.metrics]
    doubtful = record.lint.doubtful() if record.lint is not None else frozenset[str]()
    numbers = aggregate(
        record.summaries, infos, repeats=settings.repeats, doubtful=doubtful, penalties=settings.penalties
    )
    stored = record.aggregates
    assert _as_then(numbers.overall, stored.overall) == stored.overall
    assert [*map(_as_then, numbers.by_difficulty, stored.by_difficulty)] == [*stored.by_difficulty]
    assert (numbers.flags, numbers.failures, numbers.near_misses) == (stored.flags, stored.failures, stored.near_misses)
    assert (numbers.causes, numbers.cause_groups) == (stored.causes, stored.cause_groups)
    assert (numbers.witnesses, numbers.reliability) == (stored.witnesses, stored.reliability)
    assert (numbers.conversations, numbers.repeats) == (stored.conversations, stored.repeats)
    assert (numbers.sound is None) == (stored.sound is None)
    if numbers.sound is not None and stored.sound is not None:
        assert _as_then(numbers.sound, stored.sound) == stored.sound
    assert numbers.times == stored.times
    if settings.selection is not None:
        assert selection_totals(record.evidence) == stored.selection


def _as_then(group: Group, stored: Group) -> Group:
    """A group's numbers without the mean of measured times: the earlier version took only those that systems report."""
    return replace(group, answer_time=None) if stored.answer_time is None else group


@each("name", RUNS)
def test_the_evidence_of_an_earlier_run_is_written_and_read_again(name: str) -> None:
    for evidence in assay.load_run(FOLDER / name).evidence:
        assert decode_evidence(encode_evidence(evidence)) == evidence


IDENTITIES = {
    "llmsql": "ac50c398bf298abc21494151",
    "queries": "4436453bd9db17479dcaaa85",
    "repeats": "badddb30950ff4cd7326b06e",
    "selections": "0765cf45b6a1907697fa3c04",
    "turns": "5c73272eea5fa66ec38ed1cb",
}
"""A hash of what identifies the cases and answers of each run, as the version computed it that wrote the run."""


@each("name", RUNS)
def test_a_case_and_its_answer_are_identified_as_before(name: str) -> None:
    """Otherwise the same command would judge every case of an earlier run once more."""
    found = blake2b(digest_size=12)
    for item in assay.load_run(FOLDER / name).evidence:
        found.update(identity_without_origin(item.case) + identity_without_origin(item.prediction))
    assert found.hexdigest() == IDENTITIES[name]


ADDED = ["schema_use", "retrieval", "reviewed_outcome", "review"]
"""The columns of results.parquet that the version which wrote the runs did not have."""


@each("name", RUNS)
def test_the_table_of_an_earlier_run_is_made_again(name: str, tmp_path: Path) -> None:
    assay.load_run(FOLDER / name).save(tmp_path / "again")
    before, again = (
        duckdb.read_parquet(str(folder / "results.parquet")) for folder in (FOLDER / name, tmp_path / "again")
    )
    added = [column for column in again.columns if column not in before.columns]
    assert added == ADDED
    assert set(again.select(*added).fetchall()) == {(None,) * len(added)}
    again = again.select(*(column for column in again.columns if column not in added))
    assert before.columns == again.columns
    assert before.types == again.types
    assert before.fetchall() == again.fetchall()


@each("name", RUNS)
@each("report", ["json", "html", "md", "junit", "xlsx"])
def test_every_report_draws_an_earlier_run(name: str, report: str) -> None:
    assert registry.render(report, assay.load_run(FOLDER / name).record)


def test_sql_reads_the_line_that_counts(tmp_path: Path) -> None:
    runs, _ = named_runs([FOLDER])
    stored = {name: assay.load_run(FOLDER / name) for name in RUNS}
    with answered(runs, "SELECT run, case_id, outcome FROM cases ORDER BY ALL") as result:
        told = sorted(result.rows)
    assert told == sorted((name, item.case.id, item.outcome) for name, run in stored.items() for item in run.evidence)


def test_an_earlier_run_compares_with_itself(tmp_path: Path) -> None:
    shutil.copytree(FOLDER / "queries", tmp_path / "copy")
    found = assay.diff(FOLDER / "queries", tmp_path / "copy")
    assert not [change for change in found.record.changes if change.kind in ("fixed", "broken")]
