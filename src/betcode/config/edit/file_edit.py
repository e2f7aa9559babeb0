"""Edit a settings file: validate first, then replace it atomically, one writer at a time."""

import fcntl
import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from betcode.config.edit.jsonc_edit import CannotEdit, with_value, without
from betcode.config.file_reader import FILE_BYTES, FileRead, WrongFile, read_text, suggestion, understood
from betcode.config.load import WrongSetting, combined, wrong_value
from betcode.config.origins import OF_PROJECTS, Fault, Layer, SettingOrigin, UncheckedSetting
from betcode.config.schema import RULE_LISTS, SETTINGS, Setting
from betcode.config.units import NotUnderstood
from betcode.util.atomic_files import replacing
from betcode.util.jsonc import NotJson

NO_FILE = "none"  # the state of a missing file
_FLAGS_KEY = "feature_flags"
_ONE_FLAG = re.compile(re.escape(_FLAGS_KEY) + r"\.[A-Za-z0-9_-]{1,100}")
_PATIENCE_S = 3.0
_PAUSE_S = 0.01
_SHOWN_KEY = 80


class NotChanged(Exception):
    """Nothing was written; one sentence."""


class ChangedMeanwhile(NotChanged):
    """Somebody else wrote the file since it was read."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} was changed by another program: read it again")


def state_of(text: str | None) -> str:
    """Return a value that changes when the file does."""
    return NO_FILE if text is None else hashlib.sha256(text.encode()).hexdigest()[:32]


def setting_of(key: str) -> Setting:
    """Return the setting of that key; a single feature switch has a key of its own.

    Raises:
        WrongSetting: there is none.
    """
    if key in RULE_LISTS:
        raise WrongSetting(f"{key} is a list of rules: change it with betcode config edit")
    setting = SETTINGS.get(key) or (SETTINGS[_FLAGS_KEY] if _ONE_FLAG.fullmatch(key) else None)
    if setting is None:
        raise WrongSetting(f"There is no setting {key[:_SHOWN_KEY]}{suggestion(key)}")
    return setting


def value_of(key: str, text: str) -> object:
    """Return the JSON value of a command-line word for that key.

    Raises:
        WrongSetting: there is no such key, or the value is not of its kind.
    """
    setting = setting_of(key)
    if setting.key == key:
        value = setting.kind.read_text(text)
        refuse_wrong(setting, value)
        return value
    if text not in ("true", "false"):
        raise WrongSetting(f"{key} must be true or false, not {text[:80]}")
    return text == "true"


def refuse_wrong(setting: Setting, value: object) -> None:
    """Raises WrongSetting."""
    try:
        setting.kind.read(value)
    except NotUnderstood as error:
        given = UncheckedSetting(setting.key, value, SettingOrigin())
        raise WrongSetting(wrong_value(given, str(error)).sentence) from None


def change(
    path: Path,
    layer: Layer,
    values: Mapping[str, object],
    gone: Iterable[str] = (),
    *,
    if_unchanged: str = "",
    above: Sequence[FileRead] = (),
) -> bool:
    """Set and remove these values, all or none; False if the file already has them. It may block.

    The values must be consistent with the layers `above`.

    Raises:
        WrongSetting: a key or value is wrong, or the file would be.
        NotChanged: it cannot be written, or is no longer in the state that `if_unchanged` names.
    """
    gone = tuple(gone)
    for key in (*values, *gone):
        if layer in OF_PROJECTS and not setting_of(key).of_project:
            raise WrongSetting(f"{key} cannot be set by a project: set it for the user")

    def edited(text: str) -> str:
        try:
            for key, value in values.items():
                text = with_value(text, key.split("."), value)
            for key in gone:
                text = without(text, key.split("."))
        except NotJson as error:
            raise WrongSetting(f"{path} is not JSON: {error}") from None
        except CannotEdit as error:
            raise WrongSetting(f"{path}: {error}") from None
        return text

    return rewrite(path, layer, edited, if_unchanged=if_unchanged, touched={*values, *gone}, above=above)


def rewrite(
    path: Path,
    layer: Layer,
    edit: Callable[[str], str],
    *,
    if_unchanged: str = "",
    touched: Iterable[str] = (),
    above: Sequence[FileRead] = (),
) -> bool:
    """Write the result of `edit` to the file, if it is valid; other values that were already wrong may remain.

    Raises:
        WrongSetting, NotChanged: see `change`.
    """
    if layer in OF_PROJECTS and not os.path.isdir(path.parent.parent):  # noqa: PTH112 a name that is too long is no link either
        raise NotChanged(f"{path.parent.parent} is not a directory")
    real = _real(path)
    with _alone(real, private=layer is Layer.USER):
        try:
            before = read_text(real)
        except WrongFile as wrong:
            raise NotChanged(str(wrong)) from None
        if if_unchanged and state_of(before) != if_unchanged:
            raise ChangedMeanwhile(path)
        after = edit(before or "")
        if len(after.encode()) > FILE_BYTES:
            raise NotChanged(f"{path} would be longer than {FILE_BYTES} bytes, the limit for reading it")
        known = {fault.key for fault in faults_in(before or "", path, layer, above)} - set(touched)
        for fault in faults_in(after, path, layer, above):
            if not fault.key or fault.key not in known:
                raise WrongSetting(fault.sentence)
        if after == (before or ""):
            return False
        _write(real, after, 0o600 if layer is Layer.USER else 0o644)
        return True


def faults_in(text: str, path: Path, layer: Layer, above: Sequence[FileRead] = ()) -> tuple[Fault, ...]:
    """All that is wrong with a file, were this its text."""
    return combined([understood(text, path, layer), *above]).faults


def _real(path: Path) -> Path:
    """Return the target of a link: the link remains, and its target is written."""
    try:
        return Path(os.path.realpath(path, strict=True))
    except FileNotFoundError:
        return Path(os.path.realpath(path))
    except OSError as error:
        raise NotChanged(f"{path} cannot be written: {error.strerror}") from None


@contextmanager
def _alone(path: Path, *, private: bool) -> Iterator[None]:
    """Hold a lock, so that no other betcode process writes there."""
    try:
        path.parent.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise NotChanged(f"{path} cannot be written: {error.strerror}") from None
    try:
        _lock(directory, path)
        yield
    finally:
        os.close(directory)


def _lock(directory: int, path: Path) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise NotChanged(f"{path} cannot be written: another process is changing it") from None
            time.sleep(_PAUSE_S)
        else:
            return


def _write(path: Path, text: str, new_mode: int) -> None:
    """Replace the file atomically, with the mode that it had. The caller holds the lock."""
    try:
        with replacing(path, temporary=path.with_name(f".{path.name}.new")) as file:
            _make_like(file.fileno(), path, new_mode)
            file.write(text.encode())
    except OSError as error:
        raise NotChanged(f"{path} cannot be written: {error.strerror}") from None


def _make_like(descriptor: int, path: Path, new_mode: int) -> None:
    """With the owner and the mode that the file had."""
    try:
        before = path.stat()
    except FileNotFoundError:
        os.fchmod(descriptor, new_mode)
        return
    if (before.st_uid, before.st_gid) != (os.getuid(), os.getgid()):
        with suppress(PermissionError):
            os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, before.st_mode & 0o7777)
