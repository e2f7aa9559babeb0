"""What our client makes of daemons of every age: the outcomes that the sequences of the handshake draw."""

from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import pytest

from betcode._version import __version__
from betcode.client import Client, ClientIdentity, NewConversation, Outdated, Refused, open_client
from betcode.v1 import agent_pb2 as v1
from betcode.v1 import version_pb2
from support.daemon.other_release import ALL, OtherDaemon, said, serving, taken
from support.daemon.scripted_service import ScriptedService, scripted

pytestmark = pytest.mark.anyio

HERE = NewConversation(working_directory="/")
TOO_OLD = version_pb2.NegotiateResponse(
    rejection_reason=f"Client too old: {__version__} < required 9.0.0", upgrade_url="https://example.org/upgrade"
)


async def opened(client: Client) -> str:
    return await client.start_session(HERE)


@pytest.mark.behaviour("version.client.checks-first")
async def test_versions_are_asked_before_a_session_is_opened_and_once(tmp_path: Path) -> None:
    other = OtherDaemon()
    async with serving(tmp_path, other) as paths, open_client(paths, ClientIdentity(client_type="cli")) as client:
        assert await opened(client)
        assert await opened(client)
        await client.handshake()
    assert sorted(other.calls[:2]) == ["GetVersion", "NegotiateCapabilities"]
    assert other.calls[2:] == ["Submit", "Submit"]
    (request,) = other.negotiated
    assert (request.client_version, request.client_type) == (__version__, "cli")
    assert set(request.requested_features) == set(ALL)


@pytest.mark.behaviour("version.client.checks-first")
async def test_a_stream_is_opened_only_after_the_handshake(tmp_path: Path) -> None:
    other = OtherDaemon(events=[v1.AgentEvent(sequence=1)])
    async with (
        serving(tmp_path, other) as paths,
        open_client(paths) as client,
        aclosing(client.follow("s")) as events,
    ):
        assert [event.sequence async for event in events] == [1]
    assert other.calls[2:] == ["Follow"]


@dataclass(frozen=True)
class Case:
    """A daemon, our version, and what comes of the two."""

    name: str
    daemon: OtherDaemon
    own: str = __version__
    outdated: bool = False
    warned: tuple[str, ...] = ()


CASES = [
    Case("the same release", OtherDaemon()),
    Case("an older daemon", OtherDaemon(said(server="0.0.9"))),
    Case(
        "a daemon that recommends another client",
        OtherDaemon(said(server="0.9.4", recommended="0.9.4")),
        warned=("recommends 0.9.4",),
    ),
    Case(
        "a newer daemon that does not know this client",
        OtherDaemon(said(server="0.7.0"), taken("Untested client version")),
        warned=("Untested client version",),
    ),
    Case(
        "a daemon with another API",
        OtherDaemon(said(api="v2", server="2.0.0"), taken("Untested client version")),
        warned=("API 'v2'", "Untested client version"),
    ),
    Case("a daemon that refuses us", OtherDaemon(said(server="9.0.0", least="9.0.0"), TOO_OLD), outdated=True),
    Case(
        "a daemon that says a minimum and leaves the rest to us",
        OtherDaemon(said(server="9.0.0", least="9.0.0")),
        outdated=True,
    ),
    Case("a pre-release for its release", OtherDaemon(said(server="0.2.0")), own="0.1.0-alpha.1", outdated=True),
]


@pytest.mark.behaviour("version.client.too-old", "version.client.api-mismatch")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_every_pair_of_versions_ends_as_it_should(tmp_path: Path, case: Case) -> None:
    case.daemon.calls.clear()
    identity = ClientIdentity(version=case.own)
    async with serving(tmp_path, case.daemon) as paths, open_client(paths, identity) as client:
        if case.outdated:
            with pytest.raises(Outdated) as refused:
                await opened(client)
            assert case.own in refused.value.message or __version__ in refused.value.message
            assert "Upgrade betcode" in refused.value.message
            assert "Submit" not in case.daemon.calls, "no session is opened"
            return
        assert await opened(client)
        warnings = (await client.handshake()).warnings
    assert len(warnings) == len(case.warned)
    for words in case.warned:
        assert any(words in warning for warning in warnings)


async def test_a_daemon_that_knows_no_versions_is_used_as_it_is(tmp_path: Path) -> None:
    async with scripted(tmp_path, ScriptedService()) as paths, open_client(paths) as client:
        assert await opened(client)
        handshake = await client.handshake()
        assert not handshake.knows_versions
        assert not handshake.warnings
        assert handshake.has("event_batching")


@pytest.mark.behaviour("feature.client.check")
async def test_without_batches_events_are_taken_one_by_one(tmp_path: Path) -> None:
    granted = tuple(name for name in ALL if name != "event_batching")
    other = OtherDaemon(outcome=taken(granted=granted), events=[v1.AgentEvent(sequence=n) for n in (1, 2, 3)])
    async with (
        serving(tmp_path, other) as paths,
        open_client(paths) as client,
        aclosing(client.follow("s", after=1)) as events,
    ):
        assert [event.sequence async for event in events] == [2, 3]
    assert "ResumeSession" in other.calls
    assert "Follow" not in other.calls


@pytest.mark.behaviour("feature.client.check")
@pytest.mark.parametrize(
    ("flag", "words"),
    [
        (version_pb2.FeatureFlag(name="context_compaction", is_built=True), "feature_flags.context_compaction"),
        (version_pb2.FeatureFlag(name="context_compaction", introduced_version="0.3.0"), "version 0.3.0 or later"),
        (version_pb2.FeatureFlag(name="other"), "a daemon that knows context_compaction"),
    ],
)
async def test_what_was_not_granted_is_not_called_and_says_what_it_needs(
    tmp_path: Path, flag: version_pb2.FeatureFlag, words: str
) -> None:
    version = said()
    version.feature_flags.append(flag)
    other = OtherDaemon(version, taken("context_compaction disabled", granted=("event_batching",)))
    async with serving(tmp_path, other) as paths, open_client(paths) as client:
        with pytest.raises(Refused) as refused:
            await client.compact("s")
        assert not (await client.handshake()).warnings, "what is not asked for need not be known"
    assert words in refused.value.message
    assert refused.value.is_unimplemented
    assert "CompactSession" not in other.calls


@pytest.mark.behaviour("version.client.incompatible-agent")
async def test_an_agent_that_is_too_old_is_told_and_hinders_nothing_else(tmp_path: Path) -> None:
    version = said()
    version.claude_code.version = "0.9.0"
    version.claude_code.compatibility = version_pb2.INCOMPATIBLE
    outcome = version_pb2.NegotiateResponse(
        rejection_reason="Claude Code v0.9.0 < required v1.0.20", upgrade_url="https://example.org/install"
    )
    other = OtherDaemon(version, outcome)
    async with serving(tmp_path, other) as paths, open_client(paths) as client:
        handshake = await client.handshake()
        assert "Claude Code v0.9.0 < required v1.0.20" in handshake.agent_refusal
        assert "https://example.org/install" in handshake.agent_refusal
        await client.list_sessions()
    assert other.calls[2:] == ["ListSessions"]


async def test_a_warning_in_the_trailers_of_a_call_is_handed_on(tmp_path: Path) -> None:
    warning = version_pb2.DeprecationWarning(feature="old", severity=version_pb2.WARNING)
    trailers = (("x-betcode-deprecation-bin", warning.SerializeToString()), ("x-betcode-deprecation-bin", b"\xff"))
    told: list[version_pb2.DeprecationWarning] = []
    other = OtherDaemon(trailers=trailers)
    async with serving(tmp_path, other) as paths, open_client(paths, on_deprecation=told.append) as client:
        await client.list_sessions()
    assert told == [warning]
