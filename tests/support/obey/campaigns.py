"""Campaigns and a registry of them, as camp would leave them on a disk."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from betcode.domain.obey.campaigns import Campaign

FIRST = "0b6f3c52-7a51-4e0e-9d3e-1f2a3b4c5d6e"
SECOND = "0b9999aa-1111-4222-8333-444455556666"


def make_campaign(root: Path, campaign_id: str = FIRST, name: str = "one") -> Campaign:
    """A directory with an identity; nothing is registered by it."""
    marker = root / ".campaign"
    marker.mkdir(parents=True, exist_ok=True)
    (marker / "campaign.yaml").write_text(f"id: {campaign_id}\nname: {name}\ntype: product\n")
    return Campaign(campaign_id, name, root.resolve(), "product", "active")


@dataclass
class RegistryFile:
    """A registry in a home of its own; `environ` leads to it."""

    home: Path
    entries: dict[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return self.home / ".obey" / "campaign" / "registry.json"

    @property
    def environ(self) -> Mapping[str, str]:
        return {"HOME": str(self.home), "PATH": os.environ["PATH"]}

    def add(self, campaign: Campaign, **other: Any) -> None:
        """Register it, with anything that is said of it replaced by `other`."""
        said = {"name": campaign.name, "path": str(campaign.root), "type": campaign.type, "status": campaign.status}
        self.entries[campaign.id] = {**said, **other}
        self.write(json.dumps({"version": 3, "campaigns": self.entries}))

    def write(self, text: str) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(text)


def put_program(directory: Path, name: str, *lines: str) -> Path:
    """A program of these lines of a shell."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text("\n".join(("#!/bin/sh", *lines, "")))
    path.chmod(0o755)
    return path


def allow(root: Path, **programs: bool) -> None:
    """Write which programs may be run in a campaign besides the usual ones."""
    path = root / ".campaign" / "settings" / "allowlist.json"
    path.parent.mkdir(exist_ok=True)
    commands = {name: {"allowed": allowed, "description": ""} for name, allowed in programs.items()}
    path.write_text(json.dumps({"version": 1, "inherit_defaults": True, "commands": commands}))
