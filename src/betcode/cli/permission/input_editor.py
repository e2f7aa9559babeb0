"""Edit the input of a tool call in the person's editor before allowing it."""

import json
import tempfile
from pathlib import Path

import anyio.to_thread

from betcode.cli.terminal.console import Screen
from betcode.v1 import agent_pb2 as v1
from betcode.wording.edited_input import InvalidEdit, checked_input, own_fields
from betcode.wording.editor import EditorFailed, NoEditor, editor_argv, run_editor


async def edited_in_editor(request: v1.PermissionRequest, screen: Screen) -> str:
    """Return the edited input as JSON; output is held back while the editor is open.

    Raises:
        InvalidEdit: there is no editor, it failed, nothing was changed, or the text is not a JSON object.
    """
    try:
        argv = editor_argv()
    except NoEditor:
        raise InvalidEdit("No editor is set (EDITOR): type e and the new command, or the whole input as JSON") from None
    except EditorFailed as wrong:
        raise InvalidEdit(str(wrong)) from None
    shown = json.dumps(own_fields(request), ensure_ascii=False, indent=2) + "\n"
    with tempfile.TemporaryDirectory(prefix="betcode-") as directory:
        path = Path(directory) / "input.json"
        path.write_text(shown, encoding="utf-8", errors="surrogatepass")
        try:
            with screen.set_aside():
                await anyio.to_thread.run_sync(run_editor, argv, path)
        except EditorFailed as failed:
            raise InvalidEdit(str(failed)) from None
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeError) as trouble:
            raise InvalidEdit("The edited file cannot be read") from trouble
    if text == shown:
        raise InvalidEdit("No change was made")
    return checked_input(text, request)
