"""`betcode providers`: the providers, their state on this machine and their capabilities."""

from collections.abc import Container, Iterator, Mapping

from betcode.cli.core.connect import connected
from betcode.cli.core.exit_codes import ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.session.new_session import whole_environment
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.table import table
from betcode.domain.agents.capability_table import answers
from betcode.v1 import agent_pb2 as v1
from betcode.v1 import version_pb2
from betcode.wording.terminal_text import wrapped

_HEADINGS = ("KIND", "STATE", "VERSION", "LOGIN", "WHERE")
_LOGIN: Mapping[int, str] = {
    v1.LOGIN_STATE_LOGGED_IN: "yes",
    v1.LOGIN_STATE_LOGGED_OUT: "no",
    v1.LOGIN_STATE_NOT_NEEDED: "not needed",
}
_FITS: Mapping[int, str] = {
    version_pb2.FULLY_COMPATIBLE: "fully compatible",
    version_pb2.LIKELY_COMPATIBLE: "likely compatible, not tested",
    version_pb2.DEGRADED: "partly compatible",
    version_pb2.INCOMPATIBLE: "incompatible",
}
_OWN = "part of betcode"
_INDENT = 11
_NARROWEST = 20


async def providers(options: CommandOptions) -> int:
    screen = standard_screen()
    async with connected(options, screen) as client:
        found = await client.providers(options.text("provider"), whole_environment(options))
    if options.as_json:
        screen.json({"providers": [_json(one) for one in found]}, indent=2)
    elif options.text("provider"):
        for one in found:
            show(one, screen)
    else:
        names = {one.name for one in found}
        rows = [row for one in found for row in _rows(one, names)]
        for line in table(_HEADINGS, rows, screen.width, spare=("LOGIN", "VERSION")):
            screen.line(line)
        screen.note("Details of one: betcode providers KIND")
    return ExitCode.OK


def _rows(one: v1.ProviderInfo, names: Container[str]) -> Iterator[tuple[str, ...]]:
    """Yield a row for the provider, and one for each of its profiles that is not a provider itself."""
    name = f"{one.name} (default)" if one.is_default else one.name
    if not one.profiles:
        yield _row(name, one.program)
        return
    yield (name, "", "", "", f"{one.title}: {', '.join(program.profile for program in one.profiles)}")
    for program in one.profiles:
        if program.profile not in names:
            yield _row(f"{one.name}: {program.profile}", program)


def _row(name: str, program: v1.AgentProgram) -> tuple[str, ...]:
    where = program.missing or program.path or _OWN
    return (name, _state(program), program.version or "-", _LOGIN.get(program.login, "?"), where)


def _state(program: v1.AgentProgram) -> str:
    if not program.missing:
        return "ready"
    if not (program.path or program.version):
        return "not installed"
    return "not logged in" if program.login == v1.LOGIN_STATE_LOGGED_OUT else "not available"


def show(one: v1.ProviderInfo, screen: Screen) -> None:
    screen.line(f"{one.title} ({one.name}{', the default' if one.is_default else ''})")
    programs = one.profiles or [one.program]
    for program in programs:
        if program.profile:
            screen.line("")
            _pair(screen, "profile", program.profile)
        _show_program(program, screen)
    if one.config_keys:
        screen.line("")
        screen.line("With --config KEY=VALUE")
        indent = max(map(len, one.config_keys)) + 4
        for key, says in sorted(one.config_keys.items()):
            _pair(screen, key, says, indent)


def _show_program(program: v1.AgentProgram, screen: Screen) -> None:
    fits = _FITS.get(program.compatibility, "")
    version = ", ".join(filter(None, (program.version, fits if program.version else "")))
    _pair(screen, "program", program.path or ("not found" if program.missing else _OWN))
    if version:
        _pair(screen, "version", version)
    _pair(screen, "login", ": ".join(filter(None, (_LOGIN.get(program.login, "not known"), program.login_basis))))
    if program.missing:
        _pair(screen, "missing", program.missing)
    can = [_answer_text(label, answer) for label, answer in _answers(program) if answer != "no"]
    cannot = [label for label, answer in _answers(program) if answer == "no"]
    _pair(screen, "can", ", ".join(can) or "-")
    _pair(screen, "cannot", ", ".join(cannot) or "-")


def _answers(program: v1.AgentProgram) -> list[tuple[str, str]]:
    return [(row.label, answer) for row, answer in answers(program.capabilities)]


def _answer_text(label: str, answer: str) -> str:
    return label if answer == "yes" else f"{label} ({answer})"


def _pair(screen: Screen, name: str, text: str, indent: int = _INDENT) -> None:
    width = max(screen.width - indent, _NARROWEST)
    first, *rest = wrapped(text, width) or [""]
    screen.line(f"  {name:<{indent - 2}}{first}")
    for line in rest:
        screen.line(" " * indent + line)


def _json(one: v1.ProviderInfo) -> dict[str, object]:
    return {
        "name": one.name,
        "title": one.title,
        "default": one.is_default,
        **_program_json(one.program),
        "config_keys": dict(one.config_keys),
        "profiles": [{"profile": each.profile, **_program_json(each)} for each in one.profiles],
    }


def _program_json(program: v1.AgentProgram) -> dict[str, object]:
    return {
        "path": program.path or None,
        "version": program.version or None,
        "compatibility": version_pb2.CompatibilityLevel.Name(program.compatibility),
        "login": _LOGIN.get(program.login),
        "login_basis": program.login_basis,
        "missing": program.missing or None,
        "capabilities": {row.name: answer for row, answer in answers(program.capabilities)},
    }
