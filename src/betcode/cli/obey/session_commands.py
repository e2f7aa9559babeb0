"""`obey session info`, `stop`, `restart` and `answer`."""

from betcode.cli.obey.connect import connected, find_session
from betcode.cli.obey.failure import ObeyExit, usage_error
from betcode.cli.obey.input_values import pairs_of
from betcode.cli.obey.options import ObeyCommandOptions
from betcode.cli.obey.records import session_json, versioned
from betcode.cli.obey.session_lines import info_lines
from betcode.cli.terminal.console import Screen, standard_screen
from obey.local.v1 import local_pb2 as v1


async def info(options: ObeyCommandOptions) -> int:
    screen = standard_screen(colour=options.colour)
    async with connected(options, screen, doing="Looking") as client:
        session = await find_session(client, options)
    show_session(options, screen, session)
    return ObeyExit.OK


def show_session(options: ObeyCommandOptions, screen: Screen, session: v1.SessionInfo, **also: object) -> None:
    """Print the facts about a session, one per line, `Session: ID` first."""
    if options.as_json:
        screen.json(versioned("session", {"session": session_json(session), **also}), indent=2)
        return
    for line in info_lines(session):
        screen.line(line)


async def stop(options: ObeyCommandOptions) -> int:
    screen = standard_screen(colour=options.colour)
    is_forced = options.flag("force")
    async with connected(
        options, screen, doing="Stopping" if is_forced else "Stopping after the current work"
    ) as client:
        found = await find_session(client, options)
        session = await client.stop(found.id, graceful=not is_forced)
    show_session(options, screen, session)
    return ObeyExit.OK


async def restart(options: ObeyCommandOptions) -> int:
    """Continue a finished session as a new one, and print the new id."""
    screen = standard_screen(colour=options.colour)
    config = pairs_of("--config", options.texts("config"), may_be_json=True)
    async with connected(options, screen, doing="Restarting") as client:
        found = await find_session(client, options)
        session = await client.restart(found.id, config)
    show_session(options, screen, session, restarted_from=found.id)
    return ObeyExit.OK


async def answer(options: ObeyCommandOptions) -> int:
    screen = standard_screen(colour=options.colour)
    is_allowed = options.text("decision") == "allow"
    if options.flag("for_session") and not is_allowed:
        raise usage_error("--for-session requires allow", "obey session answer --help")
    if options.has("message") and is_allowed:
        raise usage_error("--message requires deny", "obey session answer --help")
    request = v1.AnswerPermissionRequest(
        request_id=options.text("prompt"),
        allow=is_allowed,
        for_session=options.flag("for_session"),
        message=options.text("message"),
    )
    async with connected(options, screen, doing="Answering") as client:
        request.session_id = (await find_session(client, options)).id
        was_answered = await client.answer(request)
    if options.as_json:
        facts = {"session_id": request.session_id, "request_id": request.request_id, "allowed": is_allowed}
        screen.json(versioned("session.answer", {**facts, "already_answered": was_answered}))
    else:
        how = "Allowed" if is_allowed else "Denied"
        screen.line(f"{how}, as it already was" if was_answered else how)
    return ObeyExit.OK
