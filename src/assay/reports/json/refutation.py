"""What came of two queries, as the fields of a JSON document."""

from __future__ import annotations

from collections.abc import Sequence

from assay.model import Proof, Repair, Result, Row
from assay.model.cell_json import cell_to_json
from assay.model.witness import Assumption, Refutation, Witness


def refutation_fields(outcome: Refutation) -> dict[str, object]:
    """The fields of `Refutation`, cells as `assay.model.cell_json` writes them."""
    return {
        "kind": outcome.kind,
        "why": outcome.why,
        "reason": outcome.reason,
        "level": outcome.level,
        "broken": [_assumption(one) for one in outcome.broken],
        "alternatives": [[_assumption(one) for one in others] for others in outcome.alternatives],
        "causes": [
            {
                "kind": cause.kind,
                "message": cause.message,
                "clause": cause.clause,
                "gold": cause.gold,
                "predicted": cause.predicted,
                "proved": cause.proved,
            }
            for cause in outcome.causes
        ],
        "repair": None if outcome.repair is None else _repair(outcome.repair),
        "tags": list(outcome.tags),
        "proof": None if outcome.proof is None else _proof(outcome.proof),
        "not_proved": outcome.not_proved,
        "notes": list(outcome.notes),
        "engine": outcome.engine,
        "trials": outcome.trials,
        "seconds": outcome.seconds,
        "seed": outcome.seed,
        "witness": None if outcome.witness is None else _witness(outcome.witness),
    }


def _assumption(one: Assumption) -> dict[str, object]:
    return {
        "kind": one.kind,
        "table": one.table,
        "columns": list(one.columns),
        "text": one.text,
        "broken": one.broken,
    }


def _repair(repair: Repair) -> dict[str, object]:
    return {
        "steps": [{"clause": step.clause, "before": step.before, "after": step.after} for step in repair.steps],
        "query": repair.query,
    }


def _proof(proof: Proof) -> dict[str, object]:
    return {
        "rules": list(proof.rules),
        "up_to_rows": proof.up_to_rows,
        "up_to_choice": proof.up_to_choice,
    }


def _witness(witness: Witness) -> dict[str, object]:
    return {
        "tables": [
            {"name": table.name, "columns": list(table.columns), "rows": _rows(table.rows)} for table in witness.tables
        ],
        "statements": list(witness.statements),
        "first": _result(witness.first),
        "second": _result(witness.second),
        "only_first": list(witness.only_first),
        "only_second": list(witness.only_second),
        "difference": witness.difference,
    }


def _result(result: Result) -> dict[str, object]:
    return {"columns": list(result.columns), "rows": _rows(result.rows)}


def _rows(rows: Sequence[Row]) -> list[list[object]]:
    return [[cell_to_json(cell) for cell in row] for row in rows]
