"""Turns of conversations: several questions in one record, or a record for each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from assay.cases.fields import normal
from assay.cases.records import Record, Table, kind_of
from assay.cases.values import UnusableValue, count_of, is_absent, name_of, usable
from assay.errors import CaseFileError
from assay.model.cases.decision import Exchange

_TURNS: Final = frozenset(map(normal, ("turns", "interaction")))
_CONVERSATION: Final = frozenset(
    map(normal, ("conversation", "conversation_id", "dialogue_id", "dialog_id", "interaction_id"))
)
_TURN: Final = frozenset(map(normal, ("turn", "turn_id", "turn_index", "turn_number", "index_in_interaction")))


def flattened(table: Table, *, ids: Sequence[str], own: Sequence[str]) -> Table:
    """The table with a record for each turn, if records contain lists of turns; else unchanged.

    ``own`` are names of what a turn contains, the question or the query: if a record itself has that, its turns are
    something else, for example an agent's actions.

    A turn has its own values, and those of its record for whatever it does not say. Its id is the record's and the
    turn's number, as ``7-2``; without one, the record's zero-based place. ``ids`` are names for the column of the ids.
    Raises CaseFileError for turns that are not a list of objects.
    """
    column = next((one for one in table.columns if normal(one) in _TURNS), None)
    if column is None or {normal(name) for name in own}.intersection(map(normal, table.columns)):
        return table
    if not any(isinstance(record.values.get(column), list) for record in table.records):
        return table
    wanted = {normal(name) for name in ids}
    named = next((one for one in table.columns if normal(one) in wanted or normal(one) in _CONVERSATION), None)
    records: list[Record] = []
    for number, record in enumerate(table.records):
        turns = record.values.get(column)
        if is_absent(turns):
            if not record.blank:
                records.append(record)
            continue
        if not isinstance(turns, list) or not turns:
            raise CaseFileError(
                f'"{column}" is {kind_of(turns) if turns != [] else "an empty list"}: expected a list of questions, '
                "each an object with a question and a gold query",
                path=str(table.path),
                place=record.place,
            )
        whole = {name: value for name, value in record.values.items() if name != column}
        own = record.key or (_name(whole.get(named)) if named else None) or str(number)
        for at, turn in enumerate(turns, start=1):
            place = f"{record.place}, turn {at}"
            if not isinstance(turn, dict):
                raise CaseFileError(
                    f"is {kind_of(turn)}: expected an object with a question and a gold query",
                    path=str(table.path),
                    place=place,
                )
            values = {**whole, **turn}
            if named is not None:
                values.pop(named, None)
            values |= {"case_id": _name(turn.get("case_id")) or f"{own}-{at}", "conversation": own, "turn": at}
            records.append(Record(place=place, values=values))
    return replace(Table.of(table.path, records), golds_in_text=table.golds_in_text, left_out=table.left_out)


def _name(value: object) -> str | None:
    try:
        return name_of(value, "the id")
    except UnusableValue:
        return None


class Place(NamedTuple):
    """The place of a case in its conversation."""

    conversation: str | None = None
    turn: int | None = None
    history: tuple[Exchange, ...] = ()


_ALONE = Place()


class Conversations(Struct):
    """The conversations of a question set, one record per turn. ``says`` is False if it has none."""

    says: bool = False
    _conversation: str = ""
    _turn: str | None = None
    _asked: dict[str, list[tuple[float, str, Record]]] = field(default_factory=lambda: defaultdict(list))
    _places: dict[str, dict[str, int]] = field(default_factory=dict)
    _databases: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By conversation, its database and the place that names it first."""

    @classmethod
    def of(cls, table: Table, question: str) -> Conversations:
        """Those of a table whose questions are in that column. Raises CaseFileError for turns that clash."""
        conversation = next((one for one in table.columns if normal(one) in _CONVERSATION), None)
        if conversation is None:
            return cls()
        turn = next((one for one in table.columns if normal(one) in _TURN), None)
        found = cls(says=True, _conversation=conversation, _turn=turn)
        for record in table.records:
            found._note(str(table.path), record, question)
        for name, turns in found._asked.items():
            turns.sort(key=lambda one: one[0])
            found._places[name] = {record.place: at for at, (_, _, record) in enumerate(turns, start=1)}
        return found

    def _note(self, path: str, record: Record, question: str) -> None:
        try:
            name = name_of(usable(record.values.get(self._conversation)), "the conversation")
            if name is None:
                return
            turns = self._asked[name]
            place = float(len(turns))
            if self._turn is not None:
                given = count_of(usable(record.values.get(self._turn)), "the turn")
                if given is None:
                    raise UnusableValue("the turn is blank, and the conversation is not: number the turns from 1")
                place = float(given)
                twin = next((other for at, _, other in turns if at == place), None)
                if twin is not None:
                    raise UnusableValue(
                        f'the conversation "{name}" has turn {given} twice: at {twin.place} and at {record.place}'
                    )
        except UnusableValue as error:
            raise CaseFileError(error.message, path=path, place=record.place) from error
        asked = record.values.get(question)
        turns.append((place, asked if isinstance(asked, str) else "", record))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(filter(None, (self._conversation, self._turn)))

    def place_of(self, record: Record) -> Place:
        """The place of a record's case; nothing if it stands alone."""
        if not self.says:
            return _ALONE
        name = name_of(record.values.get(self._conversation), "the conversation")
        if name is None:
            return _ALONE
        turn = self._places[name][record.place]
        history = tuple(Exchange(question=asked) for _, asked, _ in self._asked[name][: turn - 1])
        return Place(name, turn, history)

    def on_one_database(self, path: str, record: Record, conversation: str | None, database: str | None) -> None:
        """Check that the turns of a conversation share a database. Raises CaseFileError, naming both places."""
        if conversation is None or database is None:
            return
        known, place = self._databases.setdefault(conversation, (database, record.place))
        if known != database:
            raise CaseFileError(
                f'the conversation "{conversation}" is on the database "{database}" here, and on "{known}" at {place}: '
                "its turns share one",
                path=path,
                place=record.place,
            )
