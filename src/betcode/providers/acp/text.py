"""Translates the agent's text and thinking: streamed as deltas, completed when something else follows."""

from betcode.domain.values.text import valid
from betcode.providers.acp import api_pauses
from betcode.providers.acp.event_builder import AcpEventBuilder
from betcode.providers.acp.state import Stream
from betcode.providers.event_builder import uint32
from betcode.wire.acp.frames import Content, Update

_LONGEST_BLOCK = 32 * 1024  # characters; longer text is split into blocks, because the state contains the block


def on_chunk(update: Update, builder: AcpEventBuilder, *, thinking: bool) -> None:
    text = spoken(update.content if isinstance(update.content, Content) else None)
    if not text:
        return
    state = builder.state
    api_pauses.resumed(builder)
    own_id = update.message_id or ""
    stream = state.stream
    if stream is None or stream.thinking is not thinking or stream.own_id != own_id:
        settle(builder)
        stream = state.stream = _opened(builder, own_id, thinking=thinking)
    stream.text += text
    event = builder.new_event()
    delta = event.thinking_delta if thinking else event.text_delta
    delta.text = text
    delta.message_id = stream.message_id
    delta.block = uint32(stream.block)
    if not state.turn:
        settle(builder)  # outside of a turn nothing marks its end
    elif len(stream.text) > _LONGEST_BLOCK and (text.endswith("\n") or len(stream.text) > 2 * _LONGEST_BLOCK):
        settle(builder)
        state.last_block += 1
        state.stream = Stream(stream.message_id, own_id, state.last_block, thinking)


def spoken(content: Content | None) -> str:
    if content is None:
        return ""
    if content.text is not None:
        return valid(content.text)
    return f"[{content.type}: {content.name or content.uri}]" if content.name or content.uri else f"[{content.type}]"


def _opened(builder: AcpEventBuilder, own_id: str, *, thinking: bool) -> Stream:
    state = builder.state
    if own_id:
        message_id = own_id
    elif state.turn:
        state.messages += 1
        message_id = f"{state.turn_id}-{state.messages}"
    else:
        message_id = builder.unique("message")
    state.last_block = state.last_block + 1 if message_id == state.last_message else 0
    state.last_message = message_id
    return Stream(message_id, own_id, state.last_block, thinking)


def settle(builder: AcpEventBuilder, *, is_partial: bool = False) -> None:
    """Complete the current block."""
    stream, builder.state.stream = builder.state.stream, None
    if stream is not None and stream.text:
        _add_block(builder, stream, stream.text, is_partial=is_partial)


def void(builder: AcpEventBuilder) -> None:
    """Replace the unfinished block of a crashed agent by an empty one, because the next agent repeats it."""
    stream, builder.state.stream = builder.state.stream, None
    if stream is not None and stream.text:
        _add_block(builder, stream, "")


def _add_block(builder: AcpEventBuilder, stream: Stream, text: str, *, is_partial: bool = False) -> None:
    event = builder.new_event()
    block = event.thinking_delta if stream.thinking else event.text_delta
    block.text = text
    block.is_complete = True
    block.is_partial = is_partial
    block.message_id = stream.message_id
    block.block = uint32(stream.block)
