"""`betcode version` and `betcode features`: versions, compatibility and feature flags."""

from collections.abc import Mapping

from betcode._version import __version__
from betcode.cli.core.connect import connected
from betcode.cli.core.exit_codes import ExitCode
from betcode.cli.core.identity import own_identity
from betcode.cli.core.options import CommandOptions
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.table import table
from betcode.client import ClientError, Handshake, open_client
from betcode.providers.specs import DEFAULT
from betcode.v1 import version_pb2 as v1

_COMPATIBILITY: Mapping[int, str] = {
    v1.FULLY_COMPATIBLE: "fully compatible",
    v1.LIKELY_COMPATIBLE: "likely compatible, not tested",
    v1.DEGRADED: "partly compatible",
    v1.INCOMPATIBLE: "incompatible",
}
_HEADINGS = ("FEATURE", "STATE", "STAGE", "SINCE", "DESCRIPTION")


async def show_versions(options: CommandOptions) -> int:
    """Print the versions. No daemon is started; without one, only this program's version is known."""
    screen = standard_screen()
    met, trouble = await _handshake(options)
    if options.as_json:
        screen.json(_json(met, trouble), indent=2)
        return ExitCode.OK
    screen.line(f"betcode  {__version__}")
    if met is None:
        screen.line(f"daemon   {trouble}")
    elif not met.knows_versions:
        screen.line("daemon   running, too old to report its version")
    else:
        _show(met, screen)
    return ExitCode.OK


async def _handshake(options: CommandOptions) -> tuple[Handshake | None, str]:
    if options.paths.remote is None and not options.paths.socket.exists():
        return None, "not running"
    async with open_client(options.paths, own_identity(options)) as client:
        try:
            return await client.versions(), ""
        except ClientError as error:
            return None, f"does not answer ({error.message})"


def _show(met: Handshake, screen: Screen) -> None:
    version, agent = met.version, met.version.claude_code
    screen.line(f"daemon   {version.server_version}, API {version.api_version}")
    if agent.version:
        fits = _COMPATIBILITY.get(agent.compatibility, "not known to this daemon")
        screen.line(f"agent    {DEFAULT.title} {agent.version}, {fits}")
    else:
        screen.line(f"agent    {DEFAULT.title} is not installed, or reports no version")
    if met.too_old:
        screen.show(met.too_old)
    for line in filter(None, [*met.warnings, met.agent_refusal]):
        screen.note(line)


def _json(met: Handshake | None, trouble: str) -> dict[str, object]:
    found: dict[str, object] = {"client": {"version": __version__}, "daemon": None, "agent": None}
    if met is None:
        return found | {"trouble": trouble}
    version, agent, limits = met.version, met.version.claude_code, met.version.constraints
    found["daemon"] = {
        "version": version.server_version or None,
        "api_version": version.api_version or None,
        "min_client_version": limits.min_client_version or None,
        "recommended_client": limits.recommended_client or None,
        "features": list(version.features),
        "deprecated_features": dict(limits.feature_replacements),
    }
    if agent.version:
        found["agent"] = {
            "name": DEFAULT.name,
            "version": agent.version,
            "minimum_version": agent.minimum_version,
            "compatibility": v1.CompatibilityLevel.Name(agent.compatibility),
        }
    return found | {
        "accepted": met.outcome.accepted,
        "reason": met.too_old or met.agent_refusal,
        "warnings": met.warnings,
    }


async def list_features(options: CommandOptions) -> int:
    screen = standard_screen()
    async with connected(options, screen) as client:
        flags = (await client.handshake()).version.feature_flags
    if options.as_json:
        screen.json({"features": [_flag_json(flag) for flag in flags]}, indent=2)
        return ExitCode.OK
    if not flags:
        screen.line("This daemon does not report its features: it may be older")
    for line in table(_HEADINGS, [_row(flag) for flag in flags], screen.width):
        screen.line(line)
    return ExitCode.OK


def _state(flag: v1.FeatureFlag) -> str:
    if flag.stage == v1.REMOVED:
        return "removed"
    return ("on" if flag.is_enabled else "off") if flag.is_built else "planned"


def _row(flag: v1.FeatureFlag) -> tuple[str, ...]:
    return (flag.name, _state(flag), _stage(flag), flag.introduced_version, flag.description)


def _stage(flag: v1.FeatureFlag) -> str:
    try:
        return v1.FeatureStage.Name(flag.stage).lower()
    except ValueError:
        return str(flag.stage)  # of a later daemon


def _flag_json(flag: v1.FeatureFlag) -> dict[str, object]:
    return {
        "name": flag.name,
        "enabled": flag.is_enabled,
        "built": flag.is_built,
        "stage": _stage(flag),
        "description": flag.description,
        "introduced_version": flag.introduced_version,
        "min_client_version": flag.min_client_version or None,
        "deprecated_version": flag.deprecated_version or None,
        "removal_version": flag.removal_version or None,
        "setting": f"feature_flags.{flag.name}",
    }
