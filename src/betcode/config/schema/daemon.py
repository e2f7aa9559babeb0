"""`daemon.*`: limits, log, and network listeners of the daemon."""

from betcode.config import value_types
from betcode.config.notify_settings import place
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
        "daemon.listen",
        "listen.address",
        listen_address(),
        "listen on TCP too, at `HOST` or `HOST:PORT`; the port is 50051 where none is named",
        "BETCODE_LISTEN",
        at_once=False,
    ),
    Setting(
        "daemon.health_listen",
        "listen.health_address",
        listen_address(),
        "the standard health service alone at another address, without token or TLS, for probes that can neither",
        at_once=False,
    ),
    Setting(
        "daemon.tls_cert",
        "listen.tls_cert",
        place(),
        "the certificate (PEM, with its chain); needed to listen beyond loopback",
        at_once=False,
    ),
    Setting("daemon.tls_key", "listen.tls_key", place(), "its private key", at_once=False),
    Setting(
        "daemon.token_file",
        "listen.token_file",
        place(),
        "the token that TCP clients show; by default `tcp.token` in the config directory, made when it is missing",
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
        "a silent TCP connection is asked whether it lives",
        at_once=False,
    ),
    Setting(
        "daemon.keepalive_timeout",
        "listen.keepalive_timeout_s",
        value_types.duration(1.0, 600.0),
        "and given up when it does not answer for so long",
        at_once=False,
    ),
)
