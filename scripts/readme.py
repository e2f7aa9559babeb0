"""Tell whether the commands that the documents show exist: every `make` target, every command of ours, its options."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(?:sh|bash|console|shell)\n(.*?)^```", re.MULTILINE | re.DOTALL)
WORKING = ("README.md", "CONTRIBUTING.md", "docs")


def commands(text: str) -> Iterator[list[str]]:
    """The commands of the shell blocks in a document, as words."""
    for block in BLOCK.finditer(text):
        lines = block[1].replace("\\\n", " ").splitlines()
        prompted = any(line.startswith("$ ") for line in lines)
        for line in lines:
            if prompted and not line.startswith("$ "):
                continue  # what the command prints
            words = shlex.split(line.removeprefix("$ "), comments=True)
            if words:
                yield words


def question(words: list[str]) -> list[str] | None:
    """A harmless command that fails when `words` is not one we have; None for what is not ours."""
    own = words[: next((at for at, word in enumerate(words) if re.fullmatch(r"[|&;<>]+|\d?>.*", word)), len(words))]
    if own[0] == "make":
        return ["make", "--dry-run", *own[1:]]
    if own[0] in ("betcode", "obey"):
        program = str(Path(sys.executable).parent / own[0])
        own = own[: own.index("--")] if "--" in own else own  # what follows is somebody else's command
        return [program, *own[1:], "--help"]
    return None


def main() -> None:
    documents = [
        path
        for name in WORKING
        for path in ([ROOT / name] if name.endswith(".md") else sorted((ROOT / name).rglob("*.md")))
    ]
    asked, wrong = 0, []
    for document in filter(Path.is_file, documents):
        for words in commands(document.read_text(encoding="utf-8")):
            if (command := question(words)) is None:
                continue
            asked += 1
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
            if done.returncode != 0:
                last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-3:]
                wrong.append(f"{document.relative_to(ROOT)}: `{shlex.join(words)}`\n    " + "\n    ".join(last))
    if wrong:
        sys.exit("readme: these commands do not exist as they are shown:\n  " + "\n  ".join(wrong))
    print(f"readme: {asked} commands exist")


if __name__ == "__main__":
    main()
