"""Names from other tools: each suggestion is a verb, an option or a page that exists."""

from __future__ import annotations

import shlex

from assay.cli.app import app, run_command_line
from assay.cli.parsing import mistakes
from assay.cli.verbs.docs import docs_folder, find_page
from many_cases import each

VERBS = app.every_verb()
OPTIONS = {
    name
    for verb in (*VERBS.values(), *VERBS["suite"].every_verb().values())
    for one in verb.params
    for name in (*one.opts, *one.secondary_opts)
}


def test_a_name_is_suggested_for_what_is_no_verb_only() -> None:
    assert not set(mistakes.OTHER_VERBS) & set(VERBS)
    assert sum(map(len, (names.split() for names in mistakes._VERBS.values()))) == len(mistakes.OTHER_VERBS)


@each("command", sorted(set(mistakes.OTHER_VERBS.values())))
def test_a_suggested_command_can_be_parsed(command: str) -> None:
    assay, verb, *arguments = shlex.split(command)
    assert assay == "assay"
    if verb.startswith("--"):
        assert run_command_line([verb]) == 0
        return
    known = {name for one in VERBS[verb].params for name in one.opts}
    assert {word for word in arguments if word.startswith("-")} <= known
    if verb == "docs" and arguments:
        assert find_page(docs_folder(), arguments[0]).is_file()


def test_every_suggested_option_exists() -> None:
    assert set(mistakes._OPTIONS) <= OPTIONS
    for names in mistakes._OPTIONS.values():
        assert len(set(names.split())) == len(names.split())
