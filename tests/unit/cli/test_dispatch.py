"""Error messages and exit codes of commands."""

import subprocess
import sys

import pytest

from betcode.cli.core.dispatch import dispatch, guarded
from betcode.cli.core.exit_codes import CommandFailed, ExitCode


def fails(error: BaseException) -> int:
    raise error


@pytest.mark.behaviour("exit-code.7")
def test_an_unexpected_fault_is_one_sentence_and_exits_with_7(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(lambda: fails(ZeroDivisionError("by zero"))) == 7
    errors = capsys.readouterr().err
    assert errors == "betcode: internal error: ZeroDivisionError: by zero (BETCODE_DEBUG=1 shows where)\n"


def test_a_traceback_is_shown_on_request(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BETCODE_DEBUG", "1")
    assert guarded(lambda: fails(ZeroDivisionError("by zero"))) == 7
    assert "Traceback" in capsys.readouterr().err


def test_the_exception_inside_a_group_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    failed = CommandFailed("It is gone\x1b[2J", ExitCode.SESSION_NOT_FOUND)
    assert guarded(lambda: fails(ExceptionGroup("tasks", [ExceptionGroup("more", [failed])]))) == 6
    assert capsys.readouterr().err == "betcode: It is gone␛[2J\n"


def test_an_interrupt_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(lambda: fails(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err == ""


@pytest.mark.behaviour("exit-code.0")
def test_a_command_that_succeeds_exits_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch(["completion", "bash"]) == 0
    assert "betcode --complete" in capsys.readouterr().out


def test_help_does_not_import_slow_modules() -> None:
    code = (
        "import sys; from betcode.cli.core.parser import build_parser; build_parser().format_help(); "
        "print(*sorted({'anyio', 'asyncio', 'dataclasses', 'google', 'grpc', 'inspect'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == []
