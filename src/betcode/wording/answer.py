"""The agent's words out of its events: what to print as they stream, and the whole in the end."""

from betcode.v1.agent_pb2 import AgentEvent, TextDelta

_Key = tuple[str, int]


class Answer:
    """Deltas are shown as they come; the settled text of a block replaces them."""

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self._open: dict[_Key, int] = {}  # which of the blocks is still streaming
        self._ending = ""  # the last two letters that were printed

    @property
    def whole(self) -> str:
        """Everything that was said, blocks apart."""
        return "\n\n".join(block for block in self._blocks if block)

    def take(self, event: AgentEvent, settled: str | None = None) -> str:
        """What is to be printed after what was printed before; `settled` is the whole text where the event's was cut.

        A subagent's words are no part of the answer.
        """
        if event.parent_tool_use_id:
            return ""
        fresh = self._fresh(event.text_delta, event.text_delta.text if settled is None else settled)
        if fresh:
            self._ending = (self._ending + fresh)[-2:]
        return fresh

    def _fresh(self, delta: TextDelta, text: str) -> str:
        key = (delta.message_id, delta.block)
        index = self._open.get(key)
        if index is None:
            if not text:
                return ""
            self._blocks.append(text)
            if not delta.is_complete:
                self._open[key] = len(self._blocks) - 1
            return self._blank_line() + text
        shown = self._blocks[index]
        if not delta.is_complete:
            self._blocks[index] = shown + text
            return text
        del self._open[key]
        self._blocks[index] = text
        if text.startswith(shown):
            return text[len(shown) :]
        # The deltas were void: what is printed cannot be taken back, so the true text follows where there is any.
        return self._blank_line() + text if text else ""

    def _blank_line(self) -> str:
        """What is missing to a blank line after what was printed last."""
        if not self._ending:
            return ""
        return "\n" * (2 - (len(self._ending) - len(self._ending.rstrip("\n"))))
