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
        "program (absolute path) and arguments, as a list; it gets the notification as JSON on stdin",
    ),
    Setting(
        "notify.webhook.url",
        "notify.webhook_url",
        web_address(),
        "URL to which the notification is posted as JSON",
        is_private=True,
    ),
    Setting(
        "notify.webhook.secret_file",
        "notify.webhook_secret_file",
        place(),
        "file with the key that signs the webhook; required with a URL",
    ),
    Setting("notify.on", "notify.occasions", occasions(), "which events send a notification"),
)
