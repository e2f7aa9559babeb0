"""Background tasks of the screen and its widgets: each ends with its owner, and a failure is reported."""

from collections.abc import Awaitable, Callable
from typing import TypeVarTuple, Unpack

from textual.dom import DOMNode
from textual.message import Message

Ts = TypeVarTuple("Ts")


class TaskFailed(Message):
    """An unexpected exception in a task; the message bubbles up to the app."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


def begin(
    owner: DOMNode,
    work: Callable[[Unpack[Ts]], Awaitable[object]],
    *arguments: *Ts,
    group: str = "default",
    exclusive: bool = False,
) -> None:
    """Run the work in the background; `exclusive`: cancel the owner's earlier work in this group."""

    async def until_over() -> None:
        try:
            await work(*arguments)
        except Exception as error:  # noqa: BLE001 - the top of a task
            owner.post_message(TaskFailed(error))

    owner.run_worker(until_over(), group=group, exclusive=exclusive, exit_on_error=False)
