"""A session in memory is what the store would give back: both get the same changes."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from betcode.domain.runs.state import LIVE, RunState
from betcode.domain.store.changes import (
    AddGrant,
    AddInput,
    AssignInput,
    Change,
    ClearGrant,
    MoveInput,
    SaveBinding,
    SavePrompt,
    SaveRun,
    SaveSession,
)
from betcode.domain.store.rows import (
    CarriedState,
    GrantRow,
    InputKind,
    InputRow,
    InputState,
    NewRun,
    PromptKind,
    PromptRow,
    PromptState,
    SessionState,
)
from betcode.domain.values.identifiers import Seq, SessionKey, new_run_id
from betcode.engine.core.state import NO_RUN, Session, apply, restored
from betcode.storage import SqliteStore
from support.storage.rows import new_session, store_at

pytestmark = pytest.mark.anyio


KINDS = ("input", "input", "move", "assign", "run", "prompt", "prompt", "save", "grant", "name", "bind")


class Course:
    """Random commits of one session, as the engine could make them."""

    def __init__(self, store: SqliteStore, key: SessionKey, chance: random.Random) -> None:
        self.store, self.key, self.chance = store, key, chance
        self.session = Session(SessionState())
        self._made = 0

    def _name(self) -> str:
        self._made += 1
        return f"{self.key}-{self._made}"

    async def step(self) -> None:
        changes: list[Change] = []
        for _ in range(self.chance.randint(1, 3)):
            after = apply(self.session, changes)
            changes += await self._some(after)
        await self.store.commit(changes)
        self.session = apply(self.session, changes)

    async def _some(self, session: Session) -> list[Change]:
        match self.chance.choice(KINDS):
            case "input":
                return [AddInput(self._input())]
            case "move" if session.inputs:
                return [
                    MoveInput(self.key, self.chance.choice(list(session.inputs)), self.chance.choice(list(InputState)))
                ]
            case "assign" if session.inputs and session.run is not None:
                name = self.chance.choice(list(session.inputs))
                return [AssignInput(self.key, name, session.run.key, self.chance.randint(1, 9), b"addressed")]
            case "run":
                return await self._run(session)
            case "prompt":
                return [SavePrompt(self._prompt(session))]
            case "save":
                return self._saved(session)
            case "grant":
                pattern = self.chance.choice("abc")
                row = GrantRow(self.key, "Bash", pattern, self.chance.random() < 0.5, self._made)
                cleared = ClearGrant(self.key, "Bash", pattern)
                return [cleared, AddGrant(row)] if self.chance.random() < 0.7 else [cleared]
            case "name":
                return [SaveSession(self.key, replace(session.state, name=self._name()))]
            case "bind":
                failure = self.chance.choice(["", "an error"])
                return [SaveBinding(self.key, replace(session.binding, failure=failure, stop_by_ns=self._made))]
            case _:
                return []

    def _input(self) -> InputRow:
        name = self._name()
        return InputRow(name, self.key, self.chance.choice(list(InputKind)), b"bytes", created_ns=self._made)

    async def _run(self, session: Session) -> list[Change]:
        """A live run ends; where none lives, another begins."""
        if session.run is not None and session.run.state in LIVE:
            return [SaveRun(replace(session.run, state=RunState.EXITED))]
        return [SaveRun(await self.store.create_run(NewRun(self.key, new_run_id(), self._made, 1, b"")))]

    def _prompt(self, session: Session) -> PromptRow:
        is_live = session.run is not None and session.run.state in LIVE
        run = session.run.key if session.run is not None and is_live and self.chance.random() < 0.8 else NO_RUN
        if run == NO_RUN and session.budget_prompt is not None:
            return replace(session.budget_prompt, state=PromptState.WITHDRAWN)  # one at a time
        name = self._name()
        return PromptRow(name, self.key, run, PromptKind.PERMISSION, "Bash", "{}", b"", Seq(self._made), self._made)

    def _saved(self, session: Session) -> list[Change]:
        """A prompt gets another state; what is carried over belongs to an agent that has ended."""
        rows = [*session.prompts.values(), *session.orphaned.values()]
        if not rows:
            return []
        row = self.chance.choice(rows)
        kept = self.chance.choice(list(CarriedState)) if row.request_id in session.orphaned else CarriedState.NO
        return [SavePrompt(replace(row, state=self.chance.choice(list(PromptState)), kept=kept))]

    async def stored(self) -> Session:
        store, key = self.store, self.key
        prompts = [*(row for _, row in await store.open_prompts(key)), *await store.kept_prompts(key)]
        inputs = await store.open_inputs(key)
        run, grants, bound = await store.newest_run(key), await store.grants(key), await store.bound(key)
        return restored(self.session.state, run, inputs, prompts, grants, bound.binding)


@pytest.mark.parametrize("seed", range(3))
async def test_memory_and_store_agree_after_every_commit(tmp_path: Path, seed: int) -> None:
    async with store_at(tmp_path / "betcode.db") as store:
        course = Course(store, await new_session(store), random.Random(seed))
        for _ in range(40):
            await course.step()
            assert course.session == await course.stored()
            assert list(course.session.inputs) == [row.input_id for row in await store.open_inputs(course.key)]
