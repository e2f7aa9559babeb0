"""Settings read again while the daemon runs: when a signal says so, and when their file changes."""

import anyio

from betcode.config.keeping import Keeper
from betcode.config.settings import Settings
from betcode.daemon.stop import Stop
from betcode.notify import Notifying
from betcode.sessions import Supervisor
from betcode.telemetry import set_log_level


async def keep_settings(stop: Stop, keeper: Keeper, engine: Supervisor, notifying: Notifying) -> None:
    """Hand what the settings say to those who work by it, for as long as the daemon runs."""

    def use(settings: Settings) -> None:
        engine.use(settings.engine)
        set_log_level(settings.logs.level)
        notifying.use(settings.notify)

    keeper.use = use
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keeper.watch)
        while True:
            await stop.renewal.wait()
            stop.renewal = anyio.Event()
            await keeper.renew()
