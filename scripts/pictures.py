"""Make the pictures of docs/pictures from the screen itself: a daemon, the demo's tour, and keys as people press them.

`--check` only says whether those that are there still show what the screen shows; numbers and times may differ.
"""

import difflib
import html
import re
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import anyio

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from betcode.client import Client, NewConversation, open_client  # noqa: E402
from betcode.tui.model.blocks import ToolCallBlock  # noqa: E402
from betcode.tui.view.conversation_view import ConversationView  # noqa: E402
from support.daemon.process import Daemon, running_daemon  # noqa: E402
from support.screens.screen import ShownScreen, open_screen  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
ALIKE = 0.9  # of the lines, before a picture is called old
_WIDE, _NARROW = (100, 30), (40, 22)
_REMOTE_FONTS = re.compile(r"@font-face \{.*?\}", re.DOTALL)  # a picture fetches nothing
_COMMENTS = re.compile(r"<!--.*?-->", re.DOTALL)
_GENERATED = re.compile(r"terminal-\d+-")
_TEXT = re.compile(r'<text [^>]*? y="([\d.]+)"[^>]*>(.*?)</text>')
_READABLE_S = 0.6  # a card takes no key before somebody could have read it


async def pictures(root: Path) -> dict[str, str]:
    """Each picture by its name."""
    made: dict[str, str] = {}
    async with running_daemon(root) as daemon, open_client(daemon.paths) as client:
        tour = await _session(daemon, client, "negative Fibonacci numbers")
        await client.send(await _session(daemon, client, "the flaky test"), "show me a tool")
        await client.send(await _session(daemon, client, "notes for the release"), "hello")
        async with open_screen(daemon, tour, size=_WIDE) as screen:
            await screen.shows("connected")
            await screen.type("tour")
            await screen.press("enter")
            await screen.shows("y allow", "a, b = 0, 1")
            made["permission"] = await _picture(screen)
            async with open_screen(daemon, tour, size=_NARROW) as narrow:
                await narrow.shows("y allow", "fibonacci")
                made["narrow"] = await _picture(narrow)
            await screen.press("y")
            await screen.shows("1-3 or Enter choose")
            await screen.pilot.pause(_READABLE_S)
            await screen.press("1")
            await screen.shows("That was the tour", "idle")
            await _open_the_edit(screen)
            made["conversation"] = await _picture(screen)
            await screen.press("ctrl+s")
            await screen.shows("the flaky test", "notes for the release")
            made["sessions"] = await _picture(screen)
    return made


async def _session(daemon: Daemon, client: Client, name: str) -> str:
    environment = {"PATH": "/usr/bin:/bin", "BETCODE_DEMO_SPEED": "0"}
    session_id = await client.start_session(NewConversation(str(daemon.work), provider="demo", environment=environment))
    await client.rename(session_id, name)
    return session_id


async def _open_the_edit(screen: ShownScreen) -> None:
    """The call with its diff, opened as a person would."""
    view = screen.app.screen.query_one(ConversationView)
    blocks = view._conversation.blocks
    await screen.press("tab", "up")
    while not (isinstance(block := blocks[view.index_in_view], ToolCallBlock) and block.name == "Edit"):
        await screen.press("up")
    await screen.press("enter", "up", "up")


async def _picture(screen: ShownScreen) -> str:
    await screen.pilot.pause(_READABLE_S)
    svg = _COMMENTS.sub("", _REMOTE_FONTS.sub("", screen.app.export_screenshot(title="betcode")))
    return "\n".join(line.rstrip() for line in _GENERATED.sub("t-", svg).splitlines()) + "\n"


def lines_of(svg: str) -> list[str]:
    """What stands in a picture, line by line, with every number as 0 and without the bar at the side."""
    rows: dict[float, str] = defaultdict(str)
    for y, text in _TEXT.findall(svg):
        rows[float(y)] += html.unescape(text).replace("\xa0", " ")
    return [re.sub(r"\d+(\.\d+)?", "0", re.sub("[▁-█]", "", rows[y])).rstrip() for y in sorted(rows)]


def old_ones(made: dict[str, str]) -> list[str]:
    """The names of pictures that show something else now, or are not there."""
    return [name for name, svg in made.items() if not _is_alike(PICTURES / f"{name}.svg", svg)]


def _is_alike(path: Path, svg: str) -> bool:
    before = lines_of(path.read_text("utf-8")) if path.exists() else []
    return difflib.SequenceMatcher(None, before, lines_of(svg), autojunk=False).ratio() >= ALIKE


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="betcode-pictures-") as directory:
        made = anyio.run(pictures, Path(directory))
    if "--check" in sys.argv[1:]:
        if old := old_ones(made):
            sys.exit(f"pictures: {', '.join(old)} show something else now; `make pictures` makes them again")
        return
    PICTURES.mkdir(exist_ok=True)
    for name, svg in made.items():
        (PICTURES / f"{name}.svg").write_text(svg, "utf-8")
    print(f"pictures: {len(made)} made")


if __name__ == "__main__":
    main()
