"""`notify.*`: who is notified about a prompt, and how."""

from betcode.config import value_types
from betcode.config.notify_settings import command_line, occasions, place, web_address
from betcode.config.schema.setting import Setting

NOTIFY: tuple[Setting, ...] = (
    Setting(
        "notify.desktop", "notify.desktop", value_types.yes_or_no(), "notify with `notify-send`, on macOS `osascript`"
    ),
    Setting(
        "notify.command",
        "notify.command",
        command_line(),
        "a program with its whole path, and arguments, as a list; gets the notification as JSON on stdin",
    ),
    Setting(
        "notify.webhook.url",
        "notify.webhook_url",
        web_address(),
        "where the same JSON is posted",
        is_private=True,
    ),
    Setting(
        "notify.webhook.secret_file",
        "notify.webhook_secret_file",
        place(),
        "the file with the key that signs it; needed with a URL",
    ),
    Setting("notify.on", "notify.occasions", occasions(), "what is told"),
)
