"""ragas: its SQL metrics from Assay, in a script that was written for ragas. The switch is the import line.

python examples/ragas_metrics.py
"""

# Before:  from ragas.metrics import DataCompyScore
from assay.ragas import DataCompyScore

try:
    from ragas import SingleTurnSample  # ragas' own samples are taken as they are
except ImportError:
    from assay.ragas import SingleTurnSample  # and without ragas there is one of the same shape

REFERENCE = "id,name,price\n1,apple,1.20\n2,pear,0.85\n"
ANSWERS = {
    "the same": "id,name,price\n1,apple,1.2\n2,pear,0.85\n",
    "a wrong price": "id,name,price\n1,apple,1.2\n2,pear,0.8\n",
    "a row too many": "id,name,price\n1,apple,1.2\n2,pear,0.85\n3,plum,2.0\n",
    "no table": "There are two products.",
}

rows = DataCompyScore(mode="rows", metric="f1")
columns = DataCompyScore(mode="columns", metric="f1")
for name, answer in ANSWERS.items():
    sample = SingleTurnSample(response=answer, reference=REFERENCE)
    by_row, by_column = rows.single_turn_score(sample), columns.single_turn_score(sample)
    print(f"{name:<16} rows {by_row:.3f}   columns {by_column:.3f}")

# ragas' newer surface says why beside the number.
print(rows.score(reference=REFERENCE, response=ANSWERS["a row too many"]).reason)
print(rows.score(reference=REFERENCE, response=ANSWERS["no table"]).reason)
