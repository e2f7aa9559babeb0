"""`betcode config edit`: edit a copy of the file and install it once it is valid."""

import os
import tempfile
from pathlib import Path

from betcode.cli.config.files import chosen_file, refuse_inside
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.terminal.console import Screen, standard_screen
from betcode.cli.terminal.keyboard import can_ask, confirm
from betcode.config.edit.file_edit import NotChanged, faults_in, rewrite, state_of
from betcode.config.file_reader import WrongFile, read_text
from betcode.config.load import WrongSetting
from betcode.config.origins import Layer
from betcode.wording.editor import EditorFailed, NoEditor, editor_argv, run_editor

_NEW = "{\n  // every setting: betcode config show\n}\n"


def edit(options: CommandOptions) -> int:
    screen = standard_screen()
    refuse_inside(options.paths)
    try:
        argv = editor_argv()
    except NoEditor:
        raise CommandFailed("No editor is set: set EDITOR", ExitCode.INVALID_ARGUMENTS) from None
    except EditorFailed as wrong:
        raise CommandFailed(str(wrong), ExitCode.INVALID_ARGUMENTS) from None
    path, layer = chosen_file(options)
    try:
        before = read_text(path)
    except WrongFile as wrong:
        raise CommandFailed(str(wrong), ExitCode.INVALID_ARGUMENTS) from wrong
    with tempfile.TemporaryDirectory(prefix="betcode-") as directory:
        copy = Path(directory) / path.name
        copy.write_bytes((_NEW if before is None else before).encode())
        text = _edit_until_valid(argv, copy, path, layer, screen)
        if text in (before, _NEW):
            return _report(options, screen, path, changed=False)
        try:
            rewrite(path, layer, lambda _: text, if_unchanged=state_of(before))
        except (NotChanged, WrongSetting) as trouble:
            raise CommandFailed(
                f"{trouble}. Your text is in {_save_draft(text, path)}", ExitCode.INVALID_ARGUMENTS
            ) from None
    return _report(options, screen, path, changed=True)


def _report(options: CommandOptions, screen: Screen, path: Path, *, changed: bool) -> int:
    if options.as_json:
        screen.json({"path": str(path), "changed": changed})
    else:
        screen.line(f"{path} was changed" if changed else "Nothing was changed")
    return ExitCode.OK


def _edit_until_valid(argv: list[str], copy: Path, path: Path, layer: Layer, screen: Screen) -> str:
    """Run the editor until the text is valid, and return the text."""
    while True:
        try:
            run_editor(argv, copy)
        except EditorFailed as failed:
            raise CommandFailed(f"{failed}; nothing was changed", ExitCode.INVALID_ARGUMENTS) from None
        text, faults = _read_and_check(copy, path, layer)
        if not faults:
            return text
        for fault in faults:
            screen.note(f"Wrong: {fault}")
        if not can_ask() or not confirm(screen, "Edit it again? [Y/n] ", otherwise=True):
            saved_note = f". Your text is in {_save_draft(text, path)}" if text else ""
            raise CommandFailed(f"{path} was not changed{saved_note}", ExitCode.INVALID_ARGUMENTS)


def _read_and_check(copy: Path, path: Path, layer: Layer) -> tuple[str, list[str]]:
    try:
        text = read_text(copy) or ""
    except WrongFile as wrong:
        return "", [str(wrong)]
    return text, [fault.sentence for fault in faults_in(text, path, layer)]


def _save_draft(text: str, path: Path) -> str:
    """Save the text to a temporary file, so that an invalid or outdated edit is not lost, and return its name."""
    descriptor, name = tempfile.mkstemp(prefix="betcode-", suffix=f"-{path.name}")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return name
