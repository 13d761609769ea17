"""One dimension of one dataset: the correct, wrong and missing terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

from msgspec import Struct, field

from assay.model import HierarchyEquivalence, ScoredTerm, Term, TermNote
from assay.sdmx.matching import Chosen, DatasetPair, ListedName, plain_text, same_name
from assay.sdmx.structures.known import CodeList, DimensionStructure

WILDCARD = "*"
"""The id of a wildcard among terms."""
_ALL = "all codes"
_MOST_KEPT = 1 << 16


Names = dict[str, tuple[str | None, ...]]


class Sorted(Struct, kw_only=True):
    """The terms of one dimension of one dataset, classified by code. Names by code, in each side's order."""

    true_positives: dict[str, str | None] = field(default_factory=dict)
    false_positives: dict[str, str | None] = field(default_factory=dict)
    false_negatives: dict[str, str | None] = field(default_factory=dict)
    renamed: frozenset[str] = frozenset()
    """Codes that both sides have with different names."""
    right_names: Names = field(default_factory=dict)
    extra_names: Names = field(default_factory=dict)
    missing_names: Names = field(default_factory=dict)
    """The names of each code that counts once per name, among the true positives and so on."""
    rest: int = 1
    """The number of codes that the wildcard among the terms stands for."""
    names_compared: bool = True
    equivalences: list[HierarchyEquivalence] = field(default_factory=list)


def sort_terms(
    pair: DatasetPair, dimension: str, known: DimensionStructure | None, *, compare_names: bool
) -> Sorted | None:
    """Classify the terms of one dimension of a dataset; None if neither side selects anything in it.

    A wildcard, or all codes of the list, counts as every code if the target lists codes. If the target has none,
    it is not a restriction, so nothing is selected. With ``compare_names`` a code under two names is two terms.
    """
    target = pair.target.dimensions.get(dimension) if pair.target is not None else None
    selected = pair.selected.dimensions.get(dimension) if pair.selected is not None else None
    terms = _sorted_by_code(pair, target, selected, known, compare_names=compare_names)
    if terms is not None and compare_names:
        if selected is not None and selected.names:
            _name_each(terms.false_positives, terms.extra_names, selected)
        if target is not None and target.names:
            _name_each(terms.false_negatives, terms.missing_names, target)
    return terms


def _name_each(codes: Mapping[str, str | None], names: Names, chosen: Chosen) -> None:
    """Note all names of codes that only one side has. An absent name is not a name."""
    for code in codes:
        if code in chosen.names and code not in names:
            names[code] = tuple(name for name in chosen.names[code] if name is not None)


def _sorted_by_code(
    pair: DatasetPair,
    target: Chosen | None,
    selected: Chosen | None,
    known: DimensionStructure | None,
    *,
    compare_names: bool,
) -> Sorted | None:
    free = selected is None or selected.everything or not selected.codes or _covers(selected, known)
    if target is None or not (target.codes or target.everything):
        # Absent, or explicitly empty: any restriction of this dimension is wrong.
        if free or selected is None:
            beyond = {} if selected is None else _beyond(selected, known)
            return None if target is None and not beyond else Sorted(false_positives=beyond)
        return Sorted(false_positives=dict(selected.codes))
    if target.everything:
        return _against_everything(selected, known, free=free and pair.selected is not None)
    if pair.selected is not None and _covers(target, known) and (selected is None or not selected.codes):
        # An unrestricted dimension selects all of it: no less than the listed codes.
        return _everything_against(target, known)
    if selected is None:
        return Sorted(false_negatives=dict(target.codes))
    if selected.everything:
        return _everything_against(target, known)
    terms = _by_code(target, selected, compare_names=compare_names)
    if (terms.false_positives or terms.false_negatives) and _covers(target, known) and _covers(selected, known):
        # Both sides have everything: codes of the list without data make no difference.
        extra, missing = _beyond(selected, known), _beyond(target, known)
        terms.false_positives = {
            code: name for code, name in terms.false_positives.items() if code in extra or code in terms.renamed
        }
        terms.false_negatives = {
            code: name for code, name in terms.false_negatives.items() if code in missing or code in terms.renamed
        }
    return terms


def _beyond(chosen: Chosen, known: DimensionStructure | None) -> dict[str, str | None]:
    """The codes that are not in the list, if they include the whole list."""
    if chosen.everything or known is None or not chosen.codes:
        return {}
    listed = known.codes.names if known.codes is not None else known.every_code
    return {code: name for code, name in chosen.codes.items() if code not in listed}


def _covers(chosen: Chosen, known: DimensionStructure | None) -> bool:
    """Whether the codes include all existing codes."""
    if known is None or not chosen.codes:
        return False
    every = known.every_code
    return bool(every) and len(chosen.codes) >= len(every) and chosen.codes.keys() >= every


def _against_everything(selected: Chosen | None, known: DimensionStructure | None, *, free: bool) -> Sorted:
    every: dict[str, str | None] = {WILDCARD: _ALL}
    if free:
        beyond = {} if selected is None else _beyond(selected, known)
        return Sorted(true_positives=every, false_positives=beyond)
    if selected is None:
        return Sorted(false_negatives=every)
    codes = known.all_codes if known is not None else None
    if codes is None:
        return Sorted(true_positives=dict(selected.codes), false_negatives={WILDCARD: "all other codes"})
    within = known_codes(known)
    right = {code: name for code, name in selected.codes.items() if code in within}
    wrong = {code: name for code, name in selected.codes.items() if code not in right}
    rest = sum(code not in right for code in codes)
    missing: dict[str, str | None] = {WILDCARD: f"{rest:,} other codes"} if rest else {}
    return Sorted(true_positives=right, false_positives=wrong, false_negatives=missing, rest=rest)


def _everything_against(target: Chosen, known: DimensionStructure | None) -> Sorted:
    codes = known.all_codes if known is not None else None
    if codes is None:
        # Their number is unknown: the others count as one.
        return Sorted(true_positives=dict(target.codes), false_positives={WILDCARD: "all other codes"})
    within = known_codes(known)
    right = {code: name for code, name in target.codes.items() if code in within}
    # A target with all codes of the list may include some without data: these make no difference.
    without = _beyond(target, known) if _covers(target, known) else target.codes
    missing = {code: name for code, name in without.items() if code not in within}
    rest = len(codes) - len(right)
    extra: dict[str, str | None] = {WILDCARD: f"{rest:,} other codes"} if rest > 0 else {}
    return Sorted(true_positives=right, false_positives=extra, false_negatives=missing, rest=max(rest, 1))


def known_codes(known: DimensionStructure | None) -> frozenset[str]:
    """The codes that a wildcard covers, as a set."""
    return frozenset() if known is None else known.every_code


def _by_code(wanted: Chosen, chosen: Chosen, *, compare_names: bool) -> Sorted:
    """If a code was selected without a name, the list's name is not the answer's own: it is not compared."""
    target, selected = wanted.codes, chosen.codes
    right = {code: name for code, name in target.items() if code in selected}
    missing = {code: name for code, name in target.items() if code not in right} if len(right) < len(target) else {}
    same = right.items() <= selected.items()
    differing = [] if same else [code for code, name in right.items() if name != selected[code]]
    unnamed = [code for code in differing if right[code] is None or selected[code] is None]
    several = [code for code in right if code in wanted.names or code in chosen.names] if compare_names else []
    renamed = set()
    if compare_names:
        said = [code for code in differing if code not in unnamed and not isinstance(selected[code], ListedName)]
        renamed = {code for code in said if not same_name(right[code], selected[code])}.difference(several)
    if renamed:
        missing = {code: name for code, name in target.items() if code in missing or code in renamed}
        right = {code: name for code, name in right.items() if code not in renamed}
    for code in unnamed:
        right[code] = right[code] or selected[code]
    terms = Sorted(
        true_positives=right,
        false_positives={code: name for code, name in selected.items() if code not in right}
        if len(right) < len(selected)
        else {},
        false_negatives=missing,
        renamed=frozenset(renamed),
        names_compared=not unnamed and None not in right.values(),
    )
    if several:
        _split_names(terms, wanted, chosen, several)
    return terms


def _split_names(terms: Sorted, wanted: Chosen, chosen: Chosen, codes: Iterable[str]) -> None:
    """Sort the names of codes that both sides have, at least one of them under several names."""
    for code in codes:
        ours, theirs = wanted.all_names(code), chosen.all_names(code)
        said = [name for name in theirs if name is not None and not isinstance(name, ListedName)]
        named = [name for name in ours if name is not None]
        right: list[str | None] = [name for name in named if any(same_name(name, other) for other in said)]
        missing: list[str | None] = []
        extra: list[str | None] = []
        if len(said) == len(theirs):  # otherwise the answer also has the code without a name, which is any name
            missing = [name for name in named if name not in right]
        if len(named) == len(ours):
            extra = [name for name in said if not any(same_name(name, other) for other in named)]
        if not right and (len(said) < len(theirs) or len(named) < len(ours)):
            right = [named[0] if len(said) < len(theirs) and named else theirs[0]]
        for held, names, found in (
            (terms.true_positives, terms.right_names, right),
            (terms.false_positives, terms.extra_names, extra),
            (terms.false_negatives, terms.missing_names, missing),
        ):
            held.pop(code, None)
            if found:
                held[code] = found[0]
                names[code] = tuple(found)
        if missing or extra:
            terms.renamed |= {code}
    for held, order in (
        (terms.true_positives, wanted.codes),
        (terms.false_positives, chosen.codes),
        (terms.false_negatives, wanted.codes),
    ):
        in_order = {code: held[code] for code in order if code in held}
        held.clear()
        held.update(in_order)


def weigh_hierarchy(
    terms: Sorted, pair: DatasetPair, dimension: str, known: DimensionStructure, *, count: bool
) -> None:
    """Find codes that stand for their children on the other side; with ``count`` they count as correct.

    A selected code stands for the target's codes if a hierarchy expands it to codes that are
    all in the target; likewise in reverse. Children without data need not be named.
    """
    codes = known.codes
    if codes is None or not codes.children:
        return
    for selected, parents, others in (
        ("parent", terms.false_positives, terms.false_negatives),
        ("children", terms.false_negatives, terms.false_positives),
    ):
        open_codes, right = frozenset(others), frozenset(terms.true_positives)  # the same for each parent
        for parent in list(parents):
            for children in _expansions(codes, parent, known.available):
                if not open_codes.isdisjoint(children) and open_codes.union(right).issuperset(children):
                    open_children = [one for one in children if one in others]
                    terms.equivalences.append(
                        HierarchyEquivalence(
                            dataset=pair.label,
                            dimension=dimension,
                            parent=Term(id=parent, name=plain_text(parents[parent])),
                            children=tuple(Term(id=one, name=codes.names.get(one)) for one in children),
                            selected="parent" if selected == "parent" else "children",
                            counted=count,
                        )
                    )
                    if count:
                        _count_as_right(terms, parent, open_children, selected_parent=selected == "parent")
                    break
    if count and terms.equivalences and pair.target is not None:
        order = pair.target.dimensions[dimension].codes
        terms.true_positives = {code: terms.true_positives[code] for code in order if code in terms.true_positives}


def _count_as_right(terms: Sorted, parent: str, children: Iterable[str], *, selected_parent: bool) -> None:
    """The target's codes become true positives, and the selection's codes for them are no longer false positives."""
    if selected_parent:
        del terms.false_positives[parent]
        for child in children:
            name = terms.false_negatives.pop(child)
            if child in terms.true_positives:  # under another name
                known = terms.right_names.get(child, (terms.true_positives[child],))
                terms.right_names[child] = (*known, *terms.missing_names.get(child, (name,)))
            else:
                terms.true_positives[child] = name
    else:
        terms.true_positives[parent] = terms.false_negatives.pop(parent)
        for child in children:
            del terms.false_positives[child]


def _expansions(codes: CodeList, parent: str, available: frozenset[str] | None) -> Iterator[tuple[str, ...]]:
    """The expansions of a code in a hierarchy: its children, and the codes at the ends of its branches."""
    for children in codes.children.get(parent, ()):
        for expansion in dict.fromkeys((children, _leaves(codes, children, parent))):
            with_data = expansion if available is None else tuple(one for one in expansion if one in available)
            if with_data:
                yield with_data


def _leaves(codes: CodeList, children: tuple[str, ...], parent: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    seen = {parent}
    stack = list(reversed(children))
    while stack:
        code = stack.pop()
        if code in seen:
            continue
        seen.add(code)
        below = codes.children.get(code)
        if below:
            stack.extend(reversed(below[0]))
        else:
            found[code] = None
    return tuple(found)


NoteOf = Callable[[str], TermNote | None]


def judged(
    terms: dict[str, str | None], label: str, note_of: NoteOf | None, rest: int, names: Names
) -> list[ScoredTerm]:
    """The terms as evidence, with notes on them. A code with several ``names`` is several terms."""
    if names:
        pairs = [(code, name) for code, first in terms.items() for name in names.get(code, (first,))]
        return [each for code, name in pairs for each in judged({code: name}, label, note_of, rest, {})]
    if note_of is None and WILDCARD not in terms:
        known = _made(label, None)
        return [
            found if (found := known.get(code)) is not None and found.name == name else _new(known, code, name, label)
            for code, name in terms.items()
        ]
    return [
        ScoredTerm(id=code, name=name, dataset=label, note=None if name == _ALL else "rest_of_the_list", count=rest)
        if code == WILDCARD
        else _noted(code, name, label, None if note_of is None else note_of(code))
        for code, name in terms.items()
    ]


def _noted(code: str, name: str | None, label: str, note: TermNote | None) -> ScoredTerm:
    known = _made(label, note)
    found = known.get(code)
    return found if found is not None and found.name == name else _new(known, code, name, label, note)


@lru_cache(maxsize=1024)
def _made(label: str, note: TermNote | None) -> dict[str, ScoredTerm]:  # noqa: ARG001 - what it is kept by
    """The scored terms of a dataset by code: one shared value for a term of many cases.

    Creating one costs more than the rest of scoring it.
    """
    return {}


def _new(
    known: dict[str, ScoredTerm], code: str, name: str | None, label: str, note: TermNote | None = None
) -> ScoredTerm:
    made = ScoredTerm(id=code, name=plain_text(name), dataset=label, note=note)
    if len(known) < _MOST_KEPT:
        known[code] = made
    return made


def count_of(terms: dict[str, str | None], rest: int, names: Names) -> int:
    """The number of codes that the terms stand for, a code with several ``names`` once for each."""
    more = sum(len(several) - 1 for code, several in names.items() if code in terms)
    return len(terms) + more + (rest - 1 if WILDCARD in terms else 0)
