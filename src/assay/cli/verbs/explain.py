"""`assay explain`: why one case of a run is wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import Annotated

import click

from assay.cli.options.declared import Full, JsonFile
from assay.cli.options.stored_runs import A_RUN, is_run
from assay.cli.parsing.parameters import argument
from assay.errors import InputError, UsageError
from assay.model import Case, Evidence
from assay.reports.text.plain import one_line

_VERDICTS = 3
"""The most verdicts after an explanation of several answers."""


def explain(
    run: Annotated[Path, argument(metavar="RUN", help="Folder of a run."), A_RUN],
    case: Annotated[str, argument(metavar="CASE", help="Id of the case; or a cause, to list its cases.")],
    *,
    full: Full = False,
    json: JsonFile = None,
) -> None:
    """Explain why a case is incorrect: causes with evidence, and the smallest repair.

    For a match in a run with --witness: how strong it is, and the counterexample, if one was found.

    Nothing is executed: the run stored it. 'right with … in place of …' is a repair that was executed and scored.

    Example:  assay explain runs/first 54

    All cases of a cause:  assay explain runs/first 'Value mismatch'
    """
    from assay.api.run import load_run
    from assay.cli.output import STANDARD_OUTPUT, check_targets, write_json
    from assay.platform.shell import quoted
    from assay.reports.blocks.run_notes import are_row_numbers
    from assay.reports.console.queries import print_drawn
    from assay.reports.json.run import case_document
    from assay.reports.screen.printing import print_explanation
    from assay.reports.text.explanation import explanation_parts, verdict_line
    from assay.reports.text.parts import plain_text
    from assay.reports.text.plain import visible

    check_targets({"json": json})
    if not is_run(run) and is_run(Path(case)):
        raise UsageError(f"the run comes first: write  assay explain {quoted(case)} {quoted(str(run))}")
    record = load_run(run).record
    found = [item for item in record.evidence if item.case.id == case]
    if not found and json is None and (listed := _of_cause(case, record.evidence)):
        click.echo(visible("\n".join(listed)))
        return
    if not found:
        near = _near(case, [item.case.id for item in record.evidence])
        meant = _numbered(case, [item.case for item in record.evidence])
        hint = f" (did you mean {near[0]!r}?)" if near and not meant else meant
        raise InputError(f"{run} has no case {one_line(case)!r}{hint}")
    if json is not None:
        write_json(json, case_document(found).encode())
    if json == STANDARD_OUTPUT:
        return
    _, *parts = chain.from_iterable(("", *explanation_parts(item)) for item in found)
    if are_row_numbers(item.case.id for item in record.evidence):
        meant = f"; question {case} is case {int(case) - 1}" if int(case) else ""
        parts.insert(1, f"question {int(case) + 1} of the question set: ids count from 0{meant}")
    if not full:
        print_explanation(parts, verdicts=[verdict_line(item) for item in found[:_VERDICTS]])
    elif not print_drawn(parts):
        click.echo(visible(plain_text(parts)))  # text from outside could steer a terminal, also behind a pipe


def _near(case: str, known: Sequence[str]) -> list[str]:
    """The closest id: the one that is left of ``case 54`` or ``#54``, else one that is spelled nearly so."""
    bare = re.sub(r"^(?:case|question|id|q)?[\s_#:.-]*", "", case.strip(), flags=re.IGNORECASE)
    return [bare] if bare in known else get_close_matches(case, known, n=1)


_NUMBERED = re.compile(r"(?:(row|line|item|sample)|case|question|no|nr|q)?[\s_#:.]*(\d{1,9})", re.IGNORECASE)
"""The number of a question or of a row, as a person may write it."""


def _numbered(text: str, cases: Sequence[Case]) -> str:
    """For a message, the case whose question or row has that number, and how to explain it; empty if there is none."""
    written = _NUMBERED.fullmatch(text.strip())
    if written is None:
        return ""
    number, each = int(written[2]), list({case.id: case for case in cases}.values())
    place = f"{(written[1] or '').lower()} {number}"
    if written[1]:
        meant = next((case for case in each if (case.origin or "").endswith(f" {place}")), None)
        what = f"{place} of the question set"
    else:
        meant = each[number - 1] if 0 < number <= len(each) else None
        what = f"question {number}"
    return "" if meant is None else f": {what} is case {one_line(meant.id)!r}"


def _of_cause(name: str, evidence: Sequence[Evidence]) -> list[str]:
    """The lines that list the cases with this primary cause; none if no case has it."""
    wanted = name.replace("_", " ").casefold()
    cases = {one.case.id: one.case.question for one in evidence if (one.cause or "").casefold() == wanted}
    width = max(map(len, cases), default=0)
    return [f"{case_id:<{width}}  {one_line(question, limit=160)}".rstrip() for case_id, question in cases.items()]
