"""A conversation as blocks, whichever page of it is read first."""

from collections.abc import Iterable

from betcode.tui.model.blocks import Block, Said, Thoughts, Told, Tone, ToolState, ToolUse, TurnEnd, Words
from betcode.v1 import agent_pb2 as v1
from betcode.wording.render import Describer, telling_input, turn_summary

_TELLING_WIDTH = 400


class Conversation:
    """Takes events as they come; `blocks` are in the order in which each began."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.revision = 0  # of the whole: what is drawn is out of date when it has changed
        self.oldest = 0  # the number of the first event that was taken; 0: none
        self._by_key: dict[str, Block] = {}
        self._describer = Describer()
        self._usage = ""

    def take(self, events: Iterable[v1.AgentEvent]) -> None:
        """Events that are newer than all that were taken before."""
        for event in events:
            if event.sequence and not self.oldest:
                self.oldest = event.sequence
            self._take(event)
        self.revision += 1

    def _take(self, event: v1.AgentEvent) -> None:
        kind = event.WhichOneof("event")
        seq = event.sequence
        match kind:
            case "user_input":
                said = event.user_input
                self._add(
                    event,
                    Said(
                        f"said-{said.message_id or seq}",
                        seq,
                        text=said.content,
                        message_id=said.message_id,
                        client_id=said.client_id,
                        attachments=tuple(said.attachments),
                    ),
                )
            case "text_delta":
                self._words(event, event.text_delta, Words)
            case "thinking_delta":
                self._words(event, event.thinking_delta, Thoughts)
            case "tool_call_start":
                start = event.tool_call_start
                self._add(
                    event,
                    ToolUse(
                        f"tool-{start.tool_id}",
                        seq,
                        name=start.tool_name,
                        telling=telling_input(start, _TELLING_WIDTH),
                        input_json=start.input_json,
                        description=start.description,
                    ),
                )
            case "tool_call_result":
                self._result(event)
            case "usage":
                self._usage = turn_summary(event.usage)
            case "turn_complete":
                self._add(
                    event, TurnEnd(f"end-{seq}", seq, stop_reason=event.turn_complete.stop_reason, summary=self._usage)
                )
                self._usage = ""
            case "message_state":
                block = self._by_key.get(f"said-{event.message_state.message_id}")
                if isinstance(block, Said):
                    block.state, block.reason = event.message_state.state, event.message_state.reason
                    block.revision += 1
            case "error" | "notice" | "gap" | "compaction":
                if lines := self._describer.describe(event):
                    tone = Tone.BAD if kind in ("error", "gap") else Tone.QUIET
                    self._add(event, Told(f"told-{seq}", seq, lines=tuple(lines), tone=tone))
            case _:
                pass

    def _words(self, event: v1.AgentEvent, delta: v1.TextDelta | v1.ThinkingDelta, kind: type[Words]) -> None:
        key = f"{kind.__name__}-{delta.message_id}-{delta.block}"
        block = self._by_key.get(key)
        if not isinstance(block, Words):
            block = kind(key, event.sequence)
            self._add(event, block)
        if block.is_settled:
            return
        if delta.is_complete:
            block.pieces = [delta.text]
            block.is_settled, block.is_partial = True, delta.is_partial
        else:
            block.pieces.append(delta.text)
        block.revision += 1
        self._touch_parent(event)

    def _result(self, event: v1.AgentEvent) -> None:
        result = event.tool_call_result
        block = self._by_key.get(f"tool-{result.tool_id}")
        if not isinstance(block, ToolUse):
            return
        block.output, block.duration_ms, block.denied_by = result.output, result.duration_ms, result.denied_by
        denied, failed = ToolState.DENIED, ToolState.FAILED
        block.state = denied if result.denied_by else failed if result.is_error else ToolState.DONE
        block.cuts = tuple(event.cuts)
        block.revision += 1
        self._touch_parent(event)

    def _add(self, event: v1.AgentEvent, block: Block) -> None:
        self._by_key[block.key] = block
        parent = self._by_key.get(f"tool-{event.parent_tool_use_id}") if event.parent_tool_use_id else None
        if isinstance(parent, ToolUse):
            parent.children.append(block)
            parent.revision += 1
        else:
            self.blocks.append(block)

    def _touch_parent(self, event: v1.AgentEvent) -> None:
        parent = self._by_key.get(f"tool-{event.parent_tool_use_id}") if event.parent_tool_use_id else None
        if parent is not None:
            parent.revision += 1
