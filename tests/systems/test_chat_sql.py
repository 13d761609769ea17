"""A chat model asked for SQL: the prompt it gets, and what becomes of its answer. Over real HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.errors import InputError, SystemUnusable
from assay.model import Case, ColumnSchema, DatabaseSchema, ForeignKey, Prediction, TableSchema
from assay.systems.chat.prompt import MOST_CHARACTERS, PLACEHOLDERS, TEMPLATES, PromptTemplate
from assay.systems.chat.system import ChatSystem
from assay.systems.options import SystemOptions
from assay.testing import ChatAnswer, ChatEmulator
from many_cases import each

Quick = Callable[..., SystemOptions]

CLIENT = TableSchema(
    name="client",
    ddl="CREATE TABLE client (id INTEGER PRIMARY KEY, town TEXT)",
    columns=(
        ColumnSchema(name="id", type="INTEGER", values=("1", "2")),
        ColumnSchema(name="town", type="TEXT", values=("'Oban'", "'{question}'")),
    ),
    primary_key=("id",),
    foreign_keys=(ForeignKey(columns=("town",), table="towns", referenced=()),),
    first_row=("1", "'Oban'"),
)
HARBOUR = DatabaseSchema(dialect="sqlite", tables=(CLIENT,))


def _many(count: int) -> DatabaseSchema:
    return DatabaseSchema(dialect="duckdb", tables=tuple(replace(CLIENT, name=f"1-{i}-9") for i in range(count)))


@contextmanager
def _asked(server: ChatEmulator, options: SystemOptions) -> Iterator[ChatSystem]:
    system = ChatSystem.open(f"chat:{server.openai_url}", replace(options, parameters=(("model", "m"),)))
    try:
        yield system
    finally:
        system.close()


def _ask(answer: ChatAnswer | str, case: Case, options: SystemOptions) -> Prediction:
    with ChatEmulator(answers=lambda _: answer) as server, _asked(server, options) as system:
        return system.with_databases(lambda _: HARBOUR).answer(case)


def test_a_prompt_shows_the_database_and_the_case(case: Case) -> None:
    text = PromptTemplate.named(None).filled(case, HARBOUR).text
    for shown in (
        "SQL dialect: SQLite",
        "CREATE TABLE client (id INTEGER PRIMARY KEY, town TEXT);",
        "\"client\".\"town\": 'Oban', '{question}'",
        f"What else is known: {case.context}",
        f"Question: {case.question}",
    ):
        assert shown in text


def test_a_paragraph_with_nothing_to_say_is_left_out(case: Case) -> None:
    text = PromptTemplate.named("ddl").filled(replace(case, context=" "), HARBOUR).text
    assert "What else is known" not in text
    assert "\n\n\n" not in text
    assert "Answer with one read-only query" in text  # holds no placeholder


def test_the_form_of_llmsql_gives_table_types_and_one_row(case: Case) -> None:
    zero, one, five = (PromptTemplate.named(f"llmsql-{n}").filled(case, HARBOUR).text for n in (0, 1, 5))
    for text, shots in ((zero, 0), (one, 1), (five, 5)):
        assert text.count("Question: ") == text.count("First row: ") == shots + 1
        assert text.count("SQL: SELECT") == shots
        assert text.endswith("\nSQL:")
        assert text.index("Hints: ") > text.rindex("SQL: SELECT") if shots else True
    assert 'Table: "client"\nColumns: id (INTEGER), town (TEXT)' in zero
    assert "Primary key: id\nForeign key: town refers to \"towns\"\nFirst row: 1, 'Oban'" in zero


def test_of_many_tables_only_those_that_the_case_names_are_listed(case: Case) -> None:
    named = replace(case, context="Table 1-4711-9", question="How many in 1-3-9?")
    prompt = PromptTemplate.named("llmsql-0").filled(named, _many(5000))
    assert prompt.text.count("Table: ") == 1
    assert 'Table: "1-4711-9"' in prompt.text
    assert prompt.note is not None
    assert "4,999 of the database's 5,000 tables are not listed" in prompt.note


def test_a_schema_that_is_too_long_is_cut_and_says_so(case: Case) -> None:
    prompt = PromptTemplate.named("ddl").filled(case, _many(5000))
    assert len(prompt.text) < 2 * MOST_CHARACTERS + 2000
    assert prompt.note is not None
    assert f"-- {prompt.note}\n" in prompt.text
    small = PromptTemplate.named("ddl").filled(replace(case, context="1-1-9"), _many(3))
    assert (small.note, small.text.count("CREATE TABLE")) == (None, 3)


def test_every_template_is_whole_and_its_digest_is_of_its_text(tmp_path: Path) -> None:
    for name in TEMPLATES:
        template = PromptTemplate.named(name)
        assert template.needs_schema
        assert template.digest == PromptTemplate(name="other", text=template.text).digest
    assert len({PromptTemplate.named(name).digest for name in TEMPLATES}) == len(TEMPLATES)
    mine = tmp_path / "mine.txt"
    mine.write_text(
        "{question} " + " ".join(f"{{{name}}}" for name in PLACEHOLDERS) + ' {{"sql": …}}', encoding="utf-8"
    )
    assert '{"sql": …}' in PromptTemplate.named(str(mine)).filled(Case(id="1", question="q"), HARBOUR).text


def test_a_prompt_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"{question} \xe9")
    for name in (str(tmp_path), str(tmp_path / "latin.txt"), "no\0file"):
        with pytest.raises(InputError, match="cannot be read"):
            PromptTemplate.named(name)


def test_a_prompt_without_the_database_needs_none(tmp_path: Path, case: Case, quick: Quick) -> None:
    (tmp_path / "mine.txt").write_text("Tables: client (id, town).\n\n{question}", encoding="utf-8")
    options = quick(prompt=str(tmp_path / "mine.txt"))
    with ChatEmulator(answers=lambda _: "SELECT COUNT(*) FROM client") as server, _asked(server, options) as system:
        assert system.answer(case).query == "SELECT COUNT(*) FROM client"
        [call] = server.calls
    assert call.body["messages"] == [{"role": "user", "content": f"Tables: client (id, town).\n\n{case.question}"}]
    assert call.body["temperature"] == 0


def test_a_database_that_cannot_say_what_it_holds_ends_the_run(case: Case, quick: Quick) -> None:
    def none(_: Case) -> DatabaseSchema:
        raise InputError("the engine 'x' cannot say")

    with ChatEmulator() as server, _asked(server, quick()) as system:
        with pytest.raises(SystemUnusable, match="cannot say"):
            system.with_databases(none).answer(case)
        assert server.calls == ()


def test_an_answer_carries_its_words_tokens_time_and_cost(case: Case, quick: Quick) -> None:
    answer = ChatAnswer(
        content="Counted:\n```sql\nSELECT COUNT(*) FROM client;\n```",
        usage={"prompt_tokens": 2_000_000, "completion_tokens": 500_000},
    )
    prediction = _ask(answer, case, quick(price_in=0.5, price_out=2.0))
    assert (prediction.query, prediction.explanation) == ("SELECT COUNT(*) FROM client", "Counted:")
    assert prediction.raw == answer.content
    assert prediction.cost_usd == pytest.approx(2.0)
    assert (prediction.timing_s("total_execution_time") or 0) > 0
    assert _ask(answer, case, quick()).cost_usd is None
    with pytest.warns(UserWarning, match="prices are given, but there is no cost"):
        prediction = _ask(replace(answer, usage={"total_tokens": 5}), case, quick(price_in=1.0, price_out=1.0))
    assert prediction.cost_usd is None


@each(
    ("answer", "kind", "said"),
    [
        (ChatAnswer(content=None, refusal="I must not."), "clarification", 'refused to answer: "I must not."'),
        (ChatAnswer(content="", finish_reason="content_filter"), "unanswered", "content filter"),
        (ChatAnswer(content="", finish_reason="refusal"), "clarification", 'to answer: "finish reason refusal"'),
        (ChatAnswer(content="```sql\nSELECT a FROM", finish_reason="length"), "unreadable_answer", "max_tokens"),
        (ChatAnswer(content="<think>hm", finish_reason="length"), "unreadable_answer", "max_tokens"),
        (ChatAnswer(content="<think>hm</think>"), "unanswered", "only its thoughts"),
        (ChatAnswer(content='<think>hm</think>{"sql": null}'), "unanswered", 'its answer begins "{"sql": null}"'),
        (ChatAnswer(content="<think>a</think>\nNo such table."), "clarification", 'no query: "No such table."'),
        (ChatAnswer(content='{"sql": null}'), "unanswered", "returned no query"),
        (ChatAnswer(content=" \n"), "unanswered", "returned no query"),
        (ChatAnswer(content="```sql\n\n```"), "unanswered", "returned no query"),
        (ChatAnswer(content="```sql\n-- hm\n```"), "unanswered", "returned no query"),
        (ChatAnswer(error={"message": "overloaded"}), "ask_failed", "overloaded"),
    ],
)
def test_an_answer_without_a_query_says_why(answer: ChatAnswer, kind: str, said: str, case: Case, quick: Quick) -> None:
    prediction = _ask(answer, case, quick(retries=0))
    assert prediction.query is None
    assert (prediction.failure.kind, prediction.failure.blame) == (kind, "system")
    assert said in prediction.failure.message


def test_a_whole_query_counts_though_the_words_behind_it_were_cut(case: Case, quick: Quick) -> None:
    answer = ChatAnswer(content="```sql\nSELECT 1\n```\nThis is because", finish_reason="length")
    assert _ask(answer, case, quick()).query == "SELECT 1"


def test_what_is_asked_with_is_part_of_the_description(quick: Quick) -> None:
    def described(**given: object) -> str:
        options = quick(**{"parameters": (("model", "m"),), **given})
        system = ChatSystem.open("chat:http://127.0.0.1:9/v1", options)
        system.close()
        return system.with_databases(lambda _: HARBOUR).describe()

    assert described() == described(prompt="ddl", price_in=1.0, price_out=2.0)
    assert "prompt=ddl#" in described()
    assert " temperature=0 " in described()
    assert "temperature=0.7" in described(parameters=(("model", "m"), ("temperature", "0.7")))
    assert len({described(prompt=name) for name in TEMPLATES}) == len(TEMPLATES)
