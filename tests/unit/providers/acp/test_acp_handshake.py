"""The first words: steps in order, each once, and what a person can do where one of them fails."""

from dataclasses import replace
from typing import Any

import pytest

from betcode.domain.runs.journal_record import RecordKind
from betcode.domain.runs.launch import LaunchContext
from betcode.providers.acp.handshake import opening
from support.recordings.acp import PROVIDER
from support.recordings.acp_dialogue import NATIVE, Spoken, begun, with_config
from support.recordings.claude import SESSION

_MODES = {"currentModeId": "agent", "availableModes": [{"id": "agent"}, {"id": "workspace-write"}, {"id": "plan"}]}
_MODELS = [{"value": "lab/small", "name": "Small"}, {"value": "lab/large", "name": "Large"}, {"value": "b/large"}]
_OPTIONS = [
    {"id": "the-model", "category": "model", "type": "select", "currentValue": "lab/small", "options": _MODELS},
    {"id": "m", "category": "mode", "currentValue": "build", "options": [{"value": "build"}, {"value": "plan"}]},
]


def test_a_session_is_opened_where_the_launch_said() -> None:
    spoken = Spoken()
    assert spoken.dialogue.view.errands == ()
    spoken.greeted()
    assert not spoken.dialogue.view.is_ready
    said = spoken.errand()
    assert (said["method"], said["params"]["cwd"]) == ("session/new", SESSION.working_directory)
    assert spoken.dialogue.view.errands == ()
    spoken.says(id="open", result={"sessionId": NATIVE})
    assert spoken.dialogue.view.is_ready
    assert spoken.dialogue.view.conversation_id == NATIVE


@pytest.mark.parametrize(
    ("able", "method"),
    [
        ({"loadSession": True, "sessionCapabilities": {"resume": {}}}, "session/resume"),
        ({"loadSession": True}, "session/load"),
    ],
)
def test_a_conversation_is_resumed_rather_than_loaded(able: dict[str, Any], method: str) -> None:
    spoken = Spoken()
    spoken.greeted(resume="ses_before", agentCapabilities=able)
    said = spoken.errand()
    assert (said["method"], said["params"]["sessionId"]) == (method, "ses_before")
    if method == "session/load":
        assert spoken.chunk("what was said before") == []
    spoken.says(id="open", result={})
    assert spoken.dialogue.view.is_ready
    assert spoken.dialogue.view.conversation_id == "ses_before"


def test_the_mode_in_which_it_asks_is_set_before_anything_is_said() -> None:
    spoken = Spoken(with_config(profile="codex-acp"))
    spoken.greeted()
    spoken.opened(modes=_MODES)
    assert not spoken.dialogue.view.is_ready
    said = spoken.errand()
    assert (said["method"], said["params"]) == ("session/set_mode", {"sessionId": NATIVE, "modeId": "workspace-write"})
    assert spoken.dialogue.view.errands == ()
    spoken.says(id=said["id"], result={})
    assert spoken.dialogue.view.is_ready


def test_an_agent_that_cannot_be_made_to_ask_is_not_used() -> None:
    spoken = Spoken(with_config(profile="codex-acp"))
    spoken.greeted()
    spoken.opened()
    assert not spoken.dialogue.view.is_ready
    assert spoken.dialogue.view.failure is not None
    assert "workspace-write" in spoken.dialogue.view.failure.advice


def test_a_step_that_is_refused_is_a_failure() -> None:
    spoken = Spoken(with_config(mode="plan"))
    spoken.greeted()
    spoken.opened(modes=_MODES)
    spoken.says(id=spoken.errand()["id"], error={"code": -32603, "message": "no"})
    assert spoken.dialogue.view.failure is not None
    assert "'plan'" in spoken.dialogue.view.failure.advice


def test_a_model_is_chosen_by_its_name_where_only_one_has_it() -> None:
    spoken = Spoken(replace(SESSION, model="small"))
    spoken.greeted()
    spoken.opened(configOptions=_OPTIONS)
    assert spoken.dialogue.view.is_ready  # it is set already
    spoken = Spoken(replace(SESSION, model="lab/large"))
    spoken.greeted()
    spoken.opened(configOptions=_OPTIONS)
    said = spoken.errand()
    assert said["method"] == "session/set_config_option"
    assert said["params"] == {"sessionId": NATIVE, "configId": "the-model", "value": "lab/large"}
    spoken.says(id=said["id"], result={"configOptions": []})
    assert spoken.dialogue.view.is_ready


@pytest.mark.parametrize(("model", "words"), [("large", "lab/small"), ("nothing", "has no model 'nothing'")])
def test_a_model_that_is_not_there_or_not_certain_is_told(model: str, words: str) -> None:
    spoken = Spoken(replace(SESSION, model=model))
    spoken.greeted()
    spoken.opened(configOptions=_OPTIONS)
    assert spoken.dialogue.view.failure is not None
    assert words in spoken.dialogue.view.failure.advice


def test_a_session_that_only_plans_is_set_so() -> None:
    spoken = Spoken()
    spoken.greeted(plan=True)
    spoken.opened(configOptions=_OPTIONS)
    said = spoken.errand()
    assert said["params"] == {"sessionId": NATIVE, "configId": "m", "value": "plan"}
    planning = [{**_OPTIONS[1], "currentValue": "plan"}]
    [event] = spoken.updates("config_option_update", configOptions=planning)
    assert event.plan_mode.active
    assert spoken.dialogue.view.plan_mode


def test_who_is_not_logged_in_is_told_the_ways_in() -> None:
    spoken = Spoken(with_config(profile="gemini"))
    spoken.greeted(authMethods=[{"id": "key", "name": "API key", "description": "Use a key"}])
    spoken.errand()
    spoken.says(id="open", error={"code": -32000, "message": "Authentication required"})
    assert spoken.dialogue.view.failure is not None
    assert "GEMINI_API_KEY" in spoken.dialogue.view.failure.advice
    assert "API key: Use a key" in spoken.dialogue.view.failure.advice
    assert spoken.dialogue.view.errands == ()


def test_a_conversation_that_is_gone_is_told_as_that() -> None:
    spoken = Spoken()
    spoken.greeted(resume="ses_before")
    spoken.errand()
    spoken.says(id="open", error={"code": -32603, "message": "Internal error", "data": {"details": "no such session"}})
    failure = spoken.dialogue.view.failure
    assert failure is not None
    assert (failure.has_conversation, "no such session" in failure.advice) == (False, True)


def test_another_version_of_the_protocol_is_not_tried() -> None:
    spoken = Spoken()
    spoken.greeted(protocolVersion=2)
    assert spoken.dialogue.view.errands == ()
    assert spoken.dialogue.view.failure is not None
    assert "version 2" in spoken.dialogue.view.failure.advice


def _served() -> bytes:
    """The state of a conversation in which a turn has ended."""
    spoken = begun()
    spoken.answers()
    return PROVIDER.carry_over(spoken.dialogue.state(), PROVIDER.dialogue_version)


@pytest.mark.parametrize(
    ("error", "is_gone"),
    [
        ({"code": -32603, "message": "Internal error", "data": {"details": "the disk is full"}}, None),
        ({"code": -32603, "message": "Internal error", "data": {"details": "Session not found"}}, False),
        ({"code": -32002, "message": "Nothing"}, False),
    ],
)
def test_trouble_with_a_conversation_does_not_mean_that_it_is_gone(
    error: dict[str, object], is_gone: bool | None
) -> None:
    spoken = Spoken(state=_served())
    spoken.greeted(resume=NATIVE)
    spoken.errand()
    spoken.says(id="open", error=error)
    failure = spoken.dialogue.view.failure
    assert failure is not None
    assert failure.has_conversation is is_gone
    assert failure.advice.startswith("start a new session" if is_gone is False else "send the message again")


def test_a_session_without_an_id_is_none() -> None:
    spoken = Spoken()
    spoken.greeted()
    spoken.errand()
    spoken.says(id="open", result={})
    assert not spoken.dialogue.view.is_ready
    assert spoken.dialogue.view.failure is not None
    assert "returned no session id" in spoken.dialogue.view.failure.advice


def test_a_greeting_that_is_refused_without_a_word_says_so() -> None:
    spoken = Spoken()
    spoken.writes(
        opening(SESSION, LaunchContext("x", resume=False, continue_turn=False, environment={})), RecordKind.IN
    )
    spoken.says(id="initialize", error={})
    assert spoken.dialogue.view.failure is not None
    assert "(it gave no reason)" in spoken.dialogue.view.failure.advice


def test_a_program_that_says_no_version_may_be_another_one() -> None:
    spoken = Spoken()
    spoken.greeted(protocolVersion="one")
    assert spoken.dialogue.view.failure is not None
    assert "check the command" in spoken.dialogue.view.failure.advice
