"""Connect a command to the daemon: perform the handshake and print its warnings."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from betcode.cli.terminal.console import Screen
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
