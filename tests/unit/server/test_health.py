"""What the engine's facts mean for its health."""

from betcode.server.health import About, components_of, is_serving, metadata_of
from betcode.sessions import EngineFacts
from betcode.sessions.adoption import Found
from betcode.v1 import health_pb2 as v1


def facts(at_work: int = 0, waiting: int = 0, degraded: str = "") -> EngineFacts:
    return EngineFacts(
        turns_at_work=at_work,
        turn_limit=5,
        queue_limit=2,
        waiting_in_line=waiting,
        live_agents=1,
        agent_memory_bytes=100,
        degraded_reason=degraded,
        found_at_start=Found(adopted=3),
    )


def states(of: EngineFacts) -> dict[str, bool]:
    return {each.name: each.status == v1.SERVING for each in components_of(of, 1)}


def test_a_store_that_cannot_be_written_is_critical() -> None:
    sick = components_of(facts(degraded="disk full"), 1)
    assert not is_serving(sick)
    assert [(each.name, each.message) for each in sick if each.status != v1.SERVING] == [("sqlite", "disk full")]


def test_a_pool_is_full_when_its_line_is_full_too_and_that_is_not_critical() -> None:
    assert states(facts(at_work=5, waiting=1))["subprocess_pool"]
    full = facts(at_work=5, waiting=2)
    assert not states(full)["subprocess_pool"]
    assert is_serving(components_of(full, 1))


def test_the_figures_have_names_that_stay() -> None:
    about = About("1.2", 1_000_000_000, "/s", "/state", "/config", lambda _: "demo")
    metadata = metadata_of(facts(at_work=2), about, 61_000_000_000)
    assert metadata["uptime_seconds"] == "60"
    assert metadata["found_at_start_adopted"] == "3"
    assert set(metadata) == {
        "version",
        "pid",
        "started_at",
        "uptime_seconds",
        "socket",
        "state_dir",
        "config_dir",
        "default_provider",
        "turns_at_work",
        "turn_limit",
        "waiting_in_line",
        "live_agents",
        "agent_memory_bytes",
        "telemetry",
        "found_at_start_adopted",
        "found_at_start_ended",
        "found_at_start_orphans",
        "found_at_start_waiting",
        "found_at_start_idle",
        "found_at_start_clients",
        "found_at_start_locks",
    }
