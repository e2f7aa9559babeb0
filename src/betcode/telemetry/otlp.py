"""Send traces and metrics by OTLP to one endpoint. Only the exporting thread imports this module.

Nothing but the endpoint is ever asked: no proxy, no redirection, no credentials from elsewhere than OTEL_ variables.
"""

import logging
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any, assert_never

import requests
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.metrics.export import Metric as OtlpMetric
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from betcode.domain.metrics.counts import Distribution
from betcode.domain.metrics.turn_trace import TurnTrace
from betcode.telemetry.metrics import METRICS, Metric, MetricKind, Readings
from betcode.telemetry.spans import SCOPE, TurnSpans

TIMEOUT_S = 5.0  # of one request, its repetitions included
_LIBRARIES = ("opentelemetry", "urllib3", "requests")
_LONGEST = 300  # characters of what went wrong


class Otlp:
    """A connection to one endpoint. Every method blocks for at most `TIMEOUT_S`, and none raises."""

    def __init__(self, endpoint: str, version: str) -> None:
        self.trouble = ""  # why the last batch was not accepted
        self._words = _LastWords()
        for name in _LIBRARIES:  # their messages are logged once, in our own sentence
            library = logging.getLogger(name)
            library.handlers = [self._words]
            library.propagate = False
        own = Resource(
            {"service.name": "betcode", "service.version": version, "service.instance.id": str(uuid.uuid4())}
        )
        resource = own.merge(OTELResourceDetector().detect())
        base = endpoint.rstrip("/")
        self._turns = TurnSpans(resource, version)
        self._resource = resource
        self._scope = InstrumentationScope(SCOPE, version)
        self._began_ns = time.time_ns()
        self._traces = OTLPSpanExporter(f"{base}/v1/traces", timeout=TIMEOUT_S, session=_Direct())
        self._metrics = OTLPMetricExporter(f"{base}/v1/metrics", timeout=TIMEOUT_S, session=_Direct())

    def send_turns(self, turns: Sequence[TurnTrace]) -> bool:
        """Send turns; return whether the endpoint accepted them."""
        spans = [span for turn in turns for span in self._turns.of(turn)]
        return self._noted(self._traces.export(spans) is SpanExportResult.SUCCESS)

    def send_readings(self, readings: Readings) -> bool:
        """Send readings; return whether the endpoint accepted them."""
        metrics = [self._metric(metric, readings, time.time_ns()) for metric in METRICS]
        data = MetricsData([ResourceMetrics(self._resource, [ScopeMetrics(self._scope, metrics, "")], "")])
        return self._noted(self._metrics.export(data) is MetricExportResult.SUCCESS)

    def hurry(self) -> None:
        """Stop retrying. Call it from another thread."""
        self._traces.shutdown()  # type: ignore[no-untyped-call]
        self._metrics.shutdown()

    def _noted(self, taken: bool) -> bool:
        self.trouble = "" if taken else self._words.last or "it was not accepted"
        self._words.last = ""
        return taken

    def _metric(self, metric: Metric, readings: Readings, now_ns: int) -> OtlpMetric:
        data: Sum | Gauge | Histogram
        match metric.kind:
            case MetricKind.COUNTER:
                points = list(self._numbers(metric, readings, now_ns))
                data = Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True)
            case MetricKind.GAUGE:
                data = Gauge(list(self._numbers(metric, readings, now_ns)))
            case MetricKind.HISTOGRAM:
                distributions = list(self._distributions(metric, readings, now_ns))
                data = Histogram(distributions, AggregationTemporality.CUMULATIVE)
            case _:
                assert_never(metric.kind)
        return OtlpMetric(metric.name, metric.help, metric.unit, data)

    def _numbers(self, metric: Metric, readings: Readings, now_ns: int) -> Iterator[NumberDataPoint]:
        for label, value in metric.read(readings):
            assert not isinstance(value, Distribution)
            labels = {metric.label: str(label)} if metric.label else {}
            yield NumberDataPoint(labels, self._began_ns, now_ns, value)

    def _distributions(self, metric: Metric, readings: Readings, now_ns: int) -> Iterator[HistogramDataPoint]:
        for label, value in metric.read(readings):
            assert isinstance(value, Distribution)
            labels = {metric.label: str(label)} if metric.label else {}
            yield HistogramDataPoint(
                labels,
                self._began_ns,
                now_ns,
                value.count,
                value.total,
                tuple(value.buckets),
                value.bounds,
                # They are not stored, and the protocol can omit them: 0 would be wrong.
                min=None,  # type: ignore[arg-type]
                max=None,  # type: ignore[arg-type]
            )


class _Direct(requests.Session):
    """Connects only to the endpoint itself, and reads only the head of an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False  # no proxy, and no credentials of other programs

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        options |= {"allow_redirects": False, "stream": True}
        response = super().send(request, **options)
        response.close()
        if 300 <= response.status_code < 400:
            raise requests.exceptions.InvalidURL("the endpoint redirects, and redirects are not followed")
        return response


class _LastWords(logging.Handler):
    """Stores the last message of a library."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.last = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.last = record.getMessage()[:_LONGEST]
