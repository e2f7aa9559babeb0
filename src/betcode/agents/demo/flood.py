"""Generates load for benchmarks: a turn of many numbered and timestamped text deltas."""

import json
import time
import uuid
from dataclasses import dataclass

from betcode.agents.demo import frames
from betcode.agents.demo.stage import Interrupted, Stage

_DELTAS_PER_MESSAGE = 200  # so that no settled text is larger than a real one
_GLANCE_EVERY = 256


@dataclass(frozen=True, slots=True)
class Flood:
    """The amount, the speed (0: no limit) and the minimum length of each text."""

    lines: int
    rate: float = 0.0
    text_bytes: int = 0

    def play_turn(self, stage: Stage) -> None:
        """One turn of `lines` deltas. A text is `NUMBER MONOTONIC_NS `, padded with dots."""
        part = stage.part
        stage.say(
            frames.init(**stage.ids(), cwd=part.cwd, model=part.model, permission_mode=part.permission_mode),
        )
        stage.say(frames.requesting(**stage.ids()))
        try:
            began = time.monotonic()
            for first in range(0, self.lines, _DELTAS_PER_MESSAGE):
                self._message(stage, range(first, min(first + _DELTAS_PER_MESSAGE, self.lines)), began)
        except Interrupted as interrupted:
            if interrupted.asked is not None:
                stage.reply_to_interrupt(interrupted.asked)
            stage.say(frames.user([{"type": "text", "text": "[Request interrupted by user]"}], **stage.ids()))
            stage.end_turn(frames.aborted_result("aborted_streaming", **stage.ids()), cancelled=True)
            return
        stage.end_turn(frames.result("", **stage.ids()))

    def _message(self, stage: Stage, numbers: range, began: float) -> None:
        message_id = f"msg_demo_{uuid.uuid4().hex[:12]}"
        for event in (frames.message_start(message_id, stage.part.model), frames.text_start(0)):
            stage.say(frames.stream_event(event, **stage.ids()))
        # Only the text differs between deltas, so the rest of the line is built once.
        mark = "\u0000"
        frame = frames.stream_event(frames.text_delta(0, mark), **stage.ids())
        head, tail = json.dumps(frame, separators=(",", ":")).encode().split(json.dumps(mark)[1:-1].encode())
        said: list[bytes] = []
        for number in numbers:
            if self.rate:
                stage.pause_until(began + number / self.rate)
            elif number % _GLANCE_EVERY == 0:
                stage.glance()
            text = b"%d %d " % (number, time.monotonic_ns())
            text += b"." * (self.text_bytes - len(text))
            said.append(text)
            stage.say_line(head + text + tail)
        block = {"type": "text", "text": b"".join(said).decode()}
        stage.say(frames.assistant(block, message_id=message_id, model=stage.part.model, **stage.ids()))
        for event in (frames.block_stop(0), *frames.message_end("end_turn")):
            stage.say(frames.stream_event(event, **stage.ids()))
