"""Write a question set as people's reviews corrected it, so that later runs need no reviews.

A question whose gold query is wrong, and has no corrected one, keeps its place without a gold query: it is unscored,
and predictions that go by position still meet their questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from assay.cases.benchmarks.lines import SUFFIXES as LINE_SUFFIXES
from assay.cases.corrected import REASON, Correction, LayoutUnsuitable, Rewriting, own_lines
from assay.cases.load import load_questions, recognise
from assay.errors import AssayError, CaseFileError, InputError
from assay.model import Case, CaseOptions, FieldNames, Outcome, Run
from assay.ports import CaseFormat
from assay.runs.reviews.applying import RunReviews
from assay.runs.reviews.collection import Reviews
from assay.runs.reviews.deciding import Decided, needs_execution, reviewed_case, said
from assay.runs.reviews.keys import has_result

_OWN = ".jsonl"
_NO_COLUMNS = frozenset({"", "its keys", "before the tab"})
"""What a run says of a field that is not in a column of its own."""


class UnwrittenReview(Struct, frozen=True, kw_only=True):
    """A decision about an answer that a question set cannot hold: a run on the set does not follow it."""

    case_id: str
    reviewed: Outcome
    """The outcome by the decision."""
    exported: Outcome
    """The outcome by the exported question set."""
    reason: str


class ExportedSet(Struct, frozen=True, kw_only=True):
    """A question set with its corrections, as it was written."""

    path: Path
    changes: tuple[tuple[str, str], ...]
    """The id of each corrected question, and why it is corrected."""
    format: str
    note: str | None = None
    """Why it is not in the format that the questions came in."""
    unwritten: tuple[UnwrittenReview, ...] = ()


def write_reviewed_set(
    source: Path,
    target: Path,
    reviews: Reviews,
    *,
    run: Run,
    formats: Sequence[CaseFormat],
    format: str | None = None,
    fields: FieldNames | None = None,
) -> ExportedSet:
    """Write the question set of a run with the reviews that are in force, in the format of ``source``.

    A target with the suffix ``.jsonl`` is written under Assay's own names if ``source`` has another suffix, and so is
    a set whose own format cannot represent its corrections, as the note says then. What is written is read again and
    compared, question by question, before it replaces the target.

    ``format`` and ``fields``: how to read the set; None: as the run read it.

    Raises InputError if the set cannot be read, if the target contains something else than an earlier export, or
    cannot be written.
    """
    fields = fields_of_run(run) if fields is None else fields
    format = format or run.provenance.case_format
    loaded = load_questions(source, formats=formats, format=format, fields=fields)
    if loaded.cases[0].turns:
        raise InputError(
            f"{source}: contains targets of selections, and only gold queries are corrected and written: correct the "
            "targets in the file itself. The decisions on its cases are listed by  assay review RUN --list"
        )
    chosen = next((one for one in formats if one.name == format), None) or recognise(source, formats)
    applied = RunReviews(reviews, run.settings, run.provenance)
    corrections = _corrections(loaded.cases, applied)
    expected = [corrections[at].case if at in corrections else case for at, case in enumerate(loaded.cases)]
    suffix = source.suffix if not source.is_dir() else _OWN
    target = target if target.suffix else target.with_name(target.name + suffix)
    name, note = chosen.name, None
    named = {"the predictions": Path(run.settings.predictions) if run.settings.predictions else None}
    named["the file of the reviews"] = reviews.path
    others = {what: path for what, path in named.items() if path is not None}
    try:
        if target.suffix.lower() != suffix.lower():
            raise LayoutUnsuitable(f"the target is a {target.suffix} file")
        rewriting = Rewriting(source=source, loaded=loaded, corrections=corrections, format=chosen, fields=fields)
        writing = _Writing(source=source, expected=expected, format=chosen, fields=fields, others=others)
        writing.write(target, rewriting.content())
    except (LayoutUnsuitable, CaseFileError, UnicodeEncodeError) as error:
        target, name, note = target.with_suffix(_OWN), "jsonl", f"the questions are written as JSON Lines: {error}"
        own = next(one for one in formats if one.name == name)
        writing = _Writing(source=source, expected=expected, format=own, fields=FieldNames(), others=others)
        writing.write(target, own_lines(loaded.cases, corrections))
    return ExportedSet(
        path=target,
        changes=tuple((loaded.cases[at].id, correction.reason) for at, correction in corrections.items()),
        format=name,
        note=note,
        unwritten=tuple(_unwritten(run, applied)),
    )


def fields_of_run(run: Run) -> FieldNames:
    """The columns that a run read its questions from. Earlier versions recorded only some of them."""
    if run.provenance.case_fields is not None:
        return run.provenance.case_fields
    joining = run.provenance.joining
    uses = () if joining is None else joining.case_columns
    columns = {use.field: use.column for use in uses if use.column not in _NO_COLUMNS}
    return FieldNames(
        id=columns.get("id"),
        question=columns.get("question"),
        gold=columns.get("gold"),
        database=columns.get("database"),
    )


def _corrections(cases: Iterable[Case], applied: RunReviews) -> dict[int, Correction]:
    found: dict[int, Correction] = {}
    for place, case in enumerate(cases):
        decided = applied.decided(case)
        corrected = reviewed_case(case, decided)
        if corrected is case:
            continue
        if corrected is None:
            options = replace(case.options, condition_columns=(), script_columns=None)
            corrected = replace(case, golds=(), results=(), result_query=None, expects="answer", options=options)
        found[place] = Correction(case=corrected, reason=_reason(decided))
    return found


def _reason(decided: Decided) -> str:
    """The decisions that a correction follows from."""
    reviews = (*([] if decided.question is None else [decided.question]), *decided.accepted)
    return "; ".join(said(review) for review in reviews)


class _Writing(Struct, frozen=True, kw_only=True):
    """The set that is to be read from what is written."""

    source: Path
    expected: Sequence[Case]
    format: CaseFormat
    fields: FieldNames
    others: Mapping[str, Path]
    """Files that must stay, by what they are."""

    def _check(self, target: Path) -> None:
        """Raises InputError for a target that holds something else than an earlier export."""
        if not target.exists():
            return
        advice = f"write the corrected question set into another file, for example corrected{target.suffix}"
        for what, path in {"the question set itself": self.source, **self.others}.items():
            if path.exists() and target.samefile(path):
                raise InputError(f"{target}: is {what}: {advice}")
        if not self._is_export(target):
            raise InputError(f"{target}: exists, and is not an earlier export: {advice}")

    def _is_export(self, target: Path) -> bool:
        """Whether a file is an earlier export: the same questions, some with the reason of a correction."""
        try:
            content = target.read_bytes()
            if self.source.is_file() and content == self.source.read_bytes():
                return True
            found = load_questions(target, formats=(self.format,), format=self.format.name, fields=self.fields)
        except (OSError, AssayError):
            return False
        has_reasons = REASON.encode() in content or target.suffix.lower() in (*LINE_SUFFIXES, ".xlsx")
        return has_reasons and [case.id for case in found.cases] == [case.id for case in self.expected]

    def write(self, target: Path, content: bytes) -> None:
        """Write it. Raises LayoutUnsuitable, and leaves the target, unless it is read as it is meant."""
        self._check(target)
        aside = target.with_name(f".{target.stem}.tmp{target.suffix}")
        try:
            aside.write_bytes(content)
            found = load_questions(aside, formats=(self.format,), format=self.format.name, fields=self.fields)
            if len(found.cases) != len(self.expected):
                raise LayoutUnsuitable(f"{len(found.cases)} of {len(self.expected)} questions are read again")
            for case, wanted in zip(found.cases, self.expected, strict=True):
                if _content(case) != _content(wanted) or (wanted.question and case.question != wanted.question):
                    raise LayoutUnsuitable(f"the question {wanted.id} would be read differently")
            aside.replace(target)
        except OSError as error:
            raise InputError(f"{target}: cannot be written ({error.strerror})") from error
        finally:
            aside.unlink(missing_ok=True)


def _content(case: Case) -> object:
    results = [(one.columns, one.content, one.cells) for one in case.results]
    golds = [" ".join(gold.split()) for gold in case.golds]  # a layout may write them on one line
    options = CaseOptions() if not case.golds and not case.results else case.options
    return case.id, case.database, case.context, golds, results, case.expects, options, case.turns


def _unwritten(run: Run, applied: RunReviews) -> Iterable[UnwrittenReview]:
    """The answers of the run that the exported set does not score as people did."""
    for place in applied.concerned(run.summaries):
        evidence = applied.applied(run.evidence[place])
        decided, reviewed = applied.decided(evidence.case), evidence.reviewed
        if reviewed is None or reviewed.pending:
            continue
        exported: Outcome | None = evidence.outcome
        if reviewed_case(evidence.case, decided) is None:
            exported = "unscored"
        elif needs_execution(evidence, decided) is not None:
            exported = None if reviewed.judged is None else reviewed.judged.outcome
            if reviewed.judged is None and evidence.prediction.query and not has_result(evidence):
                exported = "incorrect"
        if exported is not None and exported != reviewed.outcome:
            yield UnwrittenReview(
                case_id=evidence.case.id, reviewed=reviewed.outcome, exported=exported, reason=reviewed.reason
            )
