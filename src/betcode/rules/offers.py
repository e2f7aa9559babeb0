"""The grants offered for a tool call: rules that cover it, the narrowest first."""

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from betcode.rules.domains import host_of
from betcode.rules.evaluate import FOR_PEOPLE, Coverage, ToolUse
from betcode.rules.lists import EDITING, READING, RuleList, canonical
from betcode.rules.rule import COMMAND_TOOLS, NAMED_TOOLS, Action, Layer, Rule, RuleProblem, Source, parse_rule
from betcode.rules.session_paths import PathContext
from betcode.rules.syntax.commands import CommandKind, Script, names

_SESSION: Final = Source(Layer.SESSION)
_MOST: Final = 8
_NAME: Final = re.compile(r"[A-Za-z_][\w.:-]*")
_WORD: Final = re.compile(r"[A-Za-z][\w.:-]*")
_WITH_SUBCOMMANDS: Final = names(
    "apt apt-get brew bun bundle cargo composer deno docker dotnet gem gh git glab go gradle helm kubectl mix mvn nix "
    "npm nx pip pip3 pipenv pnpm podman poetry rustup svn swift systemctl terraform turbo uv yarn"
)
_WITH_MORE: Final = frozenset(
    {"npm run", "pnpm run", "yarn run", "bun run", "bundle exec", "docker compose", "go mod", "poetry run", "uv run"}
)
# With further arguments these are equivalent to every command, or destroy data for good.
_TOO_WIDE: Final = names(
    ". awk bash bunx chmod chown csh curl dash dd doas env eval exec fish gawk kill killall ksh lua nc node npx perl "
    "php pkill python python2 python3 rm rmdir ruby scp sh shred source ssh su sudo tee uvx wget xargs zsh"
)


@dataclass(frozen=True, slots=True)
class Offer:
    pattern: str
    label: str  # a short description


def granting(pattern: str, use: ToolUse, place: PathContext) -> Rule | str:
    """The rule to be granted with an answer about this use, or why it cannot be, in one sentence."""
    return _granting(pattern, use, place, Coverage(use, place))


def _granting(pattern: str, use: ToolUse, place: PathContext, coverage: Coverage) -> Rule | str:
    if use.tool in FOR_PEOPLE:
        return f"{use.tool} can only be answered by a person, so it cannot be granted"
    if not _is_one_tool(use.tool):
        return "The tool's name would cover more than this tool as a rule, so it cannot be granted"
    rule = parse_rule(pattern, Action.GRANT, _SESSION)
    if isinstance(rule, RuleProblem):
        return f"{rule.text[:200]} cannot be granted: {rule.reason}"
    if not _speaks_of(rule, use.tool, place):
        return f"{rule.text[:200]} is a rule for another tool, not for {use.tool}"
    if not coverage.by(rule):
        return f"{rule.text[:200]} does not cover this call"
    return rule


def exact_rule(use: ToolUse, place: PathContext) -> str | None:
    """Return the narrowest rule for this use: its command, file or host, or the tool if rules cannot be narrower."""
    coverage = Coverage(use, place)
    rule = _narrowest(use, place, coverage)
    return rule if rule is not None and isinstance(_granting(rule, use, place, coverage), Rule) else None


def offers(use: ToolUse, place: PathContext, suggested: Iterable[str] = ()) -> tuple[Offer, ...]:
    """Rules that a person may grant, none of them wider than its label; each is about the tool and covers the use."""
    found: dict[str, Offer] = {}
    coverage = Coverage(use, place)
    for offer in _candidates(use, place, coverage, suggested):
        rule = _granting(offer.pattern, use, place, coverage)
        if isinstance(rule, Rule):
            found.setdefault(rule.text.replace(":*)", " *)"), Offer(rule.text, offer.label))  # two ways to write it
    made = tuple(found.values())[:_MOST]
    # Every use of a tool is more than a person intends who accepts the first offer, if a narrower rule is possible.
    return () if made and "(" not in made[0].pattern and _has_narrower(use.tool) else made


def _is_one_tool(name: str) -> bool:
    """Return whether the name, as a rule, covers only that tool: it has no star, and is no MCP server."""
    parts = name.split("__")
    is_whole = not name.startswith("mcp__") or (len(parts) > 2 and parts[1] != "" and any(parts[2:]))
    return is_whole and _NAME.fullmatch(name) is not None


def _has_narrower(tool: str) -> bool:
    """Return whether rules can cover less of the tool than all its uses."""
    return tool in COMMAND_TOOLS | READING | EDITING | {"WebFetch"} or canonical(tool) in NAMED_TOOLS


def _speaks_of(rule: Rule, tool: str, place: PathContext) -> bool:
    general = "Edit" if tool in EDITING else "Read" if tool in READING else tool
    if canonical(rule.tool) in (canonical(tool), general):
        return True
    return RuleList([rule], place, forbids=False).whole(tool) is not None


# ---------------------------------------------------------------- candidates


def _candidates(use: ToolUse, place: PathContext, coverage: Coverage, suggested: Iterable[str]) -> Iterator[Offer]:
    exact = _narrowest(use, place, coverage)
    if exact is not None and exact != use.tool:
        yield Offer(exact, _label(use))
    between = [*_wider(use, place, coverage), *(Offer(pattern, "as the agent proposes") for pattern in suggested)]
    yield from sorted((offer for offer in between if "(" in offer.pattern), key=lambda offer: -len(offer.pattern))
    yield Offer(use.tool, f"every use of {use.tool}")
    yield from (offer for offer in between if "(" not in offer.pattern)


def _narrowest(use: ToolUse, place: PathContext, coverage: Coverage) -> str | None:
    given = use.input or {}
    if use.tool in COMMAND_TOOLS:
        command = given.get("command")
        return (
            f"{use.tool}({_without_stars(command.strip())})" if isinstance(command, str) and command.strip() else None
        )
    if use.tool in READING | EDITING:
        path = coverage.path
        # Blanks at the end of a rule are not part of it, and without them it may mean much more.
        return None if path is None or path != path.rstrip() else _path_rule(use.tool, path, place)
    if use.tool == "WebFetch":
        address = given.get("url")
        host = host_of(address) if isinstance(address, str) else None
        return None if host is None else f"WebFetch(domain:{host})"
    if canonical(use.tool) in NAMED_TOOLS:
        name = given.get("subagent_type" if canonical(use.tool) == "Agent" else "skill")
        return f"{use.tool}({_without_stars(name)})" if isinstance(name, str) and name else None
    return use.tool


def _label(use: ToolUse) -> str:
    if use.tool in COMMAND_TOOLS:
        return "this command"
    if use.tool in ("Grep", "Glob", "LS"):
        return "in this directory"
    if use.tool in READING | EDITING:
        return "this file"
    if use.tool == "WebFetch":
        return "this host"
    return "this kind" if canonical(use.tool) in NAMED_TOOLS else "this tool"


def _wider(use: ToolUse, place: PathContext, coverage: Coverage) -> Iterator[Offer]:
    if use.tool == "Bash" and coverage.script is not None:
        yield from _prefix(coverage.script)
    elif use.tool in READING | EDITING and (path := coverage.path) is not None:
        yield from _directory(use.tool, path, place)
    elif use.tool.startswith("mcp__") and len(parts := use.tool.split("__")) > 2 and parts[1]:
        yield Offer(f"mcp__{parts[1]}__*", f"every tool of {parts[1]}")


def _prefix(script: Script) -> Iterator[Offer]:
    """Return the program with its subcommand and any arguments, if that is specific enough."""
    if len(script.parts) != 1 or script.parts[0].kind is not CommandKind.PLAIN:
        return
    values = [word.value for word in script.parts[0].command.words]
    program = values[0]
    if program is None or not _WORD.fullmatch(program) or program in _TOO_WIDE:
        return
    length = 1
    if program in _WITH_SUBCOMMANDS:
        length = 3 if " ".join(value or "" for value in values[:2]) in _WITH_MORE else 2
    said = [value for value in values[:length] if value is not None and _WORD.fullmatch(value)]
    if len(said) == length and not (length > 1 and said[-1] in _TOO_WIDE):
        yield Offer(f"Bash({' '.join(said)} *)", f"{' '.join(said)} with anything")


def _directory(tool: str, path: str, place: PathContext) -> Iterator[Offer]:
    parent = posixpath.dirname(path)
    if tool in ("Grep", "Glob", "LS") or parent in ("/", place.home):
        return
    general = "Edit" if tool in EDITING else "Read"
    does = "changing" if tool in EDITING else "reading"
    if parent == place.directory:
        yield Offer(f"{general}(./**)", f"{does} files of this project")
        return
    inside = _inside(parent, place)
    below = _escaped(inside) if inside is not None else _outside(parent, place)
    yield Offer(f"{general}({_marked(below)}/**)", f"{does} files in {inside or parent}")


# ---------------------------------------------------------------- spelling


def _without_stars(text: str) -> str:
    return text.replace("*", "\\*")


def _path_rule(tool: str, path: str, place: PathContext) -> str:
    inside = _inside(path, place)
    if inside is None:
        return f"{tool}({_outside(path, place)})"
    # A bare name would match every file of that name, at any depth.
    return f"{tool}({_marked(_escaped(inside)) if '/' in inside else './' + _escaped(inside)})"


def _inside(path: str, place: PathContext) -> str | None:
    """The path as seen from the session's directory; None where it is not below."""
    top = place.directory.rstrip("/") + "/"
    return path[len(top) :] if path.startswith(top) else None


def _outside(path: str, place: PathContext) -> str:
    if path.startswith(place.home.rstrip("/") + "/"):
        return "~/" + _escaped(path[len(place.home.rstrip("/")) + 1 :])
    return "/" + _escaped(path)


def _marked(pattern: str) -> str:
    return f"./{pattern}" if pattern.startswith(("!", "~")) and not pattern.startswith("~/") else pattern


def _escaped(path: str) -> str:
    return re.sub(r"([*?\[\\])", r"\\\1", path)
