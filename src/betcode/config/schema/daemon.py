"""The settings of the daemon itself: what it may use and keep, its log, and what is not about one of the others."""

from betcode.config import value_types
from betcode.config.notify_settings import place
from betcode.config.schema.setting import Setting

_MIB = 1024 * 1024

DAEMON: tuple[Setting, ...] = (
    Setting(
        "journals.keep",
        "engine.journal_keep_s",
        value_types.duration(),
        "how long journals of ended agents are kept, compressed",
    ),
    Setting("journals.limit", "engine.journal_limit_bytes", value_types.size(), "and how much of them"),
    Setting(
        "daemon.autostart",
        "autostart",
        value_types.one_of("ask", "always", "never"),
        "whether a command that needs a daemon starts one: `ask` asks on a terminal and starts it in scripts",
    ),
    Setting(
        "daemon.memory_limit",
        "engine.memory_limit_bytes",
        value_types.size(_MIB),
        "memory limit of the daemon; above 80 %, the session idle for longest is compacted (once per crossing)",
    ),
    Setting(
        "daemon.database_limit",
        "engine.database_limit_bytes",
        value_types.size(),
        "of the database; warned of from 80 % on, and past it no session is made and no message taken; 0: none",
    ),
    Setting(
        "daemon.durability",
        "engine.durability",
        value_types.one_of("normal", "full"),
        "`full`: not even a power cut takes the last second",
        at_once=False,
    ),
    Setting(
        "daemon.log_level",
        "logs.level",
        value_types.one_of("error", "warn", "info", "debug", "trace"),
        "`error`, `warn`, `info`, `debug`, `trace`",
        "BETCODE_LOG_LEVEL",
    ),
    Setting("daemon.log_file", "logs.file", place(), "where the log is, in place of `daemon.log`", at_once=False),
    Setting(
        "daemon.log_limit",
        "logs.limit_bytes",
        value_types.size(64 * 1024),
        "size of one log file",
        at_once=False,
    ),
    Setting("daemon.log_keep", "logs.keep", value_types.whole(0, 100), "older log files that are kept", at_once=False),
    Setting(
        "feature_flags",
        "feature_flags",
        value_types.switches(),
        "features turned on or off against their default: `betcode features` lists them",
    ),
    Setting(
        "environment.allow",
        "environment_allow",
        value_types.names(),
        "further names that sessions inherit from the client",
    ),
)
