"""The Responses API, used statelessly: every request contains the conversation."""

from collections.abc import AsyncGenerator, Iterator
from typing import TYPE_CHECKING, Any

from betcode.agents.openai.history import Shown
from betcode.agents.openai.records import Call, ContentPart, ModelAnswer, ToolOutput, UserMessage
from betcode.agents.openai.wires import (
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
    from openai.types.responses import Response

# Fields that the API adds to its items for information, and does not accept in a request.
_NOT_SENT = frozenset({"status", "parsed_arguments", "created_by"})


class ResponsesWire:
    def __init__(self, client: "AsyncOpenAI") -> None:
        self._client = client

    async def close(self) -> None:
        await self._client.close()

    async def ask(self, question: ModelRequest) -> AsyncGenerator[TextDelta | ThoughtDelta | Finished, None]:
        request: dict[str, Any] = {
            "model": question.model,
            "instructions": question.instructions,
            "input": [item for each in question.shown for item in _items(each)],
            "tools": [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    "strict": False,
                }
                for tool in question.tools
            ],
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "stream": True,
        }
        async with await self._client.responses.create(**request) as stream:
            async for event in stream:
                match event.type:
                    case "response.output_text.delta" | "response.refusal.delta":
                        yield TextDelta(event.delta)
                    case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                        yield ThoughtDelta(event.delta)
                    case "response.completed" | "response.incomplete":
                        yield _finished(event.response)
                        return
                    case "response.failed":
                        error = event.response.error
                        said = (error.message, str(error.code)) if error is not None else ("The model failed", "")
                        raise ModelFailed(*said)
                    case "error":
                        raise ModelFailed(event.message, event.code or "")
                    case _:
                        pass  # parts that the end has whole
        raise StreamCut


def _finished(response: "Response") -> Finished:
    dumped = [item.model_dump(mode="json", exclude_none=True) for item in response.output]
    calls = tuple(Call(each["call_id"], each["name"], each["arguments"]) for each in dumped if _is_call(each))
    text = "".join(
        part.get("text", part.get("refusal", ""))
        for each in dumped
        if each["type"] == "message"
        for part in each["content"]
    )
    usage = None
    if getattr(response, "usage", None) is not None:
        told = response.usage  # some servers omit fields of it
        cached = getattr(getattr(told, "input_tokens_details", None), "cached_tokens", 0)
        given, made = getattr(told, "input_tokens", 0), getattr(told, "output_tokens", 0)
        usage = TokenUsage(counted(given), counted(made), counted(cached))
    items = tuple({k: v for k, v in each.items() if k not in _NOT_SENT} for each in dumped)
    if response.status != "incomplete":
        return Finished(ModelAnswer(text, calls, items), usage=usage)
    # A truncated call has no usable arguments, and reasoning without its result is refused.
    why = response.incomplete_details.reason if response.incomplete_details else None
    return Finished(ModelAnswer(text, is_partial=True), "filter" if why == "content_filter" else "length", usage)


def _is_call(item: dict[str, Any]) -> bool:
    return bool(item["type"] == "function_call")


def _items(shown: Shown) -> Iterator[dict[str, Any]]:
    match shown:
        case UserMessage():
            yield {"role": "user", "content": [_part(part) for part in shown.parts]}
        case ModelAnswer(items=items) if items:
            yield from items
        case ModelAnswer():
            if shown.text:
                yield {"role": "assistant", "content": shown.text}
            for call in shown.calls:
                yield {
                    "type": "function_call",
                    "call_id": call.call_id,
                    "name": call.name,
                    "arguments": call.arguments,
                }
        case ToolOutput():
            yield {"type": "function_call_output", "call_id": shown.call_id, "output": shown.text}


def _part(part: ContentPart) -> dict[str, Any]:
    if part.image:
        return {"type": "input_image", "detail": "auto", "image_url": f"data:{part.mime_type};base64,{part.image}"}
    return {"type": "input_text", "text": part.text}
