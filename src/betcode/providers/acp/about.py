"""Translates the agent's reports about itself: commands, plan, mode and model."""

import hashlib
from collections.abc import Sequence
from itertools import accumulate

from betcode.domain.values.text import shortened, valid
from betcode.providers.acp.event_builder import AcpEventBuilder
from betcode.providers.acp.state import Todo
from betcode.providers.event_builder import uint64
from betcode.v1 import agent_pb2 as v1
from betcode.wire.acp.decoder import plain
from betcode.wire.acp.frames import AgentCommand, ConfigOption, Params, Update

_MOST_COMMANDS = 500
_LONGEST_NAME = 100
_LONGEST_DESCRIPTION = 300
_EVENT_BYTES = 48 * 1024  # for the commands in one event
_MOST_TODOS = 100
_LONGEST = 4000
_STATUS = {"pending": v1.PENDING, "in_progress": v1.IN_PROGRESS, "completed": v1.COMPLETED}
MODEL, MODE = "model", "mode"  # categories of options
_PLANNING = frozenset({"mode", "collaboration_mode"})


def add_session_info(builder: AcpEventBuilder, commands: Sequence[v1.AgentCommand] = ()) -> None:
    """Add an event with the model, the directory and the context usage of the session."""
    state = builder.state
    info = builder.new_event().session_info
    info.session_id = builder.session.session_id
    info.model = state.model or builder.session.model
    info.working_directory = state.cwd or builder.session.working_directory
    info.worktree_id = builder.session.worktree_id
    info.provider = builder.session.provider
    info.context_usage_percent = state.context_percent
    info.commands.extend(commands)


def add_changed_session_info(builder: AcpEventBuilder) -> None:
    state = builder.state
    digest = _digest((state.model, state.cwd))
    if digest != state.info:
        state.info = digest
        add_session_info(builder)


def on_commands(update: Update, builder: AcpEventBuilder) -> None:
    found = [_translated(each) for each in update.available_commands or () if _is_typed(each.name)][:_MOST_COMMANDS]
    digest = _digest([part for each in found for part in (each.name, each.description, each.argument_hint)])
    if found and digest != builder.state.commands:
        builder.state.commands = digest
        add_session_info(builder, _fitting(found))


def _translated(command: AgentCommand) -> v1.AgentCommand:
    return v1.AgentCommand(
        name=command.name,
        description=_line(command.description or "", _LONGEST_DESCRIPTION),
        argument_hint=_line((command.input.hint if command.input else "") or "", _LONGEST_NAME),
    )


def _fitting(found: Sequence[v1.AgentCommand]) -> list[v1.AgentCommand]:
    sizes = accumulate(each.ByteSize() for each in found)
    return [each for each, size in zip(found, sizes, strict=True) if size <= _EVENT_BYTES]


def _is_typed(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_NAME and name.isprintable() and " " not in name


def _line(text: str, limit: int) -> str:
    return shortened(" ".join(valid(text[: 4 * limit]).split()), limit)


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:16]


def on_plan(update: Update, builder: AcpEventBuilder) -> None:
    """Replace the todo list. The agent always sends the whole list."""
    entries = (update.entries or [])[:_MOST_TODOS]
    todos = [
        Todo(shortened(valid(each.content), _LONGEST_DESCRIPTION), _STATUS.get(each.status, v1.PENDING))
        for each in entries
    ]
    if todos == builder.state.todos:
        return
    builder.state.todos = todos
    todo_update = builder.new_event().todo_update
    for number, todo in enumerate(todos, 1):
        todo_update.items.add(id=str(number), subject=todo.subject, status=v1.TodoStatus.ValueType(todo.status))


def on_mode(mode: str | None, builder: AcpEventBuilder) -> None:
    if mode is None or (mode == builder.profile.plan_mode) == builder.state.plan_mode:
        return
    builder.state.plan_mode = mode == builder.profile.plan_mode
    builder.new_event().plan_mode.active = builder.state.plan_mode


def on_options(options: Sequence[ConfigOption] | None, builder: AcpEventBuilder) -> None:
    """Read the current model and mode from the session's options."""
    state = builder.state
    planning = False
    for option in options or ():
        value = plain(option.current_value)
        if option.category == MODEL and isinstance(value, str):
            state.model = shortened(value, _LONGEST_NAME)
        planning = planning or (option.category in _PLANNING and value == builder.profile.plan_mode)
    if options and planning != state.plan_mode and any(each.category in _PLANNING for each in options):
        state.plan_mode = planning
        builder.new_event().plan_mode.active = planning


def on_compaction(params: Params, builder: AcpEventBuilder) -> None:
    boundary = builder.new_event().compaction
    boundary.trigger = params.trigger or "auto"
    boundary.tokens_before = uint64(params.tokens_before)
    boundary.tokens_after = uint64(params.tokens_after)
    builder.state.context_tokens = 0


def on_notice(params: Params, builder: AcpEventBuilder) -> None:
    if params.message:
        builder.notice(v1.NOTICE_KIND_AGENT, shortened(valid(params.message), _LONGEST))
