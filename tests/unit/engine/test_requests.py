"""A session that could not work is refused before anything is made, with what to do instead."""

from dataclasses import replace
from pathlib import Path

import pytest

from betcode.domain.errors import InvalidRequest
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import new_session_id
from betcode.engine.validation import check_new_session


def a_session(directory: str = "/") -> NewSession:
    return NewSession(session_id=new_session_id(), provider="demo", working_directory=directory, created_ns=1)


def test_a_usual_session_is_taken(tmp_path: Path) -> None:
    check_new_session(
        replace(
            a_session(str(tmp_path)),
            model="claude-opus-5-5[1m]",
            allowed_tools=("Bash(git log:*)", "Read"),
            environment={"PATH": "/bin:" * 1000, "LANG": "de_DE.UTF-8"},
        )
    )


@pytest.mark.parametrize("name", ["\x1b[31m", "a\nb", "\x9b31m", "\u202eabc", "m" * 3000])
def test_names_that_harm_a_terminal_or_a_list_are_refused(name: str) -> None:
    with pytest.raises(InvalidRequest):
        check_new_session(replace(a_session(), model=name))
    with pytest.raises(InvalidRequest):
        check_new_session(replace(a_session(), allowed_tools=(name,)))


def test_what_is_too_long_for_a_command_line_is_refused_by_name() -> None:
    with pytest.raises(InvalidRequest, match="allowed tools"):
        check_new_session(replace(a_session(), allowed_tools=("Bash(ls)",) * 20_000))
    with pytest.raises(InvalidRequest, match="'LONG'"):
        check_new_session(replace(a_session(), environment={"LONG": "x" * 150_000}))


@pytest.mark.parametrize("directory", ["/proc/self/cwd", "/proc/self", "/proc/thread-self/cwd", "/dev/fd/3"])
def test_a_directory_that_is_another_one_to_the_agent_is_refused(directory: str) -> None:
    with pytest.raises(InvalidRequest, match="resolves differently in each process"):
        check_new_session(a_session(directory))
