"""Ask a chat model for the SQL itself."""

from __future__ import annotations

from msgspec import Struct

from assay.errors import InputError, SystemUnusable
from assay.model import Case, Extraction, Failure, Prediction
from assay.model.cases.decision import holds_nothing
from assay.ports import ChatMessage, Completion, SchemaSource
from assay.sql.extraction import extraction_of, read_text, split_completion
from assay.sql.extraction.tool_calls import queries_of, runs_queries
from assay.systems.chat.model import HttpChatModel
from assay.systems.chat.prompt import Prompt, PromptTemplate
from assay.systems.chat.tool_calls import incomplete_call
from assay.systems.options import SystemOptions
from assay.systems.placeholders import history_messages
from assay.systems.predictions import first_line, without_query

TOTAL_TIME = "total_execution_time"


class ChatSqlSystem:
    """A `ChatSystem` that knows its databases: one prompt per question, and one query from its answer."""

    name = "chat"

    def __init__(
        self, model: HttpChatModel, options: SystemOptions, template: PromptTemplate, schemas: SchemaSource | None
    ) -> None:
        self._model = model
        self._options = options
        self._template = template
        self._schemas = schemas
        given = dict(options.parameters)
        # The same question should get the same answer, as far as the model allows.
        self._temperature = None if "temperature" in given else 0.0

    def describe(self) -> str:
        """Endpoint, model, parameters and prompt, free of secrets."""
        fixed = "" if self._temperature is None else f" temperature={self._temperature:g}"
        return f"{self._model.describe()}{fixed} prompt={self._template.name}#{self._template.digest}"

    def prompt(self, case: Case) -> Prompt:
        """The prompt for one case. Raises InputError if its database cannot describe its tables."""
        if not self._template.needs_schema:
            return self._template.filled(case, None)
        if self._schemas is None:
            raise InputError(
                f"the prompt {self._template.name!r} shows the database, but none is known here: use "
                "assay.evaluate or `assay run`, or a prompt with only {question} and {context}"
            )
        return self._template.filled(case, self._schemas(case))

    def answer(self, case: Case) -> Prediction:
        """Ask once. Raises SystemUnusable, also if the database cannot describe its tables."""
        try:
            prompt = self.prompt(case)
        except SystemUnusable:
            raise
        except InputError as error:
            raise SystemUnusable(str(error)) from error
        earlier = [
            ChatMessage(role="user" if one["role"] == "user" else "assistant", content=one["content"])
            for one in history_messages(case)
        ]
        message = ChatMessage(role="user", content=prompt.text)
        completion = self._model.complete([*earlier, message], temperature=self._temperature)
        if isinstance(completion, Failure):
            return Prediction(case_id=case.id, failure=completion)
        cost_usd = self._model.pricing.cost_usd(completion.tokens)
        return self._model.scrubbed(_prediction(case, completion, prompt, self._options, cost_usd=cost_usd))

    def close(self) -> None:
        """Close the connections."""
        self._model.close()


def _prediction(
    case: Case, completion: Completion, prompt: Prompt, options: SystemOptions, *, cost_usd: float | None = None
) -> Prediction:
    text = completion.message.content
    said = _of_tools(completion, options) or read_answer(text)
    if completion.tool_calls:
        calls = [f"{call.name}({call.arguments})" for call in completion.tool_calls]
        text = "\n".join([*filter(str.strip, [text]), *calls])
    cut = _is_cut(completion, said, options)
    query = None if cut else said.query
    notes = [] if prompt.note is None else [f"The prompt shows only part of the database: {prompt.note}."]
    return Prediction(
        case_id=case.id,
        query=query,
        raw=text if text.strip() and text != query else None,
        timings_s=((TOTAL_TIME, completion.latency_s),),
        tokens=completion.tokens,
        explanation="\n".join([*notes, said.words]).strip() or None,
        cost_usd=cost_usd,
        failure=None if query is not None else _why_none(completion, said, options),
        extraction=None if cut else said.extraction,
    )


def _is_cut(completion: Completion, said: Said, options: SystemOptions) -> bool:
    """Whether the answer, or a tool call in it, ended before its query did."""
    if incomplete_call(completion.tool_calls, options.query_tool, cut_off=completion.is_cut_off) is not None:
        return True
    return completion.is_cut_off and (said.query is None or not said.complete)


def _of_tools(completion: Completion, options: SystemOptions) -> Said | None:
    """The query that the model passes to a tool to execute; None if it calls no such tool."""
    queries = queries_of(completion.tool_calls, options.query_tool)
    if not queries:
        return None
    words = split_completion(completion.message.content)[0].strip()
    if len(queries) > 1:
        return Said(query=None, words=words, extraction=Extraction(place=None, others=tuple(queries), several=True))
    return Said(query=queries[0], words=words, extraction=Extraction(place="tool"))


def _why_none(completion: Completion, said: Said, options: SystemOptions) -> Failure:
    words = said.words
    if completion.refused:
        refusal = first_line(completion.refusal or words or f"finish reason {completion.finish_reason}")
        return without_query(f'the model refused to answer: "{refusal}"', words=refusal)
    if completion.withheld:
        return _unanswered("the endpoint's content filter blocked the answer")
    if completion.is_cut_off or incomplete_call(completion.tool_calls, options.query_tool, cut_off=False) is not None:
        return _unreadable(completion, options)
    if said.extraction is not None and said.extraction.failure is not None:
        return said.extraction.failure
    if completion.tool_calls:
        # The failure of an answer that calls tools, but passes no query to any of them.
        names = dict.fromkeys(call.name for call in completion.tool_calls)
        shown = ", ".join(f'"{first_line(name)}"' if name else "without a name" for name in names)
        what = f"the model called the tool {shown}" if len(names) == 1 else f"the model called the tools {shown}"
        if any(runs_queries(name, options.query_tool) for name in names):
            return _unanswered(f"{what}, but no argument of the call is one SQL statement")
        return _unanswered(f"{what} and returned no query: if it executes queries, name it (--query-tool NAME)")
    if not holds_nothing(words):
        return without_query(f'the model returned no query: "{first_line(words)}"', words=words)
    content = completion.message.content
    if rest := split_completion(content)[0].strip():
        return _unanswered(f'the model returned no query: its answer begins "{first_line(rest)}"')
    return _unanswered(f"the model returned no query{', only its thoughts' if content.strip() else ''}")


def _unreadable(completion: Completion, options: SystemOptions) -> Failure:
    """The failure of an answer that ends within its query."""
    call = incomplete_call(completion.tool_calls, options.query_tool, cut_off=completion.is_cut_off)
    more = "raise its token limit (max_tokens)"
    if call is None:
        message = f"the answer was truncated at its length limit before the query ended: {more}"
    elif completion.is_cut_off:
        message = f'the call of the tool "{first_line(call.name)}" was truncated at the length limit: {more}'
    else:
        message = (
            f'the call of the tool "{first_line(call.name)}" was truncated, or its arguments are not JSON: '
            f"{first_line(call.arguments)}"
        )
    return Failure(stage="read", kind="unreadable_answer", blame="system", message=message)


def _unanswered(message: str) -> Failure:
    return without_query(message, words="")


class Said(Struct, frozen=True, kw_only=True):
    """An answer, split into its query and its words."""

    query: str | None
    words: str
    """The text outside the query, without the thinking."""
    complete: bool = True
    """False if the query goes to the end of the answer and no mark ends it."""
    extraction: Extraction | None = None
    """How the query was extracted from the answer; None if the answer is only the query."""


def read_answer(text: str) -> Said:
    """The query in an answer, as `assay.sql.extraction.read_text` reads every text."""
    reading = read_text(text)
    return Said(query=reading.query, words=reading.words, complete=reading.complete, extraction=extraction_of(reading))
