"""A segment of history as blocks, with what is open at its end and what began before it.

Two adjacent segments can be merged (`merge.py`), so the result does not depend on how history was cut into pages. For
that, nothing here may depend on what came before the first event.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from betcode.domain.error_codes import ErrorCode
from betcode.domain.events.event_table import EventTable
from betcode.tui.model.blocks import (
    AgentText,
    AgentThinking,
    Block,
    NoticeBlock,
    PromptBlock,
    PromptState,
    ToolCallBlock,
    ToolState,
    TruncatedField,
    TurnEnd,
    UserMessage,
)
from betcode.tui.model.notices import notice_lines
from betcode.v1 import agent_pb2 as v1
from betcode.wording.render import DENIALS, outcome_words, telling_input, todo_words, turn_summary, was_answered_before
from betcode.wording.terminal_text import one_line, tool_called

_OUTPUT_HEAD, _OUTPUT_TAIL = 48 * 1024, 16 * 1024  # characters
_SUMMARY_WIDTH = 400
_AGENT_IS_GONE = frozenset({"crashed", "stopped"})  # reasons for the end of a turn
_DEATHS = frozenset({ErrorCode.SUBPROCESS_CRASHED, ErrorCode.AGENT_UNAVAILABLE})
_ALLOWING = frozenset({v1.ALLOW_ONCE, v1.ALLOW_SESSION, v1.ALLOW_WITH_EDIT})

Slot = tuple[type[AgentText], str, int]  # of text without a message id: its class, the subagent, the block


@dataclass(frozen=True, slots=True)
class PromptResult:
    """The result of a prompt, in texts for a permission and for a question."""

    state: PromptState
    of_permission: str
    of_question: str
    of_each_question: Mapping[str, str]  # by the question's text, if the daemon reports the answers separately

    def settle(self, asked: PromptBlock) -> None:
        is_allowed_question = asked.is_question and self.state is PromptState.ALLOWED
        asked.state = PromptState.ANSWERED if is_allowed_question else self.state
        own_answer = self.of_each_question.get(asked.question, self.of_question)
        asked.outcome = own_answer if asked.is_question else self.of_permission


class HistorySegment:
    """Grows at its end; `blocks` are the roots, in the order of their beginnings."""

    def __init__(self, name_of: Callable[[str], str] = str, directory: str = "") -> None:
        self.blocks: list[Block] = []
        self.by_key: dict[str, Block] = {}
        self.newest = 0
        self._name_of = name_of  # returns the name of a client
        self._directory = directory
        # Open at the end: running tools, unfinished text, the usage of an open turn.
        self.open: dict[str, AgentText | ToolCallBlock] = {}
        self.unnamed: dict[Slot, AgentText] = {}
        self.usage: str | None = None
        self.ended: ToolCallBlock | None = None  # the call whose result is the last event
        # Results whose beginning is in an older segment.
        self.unnamed_first: dict[Slot, AgentText] = {}  # text that may continue text of an older segment
        # A todo list at the very beginning, whose call is in an older segment
        self.leading_todo: NoticeBlock | None = None
        self.end_without_usage: TurnEnd | None = None
        self.has_turn_end = False
        self.ends_turn = False  # ends what was open before, except subagents
        self.ends_agent = False  # ends subagents too
        self.states: dict[str, tuple[v1.MessageState.ValueType, str]] = {}  # of messages in an older segment
        self.outcomes: dict[str, PromptResult] = {}
        self.asked: dict[str, list[PromptBlock]] = {}
        self.orphans: dict[str, list[Block]] = {}  # root blocks, by the parent call that is not loaded

    def take(self, event: v1.AgentEvent) -> None:
        """Add the next event."""
        handler = SHOWN.handler(event)
        if handler is not None:
            handler(self, event)
        if event.sequence:
            self.newest = event.sequence
            if not event.HasField("tool_call_result"):
                self.ended = None

    def touch(self, block: Block) -> None:
        """Mark a block and its parent calls as changed."""
        block.revision += 1
        while block.parent is not None:
            block = block.parent
            block.revision += 1

    def break_off(self, *, subagents: bool) -> None:
        """Break off everything that is open at the end of a turn or, with `subagents`, of the agent."""
        self.ends_turn = True
        self.ends_agent |= subagents
        for key, block in list(self.open.items()):
            if subagents or not block.parent_id:
                self.open.pop(key)
                self.broken_off(block)
        self.unnamed = {slot: words for slot, words in self.unnamed.items() if words.key in self.open}

    def broken_off(self, block: AgentText | ToolCallBlock) -> None:
        if isinstance(block, ToolCallBlock):
            block.state = ToolState.BROKEN_OFF
        else:
            block.is_partial = True
        self.touch(block)

    def closes(self, parent_id: str) -> bool:
        """Whether text of the agent, or of this subagent, that was open before is broken off here."""
        return self.ends_agent or (self.ends_turn and not parent_id)

    # ------------------------------------------------------------ blocks

    def _add(self, event: v1.AgentEvent, block: Block) -> None:
        block.parent_id = event.parent_tool_use_id
        self.by_key[block.key] = block
        parent = self.by_key.get(f"tool-{block.parent_id}") if block.parent_id else None
        if isinstance(parent, ToolCallBlock) and parent.first < block.first:
            block.parent = parent
            parent.children.append(block)
        else:
            self.blocks.append(block)
            if block.parent_id:
                self.orphans.setdefault(block.parent_id, []).append(block)
        self.touch(block)

    def _number_of(self, event: v1.AgentEvent) -> int:
        return event.sequence or self.newest

    # ------------------------------------------------------------ events

    def _user_input(self, event: v1.AgentEvent) -> None:
        message = event.user_input
        key = f"said-{message.message_id or event.sequence}"
        if key not in self.by_key:
            block = UserMessage(key, self._number_of(event), text=message.content, message_id=message.message_id)
            block.client_id, block.attachments, block.cuts = message.client_id, tuple(message.attachments), _cuts(event)
            block.by = self._name_of(message.client_id)
            self._add(event, block)

    def _message_state(self, event: v1.AgentEvent) -> None:
        change = event.message_state
        block = self.by_key.get(f"said-{change.message_id}")
        if isinstance(block, UserMessage):
            block.state, block.reason = change.state, change.reason
            self.touch(block)
        else:
            self.states[change.message_id] = (change.state, change.reason)

    def _text(self, event: v1.AgentEvent) -> None:
        self._add_text(event, event.text_delta, AgentText)

    def _thinking(self, event: v1.AgentEvent) -> None:
        self._add_text(event, event.thinking_delta, AgentThinking)

    def _add_text(self, event: v1.AgentEvent, delta: v1.TextDelta | v1.ThinkingDelta, kind: type[AgentText]) -> None:
        block = self._text_block(event, delta, kind)
        if delta.is_complete:
            block.pieces = [delta.text] if delta.text else []
            block.is_settled, block.is_partial, block.cuts = True, delta.is_partial, _cuts(event)
            self.open.pop(block.key, None)
            if not delta.message_id:
                self.unnamed.pop((kind, event.parent_tool_use_id, delta.block), None)
        elif block.is_settled:
            return
        else:
            block.pieces.append(delta.text)
            block.is_partial = False
            self.open[block.key] = block
        self.touch(block)

    def _text_block(
        self, event: v1.AgentEvent, delta: v1.TextDelta | v1.ThinkingDelta, kind: type[AgentText]
    ) -> AgentText:
        name = "thinking" if kind is AgentThinking else "text"
        slot = (kind, event.parent_tool_use_id, delta.block)
        if delta.message_id:
            key = f"{name}-{delta.message_id}-{delta.block}"
            known = self.by_key.get(key)
        else:
            key = f"{name}-at-{event.sequence}"
            known = self.unnamed.get(slot)
        if isinstance(known, AgentText):
            return known
        block = kind(key, self._number_of(event))
        self._add(event, block)
        if not delta.message_id:
            self.unnamed[slot] = block
            if not self.closes(event.parent_tool_use_id):
                self.unnamed_first.setdefault(slot, block)
        return block

    def _tool_start(self, event: v1.AgentEvent) -> None:
        start = event.tool_call_start
        use = self._tool(event, start.tool_id)
        use.is_called, use.state, use.duration_ms = True, ToolState.RUNNING, 0
        use.output = use.denied_by = use.progress = ""
        use.name, use.input_summary = (
            tool_called(start.tool_name),
            telling_input(start, _SUMMARY_WIDTH, self._directory),
        )
        use.input_json, use.description, use.cuts = start.input_json, start.description, _cuts(event)
        self.open[use.key] = use

    def _tool_result(self, event: v1.AgentEvent) -> None:
        result = event.tool_call_result
        use = self._tool(event, result.tool_id)
        use.duration_ms, use.denied_by = result.duration_ms, result.denied_by
        failed = ToolState.FAILED if result.is_error else ToolState.DONE
        use.state = ToolState.DENIED if result.denied_by else failed
        use.output, cuts = _shortened(result.output, event)
        use.cuts = (*start_cuts(use), *cuts)
        self.open.pop(use.key, None)
        self.ended = use

    def _todo(self, event: v1.AgentEvent) -> None:
        """Show the todo list in the line of the call that wrote it, if there is one."""
        words = todo_words(event.todo_update.items)
        if self.ended is not None:
            self.ended.progress = words
            self.touch(self.ended)
            return
        notice = NoticeBlock(self._notice_key(event), self._number_of(event), lines=(words,))
        self._add(event, notice)
        if event.sequence and not self.newest:
            self.leading_todo = notice

    def _tool(self, event: v1.AgentEvent, tool_id: str) -> ToolCallBlock:
        key = f"tool-{tool_id}"
        use = self.by_key.get(key)
        if isinstance(use, ToolCallBlock):
            self.touch(use)
            return use
        use = ToolCallBlock(key, self._number_of(event), tool_id=tool_id)
        self._add(event, use)
        return use

    def _permission(self, event: v1.AgentEvent) -> None:
        asked = event.permission_request
        title = f"{tool_called(asked.tool_name)} {telling_input(asked, _SUMMARY_WIDTH, self._directory)}".rstrip()
        block = PromptBlock(f"ask-{asked.request_id}", self._number_of(event), request_id=asked.request_id, title=title)
        self._ask(event, block)

    def _question(self, event: v1.AgentEvent) -> None:
        asked = event.user_question
        block = PromptBlock(
            f"ask-{asked.question_id}", self._number_of(event), title=one_line(asked.question, _SUMMARY_WIDTH)
        )
        block.request_id, block.is_question = asked.group_id or asked.question_id, True
        block.question = asked.question
        self._ask(event, block)

    def _ask(self, event: v1.AgentEvent, block: PromptBlock) -> None:
        if not event.sequence or block.key in self.by_key:  # repeated for a new stream: history already has it
            return
        self._add(event, block)
        self.asked.setdefault(block.request_id, []).append(block)
        if outcome := self.outcomes.get(block.request_id):
            outcome.settle(block)

    def _resolved(self, event: v1.AgentEvent) -> None:
        resolved = event.permission_resolved
        outcome = outcome_of(resolved)
        self.outcomes[resolved.request_id] = outcome
        for block in self.asked.get(resolved.request_id, ()):
            outcome.settle(block)
            self.touch(block)

    def _usage(self, event: v1.AgentEvent) -> None:
        self.usage = turn_summary(event.usage)

    def _turn_end(self, event: v1.AgentEvent) -> None:
        end = event.turn_complete
        block = TurnEnd(f"end-{event.sequence}", self._number_of(event), stop_reason=end.stop_reason)
        block.summary = self.usage or ""
        if not self.has_turn_end and self.usage is None:
            self.end_without_usage = block
        self.has_turn_end, self.usage = True, None
        self.break_off(subagents=end.stop_reason in _AGENT_IS_GONE)
        self._add(event, block)

    def _error(self, event: v1.AgentEvent) -> None:
        if event.error.code in _DEATHS:
            self.break_off(subagents=True)
        self._remark(event)

    def _deprecation(self, event: v1.AgentEvent) -> None:
        key = f"deprecated-{event.deprecation.feature}"  # every stream reports it; show it once
        if key not in self.by_key:
            self._add_notice(event, key)

    def _remark(self, event: v1.AgentEvent) -> None:
        self._add_notice(event, self._notice_key(event))

    def _notice_key(self, event: v1.AgentEvent) -> str:
        # Events without a number are not part of history, and two of them may have the same position.
        return f"told-{event.sequence}" if event.sequence else f"told-{self.newest}-{len(self.by_key)}"

    def _add_notice(self, event: v1.AgentEvent, key: str) -> None:
        lines, tone = notice_lines(event)
        if lines:
            self._add(event, NoticeBlock(key, self._number_of(event), lines=lines, tone=tone))


SHOWN: EventTable[Callable[[HistorySegment, v1.AgentEvent], None]] = EventTable(
    "the conversation on the screen",
    {
        "text_delta": HistorySegment._text,
        "thinking_delta": HistorySegment._thinking,
        "tool_call_start": HistorySegment._tool_start,
        "tool_call_result": HistorySegment._tool_result,
        "todo_update": HistorySegment._todo,
        "user_input": HistorySegment._user_input,
        "message_state": HistorySegment._message_state,
        "permission_request": HistorySegment._permission,
        "user_question": HistorySegment._question,
        "permission_resolved": HistorySegment._resolved,
        "usage": HistorySegment._usage,
        "turn_complete": HistorySegment._turn_end,
        "error": HistorySegment._error,
        "deprecation": HistorySegment._deprecation,
        "notice": HistorySegment._remark,
        "gap": HistorySegment._remark,
        "compaction": HistorySegment._remark,
        "plan_mode": HistorySegment._remark,
        "permission_reminder": HistorySegment._remark,
    },
    # Session state, not part of the conversation: `session_status.py` handles these.
    ignored=frozenset({"status_change", "session_info", "input_lock", "presence"}),
)


def outcome_of(resolved: v1.PermissionResolved) -> PromptResult:
    """Return the result of a prompt in the model's form."""
    before = ", as answered before the agent exited" if was_answered_before(resolved) else ""
    state = PromptState.GONE
    if resolved.resolution == "answered":
        decision = resolved.decision
        denied = PromptState.DENIED if decision in DENIALS else PromptState.ANSWERED
        state = PromptState.ALLOWED if decision in _ALLOWING else denied
    of_permission, of_question = (outcome_words(resolved, is_question=asks) + before for asks in (False, True))
    of_each = {question: f"Answered: {answer}{before}" for question, answer in resolved.answers.items()}
    return PromptResult(state, of_permission, of_question, of_each)


def start_cuts(use: ToolCallBlock) -> tuple[TruncatedField, ...]:
    """Return the truncated fields of the call, without those of its result."""
    return tuple(cut for cut in use.cuts if cut.field.startswith("tool_call_start"))


def _cuts(event: v1.AgentEvent) -> tuple[TruncatedField, ...]:
    return tuple(TruncatedField(cut.field, cut.size_bytes, cut.sha256) for cut in event.cuts) if event.cuts else ()


def _shortened(output: str, event: v1.AgentEvent) -> tuple[str, tuple[TruncatedField, ...]]:
    """Return the beginning and the end of a tool's output, to save memory; the daemon has all of it."""
    cuts = _cuts(event)
    if len(output) <= _OUTPUT_HEAD + _OUTPUT_TAIL:
        return output, cuts
    here = TruncatedField("tool_call_result.output", len(output.encode()), "", event.sequence)
    return f"{output[:_OUTPUT_HEAD]}\n…\n{output[-_OUTPUT_TAIL:]}", cuts or (here,)
