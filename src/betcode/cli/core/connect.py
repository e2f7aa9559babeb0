"""Connect a command to the daemon: start it if needed, perform the handshake and print its warnings."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from betcode.cli.core.identity import own_identity
from betcode.cli.core.options import CommandOptions
from betcode.cli.daemon.control import ensure_daemon
from betcode.cli.terminal.console import Screen
from betcode.cli.terminal.keyboard import can_ask
from betcode.cli.terminal.progress import show_progress
from betcode.client import LADDER_MS, Client, ClientIdentity, open_client
from betcode.config.paths import Paths
from betcode.v1 import version_pb2 as v1


@asynccontextmanager
async def checked_client(
    paths: Paths,
    identity: ClientIdentity,
    screen: Screen,
    *,
    shows_agent: bool = True,
    ladder_ms: Sequence[int] = LADDER_MS,
) -> AsyncIterator[Client]:
    """Yield a client after the handshake. Warnings are printed once, on stderr.

    An outdated agent is only a warning. A command that uses the agent need not print it: its refusal says the same.

    Raises:
        Outdated: the daemon does not accept a client this old.
    """

    def warn(warning: v1.DeprecationWarning) -> None:
        for line in screen.deprecations.lines(warning):
            screen.show(line)

    async with open_client(paths, identity, ladder_ms=ladder_ms, on_deprecation=warn) as client:
        handshake = await client.handshake()
        for warning in handshake.warnings:
            screen.note(warning)
        if shows_agent and handshake.agent_refusal:
            screen.note(handshake.agent_refusal)
        yield client


@asynccontextmanager
async def connected(options: CommandOptions, screen: Screen, *, doing: str = "") -> AsyncIterator[Client]:
    """Yield a client of a serving daemon, which is started if needed; `doing` is shown if the command takes long.

    A command that prints its answer piece by piece passes no `doing`.
    """
    await ensure_daemon(options, screen.note, announce=can_ask())
    async with checked_client(options.paths, own_identity(options), screen) as client:
        if not doing:
            yield client
            return
        async with show_progress(screen, doing):
            yield client
