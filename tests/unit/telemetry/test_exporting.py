"""The queue behind the exports: bounded, and counted where it overflows."""

import anyio
import anyio.to_thread
import pytest

from betcode.domain.metrics.counts import Counts
from betcode.domain.metrics.turn_trace import STEPS_LIMIT, RepeatedStep, TraceStep, TurnTrace
from betcode.telemetry.export import QUEUE_LIMIT, STOP_WITHIN_S, open_telemetry
from betcode.telemetry.otlp import TIMEOUT_S  # loaded here: the end waits two seconds, and not for libraries too
from support.apis.otlp_receiver import receiver

pytestmark = pytest.mark.anyio


def a_turn() -> TurnTrace:
    return TurnTrace("s1", "demo", 1_000, 0, ended_ns=2_000, stop_reason="end_turn")


async def test_one_request_is_bounded_and_the_end_is_bounded_more_tightly() -> None:
    assert STOP_WITHIN_S < TIMEOUT_S


async def test_what_comes_while_an_endpoint_hangs_is_kept_up_to_a_limit_and_then_counted() -> None:
    with receiver(hangs=True) as kept:
        async with open_telemetry(Counts(), "1", otlp_endpoint=kept.endpoint, every_s=0.05) as telemetry:
            assert telemetry.otlp is not None
            await anyio.to_thread.run_sync(kept.until, lambda: bool(kept.bodies))
            for _ in range(QUEUE_LIMIT + 7):
                telemetry.otlp.turn_over(a_turn())
            assert telemetry.otlp.dropped["traces"] == 7


async def test_the_last_turns_are_sent_when_the_daemon_ends() -> None:
    with receiver() as kept:
        async with open_telemetry(Counts(), "1", otlp_endpoint=f"{kept.endpoint}/", every_s=3600) as telemetry:
            assert telemetry.traces is not None
            telemetry.traces.turn_over(a_turn())
        assert [span.name for span in kept.spans] == ["turn"]
        assert "betcode_sessions_active" in kept.metrics


async def test_headers_for_the_endpoint_come_from_the_usual_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=blue")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
    with receiver() as kept:
        async with open_telemetry(Counts(), "1", otlp_endpoint=kept.endpoint, every_s=0.05):
            await anyio.to_thread.run_sync(kept.until, lambda: bool(kept.bodies))
        assert {head.get("x-team") for head in kept.heads} == {"blue"}
        assert b"deployment.environment" in kept.everything


def test_steps_of_a_turn_are_bounded() -> None:
    turn = a_turn()
    for _ in range(STEPS_LIMIT + 3):
        turn.add(TraceStep("tool", 1, 2))
    assert (len(turn.steps), turn.steps_left_out) == (STEPS_LIMIT, 3)


def test_work_done_again_and_again_is_summed() -> None:
    summed = RepeatedStep()
    summed.add(10, 15, 3)
    summed.add(40, 42, 1)
    assert (summed.times, summed.items, summed.busy_ns, summed.began_ns, summed.ended_ns) == (2, 4, 7, 10, 42)
