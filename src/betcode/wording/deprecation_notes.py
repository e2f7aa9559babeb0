"""What a person is told of something that is on its way out: by how soon it goes, and once."""

import logging

from betcode.v1 import version_pb2 as v1
from betcode.wording.terminal_text import one_line

logger = logging.getLogger(__name__)

_WIDTH = 200


class DeprecationNotes:
    """Remembers what was shown, so that each thing is shown once."""

    def __init__(self) -> None:
        self._shown: set[str] = set()

    def lines(self, warning: v1.DeprecationWarning) -> list[str]:
        """The lines to show; none for what goes far in the future, or was shown before."""
        if warning.feature in self._shown:
            return []
        self._shown.add(warning.feature)
        what = one_line(warning.feature, _WIDTH)
        instead = f" Use {one_line(warning.replacement, _WIDTH)} instead." if warning.replacement else ""
        end, guide = one_line(warning.removal_version, _WIDTH), one_line(warning.migration_url, _WIDTH)
        match warning.severity:
            case v1.URGENT:
                return [
                    "ACTION REQUIRED",
                    f"  {what} will stop working in {end}.{instead}",
                    f"  How to migrate: {guide}",
                ]
            case v1.WARNING:
                return [f"{what} is deprecated and will be removed in {end}.{instead} See {guide}"]
            case _:
                logger.info("%s is deprecated and will be removed in %s", what, end)
                return []
