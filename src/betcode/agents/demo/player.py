"""Plays a recording as a live conversation: waits where the recording waited for the host."""

import json
import os
import signal
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from betcode.agents.demo import frames
from betcode.agents.demo.cassette import Cassette, Direction, Names, Row
from betcode.agents.demo.inbox import PromptAnswer
from betcode.agents.demo.progress import Progress
from betcode.agents.demo.stage import Interrupted, Stage

_GLANCE_EVERY = 64  # rows, when playing as fast as possible

_DENIED = "All right, I did not do it. This recording has no other continuation, so the turn ends here."
_ALLOWED = "Thank you. The recording was made with a different answer, so I cannot show how it would continue."
_NO_RESULT = "(nothing was run: the recording has no result for an allowed call)"


class Player:
    """A recording and a position in it. `others` are continuations for other answers of the host."""

    def __init__(self, cassette: Cassette, stage: Stage, *, others: Sequence[Cassette] = ()) -> None:
        self._recorded = cassette
        self._others = others
        self._stage = stage
        self._rows = cassette
        self._at = 0
        self._cost_before = 0.0
        self._cost = 0.0
        self._begin()

    def _begin(self) -> None:
        self._rows, self._at = self._recorded, 0
        everything = sum(self._others, self._recorded)
        self._names = Names(everything, self._stage.part.session_id, uuid.uuid4().hex)
        self._answers: list[bool] = []  # of the host, so far: whether it allowed
        self._chosen: dict[str, str] = {}  # by tool call: the host's answers to its questions
        self._cost_before = self._cost
        self._progress = Progress()

    # ---------------------------------------------------------------- turns

    def play_turn(self) -> None:
        """Play on until the recording waits for a message; a recording that is over begins again."""
        self._seek_message()
        self._progress = Progress()
        try:
            self._play()
        except Interrupted as interrupted:
            self._progress.withdraw_prompts(self._stage)
            if interrupted.asked is not None:
                self._stage.reply_to_interrupt(interrupted.asked)
            self._progress.break_off(self._stage)
            self._skip_to_message()

    def break_off(self) -> None:
        """End the open turn as an interrupt does."""
        self._progress.withdraw_prompts(self._stage)
        self._progress.break_off(self._stage)

    def _seek_message(self) -> None:
        for _again in range(2):
            while self._at < len(self._rows):
                row = self._rows[self._at]
                self._at += 1
                if row.direction is Direction.IN and row.type == "user":
                    self._bind(row)
                    return
            self._begin()

    def _bind(self, row: Row) -> None:
        assert row.frame is not None
        if self._stage.turn:
            self._names.bind(str(row.frame.get("uuid") or ""), self._stage.turn[-1])

    def _play(self) -> None:
        open_turn = True
        origin_s, began = self._rows[self._at - 1].at_s if self._at else 0.0, time.monotonic()
        while self._at < len(self._rows):
            row = self._rows[self._at]
            if row.direction is Direction.IN:
                if row.type == "user" and not open_turn:
                    return
                self._at += 1
                if row.type == "control_response" and self._hear(row):
                    open_turn = False
                origin_s, began = row.at_s, time.monotonic()
                continue
            self._at += 1
            self._keep_time(began + (row.at_s - origin_s) / (self._stage.part.speed or 1))
            if row.direction is Direction.EXIT:
                if open_turn:
                    _leave(row)
                return
            open_turn = self._show(row, open_turn)
        if open_turn:
            self._stage.end_turn(frames.result("", **self._stage.ids()))

    def _keep_time(self, due_s: float) -> None:
        if self._stage.part.speed:
            self._stage.pause_until(due_s)
        elif self._at % _GLANCE_EVERY == 0:
            self._stage.glance()

    def _skip_to_message(self) -> None:
        while self._at < len(self._rows):
            row = self._rows[self._at]
            if row.direction is Direction.IN and row.type == "user":
                return
            self._at += 1

    # ---------------------------------------------------------------- rows

    def _show(self, row: Row, open_turn: bool) -> bool:
        """Send one recorded line with live ids; return whether a turn is open afterwards."""
        if row.direction is Direction.ERR:
            sys.stderr.write(row.line + "\n")
            sys.stderr.flush()
            return open_turn
        match row.type:
            case "command_lifecycle" | "control_response" | "control_cancel_request":
                return open_turn  # they spoke of the recorded host's requests
            case "user" if row.frame is not None and row.frame.get("isReplay"):
                return open_turn
            case "system/init":
                self._say(row, self._live_init)
                return True
            case "result":
                frame = self._named(row)
                self._cost = self._cost_before + float(frame.get("total_cost_usd") or 0)
                self._stage.end_turn({**frame, "total_cost_usd": self._cost})
                return False
            case "control_request/can_use_tool" if self._may_without_asking(row):
                return open_turn
            case "user" if row.frame is not None:
                self._say(row, self._live_tool_result)
            case _:
                self._say(row)
        return open_turn

    def _say(self, row: Row, change: Callable[[dict[str, Any]], dict[str, Any]] | None = None) -> None:
        line = self._names.apply(row.line)
        if row.frame is not None:
            frame = json.loads(line)
            if change is not None:
                frame = change(frame)
                line = json.dumps(frame, separators=(",", ":"), ensure_ascii=False)
            self._progress.note(frame)
        self._stage.say_line(line.encode())

    def _named(self, row: Row) -> dict[str, Any]:
        frame: dict[str, Any] = json.loads(self._names.apply(row.line))
        return frame

    def _live_init(self, frame: dict[str, Any]) -> dict[str, Any]:
        part = self._stage.part
        return {**frame, "cwd": part.cwd, "model": part.model, "permissionMode": part.permission_mode}

    def _live_tool_result(self, frame: dict[str, Any]) -> dict[str, Any]:
        for block in frame["message"]["content"]:
            if isinstance(block, dict) and block.get("tool_use_id") in self._chosen:
                block["content"] = self._chosen[block["tool_use_id"]]
        return frame

    # ---------------------------------------------------------------- prompts

    def _may_without_asking(self, row: Row) -> bool:
        assert row.frame is not None
        return row.frame["request"].get("tool_name") in self._stage.part.allowed_tools

    def _hear(self, row: Row) -> bool:
        """Wait for the answer of this host; True if it ended the turn."""
        assert row.frame is not None
        recorded = row.frame.get("response") or {}
        request_id = self._names.apply(str(recorded.get("request_id", "")))
        if request_id not in self._progress.prompts:
            return False  # it was never asked: the tool is allowed, or the recording has an unknown answer
        answer = self._stage.answer_to(request_id)
        tool_id = self._progress.prompts.pop(request_id)
        self._answers.append(answer.allowed)
        if answer.interrupt and not answer.allowed:
            raise Interrupted(None)
        if answer.allowed == ((recorded.get("response") or {}).get("behavior") == "allow"):
            self._note_choice(tool_id, answer)
            return False
        if other := self._going_on():
            self._rows, self._at = other, _after_answer(other, len(self._answers))
            self._note_choice(tool_id, answer)
            return False
        self._improvise(tool_id, answer)
        return True

    def _going_on(self) -> Cassette:
        """The recording in which the last answer was this one, and most of those before it; none if there is none."""
        number = len(self._answers)
        agreeing = {
            sum(mine == given for mine, given in zip(answers, self._answers, strict=False)): tape
            for tape in (*self._others, self._recorded)
            if len(answers := _answers_of(tape)) >= number and answers[number - 1] == self._answers[-1]
        }
        return agreeing[max(agreeing)] if agreeing else ()

    def _note_choice(self, tool_id: str, answer: PromptAnswer) -> None:
        chosen = (answer.updated_input or {}).get("answers")
        if isinstance(chosen, dict) and chosen:
            pairs = ", ".join(f'"{question}"="{value}"' for question, value in chosen.items())
            self._chosen[tool_id] = f"Your questions have been answered: {pairs}."

    def _improvise(self, tool_id: str, answer: PromptAnswer) -> None:
        """End the turn properly if the recording has no continuation for this answer."""
        text = _ALLOWED if answer.allowed else _DENIED
        outcome = _NO_RESULT if answer.allowed else answer.message or "Permission denied."
        stage = self._stage
        if self._progress.message_id:
            for event in frames.message_end("tool_use"):
                stage.say(frames.stream_event(event, **stage.ids()))
        stage.say(frames.tool_result(tool_id, outcome, is_error=not answer.allowed, **stage.ids()))
        message_id = f"msg_demo_{uuid.uuid4().hex[:12]}"
        for event in (
            frames.message_start(message_id, stage.part.model),
            frames.text_start(0),
            frames.text_delta(0, text),
        ):
            stage.say(frames.stream_event(event, **stage.ids()))
        block = {"type": "text", "text": text}
        stage.say(frames.assistant(block, message_id=message_id, model=stage.part.model, **stage.ids()))
        for event in (frames.block_stop(0), *frames.message_end("end_turn")):
            stage.say(frames.stream_event(event, **stage.ids()))
        stage.end_turn(frames.result(text, **stage.ids()))
        self._skip_to_message()


def _answers_of(cassette: Cassette) -> list[bool]:
    """Return the recorded host's answers, in order: whether each was an allow."""
    responses = [
        (row.frame.get("response") or {}).get("response") or {}
        for row in cassette
        if row.direction is Direction.IN and row.type == "control_response" and row.frame is not None
    ]
    return [response.get("behavior") == "allow" for response in responses]


def _after_answer(cassette: Cassette, number: int) -> int:
    """Return the position after the `number`th answer of a recording."""
    for at, row in enumerate(cassette):
        if row.direction is Direction.IN and row.type == "control_response":
            number -= 1
            if not number:
                return at + 1
    return len(cassette)


def _leave(row: Row) -> None:
    """End as the recorded process did."""
    code = int((row.frame or {}).get("code") or 0)
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)
