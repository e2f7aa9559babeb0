"""`notify.*`: who is notified about a prompt, and how."""

from betcode.config import value_types
from betcode.config.schema.setting import Setting
from betcode.config.units import NotUnderstood
from betcode.config.value_types import ValueType
from betcode.domain.permissions.notification import NotificationReason


def _occasions() -> ValueType:
    """Parse the occasions of notifications."""
    known = [each.value for each in NotificationReason]
    allowed = 'a list of "ask", "reminder" and "expired"'

    def read(value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(each in known for each in value):
            raise NotUnderstood(allowed)
        return tuple(dict.fromkeys(value))

    return ValueType(allowed, read, write=list)


NOTIFY: tuple[Setting, ...] = (
    Setting(
        "notify.desktop", "notify.desktop", value_types.yes_or_no(), "notify with `notify-send`, on macOS `osascript`"
    ),
    Setting(
        "notify.command",
        "notify.command",
        value_types.command_line(),
        "program (absolute path) and arguments, as a list; it gets the notification as JSON on stdin",
    ),
    Setting(
        "notify.webhook.url",
        "notify.webhook_url",
        value_types.web_address(),
        "URL to which the notification is posted as JSON",
        is_private=True,
    ),
    Setting(
        "notify.webhook.secret_file",
        "notify.webhook_secret_file",
        value_types.absolute_path(),
        "file with the key that signs the webhook; required with a URL",
    ),
    Setting("notify.on", "notify.occasions", _occasions(), "which events send a notification"),
)
