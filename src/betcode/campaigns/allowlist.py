"""The programs that may be run in a campaign: four, unless its settings list others."""

import json
import re

from betcode.campaigns.paths import Confinement, shown
from betcode.config.plain_file import read_plain
from betcode.domain.obey.campaign_errors import CampaignUnusable

DEFAULTS = frozenset({"fest", "camp", "just", "git"})
_FILE = ".campaign/settings/allowlist.json"
_LIMIT_BYTES = 256 * 1024
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}")


def allowed_programs(place: Confinement) -> frozenset[str]:
    """By name. It may block.

    Raises:
        CampaignUnusable: the settings cannot be relied on.
    """
    path = place.root / _FILE
    try:
        # A link would let another directory define what may be run here.
        if path.is_symlink() or path.parent.is_symlink():
            raise CampaignUnusable(f"{path} (the list of allowed commands) is a link: no command is run")
        data = read_plain(path, _LIMIT_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return DEFAULTS
    except OSError as trouble:
        raise CampaignUnusable(f"{path} (the list of allowed commands) cannot be read: {trouble.strerror}") from None
    if len(data) > _LIMIT_BYTES:
        raise CampaignUnusable(f"{path} (the list of allowed commands) is longer than {_LIMIT_BYTES} bytes")
    try:
        said = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise CampaignUnusable(f"{path} (the list of allowed commands) is not JSON: no command is run") from None
    if wrong := _wrong(said):
        raise CampaignUnusable(f"{path} (the list of allowed commands) is invalid: {wrong}; no command is run")
    commands = said.get("commands", {})
    allowed = {name for name, entry in commands.items() if entry["allowed"]}
    inherited = DEFAULTS - commands.keys() if said.get("inherit_defaults", False) else frozenset()
    return inherited | allowed


def _wrong(said: object) -> str:
    """Return the end of a sentence after `and`; empty if nothing is wrong."""
    if not isinstance(said, dict):
        return "must hold one JSON object"
    if said.get("version", 1) != 1:
        return "its version is not 1"
    if not isinstance(said.get("inherit_defaults", False), bool):
        return "`inherit_defaults` must be true or false"
    commands = said.get("commands", {})
    if not isinstance(commands, dict):
        return "`commands` must be an object"
    for name, entry in commands.items():
        if not NAME.fullmatch(name):
            return f"{shown(name)} is not the bare name of a program"
        if not isinstance(entry, dict) or not isinstance(entry.get("allowed"), bool):
            return f"`allowed` of {shown(name)} must be true or false"
    return ""
