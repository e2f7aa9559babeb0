"""A round's plan: sessions, clients, deeds and faults, in order. The seed alone decides it, and it can be printed."""

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias


class Target(StrEnum):
    DAEMON = "daemon"
    HOLDER = "holder"
    AGENT = "agent"
    CLIENT = "client"  # a client that is a process of its own


class Way(StrEnum):
    """How a client watches."""

    FOLLOW = "Follow"
    RESUME = "ResumeSession"
    CONVERSE = "Converse"
    LIBRARY = "client library"  # reconnects by itself, over a line that is cut
    PROCESS = "process"


@dataclass(frozen=True, slots=True)
class Say:
    session: int
    client: int
    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    session: int
    allow: bool
    and_then: str = ""  # "same" or "other": a second client answers too, at the same moment


@dataclass(frozen=True, slots=True)
class Cancel:
    session: int
    queued: bool


@dataclass(frozen=True, slots=True)
class AskLock:
    """A client asks to be the one who types."""

    session: int
    client: int


@dataclass(frozen=True, slots=True)
class AnswerLock:
    """A client gives the input lock to another, or refuses, whether it holds it or not."""

    session: int
    client: int
    asking: int
    grant: bool


@dataclass(frozen=True, slots=True)
class Rename:
    session: int
    name: str


@dataclass(frozen=True, slots=True)
class Compact:
    session: int
    how: str  # what directs the agent from now on: see agents/obedient.py


@dataclass(frozen=True, slots=True)
class Fork:
    """Another session goes on from a turn of this one; later steps may be about it."""

    session: int
    at: int  # in thousandths of what there is; 0: now


@dataclass(frozen=True, slots=True)
class Close:
    session: int
    delete: bool


@dataclass(frozen=True, slots=True)
class Go:
    """Lets the agents that wait go on."""

    session: int


@dataclass(frozen=True, slots=True)
class Watch:
    session: int
    way: Way
    after: int  # where to begin, in thousandths of what there is
    client: int = 0  # by the library one watches under the name that one also types under


@dataclass(frozen=True, slots=True)
class Cut:
    """Every line of every client is cut."""


@dataclass(frozen=True, slots=True)
class Leave:
    """One client leaves."""

    which: int


@dataclass(frozen=True, slots=True)
class Kill:
    target: Target
    session: int = 0


@dataclass(frozen=True, slots=True)
class Pause:
    target: Target
    session: int
    ms: int


@dataclass(frozen=True, slots=True)
class Hang:
    """The session's agent is stopped, and only a cancel or the end of the round ends that."""

    session: int


@dataclass(frozen=True, slots=True)
class TakeOver:
    """Wait until the daemon serves and the session is idle, and let a client have the input lock."""

    session: int
    client: int


@dataclass(frozen=True, slots=True)
class DieEarly:
    """The session's next agent that is given a message is killed before it takes it up."""

    session: int


class How(StrEnum):
    """How the daemon is told to stop."""

    IDLE_END = "a call: idle agents end"
    ALL_STAY = "a call: all agents stay"
    ALL_END = "a call: all agents end"
    SIGTERM = "SIGTERM"
    SIGINT = "SIGINT"


@dataclass(frozen=True, slots=True)
class Stop:
    how: How


@dataclass(frozen=True, slots=True)
class DieAt:
    """The daemon is killed, and the next one dies at a named step."""

    step: str
    times: int


@dataclass(frozen=True, slots=True)
class FillDisk:
    ms: int


@dataclass(frozen=True, slots=True)
class LockDatabase:
    """Another program holds the database's write lock."""

    ms: int


@dataclass(frozen=True, slots=True)
class MoveClock:
    seconds: int


@dataclass(frozen=True, slots=True)
class Wait:
    ms: int


Step: TypeAlias = (
    Say | Answer | Cancel | AskLock | AnswerLock | Rename | Compact | Fork | Close | Go | Watch | Cut | Leave | Kill
    | Pause | Hang | TakeOver | DieEarly | Stop | DieAt | FillDisk | LockDatabase | MoveClock | Wait
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Plan:
    seed: int
    sessions: int
    clients: int
    has_small_disk: bool
    turn_limit: int
    idle_retire_s: float
    has_past: bool  # each session has had a turn before
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        head = (
            f"round {self.seed}: {self.sessions} sessions, {self.clients} clients, {self.turn_limit} turns at once, "
            f"idle agents leave after {self.idle_retire_s} s"
            f"{', a small disk' if self.has_small_disk else ''}{', a turn each before' if self.has_past else ''}"
        )
        return "\n".join([head, *(f"  {number:2} {step}" for number, step in enumerate(self.steps))])

    def without_compacting_and_forking(self) -> "Plan":
        """For agents that can neither; what was meant for a fork is done to a session."""
        left = (step for step in self.steps if not isinstance(step, Compact | Fork))
        return replace(self, steps=tuple(left))


STEPS_OF_THE_DAEMON = (
    "before-commit",
    "after-commit",
    "after-reading",
    "after-hand-over",
    "after-answer",
    "after-compaction-asked",
)
TEXTS = (
    "say one two three",
    "count 40",
    "count 300 80",
    "wait go\nsay gone on",
    "wait go\ncount 30",
    "tool\nsay after the tool",
    "say before\ntool\ntool",
    "ask",
    "falter\nsay steady",
    "linger\nsay it lingers",
    "count 20\nwait go\ntool",
    "say before\ncompact\nsay after",
)
SHORT_TEXTS = ("say one two three", "count 40", "falter\nsay steady", "say before\ncompact\nsay after")
ABANDONED_TEXTS = ("tool\nsay after the tool", "say before\ntool", "tool\ntool\ntool")
COMPACTIONS = ("", "", "", "wait go", "wait the end", "fail it is not to be", "die")
_DAY_S = 24 * 3600


class _Maker:
    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self.sessions = self._chance.choice((1, 1, 2, 3))
        self.clients = self._chance.choice((1, 2, 3))
        self.has_small_disk = self._chance.random() < 0.15
        self.turn_limit = self._chance.choice((1, 2, 5, 5))
        self.idle_retire_s = self._chance.choice((0.2, 600.0, 600.0))
        # In many rounds an agent waits for most of the time, and is neither compacted nor forked: in these it rests.
        self._rests = self._chance.random() < 0.4
        self.has_past = self._rests or self._chance.random() < 0.5
        self._said: list[Say] = []
        self._forks = 0

    def steps(self) -> list[Step]:
        chance = self._chance
        made: list[Step] = [self._watch(), self._say()]
        weighted: list[tuple[int, Callable[[], Step]]] = [
            (14, self._say),
            (4, self._say_again),
            (8, lambda: Answer(self._session(), chance.random() < 0.6, chance.choice(("", "", "same", "other")))),
            (4, lambda: Cancel(self._session(), chance.random() < 0.5)),
            (3, lambda: AskLock(self._session(), self._client())),
            (2, lambda: AnswerLock(self._session(), self._client(), self._client(), chance.random() < 0.5)),
            (1, lambda: Rename(self._session(), f"name {chance.randrange(100)}")),
            (16 if self._rests else 4, lambda: Compact(self._session(), chance.choice(COMPACTIONS))),
            (8 if self._rests else 3, self._fork),
            (1, lambda: Close(self._session(), delete=chance.random() < 0.4)),
            (5, lambda: Go(self._session())),
            (6, self._watch),
            (2, Cut),
            (2, lambda: Leave(chance.randrange(5))),
            (8, lambda: Kill(Target.DAEMON)),
            (3, lambda: Kill(Target.HOLDER, self._session())),
            (4, lambda: Kill(Target.AGENT, self._session())),
            (2, lambda: Kill(Target.CLIENT)),
            (3, lambda: Pause(chance.choice(list(Target)), self._session(), chance.randrange(10, 400))),
            (2, lambda: Hang(self._session())),
            (2, lambda: DieEarly(self._session())),
            (3, lambda: Stop(chance.choice(list(How)))),
            (1, lambda: LockDatabase(chance.randrange(10, 2500))),
            (8, lambda: DieAt(chance.choice(STEPS_OF_THE_DAEMON), chance.randrange(1, 10))),
            (2, lambda: MoveClock(chance.choice((-_DAY_S, -3600, -1, 1, 3600, _DAY_S)))),
        ]
        if self.has_small_disk:
            weighted.append((6, lambda: FillDisk(chance.randrange(50, 1500))))
        makers = [maker for weight, maker in weighted for _ in range(weight)]
        for _ in range(chance.randrange(8, 22)):
            step = chance.choice(makers)()
            made.append(step)
            if chance.random() < 0.7:
                made.append(Wait(int(chance.expovariate(1 / 60))))
            if isinstance(step, Compact) and chance.random() < 0.3:
                made.append(Cancel(step.session, chance.random() < 0.5))
        if chance.random() < 0.4:
            at = chance.choice((0, chance.randrange(2, len(made) + 1)))
            made[at:at] = self._abandoned()
        return made

    def _abandoned(self) -> list[Step]:
        """A turn is cancelled while its agent hangs or is gone, or is given up; the next message's agents die too."""
        chance, session, client = self._chance, self._session(), self._client()
        ends: list[Step] = [Go(session), TakeOver(session, client)]  # so that the messages are taken
        if chance.random() < 0.3:  # each message cuts the wait for the next agent short, until the turn is given up
            ends.append(self._say_to(session, "say before\ndie", client))
            for _ in range(5):
                ends += [Wait(chance.randrange(100, 500)), self._say_to(session, "say one two three", client)]
        else:
            ends += [self._say_to(session, chance.choice(ABANDONED_TEXTS), client), Wait(chance.randrange(300, 900))]
            ends.append(Hang(session) if chance.random() < 0.7 else Kill(Target.AGENT, session))
            ends += [Wait(chance.randrange(0, 100)), Cancel(session, chance.random() < 0.3)]
            ends.append(Wait(chance.choice((0, 300, 1500))))
        if chance.random() < 0.3:
            ends += [Kill(Target.DAEMON), TakeOver(session, client)]
        ends += [DieEarly(session), self._say_to(session, chance.choice(SHORT_TEXTS), client)]
        if chance.random() < 0.3:
            ends += [Wait(chance.randrange(100, 900)), DieEarly(session)]
        ends += [Wait(chance.randrange(200, 1500)), Answer(session, allow=True)]
        return ends

    def _session(self) -> int:
        return self._chance.randrange(self.sessions + self._forks)

    def _client(self) -> int:
        return self._chance.randrange(self.clients)

    def _say(self) -> Step:
        text = self._chance.choice(SHORT_TEXTS if self._rests else TEXTS)
        return self._say_to(self._session(), text, self._client())

    def _say_to(self, session: int, text: str, client: int) -> Say:
        name = str(uuid.UUID(int=self._chance.getrandbits(128), version=4))
        say = Say(session, client, name, text)
        self._said.append(say)
        return say

    def _say_again(self) -> Step:
        """The same message again: by the same client, or by another one."""
        before = self._chance.choice(self._said)
        return Say(before.session, self._client(), before.message_id, before.text)

    def _fork(self) -> Step:
        fork = Fork(self._session(), self._chance.choice((0, 0, 0, 500, 900)))
        self._forks += 1
        return fork

    def _watch(self) -> Step:
        chance = self._chance
        after = chance.choice((0, 0, 500, 1000))
        return Watch(self._session(), chance.choice(list(Way)), after, self._client())


def make_plan(seed: int) -> Plan:
    maker = _Maker(seed)
    steps = maker.steps()
    return Plan(
        seed=seed,
        sessions=maker.sessions,
        clients=maker.clients,
        has_small_disk=maker.has_small_disk,
        turn_limit=maker.turn_limit,
        idle_retire_s=maker.idle_retire_s,
        has_past=maker.has_past,
        steps=tuple(steps),
    )
