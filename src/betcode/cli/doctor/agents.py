"""Check agents: the default provider and every configured one. No model is called."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from betcode.cli.doctor.finding import Finding, Situation, note, ok, trouble
from betcode.config.agent_settings import AgentSettings
from betcode.domain.agents.provider_about import Login, ProgramStatus
from betcode.domain.errors import AgentUnavailable
from betcode.domain.release.compatibility import AGENTS
from betcode.providers.claude.launch import find_binary
from betcode.providers.claude.login import ADVICE as ADVICE_TO_LOG_IN
from betcode.providers.claude.login import login
from betcode.providers.registry import ProviderContext, Providers
from betcode.providers.specs import DEFAULT, FALLBACK, SPECS
from betcode.providers.versions import read_version

VERSION_WITHIN_S = 5.0


def agent(situation: Situation) -> Iterator[Finding]:
    """Check that each agent is installed, recent enough and logged in."""
    default = situation.settings.engine.default_provider
    if default in ("", DEFAULT.name, FALLBACK.name):
        yield from _default_agent(situation)
    kinds = Providers(ProviderContext(situation.settings.agents))
    for name in _configured_providers(situation.settings.agents, default):
        about = kinds[name].about(situation.environ)
        for profile, status in (about.profiles or {"": about.standing}).items():
            if not about.profiles or status.is_configured:
                yield _provider_finding(profile or name, status, situation.environ)


def _configured_providers(agents: AgentSettings, default: str) -> Iterator[str]:
    """Yield the providers that the settings mention."""
    for name, spec in SPECS.items():
        if spec not in (DEFAULT, FALLBACK) and (name == default or agents.is_changed(name)):
            yield name


def _provider_finding(name: str, status: ProgramStatus, environ: Mapping[str, str]) -> Finding:
    check = f"agent {name}"
    if status.missing:
        says, _, mend = status.missing.partition(": ")
        return trouble(check, says, mend or "see: betcode providers " + name)
    words = status.path or "part of betcode"
    if status.path and status.tells_version:
        try:
            version = read_version(Path(status.path), environ, VERSION_WITHIN_S)
        except OSError as error:
            return trouble(check, f"{status.path} cannot be run: {error.strerror}", "reinstall it")
        words += f", version {version}" if version else ", unknown version"
    return ok(check, ", ".join(filter(None, (words, status.login_basis))))


def _default_agent(situation: Situation) -> Iterator[Finding]:
    named = Path(situation.claude_bin).expanduser() if situation.claude_bin else None
    try:
        binary = find_binary(named, situation.environ)
    except AgentUnavailable as missing:
        if situation.settings.engine.default_provider == FALLBACK.name:
            yield note("agent", f"{DEFAULT.title} is not installed, and {FALLBACK.name} is the default agent")
        else:
            yield trouble("agent", missing.message, f"install it; until then: betcode run --provider {FALLBACK.name}")
        return
    yield _version(binary, situation.environ)
    yield _login(situation)


def _version(binary: Path, environ: Mapping[str, str]) -> Finding:
    try:
        version = read_version(binary, environ, VERSION_WITHIN_S)
    except OSError as error:
        return trouble("agent", f"{binary} cannot be run: {error.strerror}", f"reinstall {DEFAULT.executable}")
    if not version:
        words = f"{binary} --version printed no version within {VERSION_WITHIN_S:.0f} s"
        return trouble("agent", words, f"reinstall {DEFAULT.executable}")
    supported = AGENTS[DEFAULT.name]
    if refusal := supported.refusal(version):
        remedy = f"upgrade it: {DEFAULT.executable} update ({supported.upgrade_url})"
        return trouble("agent", f"{binary}: {refusal}", remedy)
    return ok("agent", f"{binary}, version {version}")


def _login(situation: Situation) -> Finding:
    found, basis = login(situation.environ)
    match found:
        case Login.YES:
            return ok("login", basis)
        case Login.NO:
            return trouble("login", f"{DEFAULT.title} is not logged in", ADVICE_TO_LOG_IN)
        case _:
            return note("login", basis)
