"""The rules of one campaign for commands that the daemon runs in it."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from betcode.campaigns.allowlist import NAME, allowed_programs
from betcode.campaigns.git_rules import check_git
from betcode.campaigns.just_rules import check_just
from betcode.campaigns.manifest import Manifest
from betcode.campaigns.paths import Confinement, shown
from betcode.campaigns.words import refuse_leaving, refuse_unusable
from betcode.domain.obey.campaign_errors import CommandRefused
from betcode.domain.obey.campaigns import Campaign


class Sandbox:
    """The programs and paths that are allowed. All methods may block."""

    def __init__(self, campaign: Campaign) -> None:
        self._place = Confinement(campaign.root)

    def resolve(self, path: str) -> Path:
        """Return the target of a path of the campaign, links followed.

        Raises:
            CommandRefused: it leaves the root, or leads to something secret.
        """
        return self._place.resolve(path)

    def program(self, argv: Sequence[str], path: str) -> str:
        """Return the path of the program of a command, if it may be run; `path` is the variable's value.

        Raises:
            CommandRefused, CampaignUnusable
        """
        if not argv or not argv[0]:
            raise CommandRefused("A command needs the name of a program")
        name = argv[0]
        if not NAME.fullmatch(name):
            raise CommandRefused(
                f"{shown(name)} is not the bare name of a program: it is searched in PATH, and its arguments are "
                "separate words"
            )
        allowed = allowed_programs(self._place)
        if name not in allowed:
            known = ", ".join(sorted(allowed)) or "nothing"
            raise CommandRefused(f"{name} is not allowed in this campaign: use {known}")
        found = shutil.which(name, path=self._search_path(path))
        if found is None:
            raise CommandRefused(f"{name} was not found on the PATH outside the campaign: install it")
        return found

    def check_command(self, argv: Sequence[str], manifest: Manifest | None = None) -> None:
        """Check every word of a command whose program may be run.

        Raises:
            CommandRefused
        """
        refuse_unusable(argv)
        words: Sequence[str] = argv[1:]
        if argv[0] == "git":
            words = list(check_git(argv))
        elif argv[0] == "just":
            check_just(self._place, argv)
        if manifest is not None:
            manifest.check(argv[1:])
        for word in words:
            refuse_leaving(self._place, word)

    def _search_path(self, path: str) -> str:
        """Return PATH without relative entries, and without directories that agents of the campaign can write."""
        root = str(self._place.root)
        parts = [part for part in (path or os.defpath).split(os.pathsep) if part.startswith("/")]
        outside = [part for part in parts if os.path.commonpath([root, os.path.realpath(part)]) != root]
        return os.pathsep.join(outside)
