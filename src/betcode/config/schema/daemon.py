"""`daemon.*`: limits, log, and network listeners of the daemon."""

from betcode.config import value_types
from betcode.config.schema.setting import Setting
from betcode.config.tcp_address import listen_address

_MIB = 1024 * 1024

DAEMON: tuple[Setting, ...] = (
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
        "size limit of the database: a warning from 80 %, at the limit no new sessions and messages; 0: no limit",
    ),
    Setting(
        "daemon.durability",
        "engine.durability",
        value_types.one_of("normal", "full"),
        "`full`: commits survive a power failure",
        at_once=False,
    ),
    Setting(
        "daemon.log_level",
        "logs.level",
        value_types.one_of("error", "warn", "info", "debug", "trace"),
        "`error`, `warn`, `info`, `debug`, `trace`",
        "BETCODE_LOG_LEVEL",
    ),
    Setting(
        "daemon.log_file",
        "logs.file",
        value_types.absolute_path(),
        "path of the log file; default: `daemon.log`",
        at_once=False,
    ),
    Setting(
        "daemon.log_limit",
        "logs.limit_bytes",
        value_types.size(64 * 1024),
        "size of one log file",
        at_once=False,
    ),
    Setting(
        "daemon.log_keep", "logs.keep", value_types.whole(0, 100), "how many rotated log files to retain", at_once=False
    ),
    Setting(
        "daemon.listen",
        "listen.address",
        listen_address(),
        "listen on TCP too, at `HOST` or `HOST:PORT`; the default port is 50051",
        "BETCODE_LISTEN",
        at_once=False,
    ),
    Setting(
        "daemon.health_listen",
        "listen.health_address",
        listen_address(),
        "address for the standard health service only, without token or TLS, for probes that support neither",
        at_once=False,
    ),
    Setting(
        "daemon.tls_cert",
        "listen.tls_cert",
        value_types.absolute_path(),
        "certificate (PEM, with its chain); required to listen beyond loopback",
        at_once=False,
    ),
    Setting(
        "daemon.tls_key", "listen.tls_key", value_types.absolute_path(), "private key of the certificate", at_once=False
    ),
    Setting(
        "daemon.token_file",
        "listen.token_file",
        value_types.absolute_path(),
        "file with the token of TCP clients; default: `tcp.token` in the config directory, created if missing",
        at_once=False,
    ),
    Setting(
        "daemon.connection_limit",
        "listen.connection_limit",
        value_types.whole(1, 1000),
        "TCP connections at once",
        at_once=False,
    ),
    Setting(
        "daemon.keepalive",
        "listen.keepalive_s",
        value_types.duration(1.0, 3600.0),
        "idle time after which a TCP connection is pinged",
        at_once=False,
    ),
    Setting(
        "daemon.keepalive_timeout",
        "listen.keepalive_timeout_s",
        value_types.duration(1.0, 600.0),
        "how long to wait for the answer to a ping before the connection is closed",
        at_once=False,
    ),
)
