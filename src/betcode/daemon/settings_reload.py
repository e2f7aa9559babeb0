"""Reload settings while the daemon runs: on a signal, and when their file changes."""

import logging
from dataclasses import replace

import anyio

from betcode.config.reload import SettingsReloader
from betcode.config.settings import EngineSettings, Settings
from betcode.daemon.stop import Stop
from betcode.domain.release.features import FeatureFlags
from betcode.engine import Engine
from betcode.notify import NotificationDispatcher
from betcode.server import ServerHandle
from betcode.telemetry import set_log_level
from betcode.worktrees import Worktrees

logger = logging.getLogger(__name__)


async def keep_settings(
    stop: Stop,
    reloader: SettingsReloader,
    engine: Engine,
    worktrees: Worktrees,
    notifying: NotificationDispatcher,
    features: FeatureFlags,
    server: ServerHandle,
) -> None:
    """Pass changed settings to the components that use them, until the daemon stops."""
    flags = reloader.running.feature_flags

    def use(settings: Settings) -> None:
        nonlocal flags
        if settings.feature_flags != flags:
            flags = settings.feature_flags
            features.use(flags)
            for remark in features.remarks():
                logger.warning(remark)
        engine.use(with_features(settings.engine, features))
        worktrees.use(settings)
        set_log_level(settings.logs.level)
        notifying.use(settings.notify)
        server.use(settings.listen)

    reloader.use = use
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reloader.watch)
        while True:
            await stop.renewal.wait()
            stop.renewal.clear()
            await reloader.renew()


def with_features(settings: EngineSettings, features: FeatureFlags) -> EngineSettings:
    """Run the parts of the engine that depend on a feature while it is enabled."""
    return replace(settings, may_compact=features.is_on("context_compaction"))
