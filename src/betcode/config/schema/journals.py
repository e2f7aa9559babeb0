"""`journals.*`: how long journals of agents are retained."""

from betcode.config import value_types
from betcode.config.schema.setting import Setting

JOURNALS: tuple[Setting, ...] = (
    Setting(
        "journals.keep",
        "engine.journal_keep_s",
        value_types.duration(),
        "how long compressed journals of ended agents are retained",
    ),
    Setting(
        "journals.limit", "engine.journal_limit_bytes", value_types.size(), "size limit of all journals of ended agents"
    ),
)
