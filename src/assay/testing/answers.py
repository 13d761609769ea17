"""The emulated AI SDK's answers by question."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from assay.errors import CaseFileError
from assay.testing.faults import Fault

_TIMES = {
    "sql_execution_time": 0.05,
    "vector_store_search_time": 0.2,
    "llm_time": 1.25,
    "total_execution_time": 1.5,
}


class Answers(Struct, frozen=True, kw_only=True):
    """Response fields by question, and faults by question."""

    by_question: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()

    @classmethod
    def read(cls, source: Mapping[str, Mapping[str, Any] | str] | Path | None) -> Answers:
        """From a mapping, or from a file of JSON lines. Raises CaseFileError."""
        if isinstance(source, Path):
            return _from_file(source)
        found = {
            question: {"sql_query": given} if isinstance(given, str) else dict(given)
            for question, given in (source or {}).items()
        }
        return cls(by_question=found)

    def response(self, question: str) -> dict[str, Any]:
        """The whole response to a question, with every documented field filled."""
        given = self.by_question.get(question)
        if given is None:
            given = {"answer": "I could not find any data that answers this question.", "sql_query": ""}
        return {
            "answer": "",
            "sql_query": "",
            "query_explanation": "",
            "tokens": {"input_tokens": 1200, "output_tokens": 80, "total_tokens": 1280},
            "execution_result": {},
            "related_questions": [],
            "tables_used": [],
            "raw_graph": "",
            **_TIMES,
            **given,
        }


def _from_file(path: Path) -> Answers:
    found: dict[str, Mapping[str, Any]] = {}
    faults: list[Fault] = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CaseFileError(f"cannot be read: {error}", path=str(path)) from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            question = record["question"]
            found[question] = record.get("response", {})
            if "fault" in record:
                faults.append(Fault(question=question, **record["fault"]))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CaseFileError(
                f'is no answer ({error}): write {{"question": …, "response": {{…}}}}',
                path=str(path),
                place=f"line {number}",
            ) from error
    return Answers(by_question=found, faults=tuple(faults))
