"""Runs a command in its own process group, with bounded output."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import STDOUT

from betcode.agents.openai.tools.paths import resolved, unmoved
from betcode.agents.openai.tools.plans import Arguments, Plan, Result, Unfit, Workspace
from betcode.proc import run

_LIMIT_S = 120
_LONGEST_S = 600
_KEPT_BYTES = 15_000  # of the beginning and of the end
_GRACE_S = 0.5
_STDIN_BYTES = 60_000


@dataclass(frozen=True, slots=True)
class Ran:
    output: str
    exit_code: int
    timed_out: bool = False


def plan_shell(workspace: Workspace, arguments: Arguments) -> Plan:
    command = arguments.text("command")
    limit_s = arguments.number("timeout_s", _LIMIT_S, _LONGEST_S)
    place = resolved(workspace, arguments.text("cwd", ".") or ".")
    description = arguments.text("description", "")
    if not command.strip():
        raise Unfit("The command is empty")
    if not os.path.isdir(place):  # noqa: PTH112 - which says no where it cannot look
        raise Unfit(f"{place} is not a directory")

    async def run() -> Result:
        unmoved(place)
        ran = await run_command(_shell(command), place, workspace.environment, limit_s)
        if ran.timed_out:
            return Result(f"{ran.output}\n(ended after {limit_s} s)", is_error=True)
        words = ran.output or "(no output)"
        return Result(f"{words}\n(exit code {ran.exit_code})" if ran.exit_code else words, bool(ran.exit_code))

    shown: dict[str, str | int] = {"command": command}
    if place != workspace.root:
        shown["cwd"] = str(place)
    if limit_s != _LIMIT_S:
        shown["timeout_s"] = limit_s
    if description:
        shown["description"] = description
    return Plan("Bash", shown, description or command, "execute", True, run)


def _shell(command: str) -> tuple[str, ...]:
    return ("/bin/bash" if os.path.exists("/bin/bash") else "/bin/sh", "-c", command)  # noqa: PTH110


async def run_command(
    argv: Sequence[str], cwd: Path, environment: Mapping[str, str], limit_s: float, stdin: bytes = b""
) -> Ran:
    """Run it to its end, and kill the rest of its group, also if this call is cancelled. Raises: Unfit."""
    if len(stdin) > _STDIN_BYTES:
        raise Unfit("That is too long")
    kept = _OutputBuffer()
    try:
        done = await run(
            argv,
            environment,
            limit_s=limit_s,
            stdin=stdin,
            directory=str(cwd),
            on_output=kept.take,
            stderr=STDOUT,
            grace_s=_GRACE_S,
        )
    except (OSError, ValueError) as error:
        raise Unfit(f"The command could not be started: {error}") from None
    return Ran(kept.text, done.code or 0, done.timed_out)


class _OutputBuffer:
    """The beginning and the end of an output of any length."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0

    def take(self, chunk: bytes) -> None:
        room = _KEPT_BYTES - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[max(0, room) :]
        if len(self._tail) > 2 * _KEPT_BYTES:
            self._left_out += len(self._tail) - _KEPT_BYTES
            del self._tail[:-_KEPT_BYTES]

    @property
    def text(self) -> str:
        left_out = self._left_out + max(0, len(self._tail) - _KEPT_BYTES)
        between = f"\n({left_out} bytes omitted)\n".encode() if left_out else b""
        return (bytes(self._head) + between + bytes(self._tail[-_KEPT_BYTES:])).decode(errors="replace")
