"""`journals.*`: how long journals of agents are retained."""

from betcode.config import value_types
from betcode.config.schema.setting import Setting

JOURNALS: tuple[Setting, ...] = (
    Setting(
        "journals.keep",
        "engine.journal_keep_s",
        value_types.duration(),
        "how long journals of ended agents are kept, compressed",
    ),
    Setting("journals.limit", "engine.journal_limit_bytes", value_types.size(), "and how much of them"),
)
