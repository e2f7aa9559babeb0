"""`observability.*`: export of metrics and traces."""

from betcode.config import value_types
from betcode.config.addresses import loopback
from betcode.config.schema.setting import Setting

OBSERVABILITY: tuple[Setting, ...] = (
    Setting(
        "observability.otlp_endpoint",
        "observability.otlp_endpoint",
        value_types.web_address(),
        "address to which traces and metrics are sent by OTLP; empty: nothing is sent",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        at_once=False,
    ),
    Setting(
        "observability.export_interval",
        "observability.export_interval_s",
        value_types.duration(0.1, 3600.0),
        "interval between two OTLP exports",
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
        "its address",
        at_once=False,
    ),
    Setting(
        "observability.metrics_port",
        "observability.metrics_port",
        value_types.whole(0, 65535),
        "port for Prometheus; 0: any free port",
        at_once=False,
    ),
)
