"""Evaluate the rules for a hypothetical tool call."""

from dataclasses import dataclass
from pathlib import Path

from betcode.domain.agents.project_files import Program
from betcode.domain.bounded_io import FilesystemTimeout
from betcode.domain.errors import InvalidRequest, SessionNotFound
from betcode.domain.values.identifiers import SessionId
from betcode.engine.context import EngineContext
from betcode.engine.operations.grants import compiled
from betcode.engine.permissions.rule_files import RuleBook
from betcode.engine.permissions.screening import unanswered
from betcode.engine.shell.working_directory import last_known_directory
from betcode.rules import Lists, ScreenOutcome, ToolUse, Verdict, screen, segments

INPUT_LIMIT_CHARACTERS = 4 * 1024 * 1024
_REMOVED = (
    "Claude Code itself removes {} because of a rule in {}: the model cannot use it, and no person is asked. "
    "Remove the rule there; a rule in betcode's own settings denies each call instead"
)


@dataclass(frozen=True, slots=True)
class PolicyCheckResult:
    verdict: Verdict
    segments: tuple[str, ...]
    lists: Lists
    directory: str


async def check(
    context: EngineContext, tool: str, input_json: str, *, directory: str, session: SessionId | None
) -> PolicyCheckResult:
    """The verdict for a new session in that directory, or for a session with its own command line and grants.

    Raises:
        InvalidRequest: no tool or no directory is named, or the input is no JSON object.
        SessionNotFound
    """
    if not tool:
        raise InvalidRequest("No tool is named: give its name and its input")
    if len(input_json) > INPUT_LIMIT_CHARACTERS:
        raise InvalidRequest(f"The input is longer than {INPUT_LIMIT_CHARACTERS} characters: make it shorter")
    use = ToolUse.of(tool, input_json or "{}")
    if use.input is None:
        raise InvalidRequest("The input is not a JSON object")
    if session is None:
        book, granted, of_claude = context.rules.book(_checked(directory)), None, True
    else:
        row = await context.store.find_session(session)
        if row is None:
            raise SessionNotFound(session)
        directory = await last_known_directory(context, row.new)
        provider = context.providers.get(row.new.provider)
        of_claude = provider is not None and Program.CLAUDE in provider.capabilities_for(row.new).project_files
        book = context.rules.book(directory, row.new.environment, row.new.allowed_tools, of_claude=of_claude)
        granted = await context.store.grants(row.key)
    await book.refresh()

    def decide() -> Verdict:
        return screen(use, book.rules, None if granted is None else compiled(granted, book.place))

    try:
        verdict = await book.file_io.inline_or_run(decide)
    except FilesystemTimeout as trouble:
        verdict = unanswered(trouble)
    removed = _removed(book, tool, context.settings.screen_all != "never") if of_claude else None
    return PolicyCheckResult(removed or verdict, segments(use), book.lists, book.place.directory)


def _removed(book: RuleBook, tool: str, calls_are_screened: bool) -> Verdict | None:
    """What to say of a tool that Claude Code takes from the model without asking betcode."""
    reads_project = not book.lists.untrusted  # without trust the agent starts without the project's files
    rule = book.removal(tool, reads_project=reads_project)
    if rule is None or book.only_rules(calls_are_screened=calls_are_screened, reads_project=reads_project):
        return None
    return Verdict(ScreenOutcome.DENY, _REMOVED.format(tool, rule.source), (rule,))


def _checked(directory: str) -> str:
    if not Path(directory).is_absolute():
        raise InvalidRequest(f"{directory[:500]!r} is not a directory: give the absolute path, or name a session")
    return directory
