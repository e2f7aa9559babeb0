"""The panels beside the conversation, alone on a screen."""

import pytest
from textual.app import App, ComposeResult

from betcode.tui.widgets.panels import PlanPanel, TodoPanel, plan_lines, todo_lines
from betcode.v1 import agent_pb2 as v1

_TODOS = (
    v1.TodoItem(subject="Read", status=v1.COMPLETED),
    v1.TodoItem(subject="Write", active_form="Writing", status=v1.IN_PROGRESS),
    v1.TodoItem(subject="Te\x1b[2Jst [bold]it[/bold]", status=v1.PENDING),
)


class Panels(App[None]):
    def compose(self) -> ComposeResult:
        yield TodoPanel()
        yield PlanPanel()


def test_things_to_do_say_how_far_they_are_and_can_do_no_harm() -> None:
    lines = [line.plain for line in todo_lines(_TODOS)]
    assert lines == ["To do · 1 of 3 done", "☑ Read", "▸ Writing", "☐ Te␛[2Jst [bold]it[/bold]"]


def test_hidden_items_are_counted() -> None:
    assert [line.plain for line in todo_lines(_TODOS * 100)][-1] == "… and 100 more"
    assert [line.plain for line in plan_lines("x" * 20_500)][-1] == "… and 500 characters more"


@pytest.mark.anyio
async def test_a_panel_is_there_only_while_it_has_something_to_show() -> None:
    async with Panels().run_test(size=(40, 20)) as pilot:
        todos, plan = pilot.app.query_one(TodoPanel), pilot.app.query_one(PlanPanel)
        assert (todos.display, plan.display) == (False, False)
        todos.show(_TODOS)
        plan.show("# Plan\n1. Test")
        await pilot.pause()
        assert (todos.size.height, plan.size.height) == (4, 3)
        todos.show(())
        assert (todos.display, plan.display) == (False, True)
