"""Traces and metrics of a real daemon, received by a real OTLP endpoint and scraped as Prometheus does."""

import json
import socket
from collections import Counter
from pathlib import Path
from urllib.error import HTTPError

import anyio
import anyio.to_thread
import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from betcode.client import open_client
from betcode.telemetry.metrics import METRICS, MetricKind
from betcode.v1 import agent_pb2 as v1
from support.apis.otlp_receiver import Receiver, receiver
from support.daemon.clock import DAY_S, timed_daemon
from support.daemon.metrics import metrics_port, samples, scraped_text
from support.daemon.process import Daemon, agent_program, becomes_true, obedient_daemon, running_daemon
from support.daemon.raw_calls import RawCalls
from support.daemon.session import is_idle
from support.providers.claude_world import obedient_talk
from support.rules.files import write_rules

pytestmark = pytest.mark.anyio

SECRET = "xyzzy-the-secret-word"


def settings(endpoint: str = "", *, serves: bool = False) -> dict[str, object]:
    observability: dict[str, object] = {"otlp_endpoint": endpoint, "export_interval": "100ms"}
    if serves:
        observability |= {"metrics_enabled": True, "metrics_port": 0}
    return {"observability": observability}


async def arrived(kept: Receiver, *names: str) -> list[Span]:
    """All spans, once there is one of each name."""
    await anyio.to_thread.run_sync(kept.until, lambda: set(names) <= {span.name for span in kept.spans})
    return kept.spans


def facts(span: Span) -> dict[str, object]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value") or "string_value") for one in span.attributes}


def lines(daemon: Daemon, message: str) -> list[dict[str, object]]:
    entries = [json.loads(line) for line in daemon.log.splitlines()]
    return [entry for entry in entries if message in entry["message"]]


@pytest.mark.behaviour("trace.turn-root", "trace.children", "telemetry.enabled-by-setting")
async def test_a_turn_is_one_trace_with_a_part_for_each_kind_of_work(tmp_path: Path) -> None:
    with receiver() as kept:
        async with (
            obedient_daemon(tmp_path, settings=settings(kept.endpoint)) as daemon,
            open_client(daemon.paths) as client,
        ):
            talk = await obedient_talk(daemon, client)
            await talk.say("count 2000\ntool\nsay done")
            await talk.answer(await talk.asked(), allow=True)
            await talk.until(is_idle)
            spans = await arrived(kept, "turn")
    (root,) = [span for span in spans if not span.parent_span_id]
    assert root.name == "turn"
    assert facts(root)["session.id"] == talk.session_id
    assert facts(root)["betcode.stop_reason"] == "end_turn"
    children = [span for span in spans if span is not root]
    assert {span.trace_id for span in spans} == {root.trace_id}
    assert {span.parent_span_id for span in children} == {root.span_id}
    # However much was said: parts that come again and again are one span.
    assert Counter(span.name for span in children) == Counter(
        ["spawn", "parse", "permission", "tool", "broadcast", "append"]
    )
    by_name = {span.name: span for span in spans}
    assert all(0 < span.start_time_unix_nano <= span.end_time_unix_nano for span in spans)
    assert by_name["tool"].end_time_unix_nano <= root.end_time_unix_nano
    assert facts(by_name["tool"]) == {"betcode.tool": "Bash"}
    assert facts(by_name["permission"])["betcode.outcome"] == "ask"
    assert int(str(facts(by_name["parse"])["betcode.items"])) > 2000
    assert int(str(facts(by_name["broadcast"])["betcode.items"])) > 2000


async def test_each_turn_is_a_trace_of_its_own_and_one_that_crashed_says_so(tmp_path: Path) -> None:
    with receiver() as kept:
        async with (
            obedient_daemon(tmp_path, settings=settings(kept.endpoint)) as daemon,
            open_client(daemon.paths) as client,
        ):
            talk = await obedient_talk(daemon, client)
            await talk.turn("say one")
            await talk.turn("say two")
            await talk.say("wait never")
            await talk.until(lambda event: event.text_delta.text == "waiting")
            assert await client.cancel(talk.session_id)
            await talk.until(is_idle)
            await anyio.to_thread.run_sync(kept.until, lambda: sum(span.name == "turn" for span in kept.spans) == 3)
    roots = [span for span in kept.spans if not span.parent_span_id]
    assert [facts(root)["betcode.stop_reason"] for root in roots] == ["end_turn", "end_turn", "cancelled"]
    assert len({root.trace_id for root in roots}) == 3
    assert all(root.status.code == Status.STATUS_CODE_UNSET for root in roots)
    assert sum(span.name == "spawn" for span in kept.spans) == 1


async def test_a_turn_that_outlives_its_daemon_is_told_as_far_as_the_next_one_saw_it(tmp_path: Path) -> None:
    with receiver() as kept:
        wanted = settings(kept.endpoint, serves=True)
        async with obedient_daemon(tmp_path, settings=wanted) as daemon, open_client(daemon.paths) as client:
            talk = await obedient_talk(daemon, client)
            await talk.say("wait go\nsay done")
            await talk.until(lambda event: event.text_delta.text == "waiting")
            await daemon.restart()
            (daemon.work / "go").touch()
            await talk.until(is_idle)
            await arrived(kept, "turn")
            port = next(int(str(line["port"])) for line in reversed(lines(daemon, "metrics are served")))
            now = samples(await anyio.to_thread.run_sync(scraped_text, port))
    (root,) = [span for span in kept.spans if span.name == "turn"]
    assert facts(root)["betcode.whole"] is False
    assert "spawn" not in {span.name for span in kept.spans}
    assert now["betcode_turn_duration_seconds_count", ""] == 0  # nobody knows how long it took


def number_of(metric: Metric, label: str = "") -> float:
    points = metric.sum.data_points if metric.HasField("sum") else metric.gauge.data_points
    values = {
        ",".join(one.value.string_value for one in point.attributes): point.as_int or point.as_double
        for point in points
    }
    return values[label]


@pytest.mark.behaviour(
    "metric.exports",
    "metric.sessions-active",
    "metric.subprocess-spawns",
    "metric.subprocess-crashes",
    "metric.messages-processed",
    "metric.permission-decisions",
    "metric.turn-duration",
    "metric.tokens",
)
async def test_what_happened_is_counted_alike_for_both_kinds_of_export(tmp_path: Path) -> None:
    with receiver() as kept:
        async with timed_daemon(tmp_path, settings(kept.endpoint, serves=True)) as timed:
            daemon, client = timed.daemon, timed.client
            port = metrics_port(daemon)
            rules = daemon.work / ".claude" / "settings.json"
            talk = await timed.talk()
            write_rules(rules, deny=["Bash(touch *)"])
            await talk.turn("tool")
            write_rules(rules)
            await talk.say("tool")
            await talk.answer(await talk.asked(), allow=False)
            await talk.until(is_idle)
            await talk.say("tool")
            request = await talk.asked()
            await client.answer_permission(request.request_id, v1.ALLOW_SESSION)
            await talk.until(is_idle)
            await talk.turn("tool")  # by the grant
            await talk.turn("stumble once\nsay on my feet")
            other = await timed.talk()
            await timed.asked(other)
            now = samples(scraped_text(port))
            assert now["betcode_sessions_active", ""] == 1
            timed.later(8 * DAY_S)
            await other.until(is_idle)
            now = samples(await anyio.to_thread.run_sync(scraped_text, port))
            await anyio.to_thread.run_sync(
                kept.until,
                lambda: (
                    "betcode_sessions_active" in kept.metrics
                    and number_of(kept.metrics["betcode_permission_decisions_total"], "timeout") == 1
                    and number_of(kept.metrics["betcode_sessions_active"]) == 0
                ),
            )
    sent = kept.metrics
    assert set(sent) == {metric.name for metric in METRICS}
    for kind in ("auto_allow", "auto_deny", "user_allow", "user_deny", "timeout"):
        assert now["betcode_permission_decisions_total", kind] == 1, kind
        assert number_of(sent["betcode_permission_decisions_total"], kind) == 1, kind
    assert now["betcode_subprocess_crashes_total", ""] == 1
    assert now["betcode_subprocess_spawns_total", ""] == 3
    assert now["betcode_turn_duration_seconds_count", ""] == 6
    (turns,) = sent["betcode_turn_duration_seconds"].histogram.data_points
    assert turns.count == 6
    assert not turns.HasField("min"), "nobody keeps it, so nobody may say that it is 0"
    assert not turns.HasField("max")
    assert now["betcode_tokens_total", "input"] > 0 < now["betcode_tokens_total", "output"]
    assert ("betcode_tokens_total", "cache_read") in now
    assert now["betcode_messages_processed_total", ""] > 50
    assert now["betcode_database_bytes", ""] > 0
    for metric in METRICS:
        if metric.kind is MetricKind.COUNTER and not metric.label:
            assert number_of(sent[metric.name]) == now[metric.name, ""], metric.name


@pytest.mark.behaviour("metric.clients-connected")
async def test_clients_with_a_stream_are_counted_as_long_as_they_stay_and_so_is_what_is_unknown(tmp_path: Path) -> None:
    async with (
        obedient_daemon(tmp_path, settings=settings(serves=True)) as daemon,
        open_client(daemon.paths) as client,
    ):
        port = metrics_port(daemon)

        def connected() -> float:
            return samples(scraped_text(port))["betcode_grpc_clients_connected", ""]

        assert connected() == 0
        with pytest.raises(HTTPError, match="404"):
            scraped_text(port, "/")
        talk = await obedient_talk(daemon, client)
        await talk.say("wait go")
        await talk.until(lambda event: event.text_delta.text == "waiting")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(talk.until, is_idle)
            await becomes_true(lambda: connected() == 1)
            (daemon.work / "go").touch()
        await becomes_true(lambda: connected() == 0)
        assert [line["client_type"] for line in lines(daemon, "a client connected")]
        async with daemon.channel() as channel:
            await RawCalls(channel).unary("/betcode.v1.AgentService/ListSessions", b"\xb8\x3e\x01")  # field 999
        assert samples(scraped_text(port))["betcode_unknown_fields_received_total", ""] == 1


async def test_nothing_that_people_agents_or_tools_say_leaves_the_daemon(tmp_path: Path) -> None:
    with receiver() as kept:
        async with (
            obedient_daemon(tmp_path, settings=settings(kept.endpoint, serves=True)) as daemon,
            open_client(daemon.paths) as client,
        ):
            talk = await obedient_talk(daemon, client)
            (daemon.work / "input").write_text(SECRET)
            await talk.say(f"say {SECRET}\ntool {SECRET}")
            request = await talk.asked()
            assert SECRET in request.input_json
            await talk.answer(request, allow=False, message=SECRET)
            await talk.until(is_idle)
            await client.rename(talk.session_id, SECRET)
            await arrived(kept, "turn", "tool", "permission")
            await anyio.to_thread.run_sync(kept.until, lambda: "betcode_tokens_total" in kept.metrics)
            text = await anyio.to_thread.run_sync(scraped_text, metrics_port(daemon))
            assert await daemon.stop() == 0
            assert SECRET not in daemon.log.replace(f'"tool": "{SECRET}"', "")
    assert SECRET.encode() not in kept.everything
    assert SECRET not in text
    assert {facts(span)["betcode.tool"] for span in kept.spans if span.name == "tool"} == {"other"}


@pytest.mark.behaviour("telemetry.local-first")
async def test_telemetry_goes_to_its_endpoint_alone_and_what_that_does_not_take_is_dropped(tmp_path: Path) -> None:
    with receiver() as elsewhere, receiver() as kept:
        kept.status, kept.location = 307, f"{elsewhere.endpoint}/v1/traces"
        async with (
            running_daemon(
                tmp_path,
                settings=settings(kept.endpoint, serves=True),
                claude_bin=agent_program(tmp_path),
                environment={"HTTP_PROXY": elsewhere.endpoint, "ALL_PROXY": elsewhere.endpoint},
            ) as daemon,
            open_client(daemon.paths) as client,
        ):
            talk = await obedient_talk(daemon, client)
            await talk.turn("say hello")
            served = metrics_port(daemon)

            def dropped() -> float:
                return samples(scraped_text(served)).get(("betcode_telemetry_dropped_total", "traces"), 0)

            await becomes_true(lambda: dropped() == 1)
            assert (await client.health()).metadata["telemetry"].startswith("Telemetry is not accepted by")
            kept.status = 200
            kept.bodies.clear()
            await talk.turn("say more")
            await arrived(kept, "turn")
            assert await daemon.stop() == 0
    assert not elsewhere.bodies
    assert len(lines(daemon, "telemetry is not accepted")) == 1
    assert len(lines(daemon, "telemetry is accepted again")) == 1


async def test_an_endpoint_that_hangs_holds_nobody_up_not_even_the_end(tmp_path: Path) -> None:
    with receiver(hangs=True) as kept:
        async with (
            obedient_daemon(tmp_path, settings=settings(kept.endpoint)) as daemon,
            open_client(daemon.paths) as client,
        ):
            talk = await obedient_talk(daemon, client)
            await anyio.to_thread.run_sync(kept.until, lambda: bool(kept.bodies))
            for word in ("one", "two"):
                await talk.turn(f"say {word}")
            assert await daemon.stop() == 0


async def test_a_port_that_is_taken_is_one_sentence_and_the_daemon_serves_on(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        nobody = f"http://127.0.0.1:{port}"  # takes no connection, and answers nothing
        wanted = {"observability": {"metrics_enabled": True, "metrics_port": port, "otlp_endpoint": nobody}}
        async with obedient_daemon(tmp_path, settings=wanted) as daemon, open_client(daemon.paths) as client:
            details = await client.health()
            assert await daemon.stop() == 0
    (line,) = lines(daemon, "The metrics cannot be served")
    assert line["level"] == "error"
    sentence = f"The metrics cannot be served at 127.0.0.1 port {port}: Address already in use"
    assert sentence in details.metadata["telemetry"]


@pytest.mark.behaviour("telemetry.off-by-default")
async def test_by_default_nothing_is_imported_opened_or_sent(tmp_path: Path) -> None:
    async with obedient_daemon(tmp_path) as daemon, open_client(daemon.paths) as client:
        talk = await obedient_talk(daemon, client)
        await talk.turn("say hello")
        sockets = {link.readlink().name for link in Path(f"/proc/{daemon.pid}/fd").iterdir() if link.is_symlink()}
        tables = [Path(f"/proc/{daemon.pid}/net/{name}").read_text().splitlines()[1:] for name in ("tcp", "tcp6")]
        of_network = {f"socket:[{line.split()[9]}]" for table in tables for line in table}
        assert not sockets & of_network
