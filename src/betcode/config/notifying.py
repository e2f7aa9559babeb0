"""Settings of who is told that a prompt waits."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from betcode.config.units import NotUnderstood
from betcode.domain.notification import Occasion


@dataclass(frozen=True, slots=True)
class NotifySettings:
    desktop: bool = False
    command: tuple[str, ...] = ()  # a program and its arguments; the notification comes as JSON on its stdin
    webhook_url: str = field(default="", repr=False)
    webhook_secret_file: str = ""
    occasions: tuple[str, ...] = ()

    def refuse_unsigned(self) -> None:
        """Raises NotUnderstood where a webhook could not tell our notifications from others'."""
        if self.webhook_url and not self.webhook_secret_file:
            raise NotUnderstood("notify.webhook.url needs notify.webhook.secret_file, a file with the signing key")


def command_line(value: object) -> tuple[str, ...]:
    """A program and its arguments, as a list.

    Raises:
        NotUnderstood
    """
    hint = 'a list that begins with a program, such as ["/usr/local/bin/tell-me", "--loud"]'
    if not isinstance(value, list) or not all(isinstance(each, str) and "\0" not in each for each in value):
        raise NotUnderstood(hint)
    if value and not Path(value[0]).is_absolute():
        raise NotUnderstood(f"{hint}, with its whole path")
    return tuple(value)


def web_address(value: object) -> str:
    """Raises NotUnderstood where nothing could be posted there."""
    hint = 'an address such as "https://example.com/hook", without a user name'
    if not isinstance(value, str):
        raise NotUnderstood(hint)
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
        usable = usable and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if value and not (usable and value.isascii() and value.isprintable() and " " not in value):
        raise NotUnderstood(hint)
    return value


def place(value: object) -> str:
    """Raises NotUnderstood where it is not a file's whole path."""
    if not isinstance(value, str) or "\0" in value or (value and not Path(value).is_absolute()):
        raise NotUnderstood("the whole path of a file")
    return value


def occasions(value: object) -> tuple[str, ...]:
    """Raises NotUnderstood where it names something that never happens."""
    known = [each.value for each in Occasion]
    if not isinstance(value, list) or not all(each in known for each in value):
        raise NotUnderstood('a list of "ask", "reminder" and "expired"')
    return tuple(dict.fromkeys(value))
