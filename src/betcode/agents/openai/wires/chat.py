"""The Chat Completions API, which nearly every compatible server supports."""

import json
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from betcode.agents.openai.history import Shown
from betcode.agents.openai.records import Call, ContentPart, ModelAnswer, ToolOutput, UserMessage
from betcode.agents.openai.wires import (
    MOST_CHARACTERS,
    Finished,
    ModelFailed,
    ModelRequest,
    StreamCut,
    TextDelta,
    ThoughtDelta,
    TokenUsage,
    counted,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types import CompletionUsage
    from openai.types.chat.chat_completion_chunk import ChoiceDelta

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")  # a request with such a name is refused, and so are all later ones
_CUT = {"length": "length", "content_filter": "filter"}


@dataclass(slots=True)
class _Growing:
    """A call whose parts arrive one by one."""

    index: int
    call_id: str = ""
    name: str = ""
    arguments: str = ""


class ChatWire:
    def __init__(self, client: "AsyncOpenAI") -> None:
        self._client = client

    async def close(self) -> None:
        await self._client.close()

    async def ask(self, question: ModelRequest) -> AsyncGenerator[TextDelta | ThoughtDelta | Finished, None]:
        request: dict[str, Any] = {
            "model": question.model,
            "messages": [
                {"role": "system", "content": question.instructions},
                *(_message(each) for each in question.shown),
            ],
            "tools": [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
                }
                for tool in question.tools
            ],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        text, calls, reason = "", list[_Growing](), ""
        usage: TokenUsage | None = None
        async with await self._client.chat.completions.create(**request) as stream:
            async for chunk in stream:
                if chunk.usage is not None:
                    usage = _usage(chunk.usage)
                for choice in chunk.choices or ():
                    if thought := _thought(choice.delta):
                        yield ThoughtDelta(thought)
                    if said := choice.delta.content or choice.delta.refusal:
                        text += said
                        yield TextDelta(said)
                    _grow(calls, choice.delta)
                    reason = choice.finish_reason or reason
        if not reason:
            raise StreamCut
        if reason in _CUT:
            yield Finished(ModelAnswer(text, is_partial=True), _CUT[reason], usage)
        else:
            made = (Call(call.call_id, call.name, call.arguments) for call in calls)
            yield Finished(ModelAnswer(text, tuple(made)), usage=usage)


def _grow(calls: list[_Growing], delta: "ChoiceDelta") -> None:
    for part in delta.tool_calls or ():
        call = next((each for each in reversed(calls) if each.index == part.index), None)
        # Some servers send the id and the name with every part, some send no id at all, and some one index for all.
        if call is None or (part.id and call.call_id and part.id != call.call_id):
            call = _Growing(part.index)
            calls.append(call)
        call.call_id = part.id or call.call_id
        if part.function is not None:
            call.name = part.function.name or call.name
            call.arguments += part.function.arguments or ""
            if len(call.arguments) > MOST_CHARACTERS:
                raise ModelFailed("its tool call is too long")


def _thought(delta: "ChoiceDelta") -> str:
    """An extension of compatible servers, under one of two names."""
    extra = delta.model_extra or {}
    thought = extra.get("reasoning_content") or extra.get("reasoning")
    return thought if isinstance(thought, str) else ""


def _usage(told: "CompletionUsage") -> TokenUsage:
    """Return the usage; servers may omit any field."""
    cached = getattr(getattr(told, "prompt_tokens_details", None), "cached_tokens", 0)
    given, made = getattr(told, "prompt_tokens", 0), getattr(told, "completion_tokens", 0)
    return TokenUsage(counted(given), counted(made), counted(cached))


def _message(shown: Shown) -> dict[str, Any]:
    match shown:
        case UserMessage():
            if all(not part.image for part in shown.parts):  # a list of parts is more than some servers take
                return {"role": "user", "content": "\n".join(part.text for part in shown.parts)}
            return {"role": "user", "content": [_part(part) for part in shown.parts]}
        case ModelAnswer():
            message: dict[str, Any] = {"role": "assistant", "content": shown.text or None}
            if shown.calls:
                message["tool_calls"] = [_call(call) for call in shown.calls]
            elif not shown.text:
                message["content"] = ""
            return message
        case ToolOutput():
            return {"role": "tool", "tool_call_id": shown.call_id, "content": shown.text}


def _call(call: Call) -> dict[str, Any]:
    # The server converts them to the model's own format, and rejects anything but an object.
    arguments = call.arguments if _is_object(call.arguments) else "{}"
    name = _NOT_IN_NAMES.sub("_", call.name)[:64] or "unknown"
    return {"id": call.call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _part(part: ContentPart) -> dict[str, Any]:
    if part.image:
        return {"type": "image_url", "image_url": {"url": f"data:{part.mime_type};base64,{part.image}"}}
    return {"type": "text", "text": part.text}
