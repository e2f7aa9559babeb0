"""The campaigns of this machine, read in the background, so that a hanging disk blocks no caller."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio

from betcode.campaigns.paths import directory_inside
from betcode.campaigns.registry import Entry, Registry, read_registry, registry_path
from betcode.campaigns.roots import NotACampaign, root_above, root_here, seen_campaign
from betcode.domain.bounded_io import BoundedIOPort, FilesystemTimeout
from betcode.domain.obey.campaign_errors import CampaignUnusable
from betcode.domain.obey.campaigns import Campaign


@dataclass(frozen=True, slots=True)
class Survey:
    """The usable campaigns, and a sentence for each problem."""

    campaigns: tuple[Campaign, ...]
    troubles: tuple[str, ...] = ()


class Campaigns:
    """Reads the registry at every call, since camp writes it; unchanged texts are not parsed again."""

    def __init__(self, environ: Mapping[str, str], file_io: BoundedIOPort) -> None:
        self._path = registry_path(environ)
        self._file_io = file_io

    async def all(self) -> list[Campaign]:
        """Those that can be used."""
        return list((await self.survey()).campaigns)

    async def survey(self) -> Survey:
        registry = await self._registry()
        if registry.trouble:
            return Survey((), (registry.trouble,))
        seen: dict[str, Campaign | str] = {}

        async def look(entry: Entry) -> None:
            try:
                seen[entry.id] = await self._seen(entry)
            except CampaignUnusable as trouble:
                seen[entry.id] = trouble.message

        async with anyio.create_task_group() as tasks:
            for entry in registry.entries:
                tasks.start_soon(look, entry)
        return _surveyed(registry, seen)

    async def find(self, text: str) -> Campaign:
        """Return the campaign that an id, a unique id prefix or a name identifies.

        Raises:
            CampaignNotFound, AmbiguousCampaign, CampaignUnusable
        """
        registry = await self._registry()
        if registry.trouble:
            raise CampaignUnusable(registry.trouble)
        return await self._seen(registry.meant(text))

    async def of_directory(self, directory: str | Path) -> Campaign | None:
        """Return the registered campaign that a directory belongs to; None: none, or it is unknown."""
        place = Path(directory)
        if not place.is_absolute():
            return None
        try:
            root = await self._file_io.run(str(place), partial(root_above, place))
        except FilesystemTimeout:
            return None
        if root is None:
            return None
        registry = await self._registry()
        # Most are registered by their real path; the others require a check of every one.
        for entry in registry.entries:
            if os.path.normpath(entry.path) == str(root) and not entry.trouble:
                try:
                    return await self._seen(entry)
                except CampaignUnusable:
                    break
        return _at(root, await self.survey())

    async def directory(self, campaign: Campaign, text: str) -> Path:
        """Return a directory of the campaign, links followed: an absolute path, or one from the root; empty means the
        root.

        Raises:
            InvalidRequest: it leaves the root, or is no directory.
            CampaignUnusable
        """
        if not text:
            return campaign.root
        try:
            return await self._file_io.run(str(campaign.root), partial(directory_inside, campaign.root, text))
        except FilesystemTimeout:
            raise CampaignUnusable(
                f"The campaign {campaign.id} cannot be used: its files cannot be read (timeout)"
            ) from None

    async def _registry(self) -> Registry:
        try:
            return await self._file_io.run(str(self._path.parent), partial(read_registry, self._path))
        except FilesystemTimeout:
            return Registry(self._path, trouble=f"The registry of campaigns {self._path} cannot be read (timeout)")

    async def _seen(self, entry: Entry) -> Campaign:
        try:
            return await self._file_io.run(entry.path, partial(seen_campaign, entry))
        except FilesystemTimeout:
            raise CampaignUnusable(
                f"The campaign {entry.words} cannot be used: {entry.path} cannot be read (timeout)"
            ) from None
        except NotACampaign as trouble:
            raise CampaignUnusable(str(trouble), campaign=entry.id) from None


def survey(environ: Mapping[str, str]) -> Survey:
    """Return the campaigns of this machine, for programs that may block."""
    registry = read_registry(registry_path(environ))
    if registry.trouble:
        return Survey((), (registry.trouble,))
    seen: dict[str, Campaign | str] = {}
    for entry in registry.entries:
        try:
            seen[entry.id] = seen_campaign(entry)
        except NotACampaign as trouble:
            seen[entry.id] = str(trouble)
    return _surveyed(registry, seen)


def campaign_here(directory: Path, environ: Mapping[str, str]) -> Campaign | None:
    """Return the registered campaign of the working directory, for programs that may block."""
    root = root_here(directory, environ)
    return _at(root, survey(environ)) if root is not None else None


def _surveyed(registry: Registry, seen: Mapping[str, Campaign | str]) -> Survey:
    ordered = [seen[entry.id] for entry in registry.entries]
    return Survey(
        tuple(one for one in ordered if isinstance(one, Campaign)),
        tuple(one for one in ordered if isinstance(one, str)),
    )


def _at(root: Path, seen: Survey) -> Campaign | None:
    found = [campaign for campaign in seen.campaigns if campaign.root == root]
    return found[0] if len(found) == 1 else None
