"""The registry of campaigns, a file of camp: locate it, read it, and find the campaign that a word names."""

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from betcode.config.plain_file import read_plain
from betcode.domain.obey.campaign_errors import AmbiguousCampaign, CampaignNotFound
from betcode.domain.obey.campaigns import is_identifier
from betcode.domain.values.text import is_valid, shortened
from betcode.util.user import home_directory

_LIMIT_BYTES = 4 * 1024 * 1024
_NAME_LENGTH = 256
_NAMED_AT_MOST = 5  # candidates in one sentence


@dataclass(frozen=True, slots=True)
class Entry:
    """One campaign as the registry has it."""

    id: str
    name: str = ""
    path: str = ""
    type: str = ""
    status: str = ""
    trouble: str = ""  # a sentence: it cannot be used

    @property
    def words(self) -> str:
        return f"{self.id} ({self.name})" if self.name else self.id


@dataclass(frozen=True, slots=True)
class Registry:
    path: Path
    entries: tuple[Entry, ...] = ()
    trouble: str = ""  # a sentence: nothing of it can be used

    def meant(self, text: str) -> Entry:
        """Return the campaign by its id, else by a unique id prefix or name.

        Raises:
            CampaignNotFound, AmbiguousCampaign
        """
        if not text:
            raise CampaignNotFound(text)
        for entry in self.entries:
            if entry.id == text:
                return entry
        named = [entry for entry in self.entries if entry.name == text]
        begun = [entry for entry in self.entries if entry.id.startswith(text)]
        if named and len(begun) > 1:
            begun = []  # a prefix of several ids does not identify one of them, a name still does
        found = list({entry.id: entry for entry in [*named, *begun]}.values())
        if not found:
            raise CampaignNotFound(text)
        if len(found) > 1:
            several = sorted(entry.words for entry in found)
            more = f" and {len(several) - _NAMED_AT_MOST} more" if len(several) > _NAMED_AT_MOST else ""
            raise AmbiguousCampaign(text, ", ".join(several[:_NAMED_AT_MOST]) + more)
        return found[0]


def registry_path(environ: Mapping[str, str]) -> Path:
    """Return the path of camp's registry."""
    if named := environ.get("CAMP_REGISTRY_PATH"):
        return Path(named)
    configs = Path(environ.get("XDG_CONFIG_HOME", ""))
    if configs.is_absolute():
        return configs / "obey" / "campaign" / "registry.json"
    return home_directory(environ) / ".obey" / "campaign" / "registry.json"


def read_registry(path: Path) -> Registry:
    """Return the content of the file; a missing one is empty. It may block, and never raises."""
    if not path.is_absolute():
        return Registry(path, trouble=f"The registry of campaigns has a path that is not absolute: {path}")
    try:
        data = read_plain(path, _LIMIT_BYTES + 1)
    except FileNotFoundError:
        return Registry(path)
    except (OSError, ValueError) as wrong:
        why = getattr(wrong, "strerror", None) or wrong
        return Registry(path, trouble=f"The registry of campaigns {path} cannot be read: {why}")
    if len(data) > _LIMIT_BYTES:
        return Registry(path, trouble=f"The registry of campaigns {path} is longer than {_LIMIT_BYTES} bytes")
    entries, trouble = _understood(data)
    return Registry(path, entries, f"The registry of campaigns {path} {trouble}" if trouble else "")


@dataclass(slots=True)
class _Object:
    """A JSON object that also records duplicate keys."""

    values: dict[str, object]
    twice: set[str] = field(default_factory=set)


def _object(pairs: list[tuple[str, object]]) -> _Object:
    counts = Counter(name for name, _ in pairs)
    return _Object(dict(pairs), {name for name, count in counts.items() if count > 1})


@lru_cache(maxsize=4)
def _understood(data: bytes) -> tuple[tuple[Entry, ...], str]:
    try:
        root = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_object)
    except UnicodeDecodeError:
        return (), "is not UTF-8 text"
    except json.JSONDecodeError as wrong:
        return (), f"is not JSON, line {wrong.lineno}: {wrong.msg}"
    except (RecursionError, ValueError):
        return (), "cannot be parsed as JSON"
    if not isinstance(root, _Object):
        return (), "must hold one JSON object"
    campaigns = root.values.get("campaigns")
    if campaigns is None:
        return (), ""
    if not isinstance(campaigns, _Object) or "campaigns" in root.twice:
        return (), "must have one object `campaigns`, with an id for every campaign"
    read = [_entry(name, value) for name, value in campaigns.values.items()]
    return tuple(
        replace(entry, trouble=f"The registry lists the campaign {_shown(entry.id)} twice")
        if entry.id in campaigns.twice
        else entry
        for entry in read
    ), ""


def _entry(name: str, value: object) -> Entry:
    said = value.values if isinstance(value, _Object) else {}
    texts = {key: text for key in ("name", "path", "type", "status") if isinstance(text := said.get(key), str)}
    wrong = _wrong_id(name) or _wrong_shape(value) or _wrong_name(texts.get("name")) or _wrong_path(texts.get("path"))
    if not wrong:
        return Entry(name, **texts)
    # An invalid value may not appear in a message unchanged; the rest still identifies the entry.
    kept = {"name": texts["name"]} if "name" in texts and not _wrong_name(texts["name"]) else {}
    return Entry(name, **kept, trouble=f"The campaign {_shown(name)} cannot be used: {wrong}")


def _wrong_id(text: str) -> str:
    return "" if is_identifier(text) else "its id must consist of at most 256 letters, digits and _ . : -"


def _wrong_shape(value: object) -> str:
    if not isinstance(value, _Object):
        return "its entry in the registry is not an object"
    return f"its entry in the registry has {_shown(min(value.twice))} twice" if value.twice else ""


def _wrong_name(text: str | None) -> str:
    if not text:
        return "its entry in the registry has no name"
    usable = len(text) <= _NAME_LENGTH and text.isprintable() and is_valid(text)
    return "" if usable else f"its name {_shown(text)} is too long or has unprintable characters"


def _wrong_path(text: str | None) -> str:
    if not text:
        return "its entry in the registry has no path"
    if "\0" in text or not is_valid(text):
        return f"its path {_shown(text)} is invalid"
    return "" if os.path.isabs(text) else f"its path {_shown(text)} is not absolute"  # noqa: PTH117


def _shown(text: str) -> str:
    """Return the text escaped for a sentence, whatever it contains."""
    return ascii(shortened(text, 100)) if not text.isprintable() else f"'{shortened(text, 100)}'"
