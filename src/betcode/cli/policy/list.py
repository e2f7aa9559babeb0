"""`betcode policy list`: list the rules in force and the file of each."""

from betcode.cli.core.connect import connected
from betcode.cli.core.directory import working_directory
from betcode.cli.core.exit_codes import CommandFailed, ExitCode
from betcode.cli.core.options import CommandOptions
from betcode.cli.session.lookup import find_session
from betcode.cli.terminal.console import standard_screen
from betcode.cli.terminal.table import uncut_table
from betcode.v1 import config_pb2 as v1

_HEADINGS = ("RULE", "WHAT", "FROM")
_WORDS = {
    v1.PERMISSION_ACTION_ALLOW: "allow",
    v1.PERMISSION_ACTION_ASK: "ask",
    v1.PERMISSION_ACTION_DENY: "deny",
}


async def list_rules(options: CommandOptions) -> int:
    screen = standard_screen()
    session = options.text("session")
    if session and options.text("cwd"):
        raise CommandFailed("Give either a session or a directory, not both", ExitCode.INVALID_ARGUMENTS)
    async with connected(options, screen) as client:
        if session:
            found = await client.config.permissions(session_id=await find_session(client, session))
        else:
            found = await client.config.permissions(working_directory=working_directory(options))
    if options.as_json:
        facts: dict[str, object] = {"rules": [_json(rule) for rule in found.rules]}
        facts |= {"untrusted": [_json(rule) for rule in found.untrusted], "problems": list(found.problems)}
        screen.json(facts, indent=2)
        return ExitCode.OK
    if found.rules:
        rows = [(_WORDS.get(rule.action, "?"), rule.text, rule.source) for rule in found.rules]
        for line in uncut_table(_HEADINGS, rows, screen.width if screen.is_terminal else None):
            screen.line(line)
    else:
        screen.line("No rules: every request of the agent requires an answer")
    for problem in found.problems:
        screen.note(f"Not used: {problem}")
    for rule in found.untrusted:
        screen.note(f"Ignored, because the project is not trusted: {_WORDS.get(rule.action, '?')} {rule.text}")
    return ExitCode.OK


def _json(rule: v1.PermissionRule) -> dict[str, object]:
    return {
        "action": _WORDS.get(rule.action, "?"),
        "rule": rule.text,
        "layer": rule.layer,
        "source": rule.source,
    }
