"""Screen an agent's requests with rules and grants: answer at once, or ask a person and give the reason."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from betcode.domain.agents.agent_state import ToolCall
from betcode.domain.agents.commands import AnswerCall, AnswerPermission, Behaviour, CallVerdict
from betcode.domain.agents.project_files import Program, ProjectFiles
from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.errors import WorktreeUnusable
from betcode.domain.permissions.audit import AuditEntry, AuditKind, DecidedBy, input_hash
from betcode.domain.runs.launch import Forbidden, OnlyRules
from betcode.domain.store.rows import GrantRow, PromptRow
from betcode.domain.values.text import shortened
from betcode.engine.core import events
from betcode.engine.core.capability_checks import rule_reach_notice
from betcode.engine.core.record_batch import ScreeningResult
from betcode.engine.operations.grants import compiled
from betcode.engine.permissions.rule_files import RuleBook
from betcode.rules import (
    FOR_PEOPLE,
    Action,
    Grants,
    ScreenOutcome,
    ToolUse,
    Verdict,
    objection,
    offers,
    screen,
    segments,
)
from betcode.util.wall_clock import now_ns
from betcode.v1 import agent_pb2 as v1

if TYPE_CHECKING:
    from betcode.engine.shell.session import LiveSession

logger = logging.getLogger(__name__)

_LONGEST = 2_000  # characters of what is said of rules
_SEGMENTS = 100
_UNREAD = "the tool call could not be parsed"


class Screening:
    """The rules of a session as its files and grants are; `refresh` before asking."""

    def __init__(self, session: LiveSession) -> None:
        self._session = session
        self.book = self._book_of(session.writer.new.working_directory)
        self._made_of: tuple[int, tuple[GrantRow, ...]] | None = None
        self._rules = self.book.rules
        self._grants = Grants((), self.book.place)
        self._said_out_of_reach = False
        self.is_refused = False  # an agent refused to show its calls: the next one gets every rule at its launch

    def move_to(self, directory: str) -> None:
        """The agent works there; if that is another directory, the rules are those of it from the next `refresh` on."""
        session = self._session
        session.is_placed = True
        if directory != session.directory:
            session.directory = directory
            self.book = self._book_of(directory)
            self._made_of = None

    def _book_of(self, directory: str) -> RuleBook:
        new = self._session.writer.new
        of_claude = Program.CLAUDE in self._session.capabilities.project_files
        return self._session.context.rules.book(directory, new.environment, new.allowed_tools, of_claude=of_claude)

    async def refresh(self) -> None:
        """Read the files that have changed. Costs a look at each, in a thread, where none has."""
        places = self._session.context.places
        if not self._session.is_placed and places is not None:  # an earlier daemon started its agent
            with suppress(WorktreeUnusable):
                self.move_to(await places.directory_of(self._session.writer.new))
            self._session.is_placed = True
        await self.book.refresh()
        made_of = (self.book.version, tuple(self._session.grants))
        if made_of != self._made_of:
            self._rules = self.book.rules
            try:
                self._grants = await self.book.file_io.inline_or_run(lambda: compiled(made_of[1], self.book.place))
            except FilesystemTimeout as trouble:
                self._rules = self._rules.with_broken(f"the path of a grant ({trouble})")
                return
            self._made_of = made_of

    @property
    def is_wanted(self) -> bool:
        """Whether the agent is to ask about every use of a tool."""
        return self._would_be_wanted and self._session.capabilities.screens_calls

    @property
    def _would_be_wanted(self) -> bool:
        match self._session.context.settings.screen_all:
            case "always":
                return True
            case "never":
                return False
            case _:
                return self.book.forbids or bool(self._grants.deny.rules)

    def newly_out_of_reach(self) -> list[v1.AgentEvent]:
        """What is said, once, where rules want every use of a tool to be seen and the agent cannot be made to."""
        session = self._session
        if self._said_out_of_reach or not self._would_be_wanted or session.capabilities.screens_calls:
            return []
        self._said_out_of_reach = True
        words = rule_reach_notice(session.provider.name, session.capabilities)
        return [events.notice(v1.NOTICE_KIND_DEGRADED, words, capability="screens_calls")]

    @property
    def forbidden(self) -> Forbidden:
        """The rules that the next agent gets at its launch."""
        return self.book.forbidden(calls_are_screened=self.is_wanted and not self.is_refused)

    def only_rules(self, files: ProjectFiles) -> OnlyRules | None:
        """The rules that the next agent has in place of those in its own files, if these would remove a tool."""
        screened = self.is_wanted and not self.is_refused
        return self.book.only_rules(calls_are_screened=screened, reads_project=files is not ProjectFiles.IGNORED)

    @property
    def relies_on_calls(self) -> bool:
        """Whether the running agent was started without a deny rule because it was expected to show every call."""
        return self.is_wanted and not self.is_refused and self.book.needs_screening

    async def screen(self, request: v1.PermissionRequest, cwd: str | None = None) -> ScreeningResult:
        """Decide about a use that the agent asks for; `cwd` is where, as far as that was seen before it asked."""
        use = ToolUse.of(request.tool_name, request.input_json, cwd)
        began_ns = time.monotonic_ns()
        try:
            verdict = await self.book.file_io.inline_or_run(lambda: screen(use, self._rules, self._grants))
        except FilesystemTimeout as trouble:
            verdict = unanswered(trouble)
        self._note(began_ns, request.request_id, request.tool_name, verdict)
        entry = self._entry(request.request_id, request.tool_name, request.input_json, verdict)
        if verdict.outcome is ScreenOutcome.ASK or request.tool_name in FOR_PEOPLE:
            why, each_time = _why(verdict), verdict.rule is not None
            return ScreeningResult(entry, None, shortened(why, _LONGEST), segments(use)[:_SEGMENTS], each_time)
        allows = verdict.outcome is ScreenOutcome.ALLOW
        behaviour, message = (Behaviour.ALLOW, "") if allows else (Behaviour.DENY, _denial(verdict))
        return ScreeningResult(entry, AnswerPermission(request.request_id, behaviour, request.input_json, message))

    async def denial(self, tool_name: str, input_json: str, cwd: str | None = None) -> str:
        """Which rule denies a use that a person would allow, begun in `cwd` if that is known; empty: none does.

        Raises:
            FilesystemTimeout: that cannot be told now.
        """
        use = ToolUse.of(tool_name, input_json, cwd)
        verdict = await self.book.file_io.inline_or_run(lambda: screen(use, self._rules, self._grants))
        return shortened(str(verdict.rule), _LONGEST) if verdict.outcome is ScreenOutcome.DENY else ""

    async def denial_to(self, prompt: PromptRow, input_json: str) -> str:
        """The same of what a prompt would run: where, is known as long as its agent lives. Raises FilesystemTimeout."""
        run = self._session.run
        cwd = None if run is None else run.dialogue.directory_of(prompt.tool_use_id)
        return await self.denial(prompt.tool_name, input_json, cwd)

    async def screen_call(self, call: ToolCall) -> tuple[AnswerCall, AuditEntry | None]:
        """Decide about a use before the agent's own rules do; they decide where ours have nothing against it."""
        if call.tool_name in FOR_PEOPLE:
            return AnswerCall(call.request_id, CallVerdict.UNDECIDED), None
        if not call.input_json:
            return AnswerCall(call.request_id, CallVerdict.ASK, _UNREAD), None
        began_ns = time.monotonic_ns()
        use = ToolUse.of(call.tool_name, call.input_json, call.cwd or None)
        try:
            verdict = await self.book.file_io.inline_or_run(lambda: objection(use, self._rules, self._grants))
        except FilesystemTimeout as trouble:
            verdict = unanswered(trouble)
        self._note(began_ns, call.request_id, call.tool_name, verdict)
        if verdict is None:
            return AnswerCall(call.request_id, CallVerdict.UNDECIDED), None
        if verdict.outcome is ScreenOutcome.ASK:  # the agent asks next, and that is when it is decided
            return AnswerCall(call.request_id, CallVerdict.ASK, shortened(verdict.reason, _LONGEST)), None
        entry = self._entry(call.request_id, call.tool_name, call.input_json, verdict)
        return AnswerCall(call.request_id, CallVerdict.DENY, _denial(verdict)), entry

    async def offer(self, request: v1.PermissionRequest) -> None:
        """Put what may be granted in place of what the agent proposes; nothing where that cannot be told."""
        suggested = [offer.pattern for offer in request.grant_offers]
        del request.grant_offers[:]
        use = ToolUse.of(request.tool_name, request.input_json)
        with suppress(FilesystemTimeout):
            for offer in await self.book.file_io.inline_or_run(lambda: offers(use, self.book.place, suggested)):
                request.grant_offers.add(pattern=offer.pattern, label=offer.label)

    def _note(self, began_ns: int, request_id: str, tool_name: str, verdict: Verdict | None) -> None:
        outcome = "no objection" if verdict is None else verdict.outcome.value
        self._session.turns.evaluated(began_ns, tool_name, outcome)
        if logger.isEnabledFor(logging.DEBUG):
            rules = [] if verdict is None else [shortened(str(rule), _LONGEST) for rule in verdict.rules]
            facts: dict[str, object] = {
                "span": "turn.permission",
                "request_id": request_id[:200],
                "tool": tool_name[:200],
                "rules": rules,
            }
            logger.debug("rules and grants say: %s", outcome, extra={**self._session.log_extra, **facts})

    def _entry(self, request_id: str, tool_name: str, input_json: str, verdict: Verdict) -> AuditEntry:
        by_grant = verdict.outcome is ScreenOutcome.ALLOW and any(rule.action is Action.GRANT for rule in verdict.rules)
        rules = "; ".join(dict.fromkeys(str(rule) for rule in verdict.rules))
        return AuditEntry(
            at_ns=now_ns(),
            session_id=self._session.session_id,
            request_id=request_id,
            tool_name=tool_name,
            input_sha256=input_hash(input_json),
            what=AuditKind.DECISION,
            outcome=verdict.outcome.value,
            decided_by=DecidedBy.GRANT if by_grant else DecidedBy.RULE,
            rule=shortened(rules, _LONGEST),
            note=shortened(verdict.reason, _LONGEST),
        )


def unanswered(trouble: FilesystemTimeout) -> Verdict:
    """What is said to a use while files do not tell what it is about."""
    return Verdict(ScreenOutcome.ASK, f"{trouble}, so betcode does not know which rules cover it")


def _why(verdict: Verdict) -> str:
    """Why a person is asked: the rule that says so and where it stands, or the reason."""
    rule = verdict.rule
    if rule is None:
        return verdict.reason
    return str(rule) if rule.action is Action.ASK else f"{verdict.reason} ({rule.source})"


def _denial(verdict: Verdict) -> str:
    """What the agent is told."""
    return shortened(f"Denied by a permission rule: {verdict.rule}", _LONGEST)
