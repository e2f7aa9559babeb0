"""Extract the agent's answer from its events, streamed and complete."""

from betcode.v1.agent_pb2 import AgentEvent, TextDelta

_Key = tuple[str, int]


class AnswerText:
    """Prints deltas as they arrive; the final text of a block replaces them."""

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self._open: dict[_Key, int] = {}  # the block that is still streaming
        self._ending = ""  # the last two characters that were printed

    @property
    def whole(self) -> str:
        """The whole text, with blank lines between blocks."""
        return "\n\n".join(block for block in self._blocks if block)

    def take(self, event: AgentEvent, settled: str | None = None) -> str:
        """Return the text to print next; `settled` is the whole text if the event's was truncated.

        Text of subagents is not part of the answer.
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
        # The deltas were replaced: printed text cannot be withdrawn, so the final text follows it.
        return self._blank_line() + text if text else ""

    def _blank_line(self) -> str:
        """Return the newlines that are missing for a blank line."""
        if not self._ending:
            return ""
        return "\n" * (2 - (len(self._ending) - len(self._ending.rstrip("\n"))))
