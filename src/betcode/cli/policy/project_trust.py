"""Ask whether to trust a project's agent configuration before the first agent of a session starts."""

from contextlib import suppress

from betcode.cli.core.options import CommandOptions
from betcode.cli.terminal.console import Screen
from betcode.cli.terminal.keyboard import can_ask
from betcode.cli.terminal.line_question import QuestionInterrupted, is_yes, read_answer
from betcode.client import Client, ClientError
from betcode.v1 import policy_pb2 as v1
from betcode.wording.project_trust import declined_words, item_lines, needs_question, question_words


async def resolve_trust(
    client: Client, options: CommandOptions, screen: Screen, session_id: str, *, is_new: bool = False
) -> tuple[str, ...]:
    """Trust the project with --trust, or ask on a terminal; return the paths that the agent will ignore.

    A person who declined is asked again only when the project's files change.

    Raises:
        QuestionInterrupted: the person pressed Ctrl-C. No answer is recorded, and a session that `is_new` is deleted.
    """
    found = await _inspected(client, session_id)
    if found is None or found.trusted or not found.items:
        return ()
    if await trusted_by_option(client, options, found):
        return ()
    if needs_question(found) and can_ask() and options.paths.remote is None:
        for line in item_lines(found):
            screen.show(line)
        try:
            answer = await read_answer(screen, f"{question_words(found)} [y/N] ")
        except QuestionInterrupted:
            if is_new:
                with suppress(ClientError):  # it has no message yet
                    await client.delete(session_id)
            raise
        if is_yes(answer):
            await client.policy.trust(found.project, trusted=True)
            return ()
        screen.note(declined_words(found))
        with suppress(ClientError):  # on failure the question is asked again next time
            await client.policy.decline(found.project)
    return tuple(item.path for item in found.items)


async def trust_for_screen(client: Client, options: CommandOptions, session_id: str) -> None:
    """Apply --trust; the screen asks all other questions itself."""
    if options.flag("trust") and (found := await _inspected(client, session_id)) is not None:
        await trusted_by_option(client, options, found)


async def trusted_by_option(client: Client, options: CommandOptions, found: v1.InspectProjectResponse) -> bool:
    """Trust the project if --trust was given; return whether it was."""
    if not options.flag("trust"):
        return False
    if not found.trusted:
        await client.policy.trust(found.project, trusted=True)
    return True


async def _inspected(client: Client, session_id: str) -> v1.InspectProjectResponse | None:
    """Return the inspection; None if the daemon cannot do it. It then ignores the project's files and reports that."""
    try:
        return await client.policy.inspect(session_id=session_id)
    except ClientError:
        return None
