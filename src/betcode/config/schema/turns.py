"""The settings of agents, of turns and of sessions."""

from betcode.config import value_types
from betcode.config.schema.setting import Setting

# All that there are: a daemon with another as its default could not start.
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

TURNS: tuple[Setting, ...] = (
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
        "an idle agent is ended after this and started again when wanted; one with background work never",
    ),
    Setting(
        "agents.warm_limit",
        "engine.warm_limit",
        value_types.whole(0),
        "idle agents that are kept at all; past it the longest idle is ended",
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
        "the kind of agent of sessions that name none; empty: claude where it is found, otherwise demo",
        at_once=False,
    ),
    Setting(
        "cancel.interrupt",
        "engine.cancel_interrupt_s",
        value_types.duration(0, 600),
        "how long an agent may take to stop its turn before it gets SIGINT",
    ),
    Setting("cancel.sigint", "engine.cancel_sigint_s", value_types.duration(0, 600), "then before SIGTERM"),
    Setting(
        "cancel.term",
        "engine.cancel_term_s",
        value_types.duration(0, 600),
        "then before it is killed with everything it started",
    ),
    Setting(
        "cancel.insist",
        "engine.cancel_insist_s",
        value_types.duration(0, 600),
        "a cancel so long after the last step takes the next at once; sooner, it is the same cancel said twice",
    ),
    Setting(
        "sessions.default_model",
        "engine.default_model",
        value_types.text(),
        "the model of sessions of the default kind of agent that name none; empty: the agent's own choice",
        "BETCODE_DEFAULT_MODEL",
        of_project=True,
    ),
    Setting(
        "sessions.auto_compact_threshold",
        "engine.auto_compact_threshold",
        value_types.whole(0),
        "after a turn that left more tokens than this in the agent's context, it is compacted; 0: never",
    ),
    Setting(
        "sessions.lock_answer",
        "engine.lock_answer_s",
        value_types.duration(),
        "how long the holder of an input lock has to answer who asks for it",
    ),
    Setting(
        "sessions.lock_idle",
        "engine.lock_idle_s",
        value_types.duration(),
        "how long a holder may send nothing before the lock goes to who waits for it",
    ),
    Setting(
        "sessions.history_keep",
        "engine.history_keep_s",
        value_types.duration(),
        "how long the history of a closed session is kept; 0: for ever",
    ),
)
