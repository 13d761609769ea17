"""The page of all rules, made from them:  python -m assay.linting.page > docs/reference/lint-rules.md"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from assay.linting.catalogue import Rule, catalogue

_GROUPS = {
    "query": "Rules that need the query alone",
    "question": "Rules that compare the query with its question",
    "database": "Rules that need the database",
    "cases": "Rules that look at all cases together",
    "runs": "Rules that look at what systems answered (`--runs RUN`)",
}


def rules_page() -> str:
    """The whole page in Markdown."""
    return "\n".join(_lines()).rstrip() + "\n"


def _lines() -> Iterator[str]:
    yield "# The rules of `assay lint`"
    yield ""
    yield "Made from the rules by `python -m assay.linting.page`; see [lint.md](../guides/lint.md) for how to use them."
    yield ""
    rules = catalogue()
    for needs, title in _GROUPS.items():
        own = [rule for rule in rules if rule.about.needs == needs]
        yield f"## {title}"
        yield ""
        yield "| rule | severity | finds |"
        yield "|---|---|---|"
        for rule in own:
            yield f"| [{rule.about.name}](#{rule.about.name}) | {rule.about.severity} | {rule.about.finds} |"
        yield ""
        for rule in own:
            yield from _rule(rule)


def _rule(rule: Rule) -> Iterator[str]:
    about = rule.about
    yield f"### {about.name}"
    yield ""
    yield f"**Finds** {about.finds}. Severity: {about.severity}."
    yield ""
    yield f"**Why it matters.** {about.why}"
    yield ""
    yield f"**Remedy.** {about.remedy}"
    yield ""
    for title, text in (("Found:", about.bad), ("Mended:", about.good)):
        yield title
        yield ""
        yield from (f"    {line}" for line in text.splitlines())
        yield ""


if __name__ == "__main__":
    sys.stdout.write(rules_page())
