"""A finished turn as OpenTelemetry spans: one root, and a child for each part of the work."""

from collections.abc import Iterator, Mapping

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from betcode.domain.metrics.turn_trace import RepeatedStep, TraceStep, TurnTrace

SCOPE = "betcode"
_FAILED = frozenset({"error", "crashed"})
_ids = RandomIdGenerator()

Facts = Mapping[str, str | int | float | bool]


class TurnSpans:
    """Makes the spans of turns that share one resource."""

    def __init__(self, resource: Resource, version: str) -> None:
        self._resource = resource
        self._scope = InstrumentationScope(SCOPE, version)

    def of(self, trace: TurnTrace) -> Iterator[ReadableSpan]:
        """The root, then its children in no order."""
        trace_id = _ids.generate_trace_id()
        root = self._context(trace_id)
        failed = trace.stop_reason in _FAILED
        facts: dict[str, str | int | float | bool] = {
            "session.id": trace.session_id,
            "betcode.provider": trace.provider,
            "betcode.stop_reason": trace.stop_reason,
            "betcode.whole": trace.is_whole,
        }
        if trace.steps_left_out:
            facts["betcode.steps_left_out"] = trace.steps_left_out
        offset_ns = trace.wall_offset_ns
        yield self._span("turn", root, None, trace.began_ns + offset_ns, trace.ended_ns + offset_ns, facts, failed)
        for name, summed in (("parse", trace.parsing), ("broadcast", trace.broadcast), ("append", trace.append)):
            if summed.times:
                yield self._summed(name, summed, trace_id, root, offset_ns)
        for step in trace.steps:
            yield self._step(step, trace_id, root, offset_ns)

    def _summed(
        self, name: str, summed: RepeatedStep, trace_id: int, root: SpanContext, offset_ns: int
    ) -> ReadableSpan:
        facts: Facts = {
            "betcode.times": summed.times,
            "betcode.items": summed.items,
            "betcode.busy_ms": summed.busy_ns / 1e6,
        }
        began_ns, ended_ns = summed.began_ns + offset_ns, summed.ended_ns + offset_ns
        return self._span(name, self._context(trace_id), root, began_ns, ended_ns, facts)

    def _step(self, step: TraceStep, trace_id: int, root: SpanContext, offset_ns: int) -> ReadableSpan:
        facts = {f"betcode.{name}": value for name, value in step.facts.items()}
        began_ns, ended_ns = step.began_ns + offset_ns, step.ended_ns + offset_ns
        return self._span(step.name, self._context(trace_id), root, began_ns, ended_ns, facts, step.failed)

    def _context(self, trace_id: int) -> SpanContext:
        flags = TraceFlags(TraceFlags.SAMPLED)
        return SpanContext(trace_id, _ids.generate_span_id(), is_remote=False, trace_flags=flags)

    def _span(
        self,
        name: str,
        context: SpanContext,
        parent: SpanContext | None,
        began_ns: int,
        ended_ns: int,
        facts: Facts,
        failed: bool = False,
    ) -> ReadableSpan:
        return ReadableSpan(
            name,
            context,
            parent,
            self._resource,
            facts,
            status=Status(StatusCode.ERROR) if failed else Status(StatusCode.UNSET),
            start_time=began_ns,
            end_time=ended_ns,
            instrumentation_scope=self._scope,
        )
