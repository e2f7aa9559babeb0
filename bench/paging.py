"""A long conversation on the screen, paged back to its beginning: its memory, and how long a page takes."""

import re
import time
from collections.abc import Mapping

import anyio.to_thread

from bench.figure import Effort, Figure, median
from bench.filling import fill_events
from bench.long_talk import talk
from bench.screen import BLANK, betcode, blank, pressed, terminal_environment
from bench.stage import resident_bytes, running_daemon
from bench.terminal import BOUND_S, PAGE_DOWN, TO_THE_BEGINNING, Terminal

_EVENTS = 50_000
_PAGES = 40
_MARK = re.compile(r"\be(\d+)\b")
_MB = 1024 * 1024


async def measure(effort: Effort) -> list[Figure]:
    events = effort.size(_EVENTS)
    effort.progress(f"writing a session of {events} events")
    state = effort.root / "state"
    session = await fill_events(state, events, talk)
    async with running_daemon(state) as daemon:
        environment = terminal_environment(daemon, effort.root)
        return await anyio.to_thread.run_sync(_long, effort, environment, session, events)


def _long(effort: Effort, environment: Mapping[str, str], session: str, events: int) -> list[Figure]:
    effort.progress(f"paging back through {events} events")
    with blank(environment) as terminal:
        terminal.rest(0.4, 2)
        bare = resident_bytes(terminal.pid) / _MB
        delays = pressed(terminal, effort.size(_PAGES))
    with betcode(environment, "attach", session) as terminal:
        terminal.rest(0.4, 3)
        _page_back(terminal)
        loaded = resident_bytes(terminal.pid) / _MB
        pages = _paged(terminal, effort.size(_PAGES))
    return [
        Figure(f"memory of a screen with {events:,} events loaded", BLANK, bare, loaded, 150, "MB"),
        Figure(
            "a page scrolled in it, median", "a key on " + BLANK, median(delays) * 1e3, median(pages) * 1e3, 50, "ms"
        ),
    ]


def _page_back(terminal: Terminal) -> None:
    """To the first event, whatever has to be loaded for it."""
    deadline = time.perf_counter() + BOUND_S
    while time.perf_counter() < deadline:
        terminal.press(TO_THE_BEGINNING)
        if re.search(r"\be1\b", terminal.rest(0.15, 1)):
            return
    raise TimeoutError("the beginning of the conversation was not reached")


def _paged(terminal: Terminal, pages: int) -> list[float]:
    """How long each page takes until something that was not there before is."""
    delays: list[float] = []
    seen = set(_MARK.findall(terminal.rest(0.3, 1)))

    def is_new(text: str) -> bool:
        new = set(_MARK.findall(text)) - seen
        seen.update(new)
        return bool(new)

    for _ in range(pages):
        pressed = terminal.press(PAGE_DOWN)
        delays.append(terminal.until(is_new, "the next page") - pressed)
        seen.update(_MARK.findall(terminal.rest(0.1, 0.5)))
    return delays
