"""The campaign of a session."""

from betcode.campaigns import Campaigns
from betcode.engine import LifecycleStatus


class Bindings:
    """For one request: a session of the other API belongs to the campaign that its directory is in, if any."""

    def __init__(self, campaigns: Campaigns) -> None:
        self._campaigns = campaigns
        self._of_directory: dict[str, str] = {}

    async def campaign_of(self, standing: LifecycleStatus) -> str:
        """Its id; empty where it belongs to none."""
        if standing.bound.binding.campaign_id:
            return standing.bound.binding.campaign_id
        directory = standing.row.new.working_directory
        if directory not in self._of_directory:
            found = await self._campaigns.of_directory(directory)
            self._of_directory[directory] = "" if found is None else found.id
        return self._of_directory[directory]
