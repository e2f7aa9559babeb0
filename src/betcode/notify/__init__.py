"""Notify people about an open prompt: on the desktop, by a command, by a webhook."""

from betcode.notify.dispatch import Notifying, open_notifying

__all__ = ["Notifying", "open_notifying"]
