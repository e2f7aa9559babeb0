"""Settings read again while the daemon runs."""

import logging
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread

from betcode.config.loading import WrongSetting, load_settings, renewed
from betcode.config.settings import EngineSettings, Settings
from betcode.daemon.stop import Stop
from betcode.domain.features import FeatureFlags
from betcode.notify import Notifying
from betcode.server import Door
from betcode.sessions import Supervisor
from betcode.telemetry import set_log_level

logger = logging.getLogger(__name__)


async def renew_when_told(
    stop: Stop,
    config_dir: Path,
    settings: Settings,
    engine: Supervisor,
    notifying: Notifying,
    features: FeatureFlags,
    door: Door,
) -> None:
    """Each time it is asked for: use what can be used at once, and say what cannot; a wrong file changes nothing."""
    while True:
        await stop.renewal.wait()
        stop.renewal = anyio.Event()
        settings = await _renew(config_dir, settings, engine, features)
        notifying.use(settings.notify)
        door.use(settings.listen)


async def _renew(config_dir: Path, running: Settings, engine: Supervisor, features: FeatureFlags) -> Settings:
    try:
        loaded = await anyio.to_thread.run_sync(load_settings, config_dir)
    except WrongSetting as wrong:
        logger.error("the settings stay as they were: %s", wrong)
        return running
    for warning in loaded.warnings:
        logger.warning(warning)
    result = renewed(running, loaded.settings)
    if "feature_flags" in result.now:
        features.use(result.settings.feature_flags)
        for remark in features.remarks():
            logger.warning(remark)
    engine.use(with_features(result.settings.engine, features))
    set_log_level(result.settings.logs.level)
    logger.info("settings read again; changed: %s", ", ".join(result.now) or "nothing")
    if result.later:
        logger.warning("these settings take effect when the daemon is restarted: %s", ", ".join(result.later))
    return result.settings


def with_features(settings: EngineSettings, features: FeatureFlags) -> EngineSettings:
    """What the engine does by itself only while a feature is on."""
    return replace(settings, may_compact=features.is_on("context_compaction"))
