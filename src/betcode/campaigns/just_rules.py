"""The arguments that just may get in a campaign: recipes of its own justfile, with words that no shell splits."""

import re
import stat
from collections.abc import Sequence

from betcode.campaigns.paths import Confinement, shown
from betcode.campaigns.words import before_operands
from betcode.domain.obey.campaign_errors import CommandRefused

_OPTIONS = frozenset(
    {
        "--dry-run",
        "--dump",
        "--help",
        "--list",
        "--no-deps",
        "--quiet",
        "--show",
        "--summary",
        "--unsorted",
        "--variables",
        "--verbose",
        "--version",
        "--yes",
        "-V",
        "-h",
        "-l",
        "-n",
        "-q",
        "-s",
        "-u",
        "-v",
    }
)
_HARMLESS = re.compile(r"[A-Za-z0-9_./:=,@%+ -]*")
_NAMES = frozenset({"justfile", ".justfile"})


def check_just(place: Confinement, argv: Sequence[str]) -> None:
    """Raises CommandRefused. It may block."""
    words = argv[1:]
    for word in before_operands(words):
        if word.startswith("-") and word not in _OPTIONS:
            raise CommandRefused(
                f"just {shown(word)} is not allowed here: it could run something other than a recipe; "
                "put arguments of a recipe after --"
            )
    for word in words:
        if not _HARMLESS.fullmatch(word):
            raise CommandRefused(f"just passes {shown(word)} to a shell, which would split it")
    _refuse_another_justfile(place)


def _refuse_another_justfile(place: Confinement) -> None:
    """Refuse a campaign without a justfile, because just would use that of a directory above."""
    found = [each for each in place.root.iterdir() if each.name.lower() in _NAMES]
    if not found:
        raise CommandRefused(f"There is no justfile in the root of the campaign, {place.root}")
    for each in found:
        if not stat.S_ISREG(place.resolve(each.name).stat().st_mode):
            raise CommandRefused(f"{each} is not a regular file")
