"""SDMX: which terms an assistant selected, missed and invented, dimension by dimension, on the bundled sample.

    python examples/sdmx_selections.py

Needs lxml for structures in XML:  python -m pip install '.[sdmx]'
"""

import assay
from assay import demo

run = assay.evaluate_selections(
    demo.sdmx_path("cases.yaml"),  # the questions, each with the selection that is wanted
    demo.sdmx_path("predictions.jsonl"),  # what the assistant selected, in any form: JSON, REST URLs, series keys
    structures=[demo.sdmx_path("structures.xml")],  # names of codes, and which codes exist
)
totals = run.aggregates.selection
assert totals is not None

print(f"{totals.turns} questions: recall {totals.micro.recall:.1%}, precision {totals.micro.precision:.1%}")
for dimension in totals.by_dimension:
    counts = dimension.counts
    missed, wrong = counts.false_negatives, counts.false_positives
    print(f"  {dimension.dimension:<12} right {counts.true_positives:>2}   missed {missed:>2}   wrong {wrong:>2}")

# What is wrong with the terms that are too many, such as codes that no code list has, and in which cases.
for wrong_terms in totals.wrong_terms:
    print(f"  {wrong_terms.name}: {', '.join(wrong_terms.case_ids)}")

# One answer, looked into.
worst = min((item for item in run.evidence if item.outcome == "incorrect"), key=lambda item: item.case.id)
print(f"{worst.case.id}: {worst.case.question}\n  {worst.verdict.reason}")
