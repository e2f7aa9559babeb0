"""Digests of what a project's files contain, and the names of the files below a directory."""

import hashlib
import json
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from betcode.config.plain_file import read_plain

_MOST_ENTRIES = 500
_FILE_BYTES = 64 * 1024
_TREE_BYTES = 4 * 1024 * 1024


def digest_of(settings: Mapping[str, Any], otherwise: str) -> str:
    """Of the values, whatever their order and their formatting; `otherwise` where they are nested too deeply."""
    try:
        return digest_bytes(json.dumps(settings, sort_keys=True, default=str).encode("utf-8", "surrogatepass"))
    except RecursionError:
        return otherwise


def digest_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def look_through(directory: Path, without: Collection[str] = ()) -> tuple[list[str], str]:
    """The names of the files below, in order, and a digest of names and contents. Both are bounded.

    `without` names entries of the directory itself that do not count.
    Of files beyond the bound only names and sizes count. Links are not followed; their targets count.
    """
    names: list[str] = []
    digest = hashlib.sha256()
    left = _TREE_BYTES
    waiting = [directory]
    seen = 0
    while waiting and seen < _MOST_ENTRIES:
        place = waiting.pop()
        try:
            entries = sorted(os.scandir(place), key=lambda entry: entry.name, reverse=True)
        except OSError as trouble:
            digest.update(f"{place.relative_to(directory)}\0{trouble.errno}\0".encode("utf-8", "surrogateescape"))
            continue
        for entry in entries:
            if place == directory and entry.name in without:
                continue
            seen += 1
            path = place / entry.name
            if entry.is_dir(follow_symlinks=False):
                waiting.append(path)
                continue
            name = str(path.relative_to(directory))
            names.append(name)
            digest.update(f"{name}\0".encode("utf-8", "surrogateescape"))
            with suppress(OSError):
                if entry.is_symlink():
                    digest.update(os.fsencode(path.readlink()))
                    continue
                digest.update(f"{entry.stat(follow_symlinks=False).st_size}\0".encode())
                if left > 0:
                    data = read_plain(path, min(_FILE_BYTES, left))
                    left -= len(data)
                    digest.update(data)
    return sorted(names), digest.hexdigest()
