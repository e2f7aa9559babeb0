"""The settings of whoever comes, or is told, over a network: TCP, its limits, telemetry."""

from betcode.config import value_types
from betcode.config.addresses import loopback
from betcode.config.notify_settings import place, web_address
from betcode.config.schema.setting import Setting
from betcode.config.tcp_address import listen_address

NETWORK: tuple[Setting, ...] = (
    Setting("obey.enabled", "obey.enabled", value_types.yes_or_no(), "serve the obey API too", at_once=False),
    Setting(
        "obey.socket",
        "obey.socket",
        place(),
        "its socket, in place of `$XDG_RUNTIME_DIR/obey/daemon.sock`",
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
    Setting(
        "rate_limit.messages_per_minute",
        "listen.messages_per_minute",
        value_types.whole(0),
        "messages to one session by TCP clients; 0: no limit",
    ),
    Setting(
        "rate_limit.sessions_per_hour",
        "listen.sessions_per_hour",
        value_types.whole(0),
        "new sessions from one TCP address; 0: no limit",
    ),
    Setting(
        "observability.otlp_endpoint",
        "observability.otlp_endpoint",
        web_address(),
        "where traces and metrics are sent by OTLP; empty: nothing is sent",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        at_once=False,
    ),
    Setting(
        "observability.export_interval",
        "observability.export_interval_s",
        value_types.duration(0.1, 3600.0),
        "how often they are sent",
        at_once=False,
    ),
    Setting(
        "observability.metrics_enabled",
        "observability.metrics_enabled",
        value_types.yes_or_no(),
        "serve metrics for Prometheus",
        at_once=False,
    ),
    Setting(
        "observability.metrics_address",
        "observability.metrics_address",
        loopback(),
        "where that listens",
        at_once=False,
    ),
    Setting(
        "observability.metrics_port",
        "observability.metrics_port",
        value_types.whole(0, 65535),
        "and on which port; 0: any that is free",
        at_once=False,
    ),
)
