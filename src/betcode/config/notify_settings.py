"""Value types of notification settings."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from betcode.config.units import NotUnderstood
from betcode.config.value_types import ValueType
from betcode.domain.permissions.notification import NotificationReason


@dataclass(frozen=True, slots=True)
class NotifySettings:
    desktop: bool = False
    command: tuple[str, ...] = ()  # a program and its arguments; the notification is JSON on its stdin
    webhook_url: str = field(default="", repr=False)  # it may carry a secret itself
    webhook_secret_file: str = ""
    occasions: tuple[str, ...] = ("ask", "reminder", "expired")

    def refuse_unsigned(self) -> None:
        """Raise NotUnderstood for a webhook without a secret, which could not recognise our notifications."""
        if self.webhook_url and not self.webhook_secret_file:
            raise NotUnderstood("notify.webhook.url needs notify.webhook.secret_file, a file with the signing key")


def command_line() -> ValueType:
    """A program and its arguments, as a list."""
    allowed = 'a list that begins with the absolute path of a program, such as ["/usr/local/bin/tell-me", "--loud"]'

    def read(value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(isinstance(each, str) and "\0" not in each for each in value):
            raise NotUnderstood(allowed)
        if value and not Path(value[0]).is_absolute():
            raise NotUnderstood(allowed)
        return tuple(value)

    return ValueType(allowed, read, write=list)


def web_address() -> ValueType:
    """Parse the address of a webhook."""
    allowed = 'an address such as "https://example.com/hook", without a user name'

    def read(value: object) -> str:
        if not isinstance(value, str) or (value and not _can_be_posted_to(value)):
            raise NotUnderstood(allowed)
        return value

    return ValueType(allowed, read, is_text=True)


def _can_be_posted_to(address: str) -> bool:
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
        usable = usable and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    return usable and address.isascii() and address.isprintable() and " " not in address


def place() -> ValueType:
    """A file's absolute path."""
    allowed = "the absolute path of a file"

    def read(value: object) -> str:
        if not isinstance(value, str) or "\0" in value or (value and not Path(value).is_absolute()):
            raise NotUnderstood(allowed)
        return value

    return ValueType(allowed, read, is_text=True)


def occasions() -> ValueType:
    """Parse the occasions of notifications."""
    known = [each.value for each in NotificationReason]
    allowed = 'a list of "ask", "reminder" and "expired"'

    def read(value: object) -> tuple[str, ...]:
        if not isinstance(value, list) or not all(each in known for each in value):
            raise NotUnderstood(allowed)
        return tuple(dict.fromkeys(value))

    return ValueType(allowed, read, write=list)
