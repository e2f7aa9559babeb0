"""Panels with the agent's todo list and plan."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from betcode.v1 import agent_pb2 as v1
from betcode.wording.render import TODO_BOXES
from betcode.wording.terminal_text import clean

_MOST_ITEMS = 200
_LONGEST_ITEM = 400
_LONGEST_PLAN = 20_000
_STYLES = {v1.COMPLETED: "$text-muted", v1.IN_PROGRESS: "bold"}


class Panel(VerticalScroll):
    """A heading and a text; hidden without text, redrawn only after a change."""

    DEFAULT_CSS = """
    Panel { height: auto; max-height: 50%; display: none; scrollbar-size-vertical: 1; margin-top: 1; }
    Panel:focus { background: $boost; }
    Panel > Static { height: auto; }
    """

    def __init__(self, panel_id: str) -> None:
        super().__init__(id=panel_id)
        self._shown: object = None

    def compose(self) -> ComposeResult:
        yield Static(markup=False)

    def _put(self, what: object, lines: Sequence[Content]) -> None:
        self._shown = what
        self.display = bool(lines)
        self.query_one(Static).update(Content("\n").join(lines))


class TodoPanel(Panel):
    def __init__(self) -> None:
        super().__init__("todos")

    def show(self, items: tuple[v1.TodoItem, ...]) -> None:
        if items is not self._shown:
            self._put(items, todo_lines(items))


class PlanPanel(Panel):
    def __init__(self) -> None:
        super().__init__("plan")

    def show(self, plan: str) -> None:
        if plan is not self._shown:
            self._put(plan, plan_lines(plan))


def todo_lines(items: Sequence[v1.TodoItem]) -> list[Content]:
    """Return how many are done, then each with its box; the current one is emphasized."""
    if not items:
        return []
    done = sum(item.status == v1.COMPLETED for item in items)
    lines = [Content.styled(f"To do · {done} of {len(items)} done", "bold")]
    for item in items[:_MOST_ITEMS]:
        words = item.active_form if item.status == v1.IN_PROGRESS and item.active_form else item.subject
        box = TODO_BOXES.get(item.status, "·")
        text = " ".join(clean(words[:_LONGEST_ITEM]).split())
        lines.append(Content.styled(f"{box} {text}", _STYLES.get(item.status, "")))
    if len(items) > _MOST_ITEMS:
        lines.append(Content.styled(f"… and {len(items) - _MOST_ITEMS:,} more", "$text-muted"))
    return lines


def plan_lines(plan: str) -> list[Content]:
    """Return the plan as the agent wrote it."""
    if not plan.strip():
        return []
    lines = [Content(line) for line in clean(plan[:_LONGEST_PLAN]).strip().split("\n")]
    if len(plan) > _LONGEST_PLAN:
        lines.append(Content.styled(f"… and {len(plan) - _LONGEST_PLAN:,} characters more", "$text-muted"))
    return [Content.styled("Plan", "bold"), *lines]
