"""What a YAML file says at its top: bounded, and without making anything of it.

Documents are composed and never constructed: tags make no objects, and what refers to something else a thousand
times is not unfolded.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

import yaml

from betcode.config.plain_file import read_plain

_LIMIT_BYTES = 64 * 1024
_NULL = "tag:yaml.org,2002:null"


class WrongYaml(Exception):
    """It cannot be relied on; the text says why, to follow the name of the file."""


def read_yaml(path: Path) -> Mapping[str, str]:
    """The plain values at the top as text, those one step below as `above.below`; nothing where no file is.

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
    try:
        root = yaml.compose(data.decode(), Loader=yaml.SafeLoader)
    except UnicodeDecodeError:
        raise WrongYaml("is not UTF-8 text") from None
    except yaml.MarkedYAMLError as wrong:
        line = f", line {wrong.problem_mark.line + 1}" if wrong.problem_mark else ""
        raise WrongYaml(f"is not YAML{line}: {wrong.problem or wrong.context or 'it cannot be understood'}") from None
    except (yaml.YAMLError, RecursionError, ValueError):
        raise WrongYaml("is not YAML that can be understood") from None
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode):
        raise WrongYaml("must hold keys and their values")
    found = dict(_values(root))
    for name, inner in _mappings(root):
        found |= {f"{name}.{key}": value for key, value in _values(inner)}
    return MappingProxyType(found)


def _values(node: yaml.MappingNode) -> list[tuple[str, str]]:
    seen: set[str] = set()
    found = []
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        if key.value in seen:
            raise WrongYaml(f"says {key.value!r} twice")
        seen.add(key.value)
        if isinstance(value, yaml.ScalarNode) and value.tag != _NULL:
            found.append((key.value, value.value))
    return found


def _mappings(node: yaml.MappingNode) -> list[tuple[str, yaml.MappingNode]]:
    pairs = [(key.value, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)]
    return [(name, value) for name, value in pairs if isinstance(value, yaml.MappingNode)]
