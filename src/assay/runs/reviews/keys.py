"""What a review is about: hashes of the question, of its gold query and of a result."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING

import msgspec

from assay.comparison.result_hash import result_hash
from assay.errors import InputError
from assay.model.cases.case import CaseOptions
from assay.model.databases.database import DatabaseUrl
from assay.sql.statement import read_statement

if TYPE_CHECKING:
    from assay.model import Case, Evidence, Provenance, RunSettings

__all__ = ["answer_key", "database_digest", "database_hash", "gold_hash", "has_result", "question_hash", "result_hash"]

_BYTES = 12


def question_hash(case: Case) -> str:
    """A hash of what a system is asked: the question, its context, and the conversation before it."""
    asked = [one.question for one in case.history] + [turn.question for turn in case.turns]
    return _hash([case.question, case.context or "", asked])


def gold_hash(case: Case) -> str:
    """A hash of the gold query and of how answers are compared with it; empty if the case has no gold query.

    The order of the gold queries does not count, nor the places that results were read from.
    """
    results = [[one.columns, one.content] for one in case.results]
    targets = [turn.targets for turn in case.turns]
    usual = CaseOptions()
    options = {
        name: value
        for name in CaseOptions.__struct_fields__
        if (value := getattr(case.options, name)) != getattr(usual, name)
    }
    if not (case.golds or results or any(targets) or case.expects != "answer"):
        return ""
    return _hash([case.database or "", sorted(case.golds), results, targets, case.expects, options])


def database_digest(settings: RunSettings, provenance: Provenance, name: str | None) -> str:
    """The fingerprint of the database that has this name in the cases of a run; empty if it has none."""
    return _named_database(settings, provenance, name)[1]


def database_hash(settings: RunSettings, provenance: Provenance, name: str | None) -> str:
    """As `database_digest`, but empty if the fingerprint is not of the database's content.

    The fingerprint of a warehouse or a large database on a server is one of the URL, or of counters that say nothing
    about another copy.
    """
    url, digest = _named_database(settings, provenance, name)
    scheme = url.partition(":")[0]
    if scheme.partition("+")[0] in ("sqlite", "duckdb"):
        return digest
    if scheme in ("mysql", "mariadb"):
        return "" if digest.startswith("schema-") else digest
    return digest if digest.startswith("content-") else ""


def _named_database(settings: RunSettings, provenance: Provenance, name: str | None) -> tuple[str, str]:
    """The URL and the fingerprint of the database that has this name; empty if there is none."""
    inputs = {one.name: one.digest for one in provenance.inputs}
    try:
        rendered = str(DatabaseUrl(text=settings.database).render(name))
    except InputError:
        return "", ""
    if rendered in inputs:
        return rendered, inputs[rendered]
    # The settings list databases that were given as a mapping as ``name: URL``, one after the other.
    matches = (pair for pair in inputs.items() if f"{name}: {pair[0]}," in f"{settings.database},")
    return next(matches, ("", ""))


def answer_key(evidence: Evidence) -> tuple[str | None, str | None]:
    """What tells an answer from others: `Review.query` and `Review.result` of a decision about it.

    The result of a query is the hash in the evidence, which only incorrect answers have. A given result and a selection
    are hashed as they were given. Without any of these it is what the system did: ``decline``, ``clarify`` or
    ``nothing``.
    """
    prediction = evidence.prediction
    if (given := prediction.given) in ("decline", "clarify"):
        return None, given
    if prediction.result is not None:
        return None, evidence.result_hash or _hash([prediction.result.columns, prediction.result.content])
    if prediction.turns:
        return None, _hash([turn.selection or turn.raw for turn in prediction.turns])
    return (None, given) if prediction.query is None else (prediction.query, evidence.result_hash)


def has_result(evidence: Evidence) -> bool:
    """Whether the answer's result can be compared, so that its query can serve as a gold query.

    An answer to a question that has none was not executed: its text has to be a query.
    """
    query, execution = evidence.prediction.query, evidence.predicted_execution
    if evidence.outcome == "correct" or query is None:
        return True
    if execution is None:
        return read_statement(query, "").does == "query"
    return execution.succeeded and (evidence.comparison is not None or evidence.outcome == "unscored")


def _hash(value: object) -> str:
    text = json.dumps(msgspec.to_builtins(value), sort_keys=True, default=str)
    return blake2b(text.encode(), digest_size=_BYTES).hexdigest()
