"""The settings of kinds of agents. Providers are made once, so that they count for the next daemon."""

from betcode.config import value_types
from betcode.config.agent_settings import api_address, commands, variable_name
from betcode.config.notify_settings import place
from betcode.config.schema.setting import Setting

AGENTS: tuple[Setting, ...] = (
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
        "the variable of a session's environment that holds the key of that API; empty: it wants none",
        at_once=False,
    ),
    Setting(
        "agents.openai.wire_api",
        "agents.openai.wire_api",
        value_types.one_of("auto", "responses", "chat"),
        "how that API is spoken to; `auto`: by Responses where `base_url` is empty, else by Chat Completions",
        at_once=False,
    ),
    Setting(
        "agents.openai.model",
        "agents.openai.model",
        value_types.text(),
        "the model of `openai` sessions that name none, where `sessions.default_model` names none either",
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
        "where the gateway on this machine listens",
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
