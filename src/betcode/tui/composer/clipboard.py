"""Reads an image from the system clipboard with whichever program is installed."""

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import anyio

from betcode.domain.agents.commands import AttachedFile
from betcode.domain.sessions.media_type import kind_of
from betcode.proc.child import ending, next_piece, start

_BOUND_S = 5.0
_LIMIT_BYTES = 10 * 1024 * 1024
_NONE = "No clipboard program found (wl-paste, xclip or pngpaste). Use /attach FILE instead"
_APPLE = re.compile("«data PNGf([0-9A-F]*)»".encode())
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


@dataclass(frozen=True, slots=True)
class NoImage:
    """The reason why there is no image, as a sentence."""

    message: str


def programs(environ: Mapping[str, str], path: str) -> Sequence[Sequence[str]]:
    """Return the commands that could read an image here; none if no such program is installed."""
    calls = []
    if environ.get("WAYLAND_DISPLAY"):
        calls.append(["wl-paste", "--no-newline", "--type", "image/png"])
    if environ.get("DISPLAY"):
        calls.append(["xclip", "-selection", "clipboard", "-target", "image/png", "-out"])
    if sys.platform == "darwin":
        calls += [["pngpaste", "-"], ["osascript", "-e", "the clipboard as «class PNGf»"]]
    found = [(shutil.which(call[0], path=path), call) for call in calls]
    return [[program, *call[1:]] for program, call in found if program is not None]


async def clipboard_image(number: int) -> AttachedFile | NoImage:
    """Return the clipboard's image, under a name with this number."""
    path = os.pathsep.join(part for part in os.environ.get("PATH", "").split(os.pathsep) if part.startswith("/"))
    calls = programs(os.environ, path)
    if not calls:
        return NoImage(_NONE)
    for call in calls:
        data = await _output_of(call)
        if data is None:
            return NoImage(f"The image is larger than {_LIMIT_BYTES // (1024 * 1024)} MB: attach a smaller one")
        data = unwrapped(data)
        if ending_of := _ENDINGS.get(kind := kind_of(data)):
            return AttachedFile(f"clipboard-{number}.{ending_of}", kind, data)
    return NoImage("The clipboard contains no image")


def unwrapped(data: bytes) -> bytes:
    """Return the bytes of an AppleScript literal."""
    literal = _APPLE.fullmatch(data.strip())
    return bytes.fromhex(literal[1].decode()) if literal and len(literal[1]) % 2 == 0 else data


async def _output_of(call: Sequence[str]) -> bytes | None:
    """Return the output of the program within a time limit, empty if it fails; None if it is too large."""
    data = bytearray()
    try:
        child = start(call, os.environ)
    except (OSError, ValueError):
        return b""
    async with ending(child):
        with anyio.move_on_after(_BOUND_S):
            while piece := await next_piece(child.out):
                data += piece
                if len(data) > _LIMIT_BYTES:
                    return None
            return bytes(data)
    return b""
