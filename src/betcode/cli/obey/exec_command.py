"""`obey exec`: the daemon runs a command in a campaign, if its rules allow it."""

import codecs
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import IO

from betcode.cli.obey.campaign_lookup import campaign_of
from betcode.cli.obey.connect import connected
from betcode.cli.obey.failure import ObeyExit, ObeyFailed, usage_error
from betcode.cli.obey.options import ObeyCommandOptions
from betcode.cli.obey.records import versioned
from betcode.cli.terminal.console import standard_screen
from betcode.wording.terminal_text import clean
from obey.local.v1 import local_pb2 as v1


async def execute(options: ObeyCommandOptions) -> int:
    argv = options.texts("argv")
    if not argv or not argv[0]:
        raise usage_error("Put the command after `--`", "obey exec -- fest status")
    request = v1.ExecuteRequest(command=argv[0], args=argv[1:], campaign_id=campaign_of(options))
    if options.number("timeout"):
        request.timeout.FromNanoseconds(int(options.number("timeout") * 1e9))
    return await _execute(options, request)


async def _execute(options: ObeyCommandOptions, request: v1.ExecuteRequest) -> int:
    screen = standard_screen(colour=options.colour)
    async with connected(options, screen) as client, aclosing(client.execute(request)) as output:
        ended = await (_as_json if options.as_json else _as_it_is)(options, output)
    if ended is None:
        raise ObeyFailed(f"{request.command} ended without an exit code", "betcode daemon logs may say more")
    if ended.timed_out:
        raise ObeyFailed(f"{request.command} timed out and was ended", "--timeout gives it more time")
    if ended.exit_code:
        raise ObeyFailed(f"{request.command} ended with {ended.exit_code}")
    return ObeyExit.OK


Output = AsyncGenerator[v1.ExecuteResponse, None]


async def _as_it_is(_options: ObeyCommandOptions, output: Output) -> v1.ExecuteExit | None:
    """Copy stdout and stderr: unchanged into a pipe, escaped on a terminal."""
    streams = {"stdout": Piece(sys.stdout), "stderr": Piece(sys.stderr)}
    ended = None
    async for one in output:
        match kind := one.WhichOneof("output"):
            case "stdout" | "stderr":
                streams[kind].write(one.stdout or one.stderr)
            case "exit":
                ended = one.exit
            case _:
                pass  # a message of a later daemon
    return ended


class Piece:
    """One of this process's streams, to which a command's output is copied."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_terminal = stream.isatty()

    def write(self, data: bytes) -> None:
        if self._is_terminal:
            self._stream.write(clean(self._decoder.decode(data)))
        else:
            self._stream.buffer.write(data)  # type: ignore[attr-defined] # the process's own streams have one
        self._stream.flush()


async def _as_json(options: ObeyCommandOptions, output: Output) -> v1.ExecuteExit | None:
    """Print one value at the end or, with --follow, one line for each piece of output and one for the end."""
    screen = standard_screen(colour=options.colour)
    whole = {"stdout": bytearray(), "stderr": bytearray()}
    ended = None
    async for one in output:
        match kind := one.WhichOneof("output"):
            case "stdout" | "stderr":
                data = one.stdout or one.stderr
                if options.flag("follow"):
                    screen.json(versioned("exec.output", {"stream": kind, "text": data.decode(errors="replace")}))
                else:
                    whole[kind] += data
            case "exit":
                ended = one.exit
            case _:
                pass  # a message of a later daemon
    if ended is not None:
        facts: dict[str, object] = {"exit_code": ended.exit_code, "duration_ms": ended.duration.ToMilliseconds()}
        facts["timed_out"] = ended.timed_out
        texts = {name: data.decode(errors="replace") for name, data in whole.items()}
        screen.json(versioned("exec", facts if options.flag("follow") else {**facts, **texts}))
    return ended
