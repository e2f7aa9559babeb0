"""`feature_flags`: features that are switched on or off."""

from betcode.config import value_types
from betcode.config.schema.setting import Setting

FEATURE_FLAGS: tuple[Setting, ...] = (
    Setting(
        "feature_flags",
        "feature_flags",
        value_types.switches(),
        "features turned on or off against their default: `betcode features` lists them",
    ),
)
