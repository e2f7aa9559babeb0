"""`agents.*`: limits of agents and turns, and the settings of each provider.

Providers are created once, when the daemon starts.
"""

from betcode.config import value_types
from betcode.config.agent_settings import api_address, commands, variable_name
from betcode.config.notify_settings import place
from betcode.config.schema.setting import Setting

# All providers: a daemon with any other default could not start.
KINDS_OF_AGENTS = (
    "acp",
    "claude",
    "claude-agent-acp",
    "codex",
    "codex-acp",
    "demo",
    "gemini",
    "openai",
    "openclaw",
    "opencode",
)

_MIB = 1024 * 1024

AGENTS: tuple[Setting, ...] = (
    Setting(
        "agents.turn_limit",
        "engine.turn_limit",
        value_types.whole(1, 1000),
        "turns at work at once; a turn that waits for a person does not count",
        "BETCODE_MAX_SUBPROCESSES",
    ),
    Setting(
        "agents.queue_limit",
        "engine.queue_limit",
        value_types.whole(0, 10_000),
        "turns that wait in line; 0 refuses at once",
        "BETCODE_SUBPROCESS_QUEUE",
    ),
    Setting(
        "agents.hang_after",
        "engine.hang_after_s",
        value_types.duration(1.0),
        "an agent in a turn that writes nothing at all for so long is ended and started again; not while a person "
        "or the model's API is waited for",
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
        "of all live agents together; the longest idle is retired first",
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
        value_types.one_of("", *KINDS_OF_AGENTS),
        "the provider of sessions that name none; empty: claude if it is found, otherwise demo",
        at_once=False,
    ),
    Setting(
        "agents.codex.path",
        "agents.codex.path",
        place(),
        "where codex is; empty: on the PATH of the session",
        at_once=False,
    ),
    Setting(
        "agents.acp.commands",
        "agents.acp.commands",
        commands(),
        "agents that speak ACP, each a profile's name with the program that is run and its arguments; the name of a "
        "built-in profile replaces what that one runs",
        at_once=False,
    ),
    Setting(
        "agents.openai.base_url",
        "agents.openai.base_url",
        api_address("http", "https"),
        "the OpenAI-compatible API of `openai` sessions; empty: OpenAI's own",
        at_once=False,
    ),
    Setting(
        "agents.openai.api_key_env",
        "agents.openai.api_key_env",
        variable_name(),
        "the variable of a session's environment with the key of that API; empty: it needs none",
        at_once=False,
    ),
    Setting(
        "agents.openai.wire_api",
        "agents.openai.wire_api",
        value_types.one_of("auto", "responses", "chat"),
        "the protocol of that API; `auto`: Responses if `base_url` is empty, otherwise Chat Completions",
        at_once=False,
    ),
    Setting(
        "agents.openai.model",
        "agents.openai.model",
        value_types.text(),
        "the model of `openai` sessions that name none, if `sessions.default_model` names none either",
        at_once=False,
    ),
    Setting(
        "agents.openai.context_tokens",
        "agents.openai.context_tokens",
        value_types.whole(1024),
        "how much that model takes in at once",
        at_once=False,
    ),
    Setting(
        "agents.openclaw.url",
        "agents.openclaw.url",
        api_address("ws", "wss"),
        "a gateway that runs already; empty: the one at `agents.openclaw.port` on this machine",
        at_once=False,
    ),
    Setting(
        "agents.openclaw.token_file",
        "agents.openclaw.token_file",
        place(),
        "the file that holds the gateway's token; empty: the token of the gateway that betcode starts",
        at_once=False,
    ),
    Setting(
        "agents.openclaw.program",
        "agents.openclaw.program",
        place(),
        "where openclaw is, for a gateway that is started; empty: on the PATH of the session",
        at_once=False,
    ),
    Setting(
        "agents.openclaw.port",
        "agents.openclaw.port",
        value_types.whole(1, 65535),
        "address of the gateway on this machine",
        at_once=False,
    ),
    Setting(
        "agents.openclaw.start",
        "agents.openclaw.start",
        value_types.yes_or_no(),
        "whether a gateway is started where none answers; it serves all sessions",
        at_once=False,
    ),
)
