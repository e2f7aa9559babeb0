"""Names and counts in sentences: bounded, and safe for a terminal."""

from collections.abc import Sequence

from betcode.domain.values.text import shortened

_NAMED = 5
_NAME_CHARACTERS = 60
_PATH_CHARACTERS = 1000


def named(text: str, limit: int = _NAME_CHARACTERS) -> str:
    """A name as it may be shown on a terminal."""
    safe = "".join(each if each.isprintable() else _escaped(each) for each in text)
    return shortened(safe, limit)


def placed(path: str) -> str:
    """A path as it may be shown, and copied."""
    return named(path, _PATH_CHARACTERS)


def _escaped(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode()


def counted(count: int, what: str, names: Sequence[str], *, one: str = "", many: str = "", plural: str = "") -> str:
    """Such as "2 changed files (a.py, b c.txt)"; empty where there are none."""
    if not count:
        return ""
    noun = what if count == 1 else plural or f"{what}s"
    more = one if count == 1 else many
    shown = [named(name) for name in names[:_NAMED]]
    if count > len(shown):
        shown.append("...")
    return f"{count} {noun}{f' {more}' if more else ''} ({', '.join(shown)})"


def joined(parts: Sequence[str]) -> str:
    """Such as "this, that and those"."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
