"""Send notifications in the background: a slow or broken channel delays no other."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

from betcode.config.settings import NotifySettings
from betcode.domain.permissions.notification import Notification, NotificationReason
from betcode.notify import desktop, webhook
from betcode.notify.programs import NotSent, run_program

logger = logging.getLogger(__name__)

WAITING_LIMIT = 100  # notifications of one channel; above it new ones are dropped

Send = Callable[[Notification], Awaitable[None]]


class NotificationDispatcher:
    """The three channels, each with its own queue."""

    def __init__(self, settings: NotifySettings) -> None:
        self._settings = settings
        self._lines = {name: _Line(name, send) for name, send in self._ways().items()}

    def use(self, settings: NotifySettings) -> None:
        """Go on with other settings; what waits is sent by them, too."""
        self._settings = settings

    def wants(self, occasion: NotificationReason) -> bool:
        """Return whether any channel is enabled."""
        return occasion.value in self._settings.occasions and bool(self._on())

    def notify(self, notification: Notification) -> None:
        """Queue a notification; never waits, never fails."""
        if self.wants(notification.occasion):
            for name in self._on():
                self._lines[name].put(notification)

    async def keep(self) -> None:
        """Send queued notifications until the daemon stops."""
        async with anyio.create_task_group() as tasks:
            for line in self._lines.values():
                tasks.start_soon(line.keep)

    def _on(self) -> list[str]:
        settings = self._settings
        ways = {"desktop": settings.desktop, "command": settings.command, "webhook": settings.webhook_url}
        return [name for name, is_on in ways.items() if is_on]

    def _ways(self) -> dict[str, Send]:
        async def command(notification: Notification) -> None:
            if self._settings.command:
                await run_program(self._settings.command, stdin=notification.as_json())

        async def post(notification: Notification) -> None:
            if self._settings.webhook_url:
                await webhook.post(notification, self._settings.webhook_url, self._settings.webhook_secret_file)

        return {"desktop": desktop.show, "command": command, "webhook": post}


class _Line:
    def __init__(self, name: str, send: Send) -> None:
        self._name = name
        self._send = send
        self._dropped = 0  # since the last one that was sent
        self._put, self._taken = anyio.create_memory_object_stream[Notification](WAITING_LIMIT)

    def put(self, notification: Notification) -> None:
        try:
            self._put.send_nowait(notification)
        except (anyio.WouldBlock, anyio.BrokenResourceError):
            self._dropped += 1
            if self._dropped == 1:
                logger.warning("dropping notifications: too many are queued for the %s", self._name)

    async def keep(self) -> None:
        with self._put, self._taken:
            async for notification in self._taken:
                if self._dropped:
                    logger.warning("%d notifications were dropped by the %s", self._dropped, self._name)
                    self._dropped = 0
                extra = {"session_id": notification.session_id, "request_id": notification.request_id}
                try:
                    await self._send(notification)
                    logger.info("notified by %s of %s", self._name, notification.occasion.value, extra=extra)
                except NotSent as trouble:
                    logger.warning("a notification was not delivered: %s", trouble, extra=extra)
                except Exception:
                    logger.exception("a notification could not be sent by %s", self._name, extra=extra)


@asynccontextmanager
async def open_notifications(settings: NotifySettings) -> AsyncIterator[NotificationDispatcher]:
    """Open the channels; leaving the block drops notifications that are not being sent yet."""
    notifying = NotificationDispatcher(settings)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(notifying.keep)
        try:
            yield notifying
        finally:
            tasks.cancel_scope.cancel()
