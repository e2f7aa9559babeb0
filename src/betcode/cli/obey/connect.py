"""Connect an obey command to the daemon, and find the session that it names."""

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from betcode.cli.core.command_exit import first_cause
from betcode.cli.core.identity import own_identity
from betcode.cli.core.options import CommandOptions as BetcodeOptions
from betcode.cli.obey.failure import HINTS, NO_DAEMON, UNKNOWN_SESSION, ObeyFailed, usage_error
from betcode.cli.obey.options import ObeyCommandOptions
from betcode.cli.terminal.console import Screen
from betcode.cli.terminal.keyboard import can_ask
from betcode.cli.terminal.progress import show_progress
from betcode.client import ClientError, ClientIdentity, Unreachable
from betcode.client.obey import ObeyClient, open_obey
from betcode.config.lockfile import is_held
from obey.local.v1 import local_pb2 as v1

_ID_PREFIX = "sess_"


@asynccontextmanager
async def connected(options: ObeyCommandOptions, screen: Screen, *, doing: str = "") -> AsyncIterator[ObeyClient]:
    """Yield a client of a serving daemon, which is started if needed and allowed; slow steps are shown.

    Raises:
        ObeyFailed: there is no daemon.
    """
    await _ensure(options, screen)
    async with opened(options) as client:
        if not doing:
            yield client
            return
        async with show_progress(screen, doing):
            yield client


@asynccontextmanager
async def opened(options: ObeyCommandOptions) -> AsyncIterator[ObeyClient]:
    """Yield a client without checking that a daemon runs; nothing is sent yet."""
    async with open_obey(options.paths, options.socket.path, identity_of(options)) as client:
        try:
            yield client
        except (Unreachable, ExceptionGroup) as error:
            cause = first_cause(error)
            if not isinstance(cause, Unreachable):
                raise
            raise no_answer_error(options, f" ({cause.message})") from error


def identity_of(options: ObeyCommandOptions) -> ClientIdentity:
    return own_identity(daemon_options(options), "obey")


async def _ensure(options: ObeyCommandOptions, screen: Screen) -> None:
    """Start the daemon if needed. A daemon at an explicit socket is never started from here."""
    may_start = options.socket.is_usual and options.may_start
    if options.socket.path.exists() and (not may_start or is_held(options.paths.lock)):
        return  # a socket without a process: a dead daemon left it
    if not may_start:
        raise no_answer_error(options)
    from betcode.cli.daemon.control import ensure_daemon  # imported here: most commands find a running daemon

    await ensure_daemon(daemon_options(options), screen.note, announce=can_ask())
    if not options.socket.path.exists():
        raise no_answer_error(options)


def no_answer_error(options: ObeyCommandOptions, why: str = "") -> ObeyFailed:
    """Return the error for a socket at which no daemon answers, or whose daemon does not serve this API."""
    if serves_no_obey(options):
        hint = "check the setting: betcode config get obey.enabled"
        return ObeyFailed(f"The daemon is running but serves no obey API at {options.socket.path}", hint)
    return ObeyFailed(f"No daemon answers at {options.socket.path}{why}", NO_DAEMON)


def serves_no_obey(options: ObeyCommandOptions) -> bool:
    """Whether the daemon runs without the obey API, given that nobody answers at the socket."""
    return options.socket.is_usual and is_held(options.paths.lock)


def daemon_options(options: ObeyCommandOptions, *settings: str) -> BetcodeOptions:
    """Return the equivalent options of betcode's own commands, for shared functions."""
    chosen = argparse.Namespace(**vars(options.chosen))
    chosen.set = list(settings)
    return BetcodeOptions(
        handler=options.handler,
        paths=options.paths,
        claude_bin="",
        may_start=options.may_start,
        as_json=options.as_json,
        chosen=chosen,
    )


async def find_session(client: ObeyClient, options: ObeyCommandOptions) -> v1.SessionInfo:
    """Find the session by its id, a prefix of it, or its name.

    Raises:
        ObeyFailed: no session matches, or several do.
    """
    text, campaign = options.text("session"), options.text("campaign")
    if not text:
        raise usage_error("The session id is empty", "obey session list shows the ids")
    if not campaign:
        try:
            return await client.get(text)
        except ClientError as error:
            if error.code != UNKNOWN_SESSION:
                raise
    sessions = await client.sessions(v1.ListSessionsRequest(campaign_id=campaign, include_terminated=True))
    found = [one for one in sessions if one.id == text] or [one for one in sessions if _is_meant(one, text)]
    if not found:
        where = f" of campaign {campaign!r}" if campaign else ""
        raise ObeyFailed(
            f"{UNKNOWN_SESSION}: No session{where} has the id prefix or name {text!r}", HINTS[UNKNOWN_SESSION]
        )
    if len(found) > 1:
        few = ", ".join([*(one.id for one in found[:3]), "…"] if len(found) > 3 else [one.id for one in found])
        raise ObeyFailed(f"{len(found)} sessions match {text!r} ({few})", "give more of the id")
    return found[0]


def _is_meant(one: v1.SessionInfo, text: str) -> bool:
    begins = one.id.lower()
    return begins.startswith((text.lower(), _ID_PREFIX + text.lower())) or one.agent_name == text
