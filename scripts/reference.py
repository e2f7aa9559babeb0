"""Write what docs have from the code, tables and commands; --check tells whether they have fallen behind."""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from command_docs import OBEY, Reference, commands_text, records_text

from betcode.cli.core.exit_codes import EXIT_OF, ExitCode
from betcode.cli.obey.failure import HINTS
from betcode.config.schema import SETTINGS, Setting
from betcode.daemon.providers import find_providers
from betcode.domain.agents.capability_table import ROWS, answers, capability_message
from betcode.domain.error_codes import ErrorCode
from betcode.domain.metrics.health import DEGRADED_STATES
from betcode.domain.ports import Provider
from betcode.domain.release.compatibility import AGENTS, CLIENTS
from betcode.domain.release.features import FEATURES
from betcode.domain.store.rows import NewSession
from betcode.domain.values.identifiers import new_session_id
from betcode.server.errors import STATUS
from betcode.telemetry.metrics import METRICS
from betcode.tui import keys
from betcode.v1 import version_pb2

DOCS = Path(__file__).resolve().parent.parent / "docs"


def settings_table() -> Iterator[str]:
    yield "| key | default | allowed | meaning | variable |"
    yield "|---|---|---|---|---|"
    for setting in SETTINGS.values():
        later = "" if setting.at_once else " (at the next start)"
        later += " (a project may set it)" if setting.of_project else ""
        allowed = setting.kind.allowed.replace("|", "\\|")
        words = f"{setting.help}{later} | `{setting.environment_name}`"
        yield f"| `{setting.key}` | {default_of(setting)} | {allowed} | {words} |"


def default_of(setting: Setting) -> str:
    """A machine's own default is said in words: the table is the same everywhere."""
    if setting.key == "agents.memory_limit":
        return "half of the machine's"
    value = setting.kind.write(setting.default)
    return "" if value in ("", [], {}) else f"`{value if isinstance(value, str) else json.dumps(value)}`"


def metrics_table() -> Iterator[str]:
    yield "| metric | kind | label | meaning |"
    yield "|---|---|---|---|"
    for metric in METRICS:
        values = ": " + ", ".join(f"`{value}`" for value in metric.values) if metric.values else ""
        label = f"`{metric.label}`{values}" if metric.label else ""
        yield f"| `{metric.name}` | {metric.kind.value} | {label} | {metric.help} |"


def features_table() -> Iterator[str]:
    yield "| flag | stage | since | default | what it is |"
    yield "|---|---|---|---|---|"
    for each in FEATURES:
        default = "on" if each.is_on_by_default else "off"
        if each.is_essential:
            default = "always on"
        elif each.stage == version_pb2.REMOVED:
            default = f"removed in {each.removal}"
        elif not each.is_built:
            default = "not part of this release yet"
        stage = version_pb2.FeatureStage.Name(each.stage)
        yield f"| `{each.name}` | {stage} | {each.introduced} | {default} | {each.description} |"


def versions_table() -> Iterator[str]:
    yield "| what | version | compatibility |"
    yield "|---|---|---|"
    yield f"| client | below {CLIENTS.minimum} | refused |"
    yield f"| client | from {CLIENTS.minimum} | accepted; {CLIENTS.recommended} is recommended |"
    yield f"| client | from {CLIENTS.tested_before}, or unknown | accepted with a warning |"
    for agent in AGENTS.values():
        if agent.minimum:
            yield f"| {agent.title} | below {agent.minimum} | INCOMPATIBLE |"
        for each in agent.ranges:
            level = version_pb2.CompatibilityLevel.Name(each.level)
            limits = f": {each.limits}" if each.limits else ""
            yield f"| {agent.title} | from {each.first} | {level}{limits} |"


def degraded_table() -> Iterator[str]:
    yield "| state | reason | impact |"
    yield "|---|---|---|"
    for state in DEGRADED_STATES:
        yield f"| `{state.name}` | {state.reason} | {state.impact} |"


def exits_table() -> Iterator[str]:
    yield "| code | meaning |"
    yield "|---|---|"
    for code in ExitCode:
        yield f"| {code.value} | {code.meaning} |"


def errors_table() -> Iterator[str]:
    yield "| code | gRPC status | exit code | when |"
    yield "|---|---|---|---|"
    for code in ErrorCode:
        yield f"| `{code}` | {STATUS[code].name} | {EXIT_OF[code].value} | {code.meaning} |"


def keys_tables() -> Iterator[str]:
    for heading, rows in keys.table():
        yield f"**{heading}**"
        yield ""
        yield "| key | what it does |"
        yield "|---|---|"
        yield from (f"| {shown} | {words} |" for shown, words in rows)
        yield ""


def hints_table() -> Iterator[str]:
    yield "| code | hint |"
    yield "|---|---|"
    for code, hint in HINTS.items():
        yield f"| `{code}` | {hint} |"


def _kinds() -> Mapping[str, Provider]:
    return find_providers({}, None).providers


def capabilities_table() -> Iterator[str]:
    kinds = _kinds()
    plain = {name: NewSession(new_session_id(), name, "/") for name in kinds}
    tables = {
        name: dict(answers(capability_message(kind.capabilities_for(plain[name])))) for name, kind in kinds.items()
    }
    yield f"| | {' | '.join(f'`{name}`' for name in kinds)} | |"
    yield "|---" * (len(kinds) + 2) + "|"
    for row in ROWS:
        cells = " | ".join(tables[name][row] for name in kinds)
        yield f"| {row.label} | {cells} | {row.meaning} |"


def config_keys_table() -> Iterator[str]:
    yield "| provider | key | what it does |"
    yield "|---|---|---|"
    for name, kind in _kinds().items():
        for key, says in sorted(kind.about({}).keys.items()):
            yield f"| `{name}` | `{key}` | {says} |"


REFERENCE = Reference()
OBEY_REFERENCE = Reference(DOCS / "obey.yaml", DOCS / "obey.json")
SECTIONS: Mapping[str, Mapping[str, Callable[[], Iterator[str]]]] = {
    "providers.md": {"capabilities": capabilities_table, "config-keys": config_keys_table},
    "operations.md": {
        "settings": settings_table,
        "features": features_table,
        "versions": versions_table,
        "metrics": metrics_table,
        "degraded": degraded_table,
        "exits": exits_table,
        "errors": errors_table,
    },
    "commands.md": {
        "commands": lambda: commands_text(REFERENCE),
        "records": lambda: records_text(REFERENCE),
    },
    "obey.md": {
        "hints": hints_table,
        "commands": lambda: commands_text(OBEY_REFERENCE, OBEY),
        "records": lambda: records_text(OBEY_REFERENCE),
    },
    "screen.md": {"keys": keys_tables},
}


def renewed(text: str, document: str) -> str:
    """The document with its tables made anew."""
    for name, lines in SECTIONS[document].items():
        pattern = re.compile(rf"(<!-- {name}: .*? -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        body = "\n".join(lines()) + "\n"
        match pattern.split(text):
            case [before, begin, end, after]:
                text = before + begin + body + end + after
            case _:
                sys.exit(f"reference: {document} needs one place for {name}")
    return text


def main() -> None:
    for name in SECTIONS:
        path = DOCS / name
        present = path.read_text(encoding="utf-8")
        wanted = renewed(present, name)
        if "--check" in sys.argv and present != wanted:
            sys.exit(f"reference: docs/{name} has fallen behind the code; run `make reference`")
        path.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    main()
