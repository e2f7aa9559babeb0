"""Reload the settings of a running daemon, and apply those that can change at once."""

import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio
import anyio.to_thread

from betcode.config.first_run import importable_settings
from betcode.config.load import FILE_NAME, Loaded, WrongSetting, load_settings, renewed
from betcode.config.settings import Settings

logger = logging.getLogger(__name__)

_SHOWN_KEYS = 20
_LOOK_EVERY_S = 0.5


class SettingsReloader:
    """`running` are the settings in use, `read` the last valid ones of the files."""

    def __init__(
        self,
        config_dir: Path,
        loaded: Loaded,
        environ: Mapping[str, str] | None = None,
        flags: Mapping[str, str] | None = None,
    ) -> None:
        self.config_dir = config_dir
        self.environ = environ or {}
        self.flags = flags or {}
        self.read = loaded
        self.running = loaded.settings
        self.problem = ""  # why the files that are there now are not used
        self.importable = importable_settings(self.environ, config_dir)  # offered to the first person who connects
        self.later: tuple[str, ...] = ()  # keys that changed and wait for the next daemon
        self.use: Callable[[Settings], None] = lambda _: None
        self._one_at_a_time = anyio.Lock()
        self._seen = self._look()

    @property
    def path(self) -> Path:
        """The user's file."""
        return self.config_dir / FILE_NAME

    @property
    def notes(self) -> Mapping[str, str]:
        """Return notices for `daemon status`."""
        later = ", ".join(self.later[:_SHOWN_KEYS])
        importable = str(self.importable or "")
        found = {
            "settings_problem": self.problem,
            "settings_need_restart": later,
            "settings_to_import": importable,
        }
        return {name: text for name, text in found.items() if text}

    async def watch(self) -> None:
        """Reload when the user's file has changed and is stable: an editor may still be writing it."""
        last = self._seen
        while True:
            await anyio.sleep(_LOOK_EVERY_S)
            look = await anyio.to_thread.run_sync(self._look)  # its disk may not answer
            if self.importable is not None:
                self.importable = await anyio.to_thread.run_sync(importable_settings, self.environ, self.config_dir)
            if look == last and look != self._seen:
                await self.renew()
            last = look

    async def catch_up(self) -> None:
        """Reload at once if the file has changed; not while it is empty, since an editor may be writing it."""
        look = await anyio.to_thread.run_sync(self._look)
        is_empty = len(look) > 1 and look[1] == 0
        if look != self._seen and not is_empty:
            await self.renew()

    def _look(self) -> tuple[int, ...]:
        try:
            found = os.stat(self.path)  # noqa: PTH116 - twice as quick, twice a second
        except OSError as error:
            return (error.errno or 0,)
        return (found.st_mtime_ns, found.st_size, found.st_ino, found.st_ctime_ns)

    async def renew(self) -> None:
        """Apply the settings that can change at run time, and report the others; an invalid file changes nothing."""
        async with self._one_at_a_time:
            self._seen = await anyio.to_thread.run_sync(self._look)
            try:
                self.read = await anyio.to_thread.run_sync(load_settings, self.config_dir, self.environ, self.flags)
            except WrongSetting as wrong:
                self.problem = str(wrong)
                logger.error("the settings are unchanged: %s", wrong)
                return
            self.problem = ""
            self._use()

    def _use(self) -> None:
        for warning in self.read.warnings:
            logger.warning(warning)
        result = renewed(self.running, self.read.settings)
        self.running = result.settings
        self.later = result.later
        self.use(result.settings)
        logger.info("settings read again; changed: %s", ", ".join(result.now) or "nothing")
        if result.later:
            logger.warning("these settings take effect when the daemon is restarted: %s", ", ".join(result.later))
