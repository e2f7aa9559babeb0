"""Another input for a tool before it is allowed to run: typed in a line, or written in the person's own editor."""

import json
import tempfile
from pathlib import Path

import anyio.to_thread

from betcode.cli.screen import Screen
from betcode.domain.edits import missing_field
from betcode.v1 import agent_pb2 as v1
from betcode.wording.editor import EditorFailed, NoEditor, editor_argv, run_editor


class NotEdited(Exception):
    """Nothing came of it; the message says why."""


def edited_in_line(request: v1.PermissionRequest, text: str) -> str:
    """The input as JSON: `text` itself, or with `text` as its command.

    Raises:
        NotEdited: it is no JSON object and no command either, or an object without what the tool is about.
    """
    if text.startswith("{"):
        return _checked(text, request)
    if _is_json(text):
        raise NotEdited("That is JSON, but no object: give the new command, or the whole input as a JSON object")
    own = _fields(request)
    if not isinstance(own.get("command"), str):
        raise NotEdited(f"{request.tool_name} has no command: type e and the whole input as JSON, or e alone")
    return json.dumps({**own, "command": text}, ensure_ascii=False)


async def edited_in_editor(request: v1.PermissionRequest, screen: Screen) -> str:
    """The input as JSON, once the editor was left; what happens meanwhile is shown afterwards.

    Raises:
        NotEdited: there is no editor, it failed, nothing was changed, or what was written is no JSON object.
    """
    try:
        argv = editor_argv()
    except NoEditor:
        raise NotEdited("No editor is set (EDITOR): type e and the new command, or the whole input as JSON") from None
    except EditorFailed as wrong:
        raise NotEdited(str(wrong)) from None
    shown = json.dumps(_fields(request), ensure_ascii=False, indent=2) + "\n"
    with tempfile.TemporaryDirectory(prefix="betcode-") as directory:
        path = Path(directory) / "input.json"
        path.write_text(shown, encoding="utf-8", errors="surrogatepass")
        try:
            with screen.set_aside():
                await anyio.to_thread.run_sync(run_editor, argv, path)
        except EditorFailed as failed:
            raise NotEdited(str(failed)) from None
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeError) as trouble:
            raise NotEdited("What the editor left cannot be read") from trouble
    if text == shown:
        raise NotEdited("Nothing was changed")
    return _checked(text, request)


def _fields(request: v1.PermissionRequest) -> dict[str, object]:
    try:
        value = json.loads(request.input_json)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise NotEdited("The input is too long or too odd to be edited here")
    return value


def _is_json(text: str) -> bool:
    """Whether it is a value that nobody means as a command: null, a number, a list, a quoted text."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return text not in ("true", "false")  # these are commands, too


def _checked(text: str, request: v1.PermissionRequest) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as trouble:
        raise NotEdited(f"That is no JSON: {trouble}") from None
    if not isinstance(value, dict):
        raise NotEdited("That is no JSON object")
    try:
        own = _fields(request)
    except NotEdited:
        own = {}  # it is not known here: the daemon has it whole
    if (name := missing_field(own, value)) is not None:
        raise NotEdited(f"The input has no {name}, and {request.tool_name} needs one")
    return text
