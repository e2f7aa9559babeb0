"""Delivers keys, pastes and mouse events one at a time and in order.

Textual handles a letter in the widget that has the focus, but runs most other keys as bindings after the key event
has bubbled through every parent's message queue to the app. Keys that arrive in one read therefore overtake each
other. Here the next event is delivered only when the effects of the one before it are complete: the event itself, the
messages it caused, changes of focus, and screens it opened.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
from textual import events
from textual.app import App, ReturnType
from textual.driver import Driver
from textual.message_pump import MessagePump
from textual.screen import Screen

from betcode.tui.tasks import begin
from betcode.util.signal import ResettableEvent

_SETTLE_S = 1.0  # a slow handler does not block the keyboard for longer
_ROUNDS = 20  # rounds of messages that cause messages; streaming output may keep the queues busy for ever
_QUIET_ROUNDS = 2
_HOLD_S = 5.0
_URGENT = frozenset({"ctrl+c", "ctrl+q", "ctrl+z"})
_URGENT_AFTER_S = 1.0
_LIMIT = 100_000  # events; no person types that much ahead
_PASSING = (events.MouseMove, events.MouseScrollDown, events.MouseScrollUp)  # frequent, and without lasting effects


class InputSequencer:
    """The input queue of one app. `deliver` handles an event in the app's own task."""

    def __init__(self, app: App[Any], deliver: Callable[[events.Event], Awaitable[None]]) -> None:
        self._app = app
        self._deliver = deliver
        self._waiting: deque[events.Event] = deque()
        self._is_settling = False
        self._holds: dict[object, float] = {}  # with their expiry
        self._aside: list[events.Event] = []
        self._aside_before = -math.inf  # earlier input is set aside
        self._screen: Screen[Any] | None = None  # the top screen after the last event
        self._changed = ResettableEvent()

    @property
    def is_idle(self) -> bool:
        """Whether all received input has taken effect."""
        return not self._waiting and not self._is_settling

    async def receive(self, event: events.Event) -> None:
        """Deliver the event now if nothing is before it, otherwise queue it."""
        if event.time < self._aside_before:
            self._aside.append(event)
        elif self._is_settling or self._waiting or self._is_held:
            if len(self._waiting) < _LIMIT:
                self._waiting.append(event)
                self._changed.set()
        else:
            await self._deliver_now(event)

    @contextmanager
    def hold(self, limit_s: float = _HOLD_S) -> Iterator[None]:
        """Hold later input while another screen is opened for it, at most for `limit_s`."""
        token = object()
        self._holds[token] = time.monotonic() + limit_s
        try:
            yield
        finally:
            del self._holds[token]
            self._changed.set()

    @contextmanager
    def aside(self, before: float) -> Iterator[None]:
        """Hold input typed before this time until the block ends, and deliver later input.

        For a question that opens by itself: nobody had seen it when they typed.
        """
        self._aside_before = before
        self._aside.extend(event for event in self._waiting if event.time < before)
        self._waiting = deque(event for event in self._waiting if event.time >= before)
        try:
            yield
        finally:
            self._aside_before = -math.inf
            self._waiting.extendleft(reversed(self._aside))
            self._aside.clear()
            self._changed.set()

    async def run(self) -> None:
        """Deliver queued events until cancelled."""
        while True:
            self._changed.clear()
            if self._is_settling:
                with anyio.move_on_after(_SETTLE_S):
                    await self._settle()
                self._is_settling = False
            elif not self._waiting:
                await self._changed.wait()
            elif not self._is_held:
                await self._deliver_in_app(*self._next())
            elif (urgent := self._overdue_urgent()) is not None:
                self._waiting.remove(urgent)
                await self._deliver_in_app(urgent)
            else:
                with anyio.move_on_after(_URGENT_AFTER_S / 4):
                    await self._changed.wait()

    @property
    def _is_held(self) -> bool:
        now = time.monotonic()
        return any(expires > now for expires in self._holds.values())

    def _overdue_urgent(self) -> events.Key | None:
        """Return a quit key that has waited too long: the daemon may never answer."""
        due = time.monotonic() - _URGENT_AFTER_S
        keys = (each for each in self._waiting if isinstance(each, events.Key) and each.key in _URGENT)
        return next((key for key in keys if key.time < due), None)

    def _next(self) -> list[events.Event]:
        """Return one event, or all letters that the focused widget inserts by itself."""
        batch = [self._waiting.popleft()]
        while self._waiting and self._is_letter(batch[-1]) and self._is_letter(self._waiting[0]):
            batch.append(self._waiting.popleft())
        return batch

    def _is_letter(self, event: events.Event) -> bool:
        focused = self._app.focused
        if focused is None or not isinstance(event, events.Key) or not event.is_printable:
            return False
        return focused.check_consume_key(event.key, event.character)

    async def _deliver_in_app(self, *batch: events.Event) -> None:
        delivered = asyncio.Event()

        async def deliver() -> None:
            try:
                for event in batch:
                    await self._deliver_now(event)
            finally:
                delivered.set()

        if self._app.call_later(deliver):
            with anyio.move_on_after(_SETTLE_S):
                await delivered.wait()

    async def _deliver_now(self, event: events.Event) -> None:
        self._is_settling = not isinstance(event, _PASSING)
        self._changed.set()
        await self._deliver(event)

    async def _settle(self) -> None:
        """Return when all messages caused by the event are processed, and a screen it opened is laid out."""
        quiet = 0
        for _ in range(_ROUNDS):
            for pump in self._path():
                handled = asyncio.Event()
                if pump.call_later(handled.set):
                    await handled.wait()
            if self._app.screen_stack and self._app.screen is not self._screen:
                self._screen = self._app.screen
                laid_out = asyncio.Event()
                if self._screen.call_after_refresh(laid_out.set):
                    await laid_out.wait()
            quiet = quiet + 1 if self._is_quiet else 0
            if quiet == _QUIET_ROUNDS:
                return

    def _path(self) -> list[MessagePump]:
        """Return the path of a key event from the focus to the app; all messages it causes start on it."""
        if not self._app.screen_stack:
            return [self._app]
        start = self._app.focused or self._app.screen
        return list(start.ancestors_with_self)

    @property
    def _is_quiet(self) -> bool:
        if not self._app.screen_stack:
            return self._app.message_queue_size == 0
        pumps = (self._app, *self._app.screen.walk_children(with_self=True))
        return not any(pump.message_queue_size for pump in pumps)


class SequencedApp(App[ReturnType]):
    """An app whose input takes effect in the order in which it was typed."""

    def __init__(self) -> None:
        super().__init__()
        self.input = InputSequencer(self, super().on_event)

    def get_driver_class(self) -> type[Driver]:
        chosen = super().get_driver_class()
        from textual.drivers.linux_driver import LinuxDriver

        from betcode.tui.keyboard.type_ahead import TypeAheadDriver

        return TypeAheadDriver if chosen is LinuxDriver else chosen

    def on_mount(self) -> None:
        begin(self, self.input.run, group="input")

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, (events.InputEvent, events.Paste)) and not event.is_forwarded:
            await self.input.receive(event)
        else:
            await super().on_event(event)
