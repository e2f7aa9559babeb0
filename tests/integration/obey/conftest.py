"""One daemon with a campaign for each module of tests; those that kill a daemon have their own."""

from collections.abc import AsyncIterator

import pytest

from support.obey.daemon import Obeyed, obeyed


@pytest.fixture(scope="module")
async def it(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Obeyed]:
    async with obeyed(tmp_path_factory.mktemp("obey"), settings={"obey": {"stop_timeout": "1s"}}) as it:
        yield it
