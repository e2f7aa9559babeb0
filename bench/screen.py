"""The screen as a person meets it: `betcode` typed, and keys pressed while an agent streams."""

import itertools
import random
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio.to_thread

from bench.figure import Effort, Figure, Judged, median, percentile
from bench.filling import fill_events
from bench.long_talk import talk
from bench.stage import Daemon, running_daemon
from bench.terminal import Terminal

_EVENTS = 50_000
_KEYS = 60
_RATES = {"usual": 100, "flood": 5_000}  # deltas a second
_LETTERS = [chr(code) for code in range(0x100, 0x17F) if chr(code).isalpha()]  # that nobody else writes
BLANK = "a Textual program with nothing in it"


async def measure(effort: Effort) -> list[Figure]:
    events = effort.size(_EVENTS)
    effort.progress(f"writing a session of {events} events")
    state = effort.root / "state"
    await fill_events(state, events, talk)
    async with running_daemon(state) as daemon:
        environment = terminal_environment(daemon, effort.root)
        return [
            *await anyio.to_thread.run_sync(_starts, effort, environment, events),
            *await _keys(effort, daemon, environment),
        ]


def terminal_environment(daemon: Daemon, home: Path) -> Mapping[str, str]:
    """A person's, on this daemon; bytecode is written and used, as where people work."""
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "BETCODE_STATE_DIR": str(daemon.paths.state_dir),
        "BETCODE_CONFIG_DIR": str(daemon.paths.config_dir),
        "PYTHONPATH": str(Path.cwd()),  # for the baseline, which is one of these files
    }


def betcode(environment: Mapping[str, str], *arguments: str) -> Terminal:
    command = Path(sys.executable).with_name("betcode")
    return Terminal([str(command), *arguments], environment, Path("/"))


def blank(environment: Mapping[str, str]) -> Terminal:
    return Terminal([sys.executable, "-m", "bench.blank_screen"], environment, Path("/"))


# ---------------------------------------------------------------- start


def _starts(effort: Effort, environment: Mapping[str, str], events: int) -> list[Figure]:
    painted: list[float] = []
    read: list[float] = []
    bare: list[float] = []
    newest = f"e{events - events % 50 - 4}"
    for run in range(2 * effort.runs + 1):
        effort.progress(f"start {run + 1} of {2 * effort.runs + 1}")
        with blank(environment) as terminal:
            first = terminal.until(lambda text: bool(text.strip()), "anything")
            bare.append(first - terminal.began)
        with betcode(environment) as terminal:
            page = _Seen(newest)
            painted.append(terminal.until(page.anything, "anything") - terminal.began)
            read.append(painted[-1] if page.is_seen else terminal.until(page, "the newest page") - terminal.began)
    # The first of each wrote the bytecode.
    bare, painted, read = bare[1:] or bare, painted[1:] or painted, read[1:] or read
    return [
        Figure("`betcode` to its first frame", BLANK, median(bare) * 1e3, median(painted) * 1e3, 600, "ms"),
        Figure(
            "`betcode` to the newest page of a conversation",
            BLANK,
            median(bare) * 1e3,
            median(read) * 1e3,
            600,
            "ms",
            note=f"of {events:,} events",
        ),
    ]


class _Seen:
    """Whether a word stood in what was printed, however it was cut into pieces."""

    def __init__(self, word: str) -> None:
        self.is_seen = False
        self._word = word
        self._end = ""

    def __call__(self, text: str) -> bool:
        self.is_seen = self.is_seen or self._word in self._end + text
        self._end = (self._end + text)[-len(self._word) :]
        return self.is_seen

    def anything(self, text: str) -> bool:
        self(text)
        return bool(text.strip())


# ---------------------------------------------------------------- keys


async def _keys(effort: Effort, daemon: Daemon, environment: Mapping[str, str]) -> list[Figure]:
    keys = effort.size(_KEYS)
    effort.progress("keys on a blank screen")
    with blank(environment) as terminal:
        terminal.rest(0.4, 2)
        bare = pressed(terminal, keys)
    figures: list[Figure] = []
    for name, rate in _RATES.items():
        effort.progress(f"{keys} keys at {rate} deltas a second")
        lasts_s = keys * 0.12 + 10
        session = await daemon.flood_session(int(rate * lasts_s), rate=rate)
        with betcode(environment, "attach", session) as terminal:
            terminal.rest(0.4, 2)
            await daemon.client.send(session, "go")
            await anyio.to_thread.run_sync(terminal.until, _flows, "the first deltas")
            delays = await anyio.to_thread.run_sync(pressed, terminal, keys)
        await daemon.client.cancel(session)
        what = f"key to screen while {rate:,} deltas a second come in ({name})"
        figures += [
            Figure(f"{what}, median", BLANK, median(bare) * 1e3, median(delays) * 1e3, 30, "ms"),
            Figure(
                f"{what}, p95",
                BLANK,
                percentile(bare, 0.95) * 1e3,
                percentile(delays, 0.95) * 1e3,
                30,
                "ms",
                Judged.OVER_BASELINE,
            ),
        ]
    return figures


def _flows(text: str) -> bool:
    return re.search(r"\d{12,}", text) is not None  # a delta carries its time


def pressed(terminal: Terminal, keys: int) -> list[float]:
    """How long each letter took to stand on the screen; every one is another, so that it is found."""
    pauses = random.Random(7)  # keys fall anywhere between two frames
    delays: list[float] = []
    for letter in itertools.islice(itertools.cycle(_LETTERS), keys):
        terminal.rest(quiet_s=1, at_most_s=pauses.uniform(0.03, 0.12))
        pressed = terminal.press(letter.encode())
        delays.append(terminal.until(lambda text, letter=letter: letter in text, letter) - pressed)  # type: ignore[misc]
    return delays
