"""Ask a chat model for the SQL itself."""

from __future__ import annotations

from msgspec.structs import replace

from assay.errors import InputError, SystemUnusable
from assay.model import Case, Failure, Prediction, TokenUsage
from assay.model.decision import holds_nothing
from assay.ports import ChatMessage, Completion, SchemaSource
from assay.systems.chat.model import HttpChatModel
from assay.systems.chat.prompt import Prompt, PromptTemplate
from assay.systems.chat.query_finder import read_answer, without_thinking
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
        """The prompt for one case. Raises InputError where its database cannot describe its tables."""
        if not self._template.needs_schema:
            return self._template.filled(case, None)
        if self._schemas is None:
            raise InputError(
                f"the prompt {self._template.name!r} shows the database, and none is known here: "
                "ask through assay.evaluate or `assay run`, or give a prompt with {question} and {context} alone"
            )
        return self._template.filled(case, self._schemas(case))

    def answer(self, case: Case) -> Prediction:
        """Ask once. Raises SystemUnusable, also where the database cannot describe its tables."""
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
        return _prediction(case, completion, prompt, self._options)

    def close(self) -> None:
        """Close the connections."""
        self._model.close()


def _prediction(case: Case, completion: Completion, prompt: Prompt, options: SystemOptions) -> Prediction:
    text = completion.message.content
    said = read_answer(text)
    cut = completion.finish_reason == "length" and (said.query is None or not said.complete)
    query = None if cut else said.query
    notes = [] if prompt.note is None else [f"Asked with a part of the database: {prompt.note}."]
    return Prediction(
        case_id=case.id,
        query=query,
        raw=text if text.strip() and text != query else None,
        timings_s=((TOTAL_TIME, completion.latency_s),),
        tokens=completion.tokens,
        explanation="\n".join([*notes, said.words]).strip() or None,
        cost_usd=cost_usd(completion.tokens, options),
        failure=None if query is not None else _why_none(completion, said.words),
    )


def _why_none(completion: Completion, words: str) -> Failure:
    if completion.refusal is not None:
        said = first_line(completion.refusal)
        return without_query(f'the model refused to answer: "{said}"', words=said)
    if completion.finish_reason == "content_filter":
        return _unanswered("the answer was kept back by the endpoint's content filter")
    if completion.finish_reason == "length":
        message = "the answer was cut off at its length limit before the query ended: give it more tokens (max_tokens)"
        return Failure(stage="read", kind="unreadable_answer", blame="system", message=message)
    if not holds_nothing(words):
        return without_query(f'the model gave no query; it said: "{first_line(words)}"', words=words)
    content = completion.message.content
    if rest := without_thinking(content).strip():
        return _unanswered(f'the model gave no query: its answer begins "{first_line(rest)}"')
    return _unanswered(f"the model gave no query{', only its thoughts' if content.strip() else ''}")


def _unanswered(message: str) -> Failure:
    return without_query(message, words="")


def cost_usd(tokens: TokenUsage | None, options: SystemOptions) -> float | None:
    """The cost of these tokens in US dollars; None without prices, or where a count is missing."""
    if options.price_in is None or options.price_out is None or tokens is None:
        return None
    known = _with_output(tokens)
    if known.input is None or known.output is None:
        return None
    return (known.input * options.price_in + known.output * options.price_out) / 1_000_000


def _with_output(tokens: TokenUsage) -> TokenUsage:
    """The counts; a missing output count is computed from the total."""
    if tokens.output is None and tokens.input is not None and tokens.total is not None:
        return replace(tokens, output=max(0, tokens.total - tokens.input))
    return tokens
