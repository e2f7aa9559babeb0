"""What ConfigService tells of a file that others change meanwhile."""

from pathlib import Path
from typing import Any, cast

import pytest

from betcode.config.edit.file_edit import state_of
from betcode.config.load import load_settings
from betcode.config.paths import choose_paths
from betcode.config.reload import SettingsReloader
from betcode.engine import ClientName
from betcode.server.rpc import Caller
from betcode.server.services.config import ConfigCalls
from betcode.v1 import config_pb2 as v1

BEFORE, AFTER = '{"agents": {"turn_limit": 3}}', '{"agents": {"turn_limit": 4}}'


class Overtaken(SettingsReloader):
    """Somebody writes the file right after it was read."""

    async def catch_up(self) -> None:
        await super().catch_up()
        self.path.write_text(AFTER)


@pytest.mark.anyio
async def test_the_state_that_is_told_is_never_later_than_the_values(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(BEFORE)
    nobody = cast("Any", None)  # neither an engine nor a gate is asked for settings
    reloader = Overtaken(tmp_path, load_settings(tmp_path))
    calls = ConfigCalls(nobody, nobody, reloader, choose_paths({}, state_dir=tmp_path, config_dir=tmp_path))
    told = await calls.get_settings(Caller(ClientName("ann")), v1.GetSettingsRequest())
    assert (told.daemon.max_subprocesses, told.etag) == (3, state_of(BEFORE))
