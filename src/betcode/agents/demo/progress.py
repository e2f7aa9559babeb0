"""Track what is open in a turn, so that it can be interrupted as in the real CLI."""

from collections.abc import Mapping
from typing import Any

from betcode.agents.demo import frames
from betcode.agents.demo.stage import Stage

_STOPPED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected. "
    "STOP what you are doing and wait for the user to tell you how to proceed."
)


class Progress:
    """The unfinished output of the open turn, under the ids that the host knows."""

    def __init__(self) -> None:
        self.message_id = ""
        self.text = ""  # of the open block
        self.tools: list[str] = []  # started, without a result
        self.prompts: dict[str, str] = {}  # request id to the id of its tool call

    def note(self, frame: Mapping[str, Any]) -> None:
        """Update the state from one sent frame."""
        match frame:
            case {"type": "stream_event", "event": event}:
                self._note_event(event)
            case {"type": "assistant", "message": {"content": content}}:
                self.text = ""
                self.tools += [str(block["id"]) for block in content if block.get("type") == "tool_use"]
            case {"type": "user", "message": {"content": [*blocks]}}:
                done = {block.get("tool_use_id") for block in blocks if isinstance(block, dict)}
                self.tools = [tool for tool in self.tools if tool not in done]
            case {"type": "control_request", "request_id": request_id, "request": request}:
                self.prompts[str(request_id)] = str(request.get("tool_use_id", ""))
            case _:
                pass

    def _note_event(self, event: Mapping[str, Any]) -> None:
        match event:
            case {"type": "message_start", "message": {"id": message_id}}:
                self.message_id, self.text = str(message_id), ""
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}:
                self.text += text
            case {"type": "content_block_stop"}:
                self.text = ""
            case {"type": "message_stop"}:
                self.message_id = ""
            case _:
                pass

    def withdraw_prompts(self, stage: Stage) -> None:
        for prompt in self.prompts:
            stage.say({"type": "control_cancel_request", "request_id": prompt})
        self.prompts = {}

    def break_off(self, stage: Stage) -> None:
        """Interrupt the turn: sent output remains, running tools are stopped, and the result reports it."""
        with_tools = bool(self.tools)
        if self.text:
            block = {"type": "text", "text": self.text}
            said = frames.assistant(block, message_id=self.message_id, model=stage.part.model, **stage.ids())
            stage.say({**said, "aborted": True})
        for tool in self.tools:
            stage.say(frames.tool_result(tool, _STOPPED, is_error=True, **stage.ids()))
        note = "[Request interrupted by user for tool use]" if with_tools else "[Request interrupted by user]"
        stage.say(frames.user([{"type": "text", "text": note}], **stage.ids()))
        if self.message_id:
            self._close_message(stage)
        reason = "aborted_tools" if with_tools else "aborted_streaming"
        stage.end_turn(frames.aborted_result(reason, **stage.ids()), cancelled=True)

    def _close_message(self, stage: Stage) -> None:
        if self.text:
            stage.say(frames.stream_event(frames.block_stop(0), **stage.ids()))
        for event in frames.message_end(None):
            stage.say(frames.stream_event(event, **stage.ids()))
