"""`agents.*`: limits of agents and turns, and the settings of each provider.

The specs of providers declare their settings. A provider is created once, so a change applies to the next daemon.
"""

from betcode.config import value_types
from betcode.config.agent_settings import api_address, commands, variable_name
from betcode.config.schema.setting import Setting
from betcode.domain.agents.provider_spec import ProviderSetting, ProviderSpec, ValueKind
from betcode.providers.specs import DEFAULT, FALLBACK, SPECS

_MIB = 1024 * 1024


def _declared(spec: ProviderSpec, setting: ProviderSetting) -> Setting:
    return Setting(
        f"agents.{spec.name}.{setting.name}",
        f"agents.by_provider.{spec.name}.{setting.name}",
        _value_type(setting),
        setting.help,
        at_once=False,
    )


def _value_type(setting: ProviderSetting) -> value_types.ValueType:
    match setting.kind:
        case ValueKind.TEXT:
            return value_types.text()
        case ValueKind.CHOICE:
            return value_types.one_of(*setting.choices)
        case ValueKind.NUMBER:
            return value_types.whole(setting.least, setting.most)
        case ValueKind.SWITCH:
            return value_types.yes_or_no()
        case ValueKind.FILE:
            return value_types.absolute_path()
        case ValueKind.ADDRESS:
            return api_address(*setting.choices)
        case ValueKind.VARIABLE:
            return variable_name()
        case ValueKind.COMMANDS:
            return commands()


AGENTS: tuple[Setting, ...] = (
    Setting(
        "agents.turn_limit",
        "engine.turn_limit",
        value_types.whole(1, 1000),
        "maximum number of turns that run at once; a turn that waits for a person does not count",
        "BETCODE_MAX_SUBPROCESSES",
    ),
    Setting(
        "agents.queue_limit",
        "engine.queue_limit",
        value_types.whole(0, 10_000),
        "maximum number of queued turns; 0: no queue",
        "BETCODE_SUBPROCESS_QUEUE",
    ),
    Setting(
        "agents.hang_after",
        "engine.hang_after_s",
        value_types.duration(1.0),
        "an agent that writes nothing for this long during a turn is restarted; time spent waiting for a person or "
        "the model's API does not count",
        "BETCODE_SUBPROCESS_TIMEOUT",
    ),
    Setting(
        "agents.idle_retire",
        "engine.idle_retire_s",
        value_types.duration(),
        "an idle agent is ended after this time and started again on demand; one with background work never",
    ),
    Setting(
        "agents.warm_limit",
        "engine.warm_limit",
        value_types.whole(0),
        "maximum number of idle agents; above it the one idle longest is ended",
    ),
    Setting(
        "agents.memory_limit",
        "engine.agent_memory_limit_bytes",
        value_types.size(_MIB),
        "memory limit of all agents together; the agent idle longest is ended first",
    ),
    Setting(
        "agents.frame_limit",
        "engine.frame_limit_bytes",
        value_types.size(64 * 1024),
        "the longest line an agent may write",
        at_once=False,
    ),
    Setting(
        "agents.message_limit",
        "engine.message_limit_bytes",
        value_types.size(1024),
        "the longest message",
        "BETCODE_MAX_PAYLOAD_BYTES",
        at_once=False,
    ),
    Setting(
        "agents.attachment_limit",
        "engine.attachment_limit_bytes",
        value_types.size(),
        "the largest attachment; all of one message have 20 MiB at most",
        at_once=False,
    ),
    Setting(
        "agents.default_provider",
        "engine.default_provider",
        value_types.one_of("", *sorted(SPECS)),
        f"provider of sessions that name none; empty: {DEFAULT.name} if it is installed, otherwise {FALLBACK.name}",
        at_once=False,
    ),
    *(_declared(spec, setting) for spec in SPECS.values() for setting in spec.settings),
)
