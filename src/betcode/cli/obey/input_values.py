"""Parse values given as NAME=VALUE or JSON, and messages from stdin."""

import json
import sys
from collections.abc import Sequence

from betcode.cli.obey.failure import usage_error
from betcode.cli.obey.options import ObeyCommandOptions

_AT_MOST_BYTES = 48 * 1024 * 1024  # the daemon's limit for one call
_STDIN = "-"


def pairs_of(flag: str, texts: Sequence[str], *, may_be_json: bool) -> dict[str, str]:
    """Return the values of NAME=VALUE pairs and JSON objects; a later value overrides an earlier one.

    Raises:
        ObeyFailed: an argument is neither.
    """
    pairs: dict[str, str] = {}
    for text in texts:
        if may_be_json and text.lstrip().startswith("{"):
            pairs |= _object(flag, text)
            continue
        name, equals, value = text.partition("=")
        if not name or not equals:
            kinds = 'KEY=VALUE or an object such as {"key": "value"}' if may_be_json else "NAME=VALUE"
            raise usage_error(f"{flag} {text!r} is not {kinds}", "obey session create --help has examples")
        pairs[name] = value
    return pairs


def _object(flag: str, text: str) -> dict[str, str]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as trouble:
        raise usage_error(f"{flag} is not JSON: {trouble}", "put names and texts in double quotes") from None
    return {name: _plain(each) for name, each in value.items()}


def _plain(value: object) -> str:
    """Return a string as it is, and any other value as JSON, such as true, 7 or ["a"]."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def message_of(options: ObeyCommandOptions, name: str = "message") -> str:
    """Return the message from the argument or from stdin.

    Raises:
        ObeyFailed: there is no message, or it is not text.
    """
    argument = options.text(name)
    if options.has(name) and argument != _STDIN:
        text = argument
    elif sys.stdin is None or sys.stdin.isatty():
        raise usage_error("No message", 'obey session send ID "MESSAGE"')
    else:
        data = sys.stdin.buffer.read(_AT_MOST_BYTES + 1)
        if len(data) > _AT_MOST_BYTES:
            raise usage_error(
                f"The message is longer than {_AT_MOST_BYTES >> 20} MiB",
                "write it to a file and let the agent read that",
            )
        try:
            text = data.decode().rstrip("\r\n")  # the final line break of a file is not part of the message
        except UnicodeDecodeError:
            raise usage_error("stdin is not valid UTF-8", "write it to a file and let the agent read that") from None
    if not text.strip():
        raise usage_error("The message is empty", 'obey session send ID "MESSAGE"')
    return text
