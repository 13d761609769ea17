"""The page of all rules, generated from them: python -m assay.linting.page > docs/reference/lint-rules.md"""

from __future__ import annotations

import sys

from assay.linting.catalogue import built_in_rules

_GROUPS = {
    "query": "Rules that only need the query",
    "question": "Rules that compare the query with its question",
    "database": "Rules that need the database",
    "cases": "Rules that compare all cases",
    "runs": "Rules that use the answers of systems (`--runs RUN`)",
}


def rules_page() -> str:
    """The whole page in Markdown."""
    lines = [
        "# Rules of `assay lint`",
        "",
        "Generated from the rules by `python -m assay.linting.page`. See [lint.md](../guides/lint.md) for their use.",
        "",
    ]
    for needs, title in _GROUPS.items():
        rules = [rule.about for rule in built_in_rules() if rule.about.needs == needs]
        lines += [f"## {title}", "", "| rule | severity | finds |", "|---|---|---|"]
        lines += [f"| [{rule.name}](#{rule.name}) | {rule.severity} | {rule.finds} |" for rule in rules]
        lines.append("")
        for rule in rules:
            lines += [
                f"### {rule.name}",
                "",
                f"**Finds** {rule.finds}. Severity: {rule.severity}.",
                "",
                f"**Why it matters.** {rule.why}",
                "",
                f"**Remedy.** {rule.remedy}",
                "",
            ]
            for heading, text in (("Found:", rule.bad), ("Corrected:", rule.good)):
                lines += [heading, "", *(f"    {line}" for line in text.splitlines()), ""]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.stdout.write(rules_page())
