"""The two streams of an OpenAI-compatible API, event by event, in the shapes that recordings of it have."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

from support.apis.openai.script import Call, Json, Step, words

Data = dict[str, Any]


class Pause:
    """Stands in a stream where its text is out and its end is not."""


class Cut:
    """Stands in a stream where the connection ends."""


Event = Data | Pause | Cut


def usage_of(step: Step) -> Json | None:
    told = step.data.get("usage", {})
    if told is False:
        return None
    return {"input": told.get("input", 1000 + 10 * step.number), "output": told.get("output", 50)}


def responses(model: str, step: Step, calls: Sequence[Call], number: int) -> Iterator[Event]:
    """The events of `POST /responses`."""
    base = _response(model, number)
    yield {"type": "response.created", "response": base}
    yield {"type": "response.in_progress", "response": base}
    output: list[Data] = []
    for events in _items(step, calls, number):
        for event in events:
            if isinstance(event, dict):
                event["output_index"] = len(output)
            yield event
            if isinstance(event, Cut):
                return
        assert isinstance(event, dict)
        output.append(event["item"])
    yield Pause()
    if code := step.data.get("failed"):
        error = {"code": code, "message": step.data.get("message", f"scripted {code}")}
        yield {"type": "response.failed", "response": {**base, "status": "failed", "error": error}}
        return
    reason = step.data.get("incomplete")
    ended = {
        **base,
        "status": "incomplete" if reason else "completed",
        "output": output,
        "incomplete_details": {"reason": reason} if reason else None,
        "usage": _responses_usage(step),
    }
    yield {"type": f"response.{ended['status']}", "response": ended}


def whole_response(model: str, step: Step, calls: Sequence[Call], number: int) -> Json:
    """The answer to a request that is not streamed."""
    last = [event for event in responses(model, step, calls, number) if isinstance(event, dict)][-1]
    return dict(last["response"])


def chat(model: str, step: Step, calls: Sequence[Call], number: int) -> Iterator[Event]:
    """The chunks of `POST /chat/completions`."""
    yield _chunk(model, number, {"role": "assistant", "content": ""})
    for word in words(step.data.get("think", "")):
        yield _chunk(model, number, {"reasoning_content": word})
    for at, word in enumerate(words(step.data.get("text", ""))):
        if step.data.get("cut") and at == 2:
            yield Cut()
            return
        yield _chunk(model, number, {"content": word})
    if step.data.get("cut"):
        yield Cut()
        return
    yield Pause()
    if code := step.data.get("failed"):
        yield {"error": {"message": step.data.get("message", f"scripted {code}"), "type": "server_error", "code": code}}
        return
    for index, call in enumerate(calls):
        start = {"index": index, "id": f"call_{number}_{index}", "type": "function"}
        yield _chunk(model, number, {"tool_calls": [{**start, "function": {"name": call.name, "arguments": ""}}]})
        half = len(call.arguments) // 2
        for part in (call.arguments[:half], call.arguments[half:]):
            yield _chunk(model, number, {"tool_calls": [{"index": index, "function": {"arguments": part}}]})
    reason = step.data.get("incomplete") or ("tool_calls" if calls else "stop")
    yield _chunk(model, number, {}, "length" if reason == "max_output_tokens" else reason)
    if usage := chat_usage(step):
        yield {**_chunk(model, number, {}), "choices": [], "usage": usage}


def chat_usage(step: Step) -> Json | None:
    usage = usage_of(step)
    if usage is None:
        return None
    return {
        "prompt_tokens": usage["input"],
        "completion_tokens": usage["output"],
        "total_tokens": usage["input"] + usage["output"],
        "prompt_tokens_details": {"cached_tokens": 200},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }


def whole_chat(model: str, step: Step, calls: Sequence[Call], number: int) -> Json:
    made = [
        {"id": f"call_{number}_{at}", "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for at, call in enumerate(calls)
    ]
    message = {"role": "assistant", "content": step.data.get("text"), **({"tool_calls": made} if made else {})}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if made else "stop"}
    return {**_chunk(model, number, {}), "object": "chat.completion", "choices": [choice], "usage": chat_usage(step)}


# ---------------------------------------------------------------- parts of the Responses stream


def _items(step: Step, calls: Sequence[Call], number: int) -> Iterator[Iterator[Data | Cut]]:
    if think := step.data.get("think"):
        yield _reasoning(think, f"rs_{number}")
    if step.data.get("text") or not calls:
        yield _message(step, f"msg_{number}")
    for at, call in enumerate(calls):
        yield _call(call, f"{number}_{at}")


def _reasoning(think: str, item_id: str) -> Iterator[Data | Cut]:
    item = {"id": item_id, "type": "reasoning", "summary": [], "encrypted_content": "ZmFrZQ=="}
    where = {"item_id": item_id, "summary_index": 0}
    yield {"type": "response.output_item.added", "item": {**item, "status": "in_progress"}}
    part = {"type": "summary_text", "text": think}
    yield {"type": "response.reasoning_summary_part.added", **where, "part": {**part, "text": ""}}
    for word in words(think):
        yield {"type": "response.reasoning_summary_text.delta", **where, "delta": word}
    yield {"type": "response.reasoning_summary_text.done", **where, "text": think}
    yield {"type": "response.reasoning_summary_part.done", **where, "part": part}
    yield {"type": "response.output_item.done", "item": {**item, "summary": [part], "status": "completed"}}


def _message(step: Step, item_id: str) -> Iterator[Data | Cut]:
    text = step.data.get("text", "")
    item = {"id": item_id, "type": "message", "role": "assistant"}
    where = {"item_id": item_id, "content_index": 0}
    yield {"type": "response.output_item.added", "item": {**item, "status": "in_progress", "content": []}}
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    yield {"type": "response.content_part.added", **where, "part": {**part, "text": ""}}
    for at, word in enumerate(words(text)):
        if step.data.get("cut") and at == 2:
            break
        yield {"type": "response.output_text.delta", **where, "delta": word, "logprobs": []}
    if step.data.get("cut"):
        yield Cut()
        return
    yield {"type": "response.output_text.done", **where, "text": text, "logprobs": []}
    yield {"type": "response.content_part.done", **where, "part": part}
    yield {"type": "response.output_item.done", "item": {**item, "status": "completed", "content": [part]}}


def _call(call: Call, ending: str) -> Iterator[Data | Cut]:
    kind, field = ("custom_tool_call", "input") if call.is_custom else ("function_call", "arguments")
    event = "custom_tool_call_input" if call.is_custom else "function_call_arguments"
    item = {"id": f"fc_{ending}", "type": kind, "call_id": f"call_{ending}", "name": call.name}
    item |= {"namespace": call.namespace} if call.namespace else {}
    yield {"type": "response.output_item.added", "item": {**item, field: "", "status": "in_progress"}}
    yield {"type": f"response.{event}.delta", "item_id": item["id"], "delta": call.arguments}
    yield {"type": f"response.{event}.done", "item_id": item["id"], "name": call.name, field: call.arguments}
    yield {"type": "response.output_item.done", "item": {**item, field: call.arguments, "status": "completed"}}


def _response(model: str, number: int) -> Data:
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": int(time.time()),
        "model": model,
        "status": "in_progress",
        "output": [],
        "usage": None,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "top_p": 1.0,
        "tool_choice": "auto",
        "tools": [],
    }


def _responses_usage(step: Step) -> Json | None:
    usage = usage_of(step)
    if usage is None:
        return None
    return {
        "input_tokens": usage["input"],
        "input_tokens_details": {"cached_tokens": 200},
        "output_tokens": usage["output"],
        "output_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": usage["input"] + usage["output"],
    }


def _chunk(model: str, number: int, delta: Json, finish_reason: str | None = None) -> Data:
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": model,
        "system_fingerprint": "fp_scripted",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}],
    }
