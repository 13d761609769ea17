"""Turn a decoded record into a case: its conversation, each question with the right selections."""

from __future__ import annotations

from collections.abc import Mapping

from assay.cases.fields import did_you_mean
from assay.cases.sdmx.target import TermCache, selection_of
from assay.cases.sdmx.values import Keys, Misread, entries, filled, is_null, mapping, text
from assay.model import Case, CaseOptions, Selection, Turn

CASE_KEYS = ("id", "name", "tags", "comments", "difficulty", "conversation")
MESSAGE_KEYS = ("role", "content", "target", "targets")
_NO_OPTIONS = CaseOptions()


def case_of(value: object, *, origin: str, cache: TermCache, scripted: list[str] | None = None) -> Case:
    """The case in a decoded record; its name is its id where it has no id.

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
            "write target: {indicator_selection: [...]} beside a question",
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
    """A text without outer spaces; None where it is absent, null or blank. ``id: null`` is the text null."""
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
        raise Misread("has no message of the role user, so there is no question to ask", keys)
    return turns


def _is_scripted(role: str, message: Mapping[str, object], keys: Keys) -> bool:
    """Whether a message of another role has content. Raises where it must not be left out, or has a target."""
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
        raise Misread("is an empty list: write an acceptable target, or take it out where nothing is scored", keys)
    return tuple(selection_of(target, keys=(*keys, number), cache=cache) for number, target in enumerate(listed))
