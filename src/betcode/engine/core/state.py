"""A session as a value, and the one function that changes it.

`apply` takes the same changes that the store commits, so memory and database cannot diverge.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from betcode.domain.runs.state import LIVE
from betcode.domain.sessions.binding import NO_BINDING, SessionBinding
from betcode.domain.sessions.input_transitions import OPEN
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
    PromptRow,
    PromptState,
    RunRow,
    SessionState,
)
from betcode.domain.values.identifiers import RunKey

NO_RUN = RunKey(0)  # the run of a prompt that the engine itself opens: no agent asks it, and none withdraws it


@dataclass(frozen=True, slots=True)
class Session:
    """The open rows of a session. Only the functions of this module make a new one."""

    state: SessionState
    run: RunRow | None = None  # the newest one, live or ended
    inputs: Mapping[str, InputRow] = field(default_factory=dict)  # open ones by id, in the order of delivery
    prompts: Mapping[str, PromptRow] = field(default_factory=dict)  # open ones that a live agent waits for
    orphaned: Mapping[str, PromptRow] = field(default_factory=dict)  # open or carried ones whose agent has ended
    budget_prompt: PromptRow | None = None  # the open question whether to raise the budget
    grants: tuple[GrantRow, ...] = ()  # oldest first
    binding: SessionBinding = NO_BINDING


def restored(
    state: SessionState,
    run: RunRow | None,
    inputs: Iterable[InputRow],
    prompts: Iterable[PromptRow],
    grants: Iterable[GrantRow],
    binding: SessionBinding = NO_BINDING,
) -> Session:
    """Return the session that the stored open rows describe."""
    rows: list[Change] = [AddInput(row) for row in inputs]
    rows += [SavePrompt(row) for row in prompts]
    return apply(Session(state, run, grants=tuple(grants), binding=binding), rows)


def apply(session: Session, changes: Iterable[Change]) -> Session:
    """Return the session after these changes."""
    draft = SessionDraft(session)
    for change in changes:
        draft.add(change)
    return draft.session()


def without_agent(session: Session) -> Session:
    """Return the session of an agent that has ended without a record: the prompts it waited for are orphaned."""
    return replace(session, prompts={}, orphaned={**session.orphaned, **session.prompts})


def with_nothing_open(session: Session) -> Session:
    """Return the session after a failure that was recorded: no input, prompt or question is open."""
    return Session(session.state, session.run, grants=session.grants, binding=session.binding)


def with_grant(rows: Iterable[GrantRow], row: GrantRow) -> tuple[GrantRow, ...]:
    """Return the grants with one more. It replaces the grant of the same pattern."""
    others = (old for old in rows if (old.tool_name, old.pattern) != (row.tool_name, row.pattern))
    return (*others, row)


def is_continuation(row: InputRow) -> bool:
    """Whether the engine itself sent this message, so that the agent continues a broken turn."""
    return row.kind is InputKind.MESSAGE and row.content == row.input_id.encode()


class SessionDraft:
    """A session with changes that are not committed yet.

    A mapping is copied only when a change touches it: most commits touch none.
    """

    def __init__(self, session: Session) -> None:
        self._before = session
        self._state = session.state
        self._run = session.run
        self._budget_prompt = session.budget_prompt
        self._grants = session.grants
        self._binding = session.binding
        self._inputs: dict[str, InputRow] | None = None
        self._prompts: dict[str, PromptRow] | None = None
        self._orphaned: dict[str, PromptRow] | None = None

    @property
    def inputs(self) -> Mapping[str, InputRow]:
        return self._before.inputs if self._inputs is None else self._inputs

    @property
    def prompts(self) -> Mapping[str, PromptRow]:
        return self._before.prompts if self._prompts is None else self._prompts

    @property
    def orphaned(self) -> Mapping[str, PromptRow]:
        return self._before.orphaned if self._orphaned is None else self._orphaned

    def session(self) -> Session:
        """Return the value with every change so far."""
        return Session(
            self._state,
            self._run,
            self.inputs,
            self.prompts,
            self.orphaned,
            self._budget_prompt,
            self._grants,
            self._binding,
        )

    def add(self, change: Change) -> None:
        """Apply one change."""
        match change:
            case SaveSession():
                self._state = change.state
            case SaveRun():
                self._save_run(change.run)
            case AddInput():
                self._add_input(change.row)
            case AssignInput():
                self._assign_input(change)
            case MoveInput():
                self._move_input(change)
            case SavePrompt():
                self._save_prompt(change.row)
            case AddGrant():
                self._grants = with_grant(self._grants, change.grant)
            case ClearGrant():
                named = (change.tool_name, change.pattern)
                self._grants = tuple(row for row in self._grants if (row.tool_name, row.pattern) != named)
            case SaveBinding():
                self._binding = change.binding
            case _:
                pass  # events, blobs, clients, metadata and audit entries are not part of the value

    def _own_inputs(self) -> dict[str, InputRow]:
        if self._inputs is None:
            self._inputs = dict(self._before.inputs)
        return self._inputs

    def _own_prompts(self) -> dict[str, PromptRow]:
        if self._prompts is None:
            self._prompts = dict(self._before.prompts)
        return self._prompts

    def _own_orphaned(self) -> dict[str, PromptRow]:
        if self._orphaned is None:
            self._orphaned = dict(self._before.orphaned)
        return self._orphaned

    def _save_run(self, row: RunRow) -> None:
        if self._run is not None and row.key < self._run.key:
            return  # an earlier run got its final state
        self._run = row
        if row.state not in LIVE and self.prompts:
            self._own_orphaned().update(self.prompts)
            self._prompts = {}

    def _add_input(self, row: InputRow) -> None:
        if is_continuation(row):  # before the messages that wait: their turn is not the broken one
            self._inputs = {row.input_id: row, **self.inputs}
        else:
            self._own_inputs()[row.input_id] = row

    def _assign_input(self, change: AssignInput) -> None:
        if (row := self.inputs.get(change.input_id)) is not None:
            after = replace(row, run=change.run, number=change.number, payload=change.payload)
            self._own_inputs()[change.input_id] = after

    def _move_input(self, change: MoveInput) -> None:
        if (row := self.inputs.get(change.input_id)) is None:
            return
        if change.state in OPEN:
            self._own_inputs()[change.input_id] = replace(row, state=change.state)
        else:
            del self._own_inputs()[change.input_id]

    def _save_prompt(self, row: PromptRow) -> None:
        is_open = row.state is PromptState.OPEN
        if row.run == NO_RUN:
            if is_open or (self._budget_prompt is not None and self._budget_prompt.request_id == row.request_id):
                self._budget_prompt = row if is_open else None
        elif is_open and self._run is not None and self._run.state in LIVE and row.run == self._run.key:
            self._own_prompts()[row.request_id] = row
        elif is_open or row.kept is not CarriedState.NO:
            self._own_prompts().pop(row.request_id, None)
            self._own_orphaned()[row.request_id] = row
        else:
            self._own_prompts().pop(row.request_id, None)
            self._own_orphaned().pop(row.request_id, None)
