"""Shows the change that a tool would make to a file as a unified diff."""

import json
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_FILE_LIMIT = 1 << 20
_COMPARED_LINES = 4000  # of both sides together: comparing takes quadratic time at worst


@dataclass(frozen=True, slots=True)
class Change:
    title: str
    diff: Sequence[str]  # lines that begin with a space, +, - or @@


def changes_of(tool: str, fields: Mapping[str, object], on_disk: str | None) -> list[Change]:
    """Return the changes of a known editing tool; none for other tools or an unexpected input."""
    path = _text(fields, "file_path") or _text(fields, "notebook_path") or ""
    match tool:
        case "Write" if (content := _text(fields, "content")) is not None:
            title = f"{path} (whole file)" if on_disk is None else path
            return [Change(title, unified(on_disk or "", content))]
        case "Edit" | "MultiEdit":
            edits = fields.get("edits") if tool == "MultiEdit" else [fields]
            return _edited(path, edits, on_disk) if isinstance(edits, list) else []
        case "NotebookEdit" if (source := _text(fields, "new_source")) is not None:
            before = _cell(on_disk, _text(fields, "cell_id")) if _text(fields, "edit_mode") != "insert" else None
            what = _text(fields, "edit_mode") or "replace"
            after = "" if what == "delete" else source
            return [Change(f"{path} ({what} cell {_text(fields, 'cell_id') or ''})", unified(before or "", after))]
        case _:
            return []


def _edited(path: str, edits: Sequence[object], on_disk: str | None) -> list[Change]:
    pairs: list[tuple[str, str, bool]] = []
    for edit in edits:
        if not isinstance(edit, dict):
            return []
        old, new = _text(edit, "old_string"), _text(edit, "new_string")
        if old is None or new is None:
            return []
        pairs.append((old, new, edit.get("replace_all") is True))
    whole = on_disk
    for old, new, everywhere in pairs:
        if whole is None or not old or old not in whole:
            whole = None  # the file on the agent's machine differs from ours
            break
        whole = whole.replace(old, new) if everywhere else whole.replace(old, new, 1)
    if whole is not None and on_disk is not None:
        return [Change(path, unified(on_disk, whole))]
    return [
        Change(f"{path} (all occurrences)" if everywhere else path, [*unified(old, new)])
        for old, new, everywhere in pairs
    ]


def unified(old: str, new: str) -> list[str]:
    """Return the difference as lines; with too many lines to compare, all old and then all new ones."""
    import difflib

    before, after = old.splitlines(), new.splitlines()
    if len(before) + len(after) > _COMPARED_LINES:
        return [
            f"@@ -1,{len(before)} +1,{len(after)} @@",
            *(f"-{each}" for each in before),
            *(f"+{each}" for each in after),
        ]
    return list(difflib.unified_diff(before, after, lineterm=""))[2:]


def changed_path(tool: str, fields: Mapping[str, object], directory: str) -> str:
    """Return the file that a tool would change; empty if there is none."""
    if tool not in ("Write", "Edit", "MultiEdit", "NotebookEdit"):
        return ""
    path = _text(fields, "file_path") or _text(fields, "notebook_path") or ""
    return os.path.join(directory, path) if path and "\0" not in path else ""  # noqa: PTH118 of another's machine


def read_local(path: str) -> str | None:
    """Return the text of a regular local file; None if it cannot be read at once."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a named pipe must not block
    except (OSError, ValueError):
        return None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _FILE_LIMIT:
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(_FILE_LIMIT).decode()
    except (OSError, UnicodeError):
        return None
    finally:
        os.close(descriptor)


def _cell(on_disk: str | None, cell_id: str | None) -> str | None:
    try:
        cells = json.loads(on_disk or "{}")["cells"]
        (source,) = [cell["source"] for cell in cells if cell.get("id") == cell_id]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
    return "".join(source) if isinstance(source, str | list) else None


def _text(fields: Mapping[str, object], name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None
