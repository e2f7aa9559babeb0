"""Rules written as short as they can be, for tests."""

from collections.abc import Iterable

from betcode.rules import Action, Grants, Layer, PathContext, Rule, Rules, Source, ToolUse, Verdict, parse_rule, screen

HOME = "/home/ada"
PROJECT = "/home/ada/project"


def as_written(path: str) -> str:
    """A place without links."""
    return path


PLACE = PathContext(PROJECT, HOME, (f"{HOME}/.config/betcode",), as_written)


def ruled(action: Action, texts: Iterable[str], source: Source | None = None) -> list[Rule]:
    found = [parse_rule(text, action, source or Source(Layer.USER)) for text in texts]
    assert all(isinstance(rule, Rule) for rule in found), [str(rule) for rule in found]
    return [rule for rule in found if isinstance(rule, Rule)]


def rules(
    *, allow: Iterable[str] = (), ask: Iterable[str] = (), deny: Iterable[str] = (), place: PathContext = PLACE
) -> Rules:
    return Rules(
        [*ruled(Action.DENY, deny), *ruled(Action.ASK, ask), *ruled(Action.ALLOW, allow)],
        place,
    )


def grants(*texts: str, place: PathContext = PLACE) -> Grants:
    return Grants(ruled(Action.GRANT, texts, Source(Layer.SESSION)), place)


def bash(command: str) -> ToolUse:
    return ToolUse("Bash", {"command": command})


def screened(command: str, by: Rules, granted: Grants | None = None) -> Verdict:
    return screen(bash(command), by, granted)
