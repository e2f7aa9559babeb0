"""Read the top-level values of a YAML file, with limits and without creating objects.

Only events of the parser are used: tags create no objects, aliases are not expanded, and deep nesting is not followed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

import yaml

from betcode.config.plain_file import read_plain

_LIMIT_BYTES = 64 * 1024
_DEPTH = 32
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # much quicker, where it was built


class WrongYaml(Exception):
    """The file is invalid; the text gives the reason, after the name of the file."""


def read_yaml(path: Path) -> Mapping[str, str]:
    """Return the plain values at the top as text, those one level below as `above.below`; empty if there is no file.

    Raises:
        WrongYaml
    """
    try:
        data = read_plain(path, _LIMIT_BYTES + 1)
    except FileNotFoundError:
        return {}
    except OSError as trouble:
        raise WrongYaml(f"cannot be read: {trouble.strerror or trouble}") from None
    if len(data) > _LIMIT_BYTES:
        raise WrongYaml(f"is longer than {_LIMIT_BYTES} bytes")
    return _understood(data)


@lru_cache(maxsize=256)
def _understood(data: bytes) -> Mapping[str, str]:
    found: dict[str, str] = {}
    try:
        for name, value in _values(data.decode()):
            if name in found:
                raise WrongYaml(f"has {name!a} twice")
            found[name] = value
    except UnicodeDecodeError:
        raise WrongYaml("is not UTF-8 text") from None
    except yaml.MarkedYAMLError as wrong:
        line = f", line {wrong.problem_mark.line + 1}" if wrong.problem_mark else ""
        raise WrongYaml(f"is not YAML{line}: {wrong.problem or wrong.context or 'it cannot be understood'}") from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise WrongYaml("cannot be parsed as YAML") from None
    return MappingProxyType(found)


@dataclass(slots=True)
class _Collection:
    is_mapping: bool
    prefix: str | None  # of the names of its values; None: they have none
    key: str | None = None  # its value is next
    expects_key: bool = True

    def take(self, key: str | None) -> str | None:
        """A key, or the value of one: then the whole name of that value; None where it has none."""
        if not self.is_mapping:
            return None
        self.expects_key = not self.expects_key
        if not self.expects_key:
            self.key = key
            return None
        return None if self.key is None or self.prefix is None else self.prefix + self.key


def _values(text: str) -> Iterator[tuple[str, str]]:
    """Yield names and values, a duplicate name twice."""
    open_now: list[_Collection] = []
    documents = 0
    for event in yaml.parse(text, Loader=_LOADER):
        match event:
            case yaml.DocumentStartEvent():
                documents += 1
                if documents > 1:
                    raise WrongYaml("has more than one document")
            case yaml.CollectionStartEvent():
                _open(open_now, is_mapping=isinstance(event, yaml.MappingStartEvent))
            case yaml.CollectionEndEvent():
                open_now.pop()
            case yaml.ScalarEvent() | yaml.AliasEvent():
                yield from _plain(open_now, event)
            case _:
                pass


def _open(open_now: list[_Collection], *, is_mapping: bool) -> None:
    if len(open_now) >= _DEPTH:
        raise WrongYaml("is nested too deep")
    if open_now:
        name = open_now[-1].take(None)
        below = f"{name}." if name is not None and len(open_now) == 1 else None
        open_now.append(_Collection(is_mapping, below))
    elif is_mapping:
        open_now.append(_Collection(is_mapping, ""))
    else:
        raise WrongYaml("must hold keys and their values")


def _plain(open_now: list[_Collection], event: yaml.ScalarEvent | yaml.AliasEvent) -> Iterator[tuple[str, str]]:
    value = event.value if isinstance(event, yaml.ScalarEvent) else None
    is_null = isinstance(event, yaml.ScalarEvent) and event.style is None and value in _NULL
    if open_now:
        name = open_now[-1].take(value)
        if name is not None and value is not None:
            yield name, "" if is_null else value
    elif not is_null:
        raise WrongYaml("must hold keys and their values")
