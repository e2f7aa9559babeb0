"""Notify people about an open prompt: on the desktop, by a command, by a webhook."""

from betcode.notify.dispatch import NotificationDispatcher, open_notifications

__all__ = ["NotificationDispatcher", "open_notifications"]
