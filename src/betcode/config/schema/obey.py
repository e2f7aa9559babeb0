"""`obey.*`: the obey API."""

from betcode.config import value_types
from betcode.config.schema.setting import Setting

OBEY: tuple[Setting, ...] = (
    Setting("obey.enabled", "obey.enabled", value_types.yes_or_no(), "serve the obey API too", at_once=False),
    Setting(
        "obey.socket",
        "obey.socket",
        value_types.absolute_path(),
        "path of the obey socket; default: `$XDG_RUNTIME_DIR/obey/daemon.sock`",
        at_once=False,
    ),
    Setting(
        "obey.start_timeout",
        "obey.start_timeout_s",
        value_types.duration(1.0, 3600.0),
        "how long CreateSession waits for an agent to be ready",
        at_once=False,
    ),
    Setting(
        "obey.stop_timeout",
        "obey.stop_timeout_s",
        value_types.duration(0.1, 86400.0),
        "how long a graceful StopSession waits for the turn to end; then the agent is killed",
        at_once=False,
    ),
)
