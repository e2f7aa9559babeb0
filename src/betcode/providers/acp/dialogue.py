"""The dialogue with an ACP agent: translates its records into events. No I/O, no clock."""

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from betcode.domain.agents.commands import Errand
from betcode.domain.agents.dialogue_view import DialogueView
from betcode.domain.runs.journal_record import Record, RecordKind
from betcode.domain.store.rows import NewSession
from betcode.providers import malformed
from betcode.providers.acp import about, api_pauses, commands, handshake, prompts, text, tools, turns, usage
from betcode.providers.acp.advice import failure_of
from betcode.providers.acp.event_builder import AcpEventBuilder
from betcode.providers.acp.profile import Profile
from betcode.providers.acp.state import VERSION, State, dump, load
from betcode.providers.dialogue_base import DialogueBase
from betcode.providers.stored_state import keep
from betcode.v1 import agent_pb2 as v1
from betcode.wire import Malformed
from betcode.wire.acp import extensions
from betcode.wire.acp.decoder import decode, plain
from betcode.wire.acp.frames import Message, Params, Update

logger = logging.getLogger(__name__)

_CHUNKS = MappingProxyType({"agent_message_chunk": False, "agent_thought_chunk": True})
_UPDATES: Mapping[str, Callable[[Update, AcpEventBuilder], None]] = MappingProxyType(
    {
        "tool_call": tools.on_call,
        "tool_call_update": tools.on_call,
        "plan": about.on_plan,
        "usage_update": usage.on_update,
        "available_commands_update": about.on_commands,
        "current_mode_update": lambda update, builder: about.on_mode(update.current_mode_id, builder),
        "config_option_update": lambda update, builder: about.on_options(update.config_options, builder),
    }
)
# These updates describe the present, so they count even while the agent replays its history.
_NEVER_REPLAYED = frozenset(
    {"usage_update", "available_commands_update", "current_mode_update", "config_option_update"}
)
_NEWS: Mapping[str, Callable[[Params, AcpEventBuilder], None]] = MappingProxyType(
    {
        extensions.TURN: turns.on_own_turn,
        extensions.USAGE: usage.on_call,
        extensions.PAUSE: api_pauses.on_pause,
        extensions.COMPACTION: about.on_compaction,
        extensions.NOTICE: about.on_notice,
    }
)
_REQUEST = re.compile(rb'\{\s*"jsonrpc":\s*"2\.0",\s*"id":\s*("[^"\\]{1,200}"|\d{1,18}),\s*"method":')
_ANSWER = re.compile(rb'\{\s*"jsonrpc":\s*"2\.0",\s*"id":\s*("[^"\\]{1,200}"|\d{1,18}),\s*"(?:result|error)":')
_UNTRANSLATED = "the request could not be translated"
_TOO_LONG = "the request is over the size limit: make it smaller"


class AcpDialogue(DialogueBase[State]):
    """Implements `betcode.domain.ports.Dialogue`."""

    def __init__(self, session: NewSession, state: State, profile: Profile, mode: str = "") -> None:
        super().__init__(session, state)
        self._profile = profile
        self._mode = mode

    def _receive(self, record: Record) -> list[v1.AgentEvent]:
        """Translate one record. Never raises, whatever the record contains; a response always ends its turn."""
        builder = AcpEventBuilder(self._state, self._session, self._profile, record, mode=self._mode)
        match record.kind:
            case RecordKind.OUT:
                self._on_line(record, builder)
            case RecordKind.IN:
                message = decode(record.data)
                if isinstance(message, Message):
                    self._translate(self._on_input, message, record, builder)
            case RecordKind.ERR:
                malformed.on_error_line(malformed.error_text(record), builder, shown=self._profile.shows_stderr)
            case RecordKind.DAMAGED:
                malformed.say_damaged(record, builder)
            case RecordKind.START | RecordKind.EXIT | RecordKind.NOTE:
                pass  # the engine classifies the agent's exit, from the open state here
        return builder.events

    def may_ask(self, record: Record) -> bool:
        return record.kind is RecordKind.OUT and b"request_permission" in record.data

    def addressed(self, line: bytes) -> bytes:
        return commands.addressed(line, self._state)

    def _void(self, now_ns: int) -> list[v1.AgentEvent]:
        builder = AcpEventBuilder(self._state, self._session, self._profile, None, now_ns)
        if self._profile.capabilities.recognises_repeats:
            text.void(builder)
        else:  # the agent does not repeat them: the next message begins another turn
            text.settle(builder, is_partial=True)
            tools.close_all(builder)
        return builder.events

    def state(self) -> bytes:
        return dump(self._state)

    # ------------------------------------------------------------ open state

    def directory_of(self, tool_use_id: str) -> str | None:
        return self._state.directories.get(tool_use_id)

    def _build_view(self) -> DialogueView:
        state = self._state
        return DialogueView(
            **self._common_fields(),
            is_ready=handshake.is_ready(state),
            turn_open=state.turn or bool(state.waiting),
            answering=(state.message,) if state.turn and state.message else (),
            running_tools=self._running_tools(),
            errands=tuple(self._errands()),
            api_pause=api_pauses.api_pause(state),
            failure=failure_of(state, self._profile),
            last_errors=tuple(state.errors),
        )

    def _running_tools(self) -> tuple[str, ...]:
        asked = {request.tool_id for request in self._state.requests.values()}
        return tuple(tool.name for tool_id, tool in self._state.tools.items() if tool.name and tool_id not in asked)

    def _errands(self) -> Iterator[Errand]:
        state = self._state
        if (step := handshake.next_step(state, self._session)) is not None:
            yield step
        for errand_id, key in state.cancelling.items():
            yield Errand(errand_id, commands.cancelled_line(key))
        for errand_id, (key, reason) in state.refused.items():
            yield Errand(errand_id, commands.refusal_line(key, reason))
        if state.stop_after and state.turn:
            yield Errand(f"stop-{state.stop_after}", commands.cancel_line(state.conversation_id))

    # ------------------------------------------------------------ lines to the agent

    def _on_input(self, message: Message, builder: AcpEventBuilder) -> None:
        state, method = builder.state, message.method
        if not method:
            prompts.on_answer(message, builder)
            return
        if message.key:
            keep(state.asked, message.key, method)
        if method == handshake.INITIALIZE:
            handshake.on_initialize(message.params, builder)
        elif method in handshake.OPENING:
            handshake.on_opening(method, builder)
        elif method == commands.PROMPT:
            turns.on_prompt(message.key, _as_text(message.key), builder)
            self._report_omitted_files(message.params, builder)
        elif method == commands.CANCEL:
            prompts.on_cancel(builder)

    def _report_omitted_files(self, params: Params | None, builder: AcpEventBuilder) -> None:
        meta = plain(params.meta) if params else None
        ours = meta.get(extensions.KEY) if isinstance(meta, dict) else None
        if isinstance(ours, dict) and (omitted := ours.get("leftOut")):
            names = ", ".join(map(str, omitted))
            title = builder.profile.title
            builder.notice(
                v1.NOTICE_KIND_RUN, f"{title} does not accept these attachments: {names}. They were not sent"
            )

    # ------------------------------------------------------------ lines of the agent

    def _on_line(self, record: Record, builder: AcpEventBuilder) -> None:
        if record.too_long:
            self._on_too_long(record, builder)
            return
        message = decode(record.data)
        if isinstance(message, Malformed):
            malformed.on_malformed(message, builder)
            return
        if builder.state.bad_lines:
            malformed.end_bad_lines(builder)
        update = message.params.update if message.params is not None else None
        if update is not None and message.method == "session/update":
            if self._is_of_another(message):
                logger.debug("ignored an update of another session")
                return
            thinking = _CHUNKS.get(update.session_update)
            if thinking is None or builder.state.loading or builder.state.lost:
                self._translate(self._on_update, message, record, builder)
            else:
                text.on_chunk(update, builder, thinking=thinking)
                self._note_conversation(builder)
            return
        self._translate(self._on_message, message, record, builder)

    def _is_of_another(self, message: Message) -> bool:
        session_id = message.params.session_id if message.params is not None else ""
        return bool(session_id) and self._state.opened and session_id != self._state.conversation_id

    def _on_update(self, message: Message, builder: AcpEventBuilder) -> None:
        update = message.params.update if message.params else None
        kind = update.session_update if update else ""
        if update is None or ((builder.state.loading or builder.state.lost) and kind not in _NEVER_REPLAYED):
            return
        handler = _UPDATES.get(kind)
        if handler is None:
            logger.debug("ignored an update of kind %r", kind[: malformed.EXCERPT])
            return
        handler(update, builder)
        self._note_conversation(builder)

    def _on_message(self, message: Message, builder: AcpEventBuilder) -> None:
        if message.method and message.key:
            prompts.on_request(message, builder)
        elif message.method:
            handler = _NEWS.get(message.method)
            if handler is not None and message.params is not None and not builder.state.loading:
                handler(message.params, builder)
            else:
                logger.debug("ignored a notification %r", message.method[: malformed.EXCERPT])
        elif message.key:
            self._on_reply(message, builder)
        self._note_conversation(builder)

    def _on_reply(self, message: Message, builder: AcpEventBuilder) -> None:
        method = builder.state.asked.pop(message.key, "")
        if method == handshake.INITIALIZE:
            handshake.on_initialized(message, builder)
        elif method in handshake.OPENING:
            handshake.on_opened(message, method, builder)
        elif method in handshake.SETTING:
            handshake.on_set(message, builder)
        elif method == commands.PROMPT or builder.state.lost:
            turns.on_prompted(message, builder)

    def _note_conversation(self, builder: AcpEventBuilder) -> None:
        state = builder.state
        if not state.began and state.has_spoken and state.turn:
            state.began = (state.can_load or state.can_resume) and builder.profile.resumes

    def _translate(
        self,
        handler: Callable[[Message, AcpEventBuilder], None],
        message: Message,
        record: Record,
        builder: AcpEventBuilder,
    ) -> None:
        before = dump(self._state)
        try:
            handler(message, builder)
        except Exception:
            logger.exception("a frame could not be translated", extra={"offset": record.offset})
            self._state = builder.state = load(before, VERSION)
            builder.events.clear()
            malformed.say_malformed(builder, "a message could not be translated", record.data)
            if record.kind is RecordKind.OUT and message.key and message.method:
                prompts.refuse(builder, message.key, _UNTRANSLATED)
            elif message.key and message.key == builder.state.turn_key and not message.method:
                turns.finish(builder, "error")

    # ------------------------------------------------------------ lines that cannot be read

    def _on_too_long(self, record: Record, builder: AcpEventBuilder) -> None:
        malformed.say_too_long(record, builder)
        # The line's beginning shows its kind. A request needs an answer, and a response must end its turn.
        if found := _REQUEST.match(record.data):
            prompts.refuse(builder, found[1].decode(), _TOO_LONG)
        elif (found := _ANSWER.match(record.data)) and found[1].decode() == builder.state.turn_key:
            turns.finish(builder, "error")


def _as_text(key: str) -> str:
    """Return one of our ids. It is a string, but in a recording it may be a number."""
    try:
        return str(json.loads(key))
    except ValueError:
        return key
