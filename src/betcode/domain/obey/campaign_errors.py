"""The errors of campaigns.

BetcodeError
├── CampaignNotFound          CAMPAIGN_NOT_FOUND
├── AmbiguousCampaign         CAMPAIGN_NOT_FOUND
├── CampaignUnusable          CAMPAIGN_UNUSABLE
└── CommandRefused            COMMAND_REFUSED
"""

from betcode.domain.error_codes import ErrorCode
from betcode.domain.errors import BetcodeError
from betcode.domain.values.text import shortened


class CampaignNotFound(BetcodeError):
    code = ErrorCode.CAMPAIGN_NOT_FOUND

    def __init__(self, text: str) -> None:
        what = f"No campaign is registered as {shortened(text, 100)!r}" if text else "No campaign is given"
        super().__init__(f"{what}: give the id or the name of one, see obey campaigns", campaign=text)


class AmbiguousCampaign(BetcodeError):
    code = ErrorCode.CAMPAIGN_NOT_FOUND

    def __init__(self, text: str, candidates: str) -> None:
        super().__init__(
            f"{shortened(text, 100)!r} matches several campaigns: {candidates}; give the full id of one", campaign=text
        )


class CampaignUnusable(BetcodeError):
    """The registry, or its entry of a campaign, is unreliable; nothing was run."""

    code = ErrorCode.CAMPAIGN_UNUSABLE


class CommandRefused(BetcodeError):
    """The rules of the campaign forbid the command; nothing was run."""

    code = ErrorCode.COMMAND_REFUSED
