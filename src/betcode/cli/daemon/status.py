"""`betcode daemon status`: whether the daemon runs, and the state of each component."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.core.remote_options import why_silent
from betcode.cli.daemon.log_path import log_path
from betcode.cli.session.new_session import default_agent
from betcode.cli.terminal.console import standard_screen
from betcode.client import ClientError, Unreachable, open_client
from betcode.config.lockfile import LockOwner, is_held, read_holder
from betcode.v1.health_pb2 import ComponentHealth, HealthDetailsResponse, ServingStatus

# The results of the daemon's start-up: fact, noun and state. Counts of 0 are not shown.
_FOUND = (
    ("adopted", "agent", "taken over"),
    ("ended", "agent", "ended in the meantime"),
    ("orphans", "agent", "without a session ended"),
    ("waiting", "agent", "to start for queued messages"),
    ("idle", "agent", "missing, the session is now idle"),
    ("clients", "client", "of the previous daemon"),
    ("locks", "input lock", "of previous clients"),
)
_MB = 1024 * 1024  # the unit of the setting: 512MiB is shown as 512
_SETTINGS = (
    ("settings_problem", "not reloaded: "),
    ("settings_need_restart", "restart the daemon to apply: "),
    ("settings_to_import", "to copy those of Claude Code, use betcode config import: "),
)


async def status(options: CommandOptions) -> int:
    """Print the state of the daemon. The exit code is 2 if it does not run."""
    screen = standard_screen()
    is_here = options.paths.remote is None
    holder = read_holder(options.paths.lock) if is_here else None
    reason = ""
    try:
        async with open_client(options.paths) as client:
            details = await client.health()
            # Includes the provider that the daemon chooses for its own environment
            with suppress(CommandFailed, ClientError):
                details.metadata["default_provider"] = await default_agent(client, options)
    except Unreachable as error:
        details, reason = None, error.details.get("reason", error.message)
    if options.as_json:
        screen.json(_as_json(options, holder, details), indent=2)
    else:
        lines = _silent(options, holder, reason) if details is None else _as_lines(options, details)
        for line in lines:
            screen.line(line)
    return ExitCode.OK if details is not None else ExitCode.NO_CONNECTION


def _as_json(
    options: CommandOptions, holder: LockOwner | None, details: HealthDetailsResponse | None
) -> dict[str, object]:
    paths = options.paths
    facts: dict[str, object] = {
        "running": details is not None or (paths.remote is None and is_held(paths.lock)),
        "serving": details is not None and details.overall_status == ServingStatus.SERVING,
        "pid": holder.pid if holder else None,
        "version": holder.version if holder else None,
        "started": holder.started if holder else None,
        "socket": holder.socket if holder else str(paths.socket),
        "state_dir": str(paths.state_dir),
        "log": str(log_path(paths)),
    }
    if paths.remote is not None:
        facts |= {"address": str(paths.remote.address), "socket": None, "state_dir": None, "log": None}
    if details is not None:
        metadata = details.metadata
        if holder is None:
            facts |= {"pid": _number(metadata, "pid"), "version": metadata.get("version")}
            facts |= {"started": metadata.get("started_at")}
        facts["status"] = ServingStatus.Name(details.overall_status)
        facts["degraded"] = details.degraded_reason if details.degraded else None
        facts["degraded_states"] = [name for name in metadata.get("degraded_states", "").split(",") if name]
        facts["degraded_impact"] = metadata.get("degraded_impact") or None
        facts["uptime_seconds"] = _number(metadata, "uptime_seconds")
        facts["components"] = {one.name: _component_json(one) for one in details.components}
        facts["unusable_runs"] = [
            {"name": one.name, "session": one.session_id or None, "problem": one.problem, "remedy": one.remedy}
            for one in details.unusable_runs
        ]
        facts["facts"] = dict(sorted(metadata.items()))
    return facts


def _component_json(one: ComponentHealth) -> dict[str, str]:
    checked = one.last_check.ToDatetime(UTC).isoformat(timespec="milliseconds")
    return {"status": ServingStatus.Name(one.status), "message": one.message, "last_check": checked}


def _silent(options: CommandOptions, holder: LockOwner | None, reason: str) -> list[str]:
    paths = options.paths
    if paths.remote is not None:
        return [f"No daemon answers at {paths.remote.address}: {why_silent(paths.remote, reason)}"]
    if is_held(paths.lock):
        who = f" (pid {holder.pid})" if holder else ""
        return [f"The daemon{who} is running but does not answer", f"  log        {log_path(paths)}"]
    return ["No daemon is running. Start it with: betcode daemon start", f"  socket     {paths.socket}"]


def _as_lines(options: CommandOptions, details: HealthDetailsResponse) -> list[str]:
    metadata = details.metadata
    lines = [f"Daemon: {ServingStatus.Name(details.overall_status)}" + (" (degraded)" if details.degraded else "")]
    lines += [
        f"  {one.name}: {ServingStatus.Name(one.status)}" + (f" ({one.message})" if one.message else "")
        for one in details.components
    ]
    lines.append("")
    if details.degraded:
        lines.append("Degraded: " + _sentences(details.degraded_reason, metadata.get("degraded_impact", "")))
    lines += [
        f"Uptime: {uptime(_number(metadata, 'uptime_seconds'))}",
        f"Version: {metadata.get('version', '')}",
        f"Started: {_started(metadata.get('started_at', ''))}, pid {metadata.get('pid', '')}",
    ]
    return [*lines, *_figures(metadata), *_unusable(details), *_where(options, metadata)]


def _unusable(details: HealthDetailsResponse) -> list[str]:
    """Return the unusable runs, each with a remedy."""
    lines = []
    for one in details.unusable_runs:
        session = f" (session {one.session_id})" if one.session_id else ""
        lines += [f"Unusable run: {one.name}{session}: {one.problem}", f"  → {one.remedy}"]
    return lines


def _sentences(*parts: str) -> str:
    return " ".join(f"{part.rstrip('.')}." for part in parts if part)


def uptime(seconds: int) -> str:
    """Return `2h 34m`: the two largest units, or only seconds."""
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d {hours}h"
    if hours:
        return f"{hours}h {minutes}m"
    return f"{minutes}m {seconds}s" if minutes else f"{seconds}s"


def _started(moment: str) -> str:
    try:
        return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return moment


def _number(facts: Mapping[str, str], name: str) -> int:
    text = facts.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else 0


def _figures(facts: Mapping[str, str]) -> list[str]:
    memory_mb = _number(facts, "agent_memory_bytes") // _MB
    found = ", ".join(
        f"{count} {noun}{'' if count == 1 else 's'} {state}"
        for name, noun, state in _FOUND
        if (count := _number(facts, "found_at_start_" + name))
    )
    own_mb, limit_mb = (_number(facts, name) // _MB for name in ("memory_bytes", "memory_limit_bytes"))
    agents = f"{_number(facts, 'live_agents')} alive ({memory_mb} MB)"
    turns = f"{_number(facts, 'turns_at_work')} of {_number(facts, 'turn_limit')} turns at work"
    waiting = f"{_number(facts, 'waiting_in_line')} waiting"
    return [
        f"Memory: {own_mb} of {limit_mb} MB",
        f"Agents: {agents}, {turns}, {waiting}; default {facts.get('default_provider', '')}",
        f"Start-up: {found or 'clean'}",
        *(f"Settings: {says}{facts[name]}" for name, says in _SETTINGS if name in facts),
        *([f"Log: {problem}"] if (problem := facts.get("log_problem")) else []),
        *([trouble] if (trouble := facts.get("telemetry")) else []),
    ]


def _where(options: CommandOptions, facts: Mapping[str, str]) -> list[str]:
    paths = options.paths
    tcp = facts.get("tcp_address", "")
    if paths.remote is not None:
        return [f"Address: {paths.remote.address}"]
    return [
        f"Socket: {paths.socket}" + (f", and TCP {tcp}" if tcp else ""),
        f"State: {paths.state_dir}",
        f"Log: {log_path(paths)}",
    ]
