"""What chat templates leave round an answer: thinking, channels, turns and special tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from assay.sql.extraction.embedded_json import is_json
from assay.sql.extraction.regions import blanked, regions
from assay.sql.extraction.statements import Parser, is_statement, masked, opening_of

_THOUGHT = r"(?:\w+:)?(?:think|thinking|thoughts?|reasoning|reason|analysis|reflection|scratchpad|rationale)"
_THINKING = re.compile(
    rf"<(?P<tag>{_THOUGHT})(?:\s[^<>\n]{{0,200}})?>|\[(?P<bracket>think|thinking)\]|(?P<kimi>◁think▷)"
    r"|(?P<sky><\|begin_of_thought\|>)|(?P<cohere><\|START_THINKING\|>)|(?P<gemma><\|channel>(?:thought|analysis)\b)",
    re.IGNORECASE,
)
_CLOSINGS = {
    "tag": r"</{}\s*>",
    "bracket": r"\[/{}\]",
    "kimi": "◁/think▷",
    "sky": r"<\|end_of_thought\|>",
    "cohere": r"<\|END_THINKING\|>",
    "gemma": r"<channel\|>",
}
"""What closes each of the marks with which thinking begins."""
_UNCLOSED = re.compile(
    rf"^[ \t]*(?:<{_THOUGHT}>|\[think(?:ing)?\]|◁think▷|<\|begin_of_thought\|>|<\|START_THINKING\|>"
    r"|<\|channel>thought\b)",
    re.MULTILINE | re.IGNORECASE,
)
_FINAL_NAME = re.compile(r"final|(?:final[_-]?)?(?:answer|solution)|final[_-]?\w+")
_THINKING_END = re.compile(
    rf"</{_THOUGHT}\s*>|\[/think(?:ing)?\]|◁/think▷|<\|end_of_thought\|>|<\|END_THINKING\|>", re.IGNORECASE
)
_CHANNEL = re.compile(
    r"(?:<\|channel\|>|\A(?=(?:analysis|commentary|final)[^<>\n]{0,100}<\|message\|>))\s*"
    r"(?P<name>analysis|commentary|final)\b(?:(?:(?!<\|message\|>)[^\n]){0,200}?<\|message\|>)?",
    re.IGNORECASE,
)
_CHANNEL_END = re.compile(r"<\|(?:end|return|call|start|channel)\|>", re.IGNORECASE)
_BARE_CHANNELS = re.compile(r"\A\s*analysis(?=[A-Z\s]).*assistantfinal", re.DOTALL)
"""Channels whose tokens were removed when the text was decoded."""
_BEGIN = r"<s>|<bos>|<\|begin_of_text\|>|<\|startoftext\|>|<[|｜]begin[▁_]of[▁_]sentence[|｜]>"
_TURN = re.compile(
    r"(?:<\|im_start\|>|<\|start_header_id\|>|<\|header_start\|>|<\|start\|>|<start_of_turn>|<\|turn>)\s*(?P<role>\w+)"
    r"[ \t]*(?:<\|end_header_id\|>|<\|header_end\|>|<\|im_middle\|>|<\|message\|>)?"
    r"|<[|｜](?P<token>assistant|user|system|tool|observation)[|｜]>"
    r"|<\|START_OF_TURN_TOKEN\|><\|(?P<cohere>\w+)_TOKEN\|>"
    r"|(?P<to_user>\[INST\])|(?P<to_model>\[/INST\])",
    re.IGNORECASE,
)
_MODEL_ROLES = frozenset({"assistant", "model", "chatbot"})
_END = (
    r"<\|(?:im_end|eot_id|eom_id|eot|end|return|call|endoftext|end_of_text|end_of_sentence|end_of_turn|END_RESPONSE"
    r"|end_of_solution|END_OF_TURN_TOKEN|end_of_role)\|>|<[|｜]end[▁_]of[▁_]sentence[|｜]>|</s>|<eos>|<end_of_turn>"
    r"|<turn\|>|\[EOS\]"
)
_TOKEN = rf"{_BEGIN}|{_END}|<[|｜][^<>|｜\s]{{1,40}}[|｜]>|<(?:pad|unk)>|\[/?INST\]|<<SYS>>|<</SYS>>"
_TOKENS_BEFORE = re.compile(rf"\A(?:\s*(?:{_TOKEN}))+\s*", re.IGNORECASE)
_TOKENS_AFTER = re.compile(rf"(?:\s*(?:{_TOKEN}))+\s*\Z", re.IGNORECASE)
_END_TOKEN = re.compile(_END, re.IGNORECASE)
_ANSWER_BEGINS = re.compile(
    f"{_THINKING_END.pattern}|<channel\\|>|(?:{_CHANNEL.pattern})|(?:{_TURN.pattern})", re.IGNORECASE
)
_MOST_MARKS = 50
_DEEPEST = 4
_MARKS = re.compile(r"[<\[]/?[\w:|｜◁]|◁|analysis")
"""What every text contains in which any of these patterns may match."""


def without_tokens(text: str) -> str:
    """The text without the special tokens at its beginning and its end."""
    if not _MARKS.search(text):
        return text
    text = _TOKENS_BEFORE.sub("", text)
    return _TOKENS_AFTER.sub("", text) if text.rstrip().endswith((">", "]")) else text


def split_completion(text: str) -> tuple[str, str]:
    """The answer that a model gives in a completion, and its thinking before it.

    ========================================================= ============================
    ``<think>thinking</think>answer``, also with other tags   each mark in `_CLOSINGS`
    ``thinking</think>answer``                                some servers omit the start
    ``<think>thinking``                                       without an answer
    ``<|channel|>analysis<|message|>… final<|message|>answer``  the last final channel
    a transcript with turns                                   the last turn of the model
    an answer, then turns that the model made up              the answer
    ========================================================= ============================

    What stands in a literal of SQL in a fence or tags is not a mark.
    """
    if not _MARKS.search(text):
        return text, ""
    plain = _without_literals(text)
    if len(channels := list(_CHANNEL.finditer(plain))):
        return _of_channels(text, plain, channels)
    if bare := _BARE_CHANNELS.match(plain):
        return text[bare.end() :], text[: bare.end()]
    start, end = _model_turn(plain)
    text, plain = text[start:end], plain[start:end]
    answer: list[str] = []
    thoughts: list[str] = []
    position = 0
    for start, end in _closed_thinking(plain):
        answer.append(text[position:start])
        thoughts.append(text[start:end])
        position = end
    rest, plain = text[position:], plain[position:]
    if ends := list(_THINKING_END.finditer(plain)):
        thoughts += [*answer, rest[: ends[-1].end()]]
        answer, rest, plain = [], rest[ends[-1].end() :], plain[ends[-1].end() :]
    if unclosed := _UNCLOSED.search(plain):
        resumes = _marked_answer(rest, unclosed.end())
        answer.append(rest[: unclosed.start()])
        thoughts.append(rest[unclosed.start() : resumes])
        rest = rest[resumes:]
    return "".join([*answer, rest]), "\n".join(thoughts)


def _without_literals(text: str) -> str:
    """The text, with ``x`` for what its SQL has in literals and comments and for its JSON, where no mark counts.

    SQL: the content of a fence or tags, or what follows the first mark after which nothing but a statement follows.
    """
    for mark in islice(_ANSWER_BEGINS.finditer(text), _MOST_MARKS):
        tail = without_tokens(text[mark.end() :])
        if is_statement(tail) and Parser().reads(tail):
            start = text.index(tail, mark.end())
            return _without_literals_in_regions(text[:start]) + masked(tail) + text[start + len(tail) :]
    return _without_literals_in_regions(text)


def _without_literals_in_regions(text: str, depth: int = 0) -> str:
    if is_json(text):
        return "x" * len(text)
    parts: list[str] = []
    position = 0
    for region in regions(text):
        body = region.body(text)
        if opening_of(body) is not None:
            body = masked(body)
        elif depth < _DEEPEST:
            body = _without_literals_in_regions(body, depth + 1)
        parts += text[position : region.body_start], body
        position = region.body_end
    return "".join((*parts, text[position:]))


def _closed_thinking(plain: str) -> Iterator[tuple[int, int]]:
    """The spans of a model's thinking that is opened and closed."""
    position = 0
    unclosed: set[str] = set()
    while begin := _THINKING.search(plain, position):
        kind = begin.lastgroup or ""
        closing = _CLOSINGS[kind].format(re.escape(begin[kind]))
        end = None if closing in unclosed else re.compile(closing, re.IGNORECASE).search(plain, begin.end())
        if end is None:
            unclosed.add(closing)
        else:
            yield begin.start(), end.end()
        position = begin.end() if end is None else end.end()


def _of_channels(text: str, plain: str, channels: Sequence[re.Match[str]]) -> tuple[str, str]:
    """The last final channel and the thinking; without a final one, the last message to a tool or a reader."""
    answers: dict[str, str] = {}
    thoughts: list[str] = []
    for channel in channels:
        end = _CHANNEL_END.search(plain, channel.end())
        content = text[channel.end() : end.start() if end else len(text)]
        name = channel["name"].lower()
        if name == "analysis":
            thoughts.append(content)
        else:
            answers[name] = content
    return answers.get("final", answers.get("commentary", "")), "\n".join(thoughts)


def _model_turn(plain: str) -> tuple[int, int]:
    """The bounds of the model's last turn in a transcript, or of the completion before turns that it made up."""
    turns = list(_TURN.finditer(plain))
    first_end = turns[0].start() if turns else len(plain)
    is_transcript = bool(turns) and (
        _is_of_model(turns[0]) or not plain[:first_end].strip() or _TOKENS_BEFORE.match(plain) is not None
    )
    start, end = 0, first_end
    if is_transcript:
        for number, turn in enumerate(turns):
            following = turns[number + 1].start() if number + 1 < len(turns) else len(plain)
            if _is_of_model(turn) and plain[turn.end() : following].strip():
                start, end = turn.end(), following
    begin = _TOKENS_BEFORE.match(plain[start:end])
    start += begin.end() if begin else 0
    stop = _END_TOKEN.search(plain, start, end)
    return start, stop.start() if stop else end


def _is_of_model(turn: re.Match[str]) -> bool:
    role = turn["role"] or turn["token"] or turn["cohere"] or ""
    return turn["to_model"] is not None or role.lower() in _MODEL_ROLES


def _marked_answer(text: str, start: int) -> int:
    """Where the last answer in closed tags begins that follows thinking without an end; else the end of the text."""
    plain = blanked(text[:start]) + text[start:]
    answers = [
        region.start
        for region in regions(plain)
        if region.kind == "tag" and region.closed and _FINAL_NAME.fullmatch(region.name)
    ]
    return answers[-1] if answers else len(text)
