"""The table of exit codes."""

import pytest

from betcode.cli.core.exit_codes import EXIT_OF, ExitCode, exit_of
from betcode.domain.error_codes import ErrorCode


def test_every_error_code_has_an_exit_code() -> None:
    assert set(EXIT_OF) == set(ErrorCode)


@pytest.mark.behaviour("exit-code.0", "exit-code.1", "exit-code.2", "exit-code.5", "exit-code.6", "exit-code.7")
def test_the_numbers_are_the_published_ones() -> None:
    published = {0: "OK", 1: "AGENT_ERROR", 2: "NO_CONNECTION", 3: "PERMISSION_DENIED", 4: "RATE_LIMITED"}
    published |= {5: "INVALID_ARGUMENTS", 6: "SESSION_NOT_FOUND", 7: "INTERNAL"}
    assert {code.value: code.name for code in ExitCode if code < 100} == published


@pytest.mark.behaviour("exit-code.7")
def test_a_code_of_a_later_daemon_is_an_internal_error() -> None:
    assert exit_of("SOMETHING_NEW") is ExitCode.INTERNAL


@pytest.mark.behaviour("exit-code.6")
def test_an_unknown_session_has_its_own_exit_code() -> None:
    assert exit_of("SESSION_NOT_FOUND") is ExitCode.SESSION_NOT_FOUND
    assert [code for code, exit_code in EXIT_OF.items() if exit_code is ExitCode.SESSION_NOT_FOUND] == [
        ErrorCode.SESSION_NOT_FOUND
    ]
