"""The time, tokens and cost in a report."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from assay.model import Aggregates, TimeSpread
from assay.reports.text.plain import plural, seconds


class TimeRow(Struct, frozen=True, kw_only=True):
    """The times of answers or queries, with their texts."""

    spread: TimeSpread
    name: str
    """``Answer``, ``Gold query``."""
    counted: str
    """What was timed, and how many: ``1,034 answers``, ``564 different gold queries``."""
    median: str
    p90: str
    max: str
    mean: str


class UsageRow(Struct, frozen=True, kw_only=True):
    """Tokens or cost: in all, per answer, and how many answers report it."""

    name: str
    total: str
    each: str
    """The amount per answer; empty where it is not known how many answers report it."""
    said_by: str


def time_rows(numbers: Aggregates) -> tuple[TimeRow, ...]:
    """A row each for answers, gold queries and predicted queries, where times are known."""
    return tuple(
        TimeRow(
            spread=spread,
            name=spread.name.capitalize(),
            counted=_counted(spread),
            median=seconds(spread.median_s),
            p90=seconds(spread.p90_s),
            max=seconds(spread.max_s),
            mean=seconds(spread.mean_s),
        )
        for spread in numbers.times
    )


def _counted(spread: TimeSpread) -> str:
    """``1,034 answers``, ``564 different gold queries``: a query that several cases share is run, and counted, once."""
    if not spread.name.endswith("y"):
        return plural(spread.n, spread.name)
    different = "different " if spread.n != 1 else ""
    return plural(spread.n, f"{different}{spread.name}", f"{different}{spread.name[:-1]}ies")


def usage_rows(numbers: Aggregates, answers: int) -> tuple[UsageRow, ...]:
    """Tokens and cost, as far as the ``answers`` report them."""
    return tuple(_usage_rows(numbers, answers))


def _usage_rows(numbers: Aggregates, answers: int) -> Iterable[UsageRow]:
    usage = numbers.usage
    if usage is None:
        return
    counts = (
        ("tokens in", usage.input, usage.answers_with_input),
        ("tokens out", usage.output, usage.answers_with_output),
        ("tokens in all", usage.total, usage.answers_with_total),
    )
    for name, total, saying in counts:
        if total is not None:
            each = f"{total / saying:,.0f}" if saying else ""
            yield UsageRow(name=name, total=f"{total:,}", each=each, said_by=_said_by(saying, answers))
    if usage.cost_usd is not None:
        saying = usage.answers_with_cost
        each = f"{usage.cost_usd / saying:,.6f} USD" if saying else ""
        said_by = _said_by(saying, answers)
        yield UsageRow(name="cost", total=f"{usage.cost_usd:,.4f} USD", each=each, said_by=said_by)


def _said_by(saying: int, answers: int) -> str:
    return f"{saying:,} of {plural(answers, 'answer')}" if saying else ""


def usage_facts(numbers: Aggregates, answers: int) -> Iterable[tuple[str, str]]:
    """Tokens and cost in all, each with how many answers report it where not all do."""
    usage = numbers.usage
    if usage is None:
        return

    def of(count: int) -> str:
        return "" if count == answers else f" over {count:,} of {plural(answers, 'answer')}"

    parts = (
        (usage.input, "input", usage.answers_with_input),
        (usage.output, "output", usage.answers_with_output),
        (usage.total, "in all", usage.answers_with_total),
    )
    known = [(f"{total:,} {name}", saying) for total, name, saying in parts if total is not None]
    if len({saying for _, saying in known}) == 1:
        yield "Tokens", f"{', '.join(text for text, _ in known)}{of(known[0][1] or usage.answers_with_tokens)}"
    elif known:
        yield "Tokens", ", ".join(f"{text}{of(saying)}" for text, saying in known)
    if usage.cost_usd is not None:
        yield "Cost", f"{usage.cost_usd:,.4f} USD{of(usage.answers_with_cost)}"
