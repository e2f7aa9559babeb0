"""One turn: calls the model and runs its tool calls until the model is done.

Every step is in the transcript before anything depends on it, and every call gets an output, also one that was denied,
cancelled or malformed. So another process can continue the turn after any step.
"""

from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace

from betcode.agents.openai.acp_updates import Permission, Voice, Withdrawn
from betcode.agents.openai.history import INTERRUPTED, History
from betcode.agents.openai.model_call import AskingFailed, Model
from betcode.agents.openai.options import OpenAiOptions
from betcode.agents.openai.records import (
    AnswerReported,
    Call,
    CallBegun,
    Ended,
    ModelAnswer,
    Record,
    StopReason,
    ToolOutput,
    UserMessage,
)
from betcode.agents.openai.tools.plans import Plan, Result, Unfit, Workspace
from betcode.agents.openai.tools.table import TOOLS, changed_plan, plan_of
from betcode.agents.openai.transcript import Transcript
from betcode.agents.openai.wires import Finished, ModelRequest, TextDelta, ThoughtDelta
from betcode.wire.acp.extensions import Trouble

_CANCELLED = "Cancelled by the user."
_DENIED = "The user did not allow this."
_FULL = 0.9  # of the context: the answer needs space, too
_AFTER_TRIMMING = 0.6
_REASONS: Mapping[str, StopReason] = {"length": "max_tokens", "filter": "refusal"}


@dataclass(frozen=True, slots=True)
class TurnEnd:
    stop_reason: StopReason
    trouble: Trouble | None = None


class OpenAiConversation:
    """One session: its transcript, and the turns on it, one at a time."""

    def __init__(
        self, options: OpenAiOptions, workspace: Workspace, transcript: Transcript, model: Model, name: str
    ) -> None:
        self._options = options
        self._workspace = workspace
        self._transcript = transcript
        self._model = model
        self._model_name = name
        self._said = ""  # of an answer that has not ended
        self.history = History(transcript.records)

    async def close(self) -> None:
        """Another process may take it then."""
        self._transcript.close()
        await self._model.close()

    async def turn(self, message: UserMessage | None, voice: Voice) -> TurnEnd:
        """Answer a message, or continue the one whose turn was interrupted.

        If this is cancelled the turn remains open: `give_up` ends it, or the next process continues it.
        """
        if message is not None:
            self._write(message)
        message_id = self.history.message_id
        try:
            end = await self._work(voice)
        except AskingFailed as failed:
            self._keep_what_was_said()
            end = TurnEnd("error", failed.trouble)
        except Withdrawn:
            return await self.give_up(voice)
        self._write(Ended(message_id, end.stop_reason, end.trouble.get("message", "") if end.trouble else ""))
        return end

    async def give_up(self, voice: Voice | None) -> TurnEnd:
        """End the open turn, with an output for every call. Without a client, the outputs are not reported."""
        if self.history.message_id:
            self._keep_what_was_said()
            for open_call in self.history.open_calls:
                text = f"{_CANCELLED} {INTERRUPTED}" if open_call.is_begun else _CANCELLED
                await self._output(voice, open_call.call, Result(text, is_error=True))
            self._write(Ended(self.history.message_id, "cancelled"))
        return TurnEnd("cancelled")

    async def say_again(self, message_id: str, voice: Voice) -> TurnEnd:
        """Repeat the end of a turn that was over before its client received it."""
        ended = self.history.end_of(message_id)
        assert ended is not None
        answer = self.history.last_answer(message_id)
        if answer is not None and answer.text and not answer.calls:
            await voice.text(answer.text, f"{message_id}-again")
        trouble: Trouble | None = {"kind": "error", "message": ended.error} if ended.stop_reason == "error" else None
        return TurnEnd(ended.stop_reason, trouble)

    # ---------------------------------------------------------------- steps

    async def _work(self, voice: Voice) -> TurnEnd:
        await self._take_up(voice)
        if (final := self.history.final) is not None:
            return TurnEnd("max_tokens" if final.is_partial else "end_turn")
        for _ in range(self._options.max_steps):
            finished = await self._ask(voice)
            if finished.reason:
                return TurnEnd(_REASONS[finished.reason])
            if not finished.answer.calls:
                return TurnEnd("end_turn")
            await self._announce(voice, finished.answer)
            await self._run_calls(voice)
        return TurnEnd("max_turn_requests")

    async def _take_up(self, voice: Voice) -> None:
        """Finish the last step of an earlier process."""
        calls = self.history.open_calls
        if not self.history.is_told and (answer := self.history.last_answer(self.history.message_id)):
            if answer.text:
                await voice.text(answer.text, self._answer_id())
            await self._announce(voice, answer)
        for open_call in calls:
            if open_call.is_begun:
                await self._output(voice, open_call.call, Result(INTERRUPTED, is_error=True))
        await self._run_calls(voice)

    async def _ask(self, voice: Voice) -> Finished:
        """Get one answer, after trimming the context, and once more if the API reports that it is too long."""
        if self.history.tokens > _FULL * self._options.context_tokens:
            await self._trim(voice, self._options.context_tokens)
        try:
            return await self._answered(voice)
        except AskingFailed as failed:
            known = min(self.history.tokens, self._options.context_tokens)
            if not failed.is_too_long or not await self._trim(voice, known):
                raise
        return await self._answered(voice)

    async def _answered(self, voice: Voice) -> Finished:
        question = ModelRequest(
            self._model_name, _instructions(self._workspace, self.history), self.history.shown, TOOLS
        )
        answer_id = self._answer_id(1)
        async with aclosing(self._model.ask(question, voice.pause)) as parts:
            async for part in parts:
                match part:
                    case TextDelta(text):
                        self._said += text
                        await voice.text(text, answer_id)
                    case ThoughtDelta(text):
                        await voice.thought(text, answer_id)
                    case Finished():
                        return await self._taken(voice, part)
        raise AssertionError("an answer has an end")

    def _keep_what_was_said(self) -> None:
        """Store a partial answer that the client has received, so that the model knows it."""
        if self._said:
            self._write(ModelAnswer(self._said, is_partial=True))
            self._said = ""

    async def _taken(self, voice: Voice, finished: Finished) -> Finished:
        if finished.usage is not None:
            self.history.measured(finished.usage.input_tokens)
        finished = replace(finished, answer=self.history.with_own_ids(finished.answer))
        self._said = ""
        self._write(finished.answer)
        if finished.usage is not None:
            await voice.usage(finished.usage, self._model_name, self._options.context_tokens)
        return finished

    async def _trim(self, voice: Voice, known_tokens: int) -> bool:
        before = self.history.tokens
        trimmed = self.history.trimmed_to(int(known_tokens * _AFTER_TRIMMING))
        if trimmed is None:
            return False
        self._write(trimmed)
        await voice.compacted(before, self.history.tokens)
        await voice.notice("The conversation is too long for the model: its oldest parts are omitted from now on")
        return True

    # ---------------------------------------------------------------- calls

    async def _announce(self, voice: Voice, answer: ModelAnswer) -> None:
        for call in answer.calls:
            try:
                await voice.tool(self._tool_id(call), plan_of(self._workspace, call))
            except Unfit:
                await voice.unfit_tool(self._tool_id(call), call.name, call.arguments)
        self._write(AnswerReported())

    async def _run_calls(self, voice: Voice) -> None:
        for open_call in self.history.open_calls:
            call = open_call.call
            try:
                result = await self._run(voice, call, plan_of(self._workspace, call))
            except Unfit as unfit:
                result = Result(str(unfit), is_error=True)
            await self._output(voice, call, result)

    async def _run(self, voice: Voice, call: Call, plan: Plan) -> Result:
        if plan.is_asked:
            answer = await voice.ask(self._tool_id(call), plan)
            if not answer.is_allowed:
                return Result(_refusal(answer), is_error=True)
            if answer.input is not None:
                plan = changed_plan(self._workspace, call, answer.input)
        if plan.may_change:
            self._write(CallBegun(call.call_id))
        await voice.running(self._tool_id(call), plan)
        return await plan.run()

    async def _output(self, voice: Voice | None, call: Call, result: Result) -> None:
        self._write(ToolOutput(call.call_id, result.text, result.is_error))
        if voice is not None:
            await voice.done(self._tool_id(call), result)

    # ---------------------------------------------------------------- records

    def _write(self, record: Record) -> None:
        self._transcript.append(record)
        self.history.note(record)

    def _answer_id(self, ahead: int = 0) -> str:
        return f"answer-{self.history.answers + ahead}"

    def _tool_id(self, call: Call) -> str:
        """An answer's calls belong together."""
        return f"{self.history.answers}/{call.call_id}"


def _refusal(answer: Permission) -> str:
    return f"{_DENIED} They said: {answer.message}" if answer.message else _DENIED


def _instructions(workspace: Workspace, history: History) -> str:
    words = [
        f"You are a coding agent. You work in the project directory {workspace.root} with the tools you are given.",
        "Look before you change something, keep to what was asked, and say in the end in a few sentences what you did.",
        "The user may be asked before a tool is run, and may refuse: then do not try the same in another way.",
    ]
    if history.dropped_exchanges:
        words.append("The beginning of this conversation was left out, since it became too long.")
    return "\n\n".join(words)
