"""Settings on a command line: `--set KEY=VALUE`."""

from collections.abc import Iterable

from betcode.config.file_reader import suggestion
from betcode.config.load import WrongSetting
from betcode.config.schema import SETTINGS


def flags_of(words: Iterable[str]) -> dict[str, str]:
    """The value of each key, still as a text; the last one counts.

    Raises:
        WrongSetting: it is no setting.
    """
    found: dict[str, str] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise WrongSetting(f"--set takes KEY=VALUE, not {word[:80]!r}")
        if key not in SETTINGS:
            raise WrongSetting(f"There is no setting {key[:80]}{suggestion(key)}")
        found[key] = value
    return found
