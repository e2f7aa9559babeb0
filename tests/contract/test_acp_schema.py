"""What we write is what the protocol's own package reads, and what real agents wrote is read alike by both."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from acp import schema
from pydantic import BaseModel

from betcode.domain.agents.commands import (
    AnswerPermission,
    AttachedFile,
    Behaviour,
    Command,
    Interrupt,
    RefuseRequest,
    SendMessage,
)
from betcode.domain.runs.journal_record import RecordKind
from betcode.domain.runs.launch import LaunchContext
from betcode.domain.values.identifiers import MessageId
from betcode.providers.acp.handshake import opening
from betcode.wire.acp.decoder import decode, read
from betcode.wire.acp.frames import Initialized, Message, Opened, Prompted
from support.recordings.acp import PROVIDER, following, lives_of, recordings, session_of
from support.recordings.claude import SESSION, record

REQUESTS: dict[str, type[BaseModel]] = {
    "initialize": schema.InitializeRequest,
    "session/new": schema.NewSessionRequest,
    "session/load": schema.LoadSessionRequest,
    "session/resume": schema.ResumeSessionRequest,
    "session/set_mode": schema.SetSessionModeRequest,
    "session/set_config_option": schema.SetSessionConfigOptionSelectRequest,
    "session/prompt": schema.PromptRequest,
    "session/cancel": schema.CancelNotification,
}
ANSWERS: dict[str, type[BaseModel]] = {
    "initialize": schema.InitializeResponse,
    "session/new": schema.NewSessionResponse,
    "session/load": schema.LoadSessionResponse,
    "session/resume": schema.ResumeSessionResponse,
    "session/prompt": schema.PromptResponse,
}
ALL = pytest.mark.parametrize("path", recordings(), ids=lambda path: path.stem)


def check_ours(line: bytes) -> dict[str, Any]:
    """The line, once the package has read it."""
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    message: dict[str, Any] = json.loads(line)
    assert message["jsonrpc"] == "2.0"
    if "method" in message:
        REQUESTS[message["method"]].model_validate(message["params"])
    elif "result" in message:
        schema.RequestPermissionResponse.model_validate(message["result"])
    else:
        schema.Error.model_validate(message["error"])
    return message


@pytest.mark.parametrize("resume", [False, True])
def test_the_greeting_is_one(resume: bool) -> None:
    context = LaunchContext("ses_1", resume=resume, continue_turn=False, environment={})
    said = check_ours(opening(SESSION, context))
    assert said["params"]["_meta"]["betcode"]["conversation"] == ("ses_1" if resume else "")


def _all_commands() -> Iterator[Command]:
    files = (
        AttachedFile("a b.png", "image/png", b"\x89PNG"),
        AttachedFile("notes.txt", "text/plain", "ü\u2028 <b>".encode()),
        AttachedFile("doc.pdf", "application/pdf", b"%PDF\xff"),
    )
    yield SendMessage(MessageId("m-1"), "Hello \u2028 ü", files)
    yield SendMessage(MessageId("m-2"), "")
    yield Interrupt("i-1")


def test_every_command_is_a_line_that_the_package_reads() -> None:
    dialogue = PROVIDER.dialogue(SESSION, "ses_1")
    for command in _all_commands():
        check_ours(dialogue.addressed(PROVIDER.encode(command)))


@ALL
def test_every_step_and_every_answer_of_ours_is_read_by_the_package(path: Path) -> None:
    answered = 0
    for life in lives_of(path):
        dialogue = following(None, session_of(path))
        for each in life:
            dialogue.receive(each)
            for errand in dialogue.view.errands:
                check_ours(dialogue.addressed(PROVIDER.encode(errand)))
            for request_id in dialogue.view.open_requests:
                answered += 1
                for behaviour in Behaviour:
                    answer = AnswerPermission(request_id, behaviour, "{}", message="because", interrupt=True)
                    check_ours(dialogue.addressed(PROVIDER.encode(answer)))
                check_ours(dialogue.addressed(PROVIDER.encode(RefuseRequest(request_id, "not here"))))
    assert answered or "permissions" not in path.stem or "openclaw" in path.stem


def test_the_cancelled_answers_and_refusals_are_read_by_the_package() -> None:
    dialogue = PROVIDER.dialogue(SESSION, "ses_1")
    ask = {"jsonrpc": "2.0", "id": 7, "method": "session/request_permission"}
    options = [{"optionId": "y", "kind": "allow_once", "name": "Yes"}]
    params = {
        "sessionId": "ses_1",
        "toolCall": {"toolCallId": "t", "title": "ls", "kind": "execute"},
        "options": options,
    }
    prompt = dialogue.addressed(PROVIDER.encode(SendMessage(MessageId("m"), "x")))
    dialogue.receive(record(prompt, RecordKind.IN))
    dialogue.receive(record({**ask, "params": params}))
    dialogue.receive(record({"jsonrpc": "2.0", "id": "f", "method": "fs/read_text_file", "params": {"path": "/x"}}))
    dialogue.receive(record(dialogue.addressed(PROVIDER.encode(Interrupt("i"))), RecordKind.IN))
    said = [check_ours(errand.line) for errand in dialogue.view.errands]
    assert [(each["id"], "result" in each) for each in said] == [(7, True), ("f", False)]
    for errand in dialogue.view.errands:
        dialogue.receive(record(errand.line, RecordKind.IN))
    assert dialogue.view.errands == ()


@ALL
def test_what_agents_write_means_the_same_to_us_as_to_the_package(path: Path) -> None:
    for life in lives_of(path):
        asked: dict[str, str] = {}
        for each in life:
            if each.kind not in (RecordKind.IN, RecordKind.OUT):
                continue
            message = decode(each.data)
            assert isinstance(message, Message)
            if each.kind is RecordKind.IN and message.method:
                asked[message.key] = message.method
            elif each.kind is RecordKind.OUT and not message.method and message.error is None:
                _compare_answer(asked[message.key], message)
            elif each.kind is RecordKind.OUT and message.method in ("session/update", "session/request_permission"):
                _compare_news(message, json.loads(each.data)["params"])


def _compare_answer(method: str, message: Message) -> None:
    value = json.loads(bytes(message.result))
    theirs = ANSWERS[method].model_validate(value) if method in ANSWERS else None
    match theirs:
        case schema.InitializeResponse():
            ours = read(message.result, Initialized)
            assert ours is not None
            assert theirs.agent_capabilities is not None
            assert ours.capabilities.load_session == theirs.agent_capabilities.load_session
            assert [each.id for each in ours.auth_methods] == [each.id for each in theirs.auth_methods or []]
        case schema.NewSessionResponse():
            opened = read(message.result, Opened)
            assert opened is not None
            assert opened.session_id == theirs.session_id
        case schema.PromptResponse():
            prompted = read(message.result, Prompted)
            assert prompted is not None
            assert prompted.stop_reason == theirs.stop_reason
            assert (prompted.usage and prompted.usage.input_tokens) == (theirs.usage and theirs.usage.input_tokens)
        case _:
            pass


def _compare_news(message: Message, value: dict[str, Any]) -> None:
    assert message.params is not None
    if message.method == "session/update":
        theirs = schema.SessionNotification.model_validate(value)
        assert message.params.update is not None
        assert message.params.update.session_update == theirs.update.session_update
        assert message.params.update.tool_call_id == getattr(theirs.update, "tool_call_id", "")
    else:
        asked = schema.RequestPermissionRequest.model_validate(value)
        assert [each.option_id for each in message.params.options or ()] == [each.option_id for each in asked.options]


def test_the_provider_needs_none_of_it() -> None:
    """Reading a schema of hundreds of classes takes half a second and tens of megabytes."""
    code = "import sys, betcode.daemon.providers, betcode.providers.acp; print({'acp', 'pydantic'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
