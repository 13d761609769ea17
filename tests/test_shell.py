"""A command that a message gives is read by the shell as it was meant."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import MissingDependency, install_command
from assay.platform.shell import command_line, quoted

WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
NAMES = st.text(st.characters(exclude_characters='\0"\n\r', exclude_categories=["Cs", "Cc"]), max_size=12)


@settings(max_examples=60)
@given(st.lists(WORDS, max_size=4))
def test_a_posix_shell_reads_the_words_back(words: list[str]) -> None:
    assert shlex.split(command_line(words, windows=False)) == words


@settings(max_examples=60)
@given(NAMES)
def test_on_windows_a_name_is_one_word_in_double_quotes_or_needs_none(name: str) -> None:
    text = quoted(name, windows=True)
    assert text in (name, f'"{name}"')
    if text == name:
        assert name
        assert not set(name) & set(" '\"&|<>^()[]{},;$`%!*?#~"), "cmd or PowerShell reads this as something else"


@pytest.mark.parametrize(
    ("windows", "command"),
    [(False, "python -m pip install 'lxml>=5.2'"), (True, 'python -m pip install "lxml>=5.2"')],
)
def test_a_package_is_quoted_for_the_system(windows: bool, command: str) -> None:
    assert install_command(extra="sdmx", windows=windows) == command
    assert install_command("oracledb", windows=windows) == "python -m pip install oracledb"


def test_what_is_missing_says_the_command() -> None:
    assert str(MissingDependency("lxml", "sdmx")).endswith(install_command(extra="sdmx"))
    assert str(MissingDependency("oracledb", None)).endswith("python -m pip install oracledb")
