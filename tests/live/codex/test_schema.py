"""What we rely on, compared with the schema that the installed Codex itself writes."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from betcode.providers.codex.dialogue import NEWS
from support.providers.codex import codex_binary

# By method: the parameters that we send.
REQUESTS = {
    "initialize": {"clientInfo", "capabilities"},
    "thread/start": {"cwd", "model", "approvalPolicy", "sandbox", "config"},
    "thread/resume": {"threadId", "excludeTurns", "cwd", "model", "approvalPolicy", "sandbox", "config"},
    "thread/fork": {"threadId", "lastTurnId", "excludeTurns", "cwd", "model", "approvalPolicy", "sandbox", "config"},
    "thread/compact/start": {"threadId"},
    "thread/backgroundTerminals/clean": {"threadId"},
    "turn/start": {"threadId", "input", "collaborationMode", "clientUserMessageId"},
    "turn/steer": {"threadId", "expectedTurnId", "input"},
    "turn/interrupt": {"threadId", "turnId"},
    "model/list": {"limit"},
}
# By method: what we read of a request of Codex.
ASKED = {
    "item/commandExecution/requestApproval": {"itemId", "command", "cwd", "reason", "kind", "networkApprovalContext"},
    "item/fileChange/requestApproval": {"itemId", "reason"},
    "item/tool/requestUserInput": {"questions"},
    "item/tool/call": set(),
    "item/permissions/requestApproval": set(),
    "mcpServer/elicitation/request": set(),
}
# By the name of a type: its fields, or its words, that we read or write.
TYPES = {
    "Turn": {"id", "status", "error", "durationMs"},
    "TurnError": {"message", "codexErrorInfo", "additionalDetails"},
    "TurnStatus": {"completed", "interrupted", "failed"},
    "ThreadTokenUsage": {"total", "last", "modelContextWindow"},
    "TokenUsageBreakdown": {"inputTokens", "cachedInputTokens", "cacheWriteInputTokens", "outputTokens", "totalTokens"},
    "FileUpdateChange": {"path", "kind", "diff"},
    "PatchApplyStatus": {"completed", "failed", "declined"},
    "CommandExecutionStatus": {"completed", "failed", "declined"},
    "TurnPlanStep": {"step", "status"},
    "TurnPlanStepStatus": {"pending", "inProgress", "completed"},
    "SandboxMode": {"read-only", "workspace-write", "danger-full-access"},
    "AskForApproval": {"untrusted", "granular"},
    "CommandExecutionApprovalDecision": {"accept", "decline", "cancel"},
    "FileChangeApprovalDecision": {"accept", "decline", "cancel"},
    "ToolRequestUserInputQuestion": {"id", "header", "question", "options", "isSecret"},
    "ToolRequestUserInputAnswer": {"answers"},
    "CodexErrorInfo": {
        "contextWindowExceeded",
        "usageLimitExceeded",
        "rateLimitExceeded",
        "serverOverloaded",
        "internalServerError",
        "modelNotFound",
        "unauthorized",
        "sandboxError",
        "httpStatusCode",
    },
    "ThreadItem": {
        "agentMessage",
        "reasoning",
        "plan",
        "commandExecution",
        "fileChange",
        "mcpToolCall",
        "dynamicToolCall",
        "collabAgentToolCall",
        "webSearch",
        "imageView",
        "contextCompaction",
        "aggregatedOutput",
        "exitCode",
        "receiverThreadIds",
    },
    "ThreadStartResponse": {"thread", "model", "cwd"},
    "ModeKind": {"plan", "default"},
    "Settings": {"model", "reasoning_effort", "developer_instructions"},
}


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("schema")
    command = [str(codex_binary()), "app-server", "generate-json-schema", "--experimental", "--out", str(place / "out")]
    environment = {"HOME": str(place), "PATH": "/usr/bin:/bin"}
    subprocess.run(command, env=environment, check=True, capture_output=True, timeout=60)
    whole = json.loads((place / "out" / "codex_app_server_protocol.schemas.json").read_text())["definitions"]
    return {**whole, **whole.get("v2", {})}


def test_codex_has_everything_that_we_rely_on(schema: dict[str, Any]) -> None:
    missing = [
        *_lacking(schema, "ClientRequest", REQUESTS),
        *_lacking(schema, "ServerRequest", ASKED),
        *_lacking(schema, "ServerNotification", {method: _fields(kind) for method, (kind, _) in NEWS.items()}),
    ]
    for name, words in TYPES.items():
        missing += [f"{name}: {word}" for word in words - set(_words(schema.get(name, {})))]
    assert missing == []


def _fields(kind: type) -> set[str]:
    """What a struct of ours reads, by its names on the wire; a delta has one of two indices."""
    names = set(getattr(kind, "__struct_encode_fields__", ()))
    return names - {"summaryIndex", "contentIndex"}


def _lacking(schema: dict[str, Any], union: str, wanted: dict[str, set[str]]) -> Iterator[str]:
    known = {one["properties"]["method"]["enum"][0]: one["properties"] for one in schema[union]["oneOf"]}
    for method, names in wanted.items():
        if method not in known:
            yield method
            continue
        params = known[method].get("params", {})
        name = params.get("$ref", "").rpartition("/")[2]
        yield from (f"{method}: {each}" for each in names - set(_words(schema.get(name, params))))


def _words(part: Any) -> Iterator[str]:
    """The names of fields and the words of enumerations, in all alternatives of a type."""
    if isinstance(part, list):
        for each in part:
            yield from _words(each)
    elif isinstance(part, dict):
        yield from part.get("properties", {})
        yield from (word for word in part.get("enum", ()) if isinstance(word, str))
        for key in ("oneOf", "anyOf", "allOf"):
            yield from _words(part.get(key, []))
        for each in part.get("properties", {}).values():
            yield from _words(each)
