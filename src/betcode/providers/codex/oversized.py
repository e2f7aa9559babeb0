"""Handles a line that is too long to read: a request in it is refused, an item in it is ended."""

import re

from betcode.domain.values.text import shortened
from betcode.providers.codex import frames, handshake, items, prompts, turns
from betcode.providers.codex.event_builder import CodexEventBuilder
from betcode.providers.codex.launch import THREAD_ID

_REQUEST = re.compile(rb'\{"method":"([\w/]{1,100})","id":(\d{1,15})[,}]')
_ITEM = re.compile(rb'\{"method":"item/completed","params":\{"item":\{"type":"(\w{1,50})","id":"([^"\\]{1,200})"')
_THREAD = re.compile(rb'\{"id":"%b[\w-]{0,20}","result":\{"thread":\{"id":"([\w-]{1,100})"' % THREAD_ID.encode())
_TURN = b'{"method":"turn/completed"'
_REASON = "the request is over the size limit: make it smaller"


def take(beginning: bytes, size: int, builder: CodexEventBuilder) -> None:
    """What the line was can be told from its beginning."""
    if (found := _REQUEST.match(beginning)) is not None:
        prompts.refuse(int(found[2]), _REASON, builder)
    elif (found := _ITEM.match(beginning)) is not None:
        item = frames.Item(found[1].decode(), found[2].decode(errors="replace"), "completed")
        items.finish(builder, item, f"[a result of about {size} bytes, over the limit for a line]")
    elif (found := _THREAD.match(beginning)) is not None:
        handshake.greet(frames.ThreadAnswer(frames.Thread(shortened(found[1].decode(), 100))), builder)
    elif beginning.startswith(_TURN) and builder.state.turn:
        turns.end(
            builder,
            "error",
            [name for name, turn in builder.state.pending.items() if turn in ("", builder.state.turn_id)],
        )
