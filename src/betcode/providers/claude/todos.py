"""The agent's todo list, read from the calls and results of its task tools."""

import msgspec
from msgspec import Raw, Struct, field

from betcode.domain.values.text import shortened
from betcode.providers.claude.event_builder import ClaudeEventBuilder
from betcode.providers.claude.state import Todo, TodoChange
from betcode.v1 import agent_pb2 as v1

_STATUS = {"pending": v1.PENDING, "in_progress": v1.IN_PROGRESS, "completed": v1.COMPLETED}
_GONE = 0
_MOST_ITEMS = 100
_LONGEST = 300


class _TodoInput(Struct):
    """One task, in the words of any of the tools."""

    id: str = ""
    taskId: str = ""  # noqa: N815 (the agent's name for it)
    content: str = ""
    subject: str = ""
    description: str = ""
    active_form: str = field(default="", name="activeForm")
    status: str = ""
    todos: "list[_TodoInput]" = field(default_factory=list)


class _TaskResult(Struct):
    task: _TodoInput | None = None
    tasks: list[_TodoInput] | None = None


def planned(tool_name: str, own_input: bytes) -> TodoChange | None:
    """What the call will have done when it succeeds."""
    if tool_name not in ("TodoWrite", "TaskCreate", "TaskUpdate", "TaskList"):
        return None
    try:
        entry = msgspec.json.decode(own_input, type=_TodoInput, strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if tool_name == "TodoWrite":
        items = [_todo(str(number), item) for number, item in enumerate(entry.todos[:_MOST_ITEMS], 1)]
        return TodoChange(tool_name, items)
    return TodoChange(tool_name, [_todo(entry.taskId, entry)])


def happened(builder: ClaudeEventBuilder, change: TodoChange | None, outcome: Raw) -> None:
    """The call succeeded: say the whole list, if that changed it."""
    if change is None:
        return
    before = builder.state.todos
    builder.state.todos = _after(before, change, _read(outcome))[:_MOST_ITEMS]
    if builder.state.todos != before:
        update = builder.new_event().todo_update
        for todo in builder.state.todos:
            update.items.add(
                id=todo.id,
                subject=todo.subject,
                description=todo.description,
                active_form=todo.active_form,
                status=v1.TodoStatus.ValueType(todo.status),
            )


def _after(before: list[Todo], change: TodoChange, outcome: _TaskResult) -> list[Todo]:
    match change.kind:
        case "TodoWrite":
            return change.items
        case "TaskCreate" if outcome.task is not None and outcome.task.id:
            new = change.items[0]
            return [*before, Todo(outcome.task.id, new.subject, new.description, new.active_form, v1.PENDING)]
        case "TaskUpdate":
            wanted = change.items[0]
            after = [_updated(todo, wanted) if todo.id == wanted.id else todo for todo in before]
            return [todo for todo in after if todo.status != _GONE]
        case "TaskList" if outcome.tasks is not None:
            known = {todo.id: todo for todo in before}
            return [
                _updated(known.get(item.id) or _todo(item.id, item), _todo(item.id, item)) for item in outcome.tasks
            ]
        case _:
            return before


def _updated(todo: Todo, wanted: Todo) -> Todo:
    return Todo(
        todo.id,
        wanted.subject or todo.subject,
        wanted.description or todo.description,
        wanted.active_form or todo.active_form,
        todo.status if wanted.status < 0 else wanted.status,
    )


def _todo(todo_id: str, entry: _TodoInput) -> Todo:
    """A status of -1 is one that was not given."""
    status = _STATUS.get(entry.status, _GONE if entry.status == "deleted" else -1)
    subject = shortened(entry.subject or entry.content, _LONGEST)
    return Todo(
        todo_id, subject, shortened(entry.description, _LONGEST), shortened(entry.active_form, _LONGEST), status
    )


def _read(outcome: Raw) -> _TaskResult:
    try:
        return msgspec.json.decode(outcome, type=_TaskResult, strict=False)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _TaskResult()
