"""Ask a chat model for SQL, or an SDMX assistant the questions of a conversation, the history sent along."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from assay.model import Case, Failure, Prediction, TokenUsage, Turn, TurnAnswer
from assay.model.failure import has_no_answer
from assay.ports import ChatMessage, Completion, SchemaSource
from assay.sdmx.answers.messages import find_query
from assay.systems.chat.model import HttpChatModel
from assay.systems.chat.prompt import PromptTemplate
from assay.systems.chat.sql import TOTAL_TIME, ChatSqlSystem
from assay.systems.options import SystemOptions
from assay.systems.predictions import QuestionFailed, ask_failure
from assay.systems.pricing import Pricing


class ChatSystem:
    """``chat:MODEL``, ``chat:http://host/v1``, ``chat:http://host/openai/deployments/NAME/chat/completions``.

    A case with turns is a conversation. Its questions are asked in their order: each request has the earlier
    questions and the original answers, including DIAL's attachments and state. For any other case, the model is
    asked for SQL, with a prompt that shows the case's database (`with_databases`).
    """

    name = "chat"

    def __init__(self, model: HttpChatModel, options: SystemOptions) -> None:
        self._model = model
        self._options = options
        self._template = PromptTemplate.named(options.prompt)

    @classmethod
    def open(cls, url: str, options: SystemOptions) -> ChatSystem:
        """As `HttpChatModel.open`. Also raises InputError for an unusable prompt. Nothing is sent yet."""
        return cls(HttpChatModel.open(url, options), options)

    def with_databases(self, schemas: SchemaSource) -> ChatSqlSystem:
        """A system that asks for SQL about these databases, over the same connections."""
        return ChatSqlSystem(self._model, self._options, self._template, schemas)

    def check_credentials(self) -> None:
        """As `HttpChatModel.check_credentials`."""
        self._model.check_credentials()

    def describe(self) -> str:
        """Endpoint, model and parameters, free of secrets."""
        return self._model.describe()

    def answer(self, case: Case) -> Prediction:
        """Hold one case's conversation. Raises SystemUnusable.

        A question that could not be asked ends the conversation: the later ones get its failure, and so does the
        Prediction. An answer in words alone has neither ``raw`` nor a failure: it selects nothing, which is correct for
        a
        question that the data cannot answer.
        """
        if not case.turns:
            return ChatSqlSystem(self._model, self._options, self._template, None).answer(case)
        answers: list[TurnAnswer] = []
        history = [ChatMessage(role="system", content=case.context)] if case.context and case.context.strip() else []
        for number, turn in enumerate(case.turns, start=1):
            answer, message = self._ask(history, turn)
            answers.append(answer)
            if message is None:
                failure = answer.failure or ask_failure("there is no answer")
                why = f"not asked, since the earlier question {number} failed: {failure.message}"
                unasked = ask_failure(
                    why, reached=failure.blame != "network", code=failure.code, rejected=failure.kind == "rejected"
                )
                answers += [TurnAnswer(failure=unasked) for _ in case.turns[number:]]
                break
            history += [ChatMessage(role="user", content=turn.question), message]
        return self._model.scrubbed(_prediction(case, answers, self._model.pricing))

    def close(self) -> None:
        """Close the connections."""
        self._model.close()

    def _ask(self, history: Iterable[ChatMessage], turn: Turn) -> tuple[TurnAnswer, ChatMessage | None]:
        """The answer to one question, and the assistant's message for the history; None if asking failed."""
        completion = self._model.complete([*history, ChatMessage(role="user", content=turn.question)])
        if isinstance(completion, Failure):
            return TurnAnswer(failure=completion), None
        answer = TurnAnswer(
            text=completion.message.content or completion.refusal or None,
            latency_s=completion.latency_s,
            tokens=completion.tokens,
        )
        try:
            query = find_query(completion.message.content, completion.message.custom_content, self._model.fetch)
        except QuestionFailed as error:
            return replace(answer, failure=ask_failure(str(error), reached=error.reached, code=error.code)), None
        if query is None:
            query = _cause_of_nothing(completion)
        if isinstance(query, Failure):
            return replace(answer, failure=query), completion.message
        return replace(answer, raw=query), completion.message


def _cause_of_nothing(completion: Completion) -> Failure | None:
    """The failure of an answer that was prevented from selecting anything; None if it chose to select nothing."""
    if completion.is_cut_off:
        message = "the answer was truncated at its length limit before a query: raise its token limit (max_tokens)"
        return Failure(stage="read", kind="unreadable_answer", blame="system", message=message)
    if not completion.message.content.strip() and completion.refusal is None:
        said = f" (finish_reason {completion.finish_reason})" if completion.finish_reason else ""
        message = f"the system returned neither a query nor text{said}"
        return Failure(stage="ask", kind="unanswered", blame="system", message=message)
    return None


def _prediction(case: Case, answers: list[TurnAnswer], pricing: Pricing) -> Prediction:
    answered = [answer for answer in answers if answer.latency_s is not None]
    failure = next(
        (answer.failure for answer in answers if has_no_answer(answer.failure)),
        None,
    )
    said = [text for answer in answered if (text := answer.text or answer.raw)]
    tokens = _sum([answer.tokens for answer in answered])
    return Prediction(
        case_id=case.id,
        raw="\n\n".join(said) or None,
        timings_s=((TOTAL_TIME, sum(answer.latency_s or 0.0 for answer in answered)),) if answered else (),
        tokens=tokens,
        cost_usd=pricing.cost_usd(tokens) if answered else None,
        failure=failure,
        turns=tuple(answers),
    )


def _sum(counts: list[TokenUsage | None]) -> TokenUsage | None:
    """The sum of each count that every answer gives."""
    if not counts:
        return None

    def total(values: list[int | None]) -> int | None:
        return None if None in values else sum(value or 0 for value in values)

    summed = TokenUsage(
        input=total([None if one is None else one.input for one in counts]),
        output=total([None if one is None else one.output for one in counts]),
        total=total([None if one is None else one.total for one in counts]),
    )
    return None if summed == TokenUsage() else summed
