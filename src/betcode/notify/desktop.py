"""A notification on the desktop, where there is a program for that."""

import shutil
import sys
from html import escape

from betcode.domain.permissions.notification import Notification, NotificationReason
from betcode.notify.programs import DESKTOP, NotSent, run_program

# Text is passed as arguments of the script, so that nothing in it is read as a script.
_SCRIPT = ("on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run")


def command_for(notification: Notification, platform: str) -> list[str]:
    """Return the command to run; the first word is the program's name.

    Raises:
        NotSent: the platform is not supported.
    """
    title, body = notification.title, notification.body
    if platform == "darwin":
        return ["osascript", *(part for line in _SCRIPT for part in ("-e", line)), title, body]
    if platform.startswith("linux"):
        urgency = "low" if notification.occasion is NotificationReason.EXPIRED else "normal"
        return ["notify-send", "--app-name=betcode", f"--urgency={urgency}", "--", title, escape(body, quote=False)]
    raise NotSent(f"desktop notifications are not supported on {platform}")


async def show(notification: Notification) -> None:
    """Raises NotSent."""
    argv = command_for(notification, sys.platform)
    program = shutil.which(argv[0])
    if program is None:
        raise NotSent(f"{argv[0]} is not installed")
    await run_program([program, *argv[1:]], more_names=DESKTOP)
