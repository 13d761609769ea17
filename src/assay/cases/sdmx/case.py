"""Turn a decoded record into a case: its conversation, each question with the right selections (`selection_of`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay.cases.fields import did_you_mean
from assay.cases.sdmx.records import Keys, Misread, entries, filled, is_null, mapping, text
from assay.model import Case, CaseOptions, DatasetSelection, DimensionSelection, Selection, Term, TimeRange, Turn

CASE_KEYS = ("id", "name", "tags", "comments", "difficulty", "conversation")
MESSAGE_KEYS = ("role", "content", "target", "targets")
_NO_OPTIONS = CaseOptions()


def case_of(value: object, *, origin: str, cache: TermCache, scripted: list[str] | None = None) -> Case:
    """The case in a decoded record; its name is its id if it has no id.

    ``scripted`` collects the origin once for each assistant's answer in the record, which is left out. Raises Misread
    with the path to the error: an unknown key, a wrong type, no id, no question, nothing to score.
    """
    held = mapping(value, (), CASE_KEYS, like="a case: a mapping with id and conversation")
    name = _optional(held, "name")
    id_ = _optional(held, "id") if "id" in held else name
    if "id" in held and id_ is None:
        raise Misread("is empty: write one", ("id",))
    if id_ is None:
        raise Misread("the case has neither id nor name: write an id")
    unsent: list[str] = [] if scripted is None else scripted
    turns = _turns(held, origin, unsent)
    turns_read = tuple(_turn(message, keys, cache) for message, keys in turns)
    if not any(turn.targets for turn in turns_read):
        raise Misread(
            "no question of the conversation has a target, so there is nothing to score: "
            "write target: {indicator_selection: [...]} in a message of a question",
            ("conversation",),
        )
    questions = [turn.question for turn in turns_read]
    numbered = (f"{number}. {question}" for number, question in enumerate(questions, start=1))
    return Case(
        id=id_,
        question=questions[0] if len(questions) == 1 else "\n".join(numbered),
        difficulty=_optional(held, "difficulty"),
        tags=_tags(held),
        options=_NO_OPTIONS,
        origin=origin,
        name=name,
        comments=None if is_null(held.get("comments")) else text(held["comments"], ("comments",)) or None,
        turns=turns_read,
    )


def _optional(held: Mapping[str, object], key: str) -> str | None:
    """A text without outer spaces; None if it is absent, null or blank. ``id: null`` is the text null."""
    value = held.get(key)
    if value is None or (is_null(value) and (key != "id" or getattr(value, "text", "") in ("", "~"))):
        return None
    return text(value, (key,)).strip() or None


def _tags(held: Mapping[str, object]) -> tuple[str, ...]:
    value = held.get("tags")
    if is_null(value):
        return ()
    if isinstance(value, str):
        return (value.strip(),) if value.strip() else ()
    listed = entries(value, ("tags",), like="a list of texts")
    tags = (filled(one, ("tags", number)) for number, one in enumerate(listed))
    return tuple(dict.fromkeys(tags))


def _turns(held: Mapping[str, object], origin: str, scripted: list[str]) -> list[tuple[Mapping[str, object], Keys]]:
    """The user's messages with their keys. Scripted answers of an assistant are left out: the system gives its own."""
    if "conversation" not in held:
        raise Misread("the case has no conversation: write a list of messages, each with role and content")
    keys = ("conversation",)
    turns: list[tuple[Mapping[str, object], Keys]] = []
    for number, value in enumerate(entries(held["conversation"], keys, like="a list of messages")):
        here = (*keys, number)
        message = mapping(value, here, MESSAGE_KEYS, like="a message: a mapping with role and content")
        if "role" not in message:
            raise Misread("has no role: write role: user for a question", here)
        role = filled(message["role"], (*here, "role"))
        if role == "user":
            turns.append((message, here))
        elif role in ("assistant", "system"):
            if _is_scripted(role, message, here):
                scripted.append(origin)
        else:
            hint = did_you_mean(role, ("user", "assistant", "system"), form="; {}")
            raise Misread(f'the role is "{role}": expected user{hint}', (*here, "role"))
    if not turns:
        raise Misread("has no message of the role user, so no question can be asked", keys)
    return turns


def _is_scripted(role: str, message: Mapping[str, object], keys: Keys) -> bool:
    """Whether a message of another role has content. Raises if it must not be left out, or has a target."""
    content = message.get("content")
    says = not is_null(content) and text(content, (*keys, "content")).strip() != ""
    if says and role == "system":
        raise Misread(
            "a message of the role system has content: instructions belong to the settings of the system under test. "
            "Take it out, or leave it blank",
            keys,
        )
    for key in ("target", "targets"):
        if not is_null(message.get(key)):
            raise Misread(f"a message of the role {role} has a {key}: it belongs to a question", (*keys, key))
    return says


def _turn(message: Mapping[str, object], keys: Keys, cache: TermCache) -> Turn:
    if "content" not in message:
        raise Misread("has no content: write the question", keys)
    question = text(message["content"], (*keys, "content"))
    if not question.strip():
        raise Misread("is blank: write the question", (*keys, "content"))
    return Turn(question=question, targets=targets_of(message, keys, cache))


def targets_of(message: Mapping[str, object], keys: Keys, cache: TermCache) -> tuple[Selection, ...]:
    """The acceptable selections of a message: one under ``target``, several under ``targets``; empty without either."""
    one, several = message.get("target"), message.get("targets")
    if not is_null(one) and not is_null(several):
        raise Misread("has both target and targets: keep one of them", keys)
    if not is_null(one):
        return (selection_of(one, keys=(*keys, "target"), cache=cache),)
    if is_null(several):
        return ()
    keys = (*keys, "targets")
    listed = entries(several, keys, like="a list of acceptable targets, each with indicator_selection")
    if not listed:
        raise Misread("is an empty list: write an acceptable target, or remove it if nothing is scored", keys)
    return tuple(selection_of(target, keys=(*keys, number), cache=cache) for number, target in enumerate(listed))


WILDCARD = "*"
_LIKE_SELECTION = "a mapping with indicator_selection"
_LIKE_DATASET = "a mapping with dataset_id, dimensions and time_range"
_LIKE_DIMENSION = "a mapping with dimension_name and values"
_LIKE_VALUES = "a list of terms (id and name), [] for none at all, or '*' for every code"
_LIKE_RANGE = "a mapping with start and end"


class TermCache:
    """Creates each term once and shares it: within one load, the same code and name give the same object."""

    def __init__(self) -> None:
        self._terms: dict[tuple[str, str | None], Term] = {}

    def term(self, id_: str, name: str | None) -> Term:
        """The term of this code and name."""
        key = (id_, name)
        found = self._terms.get(key)
        if found is None:
            found = self._terms[key] = Term(id=id_, name=name)
        return found

    def terms(self, values: list[object], of: Callable[[object, int], Term]) -> list[Term]:
        """The terms of a list; ``of`` makes those that are new."""
        known = self._terms
        found = []
        for number, value in enumerate(values):
            try:
                # Where this succeeds, both are plain texts: only such pairs are kept.
                term = known[value["id"], value["name"]] if len(value) == 2 else of(value, number)  # type: ignore
            except (KeyError, TypeError):
                term = of(value, number)
            found.append(term)
        return found


def selection_of(value: object, *, keys: Keys = (), cache: TermCache | None = None) -> Selection:
    """The selection in a decoded value: ``{indicator_selection: [...]}``. A dataset named twice is a union.

    Scalars are texts as written, or Null. A dataset's ``time_range`` of null, ``{}`` or ``[]`` is explicitly all of
    time, and an absent one says nothing; ``values`` of ``[]`` is explicitly nothing, and ``'*'`` everything. Raises
    Misread with the path to the wrong value.
    """
    cache = cache or TermCache()
    held = mapping(value, keys, ("indicator_selection",), like=_LIKE_SELECTION)
    if "indicator_selection" not in held:
        raise Misread("has no indicator_selection: write a list of datasets, [] if nothing is to be selected", keys)
    keys = (*keys, "indicator_selection")
    listed = entries(held["indicator_selection"], keys, like="a list of datasets, [] if nothing is to be selected")
    datasets = tuple(_dataset(one, (*keys, number), cache) for number, one in enumerate(listed))
    return Selection(datasets=datasets)


def _dataset(value: object, keys: Keys, cache: TermCache) -> DatasetSelection:
    held = mapping(value, keys, ("dataset_id", "dimensions", "time_range"), like=_LIKE_DATASET)
    if "dataset_id" not in held:
        raise Misread("has no dataset_id", keys)
    below = (*keys, "dimensions")
    listed = entries(held.get("dimensions", []), below, like="a list of dimensions, [] if none is restricted")
    dimensions = tuple(_dimension(one, (*below, number), cache) for number, one in enumerate(listed))
    _none_twice([one.dimension for one in dimensions], "dimension", "dimension_name", below)
    return DatasetSelection(
        dataset=filled(held["dataset_id"], (*keys, "dataset_id")),
        dimensions=dimensions,
        time=_time(held["time_range"], (*keys, "time_range")) if "time_range" in held else None,
    )


def _none_twice(names: list[str], what: str, key: str, keys: Keys) -> None:
    seen: dict[str, int] = {}
    for number, name in enumerate(names):
        if seen.setdefault(name, number) != number:
            raise Misread(
                f'the {what} "{name}" occurs twice, first at [{seen[name]}]: join the two', (*keys, number, key)
            )


def _dimension(value: object, keys: Keys, cache: TermCache) -> DimensionSelection:
    held = mapping(value, keys, ("dimension_name", "values"), like=_LIKE_DIMENSION)
    if "dimension_name" not in held:
        raise Misread("has no dimension_name", keys)
    if "values" not in held:
        raise Misread(f"has no values: write {_LIKE_VALUES}", keys)
    name = filled(held["dimension_name"], (*keys, "dimension_name"))
    keys = (*keys, "values")
    values = held["values"]
    if values == WILDCARD:
        return DimensionSelection(dimension=name, everything=True)
    listed = entries(values, keys, like=_LIKE_VALUES)
    if len(listed) == 1 and listed[0] == WILDCARD:
        return DimensionSelection(dimension=name, everything=True)
    terms = cache.terms(list(listed), lambda one, number: _term(one, (*keys, number), cache))
    return DimensionSelection(dimension=name, terms=_without_repeats(terms))


def _without_repeats(terms: list[Term]) -> tuple[Term, ...]:
    """Terms of one cache without repeats: equal terms are the same object, so identity is enough."""
    if len(set(map(id, terms))) == len(terms):
        return tuple(terms)
    return tuple({id(term): term for term in terms}.values())


def _term(value: object, keys: Keys, cache: TermCache) -> Term:
    if not isinstance(value, dict):
        code = filled(value, keys)
        if code == WILDCARD:
            raise Misread(
                f"{WILDCARD!r} is given together with codes: write values: '{WILDCARD}' alone for every code", keys
            )
        return cache.term(code, None)
    held = mapping(value, keys, ("id", "name"), like="a code, or a mapping with id and name")
    if "id" not in held:
        raise Misread("has no id: a term is its code and its name", keys)
    name = held.get("name")
    written = None if is_null(name) else text(name, (*keys, "name")).strip()
    return cache.term(filled(held["id"], (*keys, "id")), written or None)


def _time(value: object, keys: Keys) -> tuple[TimeRange, ...]:
    if is_null(value) or value == {}:
        return ()
    if isinstance(value, list):
        return tuple(_range(one, (*keys, number)) for number, one in enumerate(value))
    return (_range(value, keys),)


def _range(value: object, keys: Keys) -> TimeRange:
    held = mapping(value, keys, ("start", "end"), like=_LIKE_RANGE)
    ends = {end: None if is_null(held.get(end)) else filled(held[end], (*keys, end)) for end in ("start", "end")}
    if not any(ends.values()):
        raise Misread("has neither start nor end: leave time_range null for all of time", keys)
    return TimeRange(start=ends["start"], end=ends["end"])
