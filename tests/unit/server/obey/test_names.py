"""How the obey API calls things, and festivals as they are reported."""

import json

import pytest

from betcode.domain.obey.campaign_events import CampaignEvent
from betcode.domain.sessions.phase import Phase
from betcode.domain.values.identifiers import new_session_id, ulid_spelling
from betcode.providers.claude.models import model_refusal
from betcode.providers.specs import SPECS
from betcode.server.obey.festivals import festivals_of
from betcode.server.obey.names import PROVIDER, STATUS, default_name, kind_of, provider_name, provider_of, session_of
from obey.local.v1 import local_pb2 as pb


def test_every_phase_and_every_provider_has_a_name_of_its_own() -> None:
    assert {STATUS[phase] for phase in Phase} == set(pb.SessionStatus.values()) - {pb.SESSION_STATUS_UNSPECIFIED}
    assert set(PROVIDER.values()) >= set(pb.SessionProvider.values()) - {pb.SESSION_PROVIDER_UNSPECIFIED}
    assert len(set(PROVIDER.values())) == len(PROVIDER)
    assert all(kind_of(number) == name for name, number in PROVIDER.items())
    assert kind_of(0) is kind_of(99) is None


def test_every_kind_of_agent_is_shown_as_some_provider() -> None:
    shown = {kind: provider_of(kind) for kind in SPECS}
    assert {kind: number for kind, number in shown.items() if kind in PROVIDER} == PROVIDER
    for kind in shown.keys() - PROVIDER.keys():
        assert shown[kind] == PROVIDER.get(SPECS[kind].profile_of, pb.SESSION_PROVIDER_UNSPECIFIED)
    assert provider_of("gone") == pb.SESSION_PROVIDER_UNSPECIFIED


def test_a_provider_is_named_as_the_enum_of_the_api_names_it() -> None:
    for name, number in pb.SessionProvider.items():
        assert provider_name(number) == name.removeprefix("SESSION_PROVIDER_").lower().replace("_", "-")
    assert provider_name(pb.SessionProvider.ValueType(99)) == "unspecified"


@pytest.mark.behaviour("obey.create.id", "obey.create.name-default")
def test_an_id_is_the_same_in_both_spellings() -> None:
    session = new_session_id()
    assert session_of(ulid_spelling(session)) == session_of(session) == session
    short = ulid_spelling(session)[-6:].lower()
    assert default_name(pb.SESSION_PROVIDER_OPENAI_API, session) == f"openai-api-{short}"


@pytest.mark.behaviour("obey.create.model-validated")
@pytest.mark.parametrize(
    ("model", "environment", "is_known"),
    [
        ("opus", {}, True),
        ("sonnet[1m]", {}, True),
        ("claude-haiku-4-5", {}, True),
        ("us.anthropic.claude-v1:0", {}, True),
        ("gpt-4o", {}, False),
        ("opus2", {}, False),
        ("gpt-4o", {"ANTHROPIC_BASE_URL": "http://localhost:1"}, True),
    ],
)
def test_claude_knows_its_models_by_name(model: str, environment: dict[str, str], is_known: bool) -> None:
    assert (model_refusal(model, environment) == "") is is_known


def report(kind: str, task: str = "", **said: object) -> CampaignEvent:
    return CampaignEvent(kind + task, "C", kind, json.dumps(said).encode() if said else b"", 5, 6, "HF0001", task)


def test_a_festival_is_what_was_last_reported_of_it() -> None:
    (state,) = festivals_of(
        [
            report("FESTIVAL_CREATED", name="Hedera", status="planning"),
            report("TASK_STARTED", "a"),
            report("TASK_COMPLETED", "a"),
            report("TASK_FAILED", "b"),
            report("FESTIVAL_STATUS_CHANGED", status="dungeon/someday", tasks_total=7),
        ]
    )
    assert (state.id, state.campaign_id, state.name, state.status) == ("HF0001", "C", "Hedera", "paused")
    assert (state.tasks_total, state.tasks_completed, state.updated_at.ToNanoseconds()) == (7, 1, 5)
    assert festivals_of([CampaignEvent("1", "C", "PROJECT_ADDED", b"", 1, 1)]) == []
