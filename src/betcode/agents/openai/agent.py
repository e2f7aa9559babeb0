"""The agent side of the Agent Client Protocol: sessions, prompts and cancels."""

import base64
import logging
import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from acp import PROTOCOL_VERSION, RequestError
from acp.schema import (
    AgentCapabilities,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    Implementation,
    InitializeResponse,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResourceContentBlock,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionResumeCapabilities,
    TextContentBlock,
    TextResourceContents,
)
from anyio.abc import TaskGroup

from betcode._version import __version__
from betcode.agents.openai import transcript
from betcode.agents.openai.acp_updates import Voice
from betcode.agents.openai.model_call import Model
from betcode.agents.openai.options import OpenAiOptions
from betcode.agents.openai.records import ContentPart, UserMessage
from betcode.agents.openai.tools.plans import Workspace
from betcode.agents.openai.turn import OpenAiConversation, TurnEnd
from betcode.wire.acp import extensions

if TYPE_CHECKING:
    from acp.interfaces import Client

logger = logging.getLogger(__name__)

_SAYS: extensions.AgentSays = {"recognisesRepeats": True, "continuesTurn": True, "takesInput": True}
_FAILED = -32603
_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


class OpenAiAgent:
    """One process has one conversation."""

    def __init__(self, options: OpenAiOptions, tasks: TaskGroup) -> None:
        self._options = options
        self._tasks = tasks
        self._client: Client | None = None
        self._conversation: OpenAiConversation | None = None
        self._session_id = ""
        self._scope: anyio.CancelScope | None = None  # of the turn that is at work
        self._one_at_a_time = anyio.Lock()
        self._own_turn = ""  # the message of a turn that began by itself here

    def on_connect(self, conn: "Client") -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION),
            agent_info=Implementation(name="betcode-openai", title="betcode's agent", version=__version__),
            auth_methods=[],
            agent_capabilities=AgentCapabilities(
                prompt_capabilities=PromptCapabilities(image=True, embedded_context=True),
                session_capabilities=SessionCapabilities(resume=SessionResumeCapabilities()),
                field_meta={extensions.KEY: dict(_SAYS)},
            ),
        )

    async def new_session(self, cwd: str, **more: Any) -> NewSessionResponse:
        wanted = _ours(more)
        session_id = str(wanted.get("sessionId") or uuid.uuid4())
        try:
            kept = transcript.create(self._options.transcripts, session_id)
        except FileExistsError:
            # The previous process created it and died before the client was informed.
            kept = self._resumed(session_id)
        except (OSError, transcript.DamagedTranscript) as error:
            raise RequestError(_FAILED, f"The conversation cannot be stored: {error}") from None
        model = await self._begin(session_id, cwd, wanted, kept)
        return NewSessionResponse(session_id=session_id, config_options=[_model_option(model)])

    async def resume_session(self, session_id: str, cwd: str, **more: Any) -> ResumeSessionResponse:
        wanted = _ours(more)
        model = await self._begin(session_id, cwd, wanted, self._resumed(session_id))
        if wanted.get("continueTurn"):
            self._tasks.start_soon(self._go_on)
        return ResumeSessionResponse(config_options=[_model_option(model)])

    async def prompt(self, session_id: str, prompt: list[Any], **more: Any) -> PromptResponse:
        conversation = self._known(session_id)
        message_id = str(_ours(more).get("messageId") or uuid.uuid4())
        parts = tuple(_part(block) for block in prompt)
        async with self._one_at_a_time:
            if message_id == self._own_turn:  # already reported, in the turn that continued by itself
                end = TurnEnd(_stop_reason(conversation, message_id))
            else:
                try:
                    end = await self._turn(conversation, message_id, UserMessage(message_id, parts))
                except OSError as error:
                    end = _unwritten(error)
        if end.trouble is not None:
            raise RequestError(_FAILED, end.trouble.get("message", "The turn failed"), {extensions.KEY: end.trouble})
        assert end.stop_reason != "error"
        return PromptResponse(stop_reason=end.stop_reason)

    async def cancel(self, session_id: str, **_: Any) -> None:
        if session_id == self._session_id and self._scope is not None:
            self._scope.cancel()

    async def close(self) -> None:
        if self._conversation is not None:
            await self._conversation.close()
            self._conversation = None

    # ---------------------------------------------------------------- turns

    async def _turn(self, conversation: OpenAiConversation, message_id: str, message: UserMessage) -> TurnEnd:
        voice = self._voice()
        history = conversation.history
        if history.end_of(message_id) is not None:
            return await conversation.say_again(message_id, voice)
        if history.message_id and history.message_id != message_id:
            # An interrupted turn that was not continued: the sender wants something else now.
            await conversation.give_up(None)
        return await self._within(conversation, None if history.message_id == message_id else message, voice)

    async def _within(self, conversation: OpenAiConversation, message: UserMessage | None, voice: Voice) -> TurnEnd:
        """Run a turn that `session/cancel` ends. If it is cancelled otherwise it remains open, because the process
        exits.
        """
        end = TurnEnd("cancelled")
        with anyio.CancelScope() as scope:
            self._scope = scope
            end = await conversation.turn(message, voice)
        self._scope = None
        if scope.cancelled_caught:
            with anyio.CancelScope(shield=True):
                await conversation.give_up(voice)
        return end

    async def _go_on(self) -> None:
        """Continue the broken turn without being asked to by a prompt."""
        async with self._one_at_a_time:
            conversation, voice = self._known(self._session_id), self._voice()
            history = conversation.history
            message_id = history.message_id or history.last_message_id
            if not message_id:
                return
            await voice.turn_started()
            try:
                if history.message_id:
                    end = await self._within(conversation, None, voice)
                else:
                    end = await conversation.say_again(message_id, voice)
            except OSError as error:
                end = _unwritten(error)
            self._own_turn = message_id
            await voice.turn_ended(end.stop_reason, end.trouble)

    # ---------------------------------------------------------------- sessions

    async def _begin(self, session_id: str, cwd: str, wanted: dict[str, Any], kept: transcript.Transcript) -> str:
        """The name of the model that is used."""
        options = self._options
        model = str(wanted.get("model") or options.model)
        if not model:
            kept.close()
            raise RequestError(_FAILED, "No model is set: choose one for the session, or set agents.openai.model")
        workspace = Workspace(Path(os.path.realpath(cwd)), dict(os.environ), options.asks_reads)
        await self.close()
        self._conversation = OpenAiConversation(options, workspace, kept, Model(options), model)
        self._session_id = session_id
        return model

    def _resumed(self, session_id: str) -> transcript.Transcript:
        try:
            kept = transcript.resume(self._options.transcripts, session_id)
            if kept.records and not isinstance(kept.records[0], UserMessage):
                kept.close()
                raise transcript.DamagedTranscript("its beginning is missing")
            return kept
        except transcript.UnknownConversation:
            raise _gone(f"No conversation {session_id[:100]!r} is stored here") from None
        except transcript.DamagedTranscript as damaged:
            raise _gone(f"The conversation's transcript is damaged: {damaged}") from None
        except transcript.TakenTranscript:
            raise RequestError(_FAILED, "Another process is using this conversation") from None

    def _known(self, session_id: str) -> OpenAiConversation:
        if self._conversation is None or session_id != self._session_id:
            raise RequestError.resource_not_found(session_id)
        return self._conversation

    def _voice(self) -> Voice:
        assert self._client is not None
        return Voice(self._client, self._session_id)


def _model_option(model: str) -> SessionConfigOptionSelect:
    """Return the session's model, without alternatives: the session was created with it."""
    return SessionConfigOptionSelect(
        type="select",
        id="model",
        name="Model",
        category="model",
        current_value=model,
        options=[SessionConfigSelectOption(value=model, name=model)],
    )


def _gone(message: str) -> RequestError:
    trouble: extensions.Trouble = {"kind": "gone", "message": message, "advice": "Start a new session"}
    return RequestError(_FAILED, message, {extensions.KEY: trouble})


def _unwritten(error: OSError) -> TurnEnd:
    """Report that the turn could not be stored; it remains open, and the next message ends it."""
    advice = "Free disk space, then send the message again"
    message = f"The conversation's transcript cannot be written: {error.strerror or error}"
    return TurnEnd("error", {"kind": "error", "message": message, "advice": advice})


def _stop_reason(conversation: OpenAiConversation, message_id: str) -> Any:
    ended = conversation.history.end_of(message_id)
    return "end_turn" if ended is None or ended.stop_reason == "error" else ended.stop_reason


def _ours(meta: dict[str, Any]) -> dict[str, Any]:
    """The package hands `_meta` over as arguments by name."""
    ours = meta.get(extensions.KEY)
    return ours if isinstance(ours, dict) else {}


def _part(block: object) -> ContentPart:
    """Raises RequestError where the model cannot be shown it."""
    match block:
        case TextContentBlock():
            return ContentPart(text=block.text)
        case ImageContentBlock() if block.mime_type in _IMAGES:
            return ContentPart(image=block.data, mime_type=block.mime_type)
        case EmbeddedResourceContentBlock(resource=TextResourceContents() as resource):
            return ContentPart(text=f'<file name="{resource.uri}">\n{resource.text}\n</file>')
        case EmbeddedResourceContentBlock():
            mime_type = block.resource.mime_type or ""
            if mime_type in _IMAGES:
                return ContentPart(image=block.resource.blob, mime_type=mime_type)
            text = _decoded(block.resource.blob)
            return ContentPart(text=f'<file name="{block.resource.uri}">\n{text}\n</file>')
        case ResourceContentBlock():
            return ContentPart(text=f"The file {block.uri}")
        case _:
            raise RequestError.invalid_params(
                {"reason": "The model accepts only text and images (png, jpeg, gif, webp)"}
            )


def _decoded(blob: str) -> str:
    try:
        return base64.b64decode(blob).decode()
    except ValueError:
        raise RequestError.invalid_params({"reason": "The model accepts only text and images"}) from None
