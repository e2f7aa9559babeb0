"""`sessions.*`: the model, compaction, input lock and history of sessions."""

from betcode.config import value_types
from betcode.config.schema.setting import Setting

SESSIONS: tuple[Setting, ...] = (
    Setting(
        "sessions.default_model",
        "engine.default_model",
        value_types.text(),
        "model for sessions of the default provider that name none; empty: the agent's default",
        "BETCODE_DEFAULT_MODEL",
        of_project=True,
    ),
    Setting(
        "sessions.auto_compact_threshold",
        "engine.auto_compact_threshold",
        value_types.whole(0),
        "compact the agent's context after a turn if it has more tokens than this; 0: never",
    ),
    Setting(
        "sessions.lock_answer",
        "engine.lock_answer_s",
        value_types.duration(),
        "how long a lock holder may take to answer a request for the lock",
    ),
    Setting(
        "sessions.lock_idle",
        "engine.lock_idle_s",
        value_types.duration(),
        "how long a lock holder may be inactive before the next client in the queue gets the lock",
    ),
    Setting(
        "sessions.history_keep",
        "engine.history_keep_s",
        value_types.duration(),
        "how long the history of a closed session is stored; 0: forever",
    ),
)
