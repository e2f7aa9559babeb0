"""The manifests of fest and camp: which of their commands agents may run."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from betcode.campaigns.paths import shown
from betcode.domain.obey.campaign_errors import CommandRefused
from betcode.domain.values.text import shortened

HAVE_ONE = frozenset({"fest", "camp"})
WORD = "__manifest"
_HARMLESS = frozenset({"--version", "--help", "-h", "help", "version"})


class WrongManifest(Exception):
    """The manifest is unreliable; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class Listed:
    path: tuple[str, ...]
    allowed: bool
    interactive: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    program: str
    commands: tuple[Listed, ...]

    def check(self, words: Sequence[str]) -> None:
        """Raise CommandRefused if the program does not allow this command to agents."""
        if not words or words[0] in _HARMLESS:
            return
        listed = {each.path: each for each in self.commands}
        length = next((size for size in range(len(words), 0, -1) if tuple(words[:size]) in listed), 0)
        if not length:
            # Not even a command without limits: it could be another name of one that has them.
            raise CommandRefused(
                f"{self.program} does not list {shown(words[0])} among its commands; "
                "write the full name of the command first, then the options"
            )
        found = listed[tuple(words[:length])]
        self._refuse_unclear(found, words[length:])
        told = f": {shortened(found.reason, 200)}" if found.reason else ""
        if not found.allowed:
            raise CommandRefused(f"{self.program} {' '.join(found.path)} is not for agents{told}")
        if found.interactive:
            raise CommandRefused(f"{self.program} {' '.join(found.path)} needs a person at a terminal{told}")

    def _refuse_unclear(self, found: Listed, rest: Sequence[str]) -> None:
        """Refuse an unknown word after a command with subcommands: it may be one of them under another name."""
        size = len(found.path)
        if any(each.path[:size] == found.path and len(each.path) > size for each in self.commands):
            for word in rest:
                if not word.startswith("-"):
                    raise CommandRefused(
                        f"{self.program} {' '.join(found.path)} does not list {shown(word)} among its commands; "
                        "write the whole command first, then the options"
                    )


def understood(program: str, data: bytes) -> Manifest:
    """Parse the program's output.

    Raises:
        WrongManifest
    """
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        raise WrongManifest("it is not JSON") from None
    commands = said.get("commands") if isinstance(said, dict) else None
    if not isinstance(commands, list):
        raise WrongManifest("it has no list `commands`")
    return Manifest(program, tuple(_listed(program, each) for each in commands))


def _listed(program: str, said: object) -> Listed:
    path = said.get("path") if isinstance(said, dict) else None
    if not isinstance(said, dict) or not isinstance(path, str) or not path.split():
        raise WrongManifest("a command in it has no path")
    allowed, interactive = said.get("agent_allowed"), said.get("interactive", False)
    if not isinstance(allowed, bool) or not isinstance(interactive, bool):
        raise WrongManifest(f"it does not state whether agents may run {shown(path)}")
    words = path.split()
    reason = said.get("reason")
    return Listed(
        tuple(words[1:] if words[0] == program and len(words) > 1 else words),
        allowed,
        interactive,
        reason if isinstance(reason, str) and reason.isprintable() else "",
    )
