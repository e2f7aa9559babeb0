"""Translates text and thinking: streamed as deltas, completed by the whole block, void if the stream was cut off."""

from betcode.providers.claude import api_pauses, turns
from betcode.providers.claude.event_builder import ClaudeEventBuilder
from betcode.providers.claude.state import State, Stream
from betcode.providers.event_builder import uint32
from betcode.v1 import agent_pb2 as v1
from betcode.wire.frames import ApiEvent, StreamEvent

_MESSAGES = 16  # whose next block is remembered


def on_stream(frame: StreamEvent, builder: ClaudeEventBuilder) -> None:
    event = frame.event
    if frame.parent_tool_use_id:
        return  # a subagent's words come whole
    if event.type == "content_block_delta":
        _on_delta(event, builder)
        return
    state = builder.state
    turns.begin(builder)
    match event.type:
        case "message_start":
            void(builder)
            api_pauses.resumed(state)
            message = event.message
            state.stream = Stream(message.id if message else "")
            if message and message.usage:
                state.context_tokens = turns.context_tokens(message.usage)
                state.read_tokens = turns.read_tokens(message.usage)
        case "content_block_start" if state.stream is not None:
            state.stream.block = event.index
        case "content_block_stop" if state.stream is not None:
            state.stream.block = -1
        case "message_delta":
            if event.usage:
                state.context_tokens = turns.context_tokens(event.usage)
                state.read_tokens = turns.read_tokens(event.usage) or state.read_tokens
        case "message_stop" if state.stream is not None:
            if frame.abandoned_blocks is not None:
                void(builder, frame.abandoned_blocks.from_block_index)
            # What ended as it should and was not settled was said all the same.
            state.stream.unsettled.clear()
        case _:
            pass


def _on_delta(event: ApiEvent, builder: ClaudeEventBuilder) -> None:
    state, delta = builder.state, event.delta
    if delta is None:
        return
    if not state.turn:
        turns.begin(builder)
    stream = state.stream
    if stream is None:
        stream = state.stream = Stream("")
    if delta.text:
        said: v1.TextDelta | v1.ThinkingDelta = builder.new_event().text_delta
        said.text = delta.text
    elif delta.thinking:
        said = builder.new_event().thinking_delta
        said.text = delta.thinking
    else:
        return
    said.message_id = stream.message_id
    said.block = index = uint32(event.index)
    stream.block = index
    if index not in stream.unsettled:
        stream.unsettled[index] = not delta.text


def settle(
    builder: ClaudeEventBuilder,
    message_id: str,
    index: int,
    text: str,
    *,
    thinking: bool,
    parent: str = "",
    is_partial: bool = False,
) -> None:
    """The whole text of a block, whatever deltas came before it."""
    stream = builder.state.stream
    was_shown = stream is not None and stream.message_id == message_id and stream.unsettled.pop(index, None) is not None
    if text or was_shown:
        event = builder.new_event(parent)
        said = event.thinking_delta if thinking else event.text_delta
        said.text = text
        said.is_complete = True
        said.is_partial = is_partial
        said.message_id = message_id
        said.block = uint32(index)


def void(builder: ClaudeEventBuilder, first: int = 0) -> None:
    """Deltas of a stream that was cut off: their blocks settle as empty."""
    stream = builder.state.stream
    if stream is None:
        return
    for index, thinking in sorted(stream.unsettled.items()):
        if index >= first:
            settle(builder, stream.message_id, index, "", thinking=thinking)


def block_of(state: State, message_id: str) -> int:
    """Which block of its message a finished one is; the frame itself does not say."""
    stream = state.stream
    if stream is not None and stream.message_id == message_id and stream.block >= 0:
        index = stream.block
        stream.block = -1
    else:
        index = state.next_block.get(message_id, 0)
    state.next_block.pop(message_id, None)
    state.next_block[message_id] = index + 1
    if len(state.next_block) > _MESSAGES:
        del state.next_block[next(iter(state.next_block))]
    return index
