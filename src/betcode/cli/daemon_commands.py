"""`betcode daemon`: run it here, start it, ask how it is."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime

import anyio

from betcode.cli.daemon_control import daemon_argv, ensure_daemon
from betcode.cli.exit_codes import ExitCode
from betcode.cli.log_place import log_place
from betcode.cli.options import Options
from betcode.cli.screen import standard_screen
from betcode.client import Unreachable, open_client
from betcode.config.lockfile import Holder, is_held, read_holder
from betcode.v1.health_pb2 import HealthDetailsResponse, ServingStatus


def run(options: Options) -> int:
    """The daemon in the foreground, in this very process."""
    from betcode.cli.config_import import offer_import

    offer_import(options, hint=False)
    argv = daemon_argv(options)
    os.execv(argv[0], argv)  # noqa: S606 - no shell is wanted here


def start(options: Options) -> int:
    """Returns when it serves; one that serves already is success too."""
    return anyio.run(_start, options)


async def _start(options: Options) -> int:
    screen = standard_screen()
    was_started = await ensure_daemon(options, screen.note, announce=True, asked_for=True)
    holder = read_holder(options.places.lock)
    pid = holder.pid if holder else 0
    if options.as_json:
        screen.json({"started": was_started, "pid": pid, "socket": str(options.places.socket)})
    elif was_started:
        screen.line(f"The daemon serves at {options.places.socket} (pid {pid})")
    else:
        screen.line(f"The daemon is running already at {options.places.socket} (pid {pid})")
    return ExitCode.OK


def status(options: Options) -> int:
    """Whether it runs and how it is; exit code 2 where it does not."""
    return anyio.run(_status, options)


# What a daemon found when it started, as it is shown; what there was none of is not.
_FOUND = (
    ("adopted", "adopted"),
    ("ended", "ended meanwhile"),
    ("orphans", "without a session and ended"),
    ("waiting", "to be started for messages"),
    ("idle", "missing, their sessions idle now"),
    ("clients", "clients of the daemon before"),
    ("locks", "input locks of theirs"),
)
_SETTINGS = (
    ("settings_problem", "stay as they were: "),
    ("settings_need_restart", "to be taken up by a restart: "),
)


async def _status(options: Options) -> int:
    screen = standard_screen()
    holder = read_holder(options.places.lock)
    try:
        async with open_client(options.places) as client:
            details = await client.health()
    except Unreachable:
        details = None
    if options.as_json:
        screen.json(_as_json(options, holder, details), indent=2)
    else:
        for line in _as_lines(options, holder, details):
            screen.line(line)
    return ExitCode.OK if details is not None else ExitCode.NO_CONNECTION


def _as_json(options: Options, holder: Holder | None, details: HealthDetailsResponse | None) -> dict[str, object]:
    facts: dict[str, object] = {
        "running": details is not None or is_held(options.places.lock),
        "serving": details is not None and details.overall_status == ServingStatus.SERVING,
        "pid": holder.pid if holder else None,
        "version": holder.version if holder else None,
        "started": holder.started if holder else None,
        "socket": holder.socket if holder else str(options.places.socket),
        "state_dir": str(options.places.state_dir),
        "log": str(log_place(options.places)),
    }
    if details is not None:
        facts["degraded"] = details.degraded_reason if details.degraded else None
        facts["components"] = {
            one.name: {"status": ServingStatus.Name(one.status), "message": one.message} for one in details.components
        }
        facts["facts"] = dict(sorted(details.metadata.items()))
    return facts


def _as_lines(options: Options, holder: Holder | None, details: HealthDetailsResponse | None) -> list[str]:
    places = options.places
    if details is None:
        if is_held(places.lock):
            who = f" (pid {holder.pid})" if holder else ""
            return [f"The daemon{who} is alive but does not answer", f"  log        {log_place(places)}"]
        return ["No daemon is running. Start it with: betcode daemon start", f"  socket     {places.socket}"]
    lines = ["The daemon is running" + (f", but: {details.degraded_reason}" if details.degraded else "")]
    if holder:
        lines += [
            f"  pid        {holder.pid}",
            f"  version    {holder.version}",
            f"  started    {_ago(holder.started)}",
        ]
    lines += [f"  socket     {places.socket}", f"  state      {places.state_dir}", f"  log        {log_place(places)}"]
    lines += _figures(details.metadata)
    lines += [
        f"  {one.name}: {ServingStatus.Name(one.status).lower()}" + (f" ({one.message})" if one.message else "")
        for one in details.components
    ]
    return lines


def _figures(facts: Mapping[str, str]) -> list[str]:
    def number(name: str) -> int:
        text = facts.get(name, "")
        return int(text) if text.isascii() and text.isdigit() else 0

    memory_mb = number("agent_memory_bytes") // 1_000_000
    found = ", ".join(f"{count} {says}" for name, says in _FOUND if (count := number("found_at_start_" + name)))
    turns = f"{number('turns_at_work')} of {number('turn_limit')} turns at work, {number('waiting_in_line')} waiting"
    return [
        f"  agents     {number('live_agents')} alive ({memory_mb} MB), {turns}",
        f"  at start   {found or 'nothing was left of a daemon before'}",
        f"  default    {facts.get('default_provider', '')}",
        *(f"  settings   {says}{facts[name]}" for name, says in _SETTINGS if name in facts),
        *([f"  telemetry  {trouble}"] if (trouble := facts.get("telemetry")) else []),
    ]


def _ago(started: str) -> str:
    try:
        seconds = (datetime.now(UTC) - datetime.fromisoformat(started)).total_seconds()
    except (ValueError, TypeError):
        return started
    minutes, hours = int(seconds // 60), int(seconds // 3600)
    age = f"{int(seconds)} s" if minutes < 2 else f"{minutes} min" if hours < 2 else f"{hours} h"
    return f"{started} ({age} ago)"
