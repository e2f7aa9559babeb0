"""Telling people who are not looking that a prompt waits: on the desktop, by a command, by a webhook."""

from betcode.notify.dispatch import Notifying, open_notifying

__all__ = ["Notifying", "open_notifying"]
