"""Directories of campaigns: found from within, and verified before use. All functions may block."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from betcode.campaigns.registry import Entry
from betcode.campaigns.yaml_file import WrongYaml, read_yaml
from betcode.domain.obey.campaigns import Campaign

MARKER = ".campaign"
_IDENTITY = "campaign.yaml"


class NotACampaign(Exception):
    """The directory does not match the registry; the text is a sentence."""


def seen_campaign(entry: Entry) -> Campaign:
    """The campaign of a registered entry, links followed, once its directory agrees.

    Raises:
        NotACampaign
    """
    if entry.trouble:
        raise NotACampaign(entry.trouble)
    root = _real_directory(entry)
    _refuse_strange_marker(entry, root)
    said = _identity(entry, root)
    for key, registered in (("id", entry.id), ("name", entry.name)):
        if (said.get(key) or registered) != registered:
            raise NotACampaign(
                f"The campaign {entry.words} cannot be used: the registry has the {key} {registered!r}, and "
                f"{root / MARKER / _IDENTITY} says {said[key]!r}; make them agree"
            )
    return Campaign(entry.id, entry.name, root, entry.type or said.get("type", ""), entry.status)


def root_above(directory: Path) -> Path | None:
    """The nearest directory, this one or one above it, links followed, that holds a campaign's marker."""
    try:
        place = Path(os.path.realpath(directory, strict=True))
    except (OSError, ValueError):
        return None
    return next((each for each in (place, *place.parents) if _is_root(each)), None)


def root_here(directory: Path, environ: Mapping[str, str]) -> Path | None:
    """Return the campaign that CAMP_ROOT names, if it is one, else the nearest above the directory."""
    named = Path(environ.get("CAMP_ROOT", ""))
    if named.is_absolute():
        try:
            place = Path(os.path.realpath(named, strict=True))
        except (OSError, ValueError):
            place = None
        if place is not None and _is_root(place):
            return place
    return root_above(directory)


def _is_root(place: Path) -> bool:
    try:
        return place.parent != place and stat.S_ISDIR((place / MARKER).lstat().st_mode)
    except OSError:
        return False


def _real_directory(entry: Entry) -> Path:
    try:
        root = Path(os.path.realpath(entry.path, strict=True))
        is_directory = stat.S_ISDIR(root.stat().st_mode)
    except FileNotFoundError:
        raise NotACampaign(f"The campaign {entry.words} cannot be used: {entry.path} does not exist") from None
    except (OSError, ValueError) as trouble:
        why = getattr(trouble, "strerror", None) or "it is not a path"
        raise NotACampaign(f"The campaign {entry.words} cannot be used: {entry.path}: {why}") from None
    if not is_directory:
        raise NotACampaign(f"The campaign {entry.words} cannot be used: {root} is not a directory")
    if root.parent == root:
        raise NotACampaign(f"The campaign {entry.words} cannot be used: {root} is the root of the file system")
    return root


def _refuse_strange_marker(entry: Entry, root: Path) -> None:
    """A marker that is a link would have another directory vouch for this one."""
    try:
        mode = (root / MARKER).lstat().st_mode
    except OSError:
        raise NotACampaign(f"The campaign {entry.words} cannot be used: {root} has no {MARKER} directory") from None
    if stat.S_ISLNK(mode):
        raise NotACampaign(f"The campaign {entry.words} cannot be used: {root / MARKER} is a link")
    if not stat.S_ISDIR(mode):
        raise NotACampaign(f"The campaign {entry.words} cannot be used: {root / MARKER} is not a directory")


def _identity(entry: Entry, root: Path) -> Mapping[str, str]:
    path = root / MARKER / _IDENTITY
    try:
        if path.is_symlink():
            raise WrongYaml("is a link")
        return read_yaml(path)
    except WrongYaml as wrong:
        raise NotACampaign(f"The campaign {entry.words} cannot be used: {path} {wrong}") from None
