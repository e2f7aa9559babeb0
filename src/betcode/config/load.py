"""The effective settings: flags over environment over project files over the user's file over defaults."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from betcode.config.fields import with_value
from betcode.config.file_reader import FileRead, read_file
from betcode.config.origins import OF_PROJECTS, Fault, Layer, SettingOrigin, UncheckedSetting
from betcode.config.prompt_time_settings import refuse_wrong_ttl
from betcode.config.schema import SETTINGS
from betcode.config.settings import Settings
from betcode.config.units import NotUnderstood
from betcode.domain.values.text import shortened

FILE_NAME = "settings.json"
_SHOWN_CHARACTERS = 80  # of a wrong value


class WrongSetting(Exception):
    """The settings cannot be used; the message is one sentence with the source and the valid form."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The valid settings, their sources, and the problems."""

    settings: Settings
    warnings: tuple[str, ...] = ()
    origins: Mapping[str, SettingOrigin] = field(default_factory=dict)  # of values that are not defaults
    faults: tuple[Fault, ...] = ()

    def origin(self, key: str) -> SettingOrigin:
        return self.origins.get(key, SettingOrigin())

    @property
    def fixed(self) -> frozenset[str]:
        """The keys that no file can change."""
        strong = (Layer.FLAG, Layer.ENVIRONMENT)
        return frozenset(key for key, origin in self.origins.items() if origin.layer in strong)


@dataclass(frozen=True, slots=True)
class Renewed:
    """The settings of a running daemon after a reload, and the changed keys: applied now, or by the next daemon."""

    settings: Settings
    now: tuple[str, ...]
    later: tuple[str, ...]


def load_settings(
    config_dir: Path, environ: Mapping[str, str] | None = None, flags: Mapping[str, str] | None = None
) -> Loaded:
    """Return the settings without those of projects; missing files are empty.

    Raises:
        WrongSetting: something is not JSON, or a value is not of its kind.
    """
    loaded = resolve(config_dir, environ, flags)
    refuse_faults(loaded.faults)
    return loaded


def refuse_faults(faults: tuple[Fault, ...]) -> None:
    """Raises WrongSetting where there is any: the first, and how many more."""
    if not faults:
        return
    more = f" (and {len(faults) - 1} more: betcode config validate)" if len(faults) > 1 else ""
    raise WrongSetting(faults[0].sentence + more)


def resolve(
    config_dir: Path,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
    directory: Path | None = None,
) -> Loaded:
    """Return the merged settings of all layers, with every problem; with `directory`, also of a project's files."""
    files = [read_file(config_dir / FILE_NAME, Layer.USER)]
    if directory is not None:
        files += project_files(directory)
    return combined([*files, from_environment(environ or {}), from_flags(flags or {})])


def project_files(directory: Path) -> list[FileRead]:
    """The settings that a project brings along, the weakest first."""
    return [read_file(directory / OF_PROJECTS[layer], layer) for layer in (Layer.PROJECT, Layer.LOCAL)]


def from_environment(environ: Mapping[str, str]) -> FileRead:
    """Return the values of variables; an empty one is ignored."""
    given = [
        UncheckedSetting(key, setting.kind.read_text(text), SettingOrigin(Layer.ENVIRONMENT, setting.environment_name))
        for key, setting in SETTINGS.items()
        if (text := environ.get(setting.environment_name))
    ]
    return FileRead(Path(), Layer.ENVIRONMENT, tuple(given))


def from_flags(flags: Mapping[str, str]) -> FileRead:
    """Return the values of `--set KEY=VALUE`; the keys were validated before."""
    given = [
        UncheckedSetting(key, SETTINGS[key].kind.read_text(text), SettingOrigin(Layer.FLAG, f"--set {key}"))
        for key, text in flags.items()
    ]
    return FileRead(Path(), Layer.FLAG, tuple(given))


def combined(layers: Iterable[FileRead], base: Settings | None = None) -> Loaded:
    """The layers over each other, the weakest first; a higher one replaces a value whole."""
    settings = base or Settings()
    origins: dict[str, SettingOrigin] = {}
    faults: list[Fault] = []
    warnings: list[str] = []
    for layer in layers:
        faults += layer.faults
        warnings += layer.warnings
        for given in layer.given:
            setting = SETTINGS[given.key]
            try:
                settings = with_value(settings, setting.field, setting.kind.read(given.value))
                origins[given.key] = given.origin
            except NotUnderstood as error:
                faults.append(wrong_value(given, str(error)))
    faults += _wrong_together(settings, origins)
    return Loaded(settings, tuple(warnings), origins, tuple(faults))


def wrong_value(given: UncheckedSetting, allowed: str) -> Fault:
    is_private = SETTINGS[given.key].is_private
    shown = "the given value" if is_private else shortened(json.dumps(given.value), _SHOWN_CHARACTERS)
    where = "" if given.origin.layer is Layer.DEFAULT else f"{given.origin.words}: "
    return Fault(f"{where}{given.key} must be {allowed}, not {shown}", given.key)


def _wrong_together(settings: Settings, origins: Mapping[str, SettingOrigin]) -> Iterable[Fault]:
    """Return problems of values that are valid by themselves but inconsistent."""
    engine = settings.engine
    try:
        refuse_wrong_ttl(engine.permission_ttl_s, engine.permission_min_ttl_s, engine.permission_max_ttl_s)
    except NotUnderstood as error:
        keys = ("permissions.default_ttl", "permissions.min_ttl", "permissions.max_ttl")
        yield _fault_of(keys, origins, str(error))
    try:
        settings.notify.refuse_unsigned()
    except NotUnderstood as error:
        yield _fault_of(("notify.webhook.url",), origins, str(error))
    try:
        settings.listen.refuse_in_clear()
    except NotUnderstood as error:
        yield _fault_of(("daemon.listen", "daemon.tls_cert", "daemon.tls_key"), origins, str(error))


def _fault_of(keys: tuple[str, ...], origins: Mapping[str, SettingOrigin], sentence: str) -> Fault:
    key = next((each for each in keys if each in origins), keys[0])
    return Fault(f"{origins.get(key, SettingOrigin()).words}: {sentence}", key)


def renewed(running: Settings, read: Settings) -> Renewed:
    """The settings of a running daemon after its files were read again."""
    changed = [each for each in SETTINGS.values() if each.value_in(running) != each.value_in(read)]
    settings = running
    for setting in changed:
        if setting.at_once:
            settings = with_value(settings, setting.field, setting.value_in(read))
    return Renewed(
        settings=settings,
        now=tuple(setting.key for setting in changed if setting.at_once),
        later=tuple(setting.key for setting in changed if not setting.at_once),
    )
