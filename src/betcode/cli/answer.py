"""The agent's words out of its events: what to print as they stream, and the whole in the end."""

from betcode.v1.agent_pb2 import AgentEvent

_Key = tuple[str, int]


class Answer:
    """Deltas are shown as they come; the settled text of a block replaces them."""

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self._open: dict[_Key, int] = {}  # which of the blocks is still streaming

    @property
    def whole(self) -> str:
        """Everything that was said, blocks apart."""
        return "\n\n".join(block for block in self._blocks if block)

    def take(self, event: AgentEvent, settled: str | None = None) -> str:
        """What is to be printed after what was printed before; `settled` is the whole text where the event's was cut.

        A subagent's words are no part of the answer.
        """
        delta = event.text_delta
        if event.parent_tool_use_id:
            return ""
        text = delta.text if settled is None else settled
        key = (delta.message_id, delta.block)
        index = self._open.get(key)
        if index is None:
            if not text:
                return ""
            apart = "\n\n" if self._blocks else ""
            self._blocks.append(text)
            if not delta.is_complete:
                self._open[key] = len(self._blocks) - 1
            return apart + text
        shown = self._blocks[index]
        if not delta.is_complete:
            self._blocks[index] = shown + text
            return text
        del self._open[key]
        self._blocks[index] = text
        if text.startswith(shown):
            return text[len(shown) :]
        # The deltas were void: what is printed cannot be taken back, so the true text follows where there is any.
        return "\n\n" + text if text else ""
