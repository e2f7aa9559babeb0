"""Shows a block in full; text that was too long for its event is fetched from the daemon."""

from contextlib import aclosing
from typing import TYPE_CHECKING

from betcode.client import Client, ClientError
from betcode.tui.model.blocks import AgentText, AgentThinking, Block, ToolCallBlock, TruncatedField, UserMessage
from betcode.tui.view.block_lines import text_of_block
from betcode.tui.widgets.dialogs import TextView
from betcode.tui.widgets.line_view import ViewLine
from betcode.wording.ids import short_id
from betcode.wording.sizes import readable
from betcode.wording.terminal_text import clean, one_line

if TYPE_CHECKING:
    from betcode.tui.app import BetcodeApp

_SHOWN_BYTES = 16 * 1024 * 1024
_TITLE = 200


async def show_whole(app: "BetcodeApp", client: Client, session_id: str, block: Block) -> None:
    """Show the block in its own window."""
    try:
        title, text = await _whole(client, session_id, block)
    except ClientError as error:
        app.show_error(error)
    else:
        app.push_screen(TextView(one_line(title, _TITLE), [ViewLine(line) for line in clean(text).split("\n")]))


async def _whole(client: Client, session_id: str, block: Block) -> tuple[str, str]:
    """Return a title and the full text."""
    fetched = {cut.field: await _fetched(client, session_id, cut) for cut in block.cuts}
    match block:
        case ToolCallBlock():
            input_json = fetched.get("tool_call_start.input_json", block.input_json)
            output = fetched.get("tool_call_result.output", block.output)
            title = f"{block.name} {block.input_summary}".strip()
            return title, "\n\n".join(part for part in (input_json, output) if part)
        case AgentThinking():
            return "Thinking of the agent", fetched.get("thinking_delta.text", block.text)
        case AgentText():
            return "Text of the agent", fetched.get("text_delta.text", block.text)
        case UserMessage():
            return "Prompt", fetched.get("user_input.content", block.text)
        case _:
            return "Full text", text_of_block(block)


async def _fetched(client: Client, session_id: str, cut: TruncatedField) -> str:
    if not cut.sha256:
        page = await client.read_events(session_id, before=cut.sequence + 1, limit_bytes=1, include_compacted=True)
        return page.events[-1].tool_call_result.output
    data = bytearray()
    async with aclosing(client.read_blob(session_id, cut.sha256)) as pieces:
        async for piece in pieces:
            data += piece
            if len(data) > _SHOWN_BYTES:
                remaining = readable(cut.size_bytes - _SHOWN_BYTES)
                note = f"\n… {remaining} more: betcode session export {short_id(session_id)}"
                return data[:_SHOWN_BYTES].decode("utf-8", "replace") + note
    return data.decode("utf-8", "replace")
