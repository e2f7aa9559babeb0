"""How the dispatcher runs plain functions and coroutines."""

import os
import signal
import sys
from collections.abc import Callable
from contextvars import Context
from types import ModuleType

import anyio
import anyio.lowlevel
import pytest

from betcode.cli.core.dispatch import guarded
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.handlers import load_handler


async def code_of(options: int) -> int:
    await anyio.lowlevel.checkpoint()
    return options


async def fails(options: int) -> int:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fail, options)
    return options


async def fail(options: int) -> None:
    raise CommandFailed(f"no session {options}", ExitCode.SESSION_NOT_FOUND)


async def interrupted(options: int) -> int:
    try:
        os.kill(os.getpid(), signal.SIGINT)
        await anyio.sleep_forever()
    finally:
        released.append(options)
    return options


def plain(options: int) -> int:
    return options


released: list[int] = []


def outside_of_loops(run: Callable[[], int]) -> int:
    """Run it in an empty context: the context of tests says that an event loop runs."""
    return Context().run(run)


@pytest.fixture(autouse=True)
def package(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(sys.modules, "package_of_a_test", ModuleType("package_of_a_test"))
    monkeypatch.setitem(sys.modules, "package_of_a_test.commands", sys.modules[__name__])
    released.clear()
    return "package_of_a_test"


@pytest.mark.parametrize("name", ["plain", "code_of"])
def test_a_function_and_a_coroutine_return_their_exit_code(name: str, package: str) -> None:
    command = load_handler(f"commands:{name}", package)
    assert outside_of_loops(lambda: command(6)) == 6


def test_a_coroutine_that_fails_ends_with_the_code_of_its_error(
    package: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = load_handler("commands:fails", package)
    assert outside_of_loops(lambda: guarded(lambda: command(3))) == 6
    assert capsys.readouterr().err == "betcode: no session 3\n"


def test_ctrl_c_cancels_a_coroutine_and_ends_with_130(package: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = load_handler("commands:interrupted", package)
    assert outside_of_loops(lambda: guarded(lambda: command(7))) == 130
    assert released == [7]
    assert capsys.readouterr().err == ""
