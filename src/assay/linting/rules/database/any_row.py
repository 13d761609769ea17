"""A value that SQLite reads from any row of several."""

from collections.abc import Iterator

from assay.comparison import Answer
from assay.linting.gold import Found, Gold
from assay.linting.rules.query import bare_column
from assay.model.lint import LintRule
from assay.ports.choices import other_rows

RULE = LintRule(
    name="any-row",
    severity="warning",
    needs="database",
    finds="a value that is read from any row of several, and another row gives another result",
    why="SQLite reads the first row that a subquery happens to return, and a bare column from any row of its group. "
    "The order in which rows are stored decides the gold result, and other databases refuse the query.",
    remedy="Compare with IN or an aggregate, group by the column too, or add ORDER BY and LIMIT.",
    bad="SELECT name FROM singer WHERE id = (SELECT singer_id FROM concert)",
    good="SELECT name FROM singer WHERE id IN (SELECT singer_id FROM concert)",
)
