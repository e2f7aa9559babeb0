"""Find the campaign: the given one, or the one that contains the current directory."""

import os
from pathlib import Path

from betcode.campaigns import campaign_here, survey
from betcode.cli.obey.failure import usage_error
from betcode.cli.obey.options import ObeyCommandOptions

_NAME_IT = "give one with --campaign; `obey campaigns` lists them"


def campaign_of(options: ObeyCommandOptions) -> str:
    """Return the campaign as typed, which the daemon resolves, or the id of the surrounding campaign.

    Raises:
        ObeyFailed: the directory is in no campaign, or in one that is not registered.
    """
    if options.has("campaign"):
        return options.text("campaign")
    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise usage_error("The current directory no longer exists", _NAME_IT) from None
    found = campaign_here(here, os.environ)
    if found is not None:
        return found.id
    troubles = survey(os.environ).troubles
    why = f" ({troubles[0]})" if len(troubles) == 1 else ""
    raise usage_error(f"No registered campaign contains {here}{why}", _NAME_IT)


def campaign_problems() -> tuple[str, ...]:
    """Return a sentence for each unusable campaign of this machine."""
    return survey(os.environ).troubles
