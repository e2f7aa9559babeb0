"""Write CHANGELOG.md from the notes in changes/; with --check, only check that it is current."""

import re
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("added", "changed", "deprecated", "removed", "fixed", "security")
HEAD = """# Changelog

Changes for users of betcode. Versions follow [semantic versioning](https://semver.org); `proto/`
describes the compatibility of the API. `scripts/changelog.py` writes this file from `changes/`.
"""
_WIDTH = 100
_NAME = re.compile(rf"[a-z0-9-]+\.({'|'.join(KINDS)})\.md")
_VERSION = re.compile(r"\d+\.\d+\.\d+")

Notes = Mapping[str, Sequence[str]]  # the changes of each kind


def changes_in(note: str) -> list[str]:
    """The changes of one note: each item of a list, or else the text as a whole; each on one line."""
    text = note.strip()
    parts = re.split(r"^- ", text, flags=re.MULTILINE)[1:] if text.startswith("- ") else [text]
    return [" ".join(part.split()) for part in parts if part.strip()]


def changelog(releases: Mapping[str, Notes]) -> str:
    """The whole file, the newest release first."""
    return HEAD + "".join(_section(name, releases[name]) for name in sorted(releases, key=_newest_first))


def _section(name: str, notes: Notes) -> str:
    kinds = [kind for kind in KINDS if notes.get(kind)]
    lists = ("\n".join(map(_item, notes[kind])) for kind in kinds)
    shown = (f"\n### {kind.capitalize()}\n\n{text}\n" for kind, text in zip(kinds, lists, strict=True))
    return f"\n## {name}\n" + "".join(shown)


def _item(change: str) -> str:
    return textwrap.fill(
        change, _WIDTH, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _newest_first(name: str) -> tuple[int, ...]:
    return tuple(-int(part) for part in name.split("."))


def read(folder: Path, current: str) -> dict[str, Notes]:
    """The notes of each release; those in the folder itself are of the current one. Exits if a file is no note."""
    releases: dict[str, dict[str, list[str]]] = {}
    for path in sorted(folder.rglob("*.md")):
        if path == folder / "README.md":
            continue
        release = current if path.parent == folder else path.parent.name
        named = _NAME.fullmatch(path.name)
        if not named or not _VERSION.fullmatch(release):
            sys.exit(f"changelog: {path.relative_to(folder)} is not named SUBJECT.KIND.md; KIND: {', '.join(KINDS)}")
        releases.setdefault(release, {}).setdefault(named[1], []).extend(changes_in(path.read_text(encoding="utf-8")))
    return dict(releases)


def differences(old: str, new: str) -> Iterator[str]:
    before, after = old.splitlines(), new.splitlines()
    yield from (f"lacks: {line}" for line in after if line not in before)
    yield from (f"has no note for: {line}" for line in before if line not in after)


def main(arguments: Sequence[str]) -> None:
    target = ROOT / "CHANGELOG.md"
    (current,) = _VERSION.findall((ROOT / "src/betcode/_version.py").read_text(encoding="utf-8"))
    text = changelog(read(ROOT / "changes", current))
    if "--check" not in arguments:
        target.write_text(text, encoding="utf-8")
    elif (old := target.read_text(encoding="utf-8")) != text:
        first = next(differences(old, text), "is in another order")
        sys.exit(f"changelog: CHANGELOG.md {first[:160]}\nchangelog: run scripts/changelog.py")


if __name__ == "__main__":
    main(sys.argv[1:])
