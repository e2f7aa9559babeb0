"""Which paths are a campaign's: under its root once links are followed, and none of those that hold secrets."""

import os
from pathlib import Path, PurePath

from betcode.domain.errors import InvalidRequest
from betcode.domain.obey.campaign_errors import CommandRefused
from betcode.domain.values.text import is_valid, shortened

_HARMLESS = frozenset({".env.example", ".env.sample", ".env.template"})
_SECRET_NAMES = frozenset({".env", "credentials.json"})
_SECRET_PARTS = ("secret", "password")
_SECRET_ENDINGS = (".pem", ".key")


class Confinement:
    """The rule of one root, which is absolute and has no links in it. Everything here may block."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._prefix = f"{root}{os.sep}"

    def resolve(self, text: str) -> Path:
        """Return the target of a path that is absolute or relative to the root.

        Raises:
            CommandRefused: it leaves the root, or leads to something secret.
        """
        if "\0" in text or not is_valid(text):
            raise CommandRefused(f"The path {shown(text)} is invalid")
        if text.startswith("~"):
            raise CommandRefused(f"The path {shown(text)} is relative to a home directory: write it from the root")
        # Some programs follow links before they resolve "..", others after it: both results must be inside.
        named = os.path.normpath(self.root / text)
        real = os.path.realpath(self.root / text)
        for place in (named, real, os.path.realpath(named)):
            if not self._is_inside(place):
                raise CommandRefused(f"The path {shown(text)} leaves the root of the campaign, {self.root}")
        for place in (named, real):
            if is_secret(PurePath(place).relative_to(self.root)):
                raise CommandRefused(f"The path {shown(text)} is not for agents: such files hold secrets")
        return Path(real)

    def is_there(self, text: str) -> bool:
        """Return whether something of that name is in the root; a dangling link counts."""
        try:
            return os.path.lexists(self.root / text)
        except ValueError:
            return False

    def _is_inside(self, place: str) -> bool:
        return place == str(self.root) or place.startswith(self._prefix)


def directory_inside(root: Path, text: str) -> Path:
    """A directory under a root that has no links in it. It may block.

    Raises:
        InvalidRequest: it leaves the root, or is no directory.
    """
    try:
        place = Confinement(root).resolve(text)
    except CommandRefused as refusal:
        raise InvalidRequest(refusal.message) from None
    try:
        is_there = place.is_dir()
    except OSError:  # its name is too long, or it may not be read
        is_there = False
    if not is_there:
        raise InvalidRequest(f"{shown(text)} is not a directory of the campaign")
    return place


def is_secret(path: PurePath) -> bool:
    """Return whether agents may not use this path of a campaign."""
    names = [part.lower() for part in path.parts]
    if any(_is_secret_name(name) for name in names):
        return True
    return ".git" in names and names[-1].startswith("config")  # a remote's address may have a token in it


def _is_secret_name(name: str) -> bool:
    if name in _HARMLESS:
        return False
    if name in _SECRET_NAMES or name.startswith(".env.") or name.endswith(_SECRET_ENDINGS):
        return True
    return any(part in name for part in _SECRET_PARTS)


def shown(text: str) -> str:
    """Return the text escaped for a sentence, whatever it contains."""
    return f"{shortened(text, 100)!a}"
