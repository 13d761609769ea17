"""An LLM as judge of whether two queries are equivalent, without executing them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from assay.errors import UsageError
from assay.llm_judge import JudgeSettings, Opinion, Prompt, QueryJudge, QueryPair
from assay.model import Secret
from assay.ports import ChatModel


def open_model(
    model: str,
    *,
    token: str | None = None,
    timeout_s: float = 120.0,
    retries: int = 3,
    parameters: Mapping[str, str] | None = None,
    verify_ssl: bool = True,
) -> ChatModel:
    """Open a chat model: ``gpt-4.1``, ``chat:http://host/v1`` with a parameter ``model``, or a deployment's URL.

    A model given by name alone is at ``OPENAI_BASE_URL``, else at OpenAI. Without ``token`` the key is that of
    ``ASSAY_TOKEN``, ``OPENAI_API_KEY`` or, for a deployment, ``DIAL_API_KEY``. Nothing is sent yet. Raises InputError.
    """
    from assay.systems.chat.model import HttpChatModel
    from assay.systems.options import SystemOptions

    text = model.strip()
    if not re.match(r"(?:chat:|https?://)", text, re.IGNORECASE):
        text = f"chat:{text}"
    key = token if token is not None else (os.environ.get("ASSAY_TOKEN") or "").strip() or None
    options = SystemOptions(
        token=None if key is None else Secret(key),
        timeout_s=timeout_s,
        retries=retries,
        parameters=tuple((parameters or {}).items()),
        verify_ssl=verify_ssl,
    )
    return HttpChatModel.open(text, options)


def open_judge(
    model: str | ChatModel,
    *,
    samples: int = 1,
    both_orders: bool = True,
    temperature: float | None = 0.0,
    max_tokens: int | None = None,
    concurrency: int = 4,
    cache: str | os.PathLike[str] | None = None,
    retry_refusals: bool = False,
    prompt: str | Prompt | None = None,
    keep_comments: bool = False,
    usd_per_million_input: float | None = None,
    usd_per_million_output: float | None = None,
) -> QueryJudge:
    """Open a judge, to be closed after use or used in a ``with`` statement; closing it closes its model.

    ``samples`` is the number of answers in each order of the two queries. ``cache`` names a file that keeps
    answers, so that the same question to the same model is paid for once. A refusal is an answer, too:
    ``retry_refusals`` asks again what was refused before. ``prompt`` is a text as ``assay judge --show-prompt`` prints
    it. Raises InputError and UsageError.
    """
    if not isinstance(prompt, Prompt):
        prompt = (
            Prompt(keep_comments=keep_comments) if prompt is None else Prompt.parse(prompt, keep_comments=keep_comments)
        )
    settings = JudgeSettings(
        samples=samples,
        both_orders=both_orders,
        temperature=temperature,
        max_tokens=max_tokens,
        concurrency=concurrency,
        cache=None if cache is None else Path(cache),
        retry_refusals=retry_refusals,
        usd_per_million_input=usd_per_million_input,
        usd_per_million_output=usd_per_million_output,
        prompt=prompt,
    )
    return QueryJudge(open_model(model) if isinstance(model, str) else model, settings)


def judge_equivalence(
    pairs: Iterable[QueryPair | tuple[str, str]],
    *,
    model: str | ChatModel | QueryJudge,
    schema: str = "",
    dialect: str | None = None,
) -> list[Opinion]:
    """Ask a model whether the queries of each pair are semantically equivalent, in both orders.

    ``schema`` (DDL or any other text) and ``dialect`` are those of the pairs given as tuples. A model given by its
    name is opened and closed; any other stays open. An opinion's ``equivalent`` is True, False, or None with
    ``failure`` where the model refused, could not be understood, or contradicted itself. Raises SystemUnusable
    where the model can answer no question at all.
    """
    asked = [_pair(pair, schema, dialect) for pair in pairs]
    if isinstance(model, QueryJudge):
        return model.judge_all(asked)
    judge = open_judge(model)
    try:
        return judge.judge_all(asked)
    finally:
        if isinstance(model, str):
            judge.close()
        else:
            judge.close_cache()


def _pair(pair: object, schema: str, dialect: str | None) -> QueryPair:
    if isinstance(pair, QueryPair):
        return pair
    if isinstance(pair, (tuple, list)) and len(pair) == 2 and all(isinstance(query, str) for query in pair):
        return QueryPair(first=pair[0], second=pair[1], schema=schema, dialect=dialect)
    raise UsageError(f"{pair!r} is no pair of queries: give two texts, or an assay.QueryPair")
