"""One rule, such as `Bash(git *)`, with its list and its source."""

import re
from dataclasses import dataclass
from enum import StrEnum

TEXT_CHARACTERS = 4096  # of one rule; nobody writes longer ones by hand


class Action(StrEnum):
    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"
    GRANT = "grant"  # granted by a person for one session


class Layer(StrEnum):
    """The source of rules, the strongest first. Their lists are merged; only trust depends on the layer."""

    FLAGS = "flags"
    LOCAL = "local"  # .claude/settings.local.json
    PROJECT = "project"  # .claude/settings.json
    USER = "user"
    AGENT = "agent"  # the user's settings file of Claude Code itself
    MANAGED = "managed"  # an administrator's settings of Claude Code
    SESSION = "session"


# A repository can contain both files, although one of them is intended to be personal.
FROM_THE_PROJECT = frozenset({Layer.LOCAL, Layer.PROJECT})


@dataclass(frozen=True, slots=True)
class Source:
    layer: Layer
    path: str = ""  # empty: no file
    line: int = 0
    anchor: str = ""  # the directory that `/path` begins at; empty: the session's

    def __str__(self) -> str:
        if not self.path:
            return self.layer.value
        return f"{self.path}:{self.line}" if self.line else self.path


@dataclass(frozen=True, slots=True)
class Rule:
    action: Action
    tool: str  # a name, or a glob of names
    specifier: str | None  # the text in the parentheses; None: every use of the tool
    source: Source

    @property
    def text(self) -> str:
        return self.tool if self.specifier is None else f"{self.tool}({self.specifier})"

    def __str__(self) -> str:
        return f"{self.action.value} {self.text} ({self.source})"


@dataclass(frozen=True, slots=True)
class RuleProblem:
    """A rule that cannot be used as written, with a message for its author."""

    text: str
    source: Source
    reason: str
    may_forbid: bool = False  # omitting it may allow what it should forbid

    def __str__(self) -> str:
        return f"{self.source}: {self.text}: {self.reason}"


PATH_TOOLS = frozenset({"Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "NotebookRead", "Glob", "Grep", "LS"})
COMMAND_TOOLS = frozenset({"Bash", "PowerShell"})
NAMED_TOOLS = frozenset({"Agent", "Task", "Skill"})  # the specifier is a name
PRIMARY_FIELDS = frozenset({"command", "file_path", "path", "notebook_path", "url"})

_TOOLS = {
    name.lower(): name
    for name in PATH_TOOLS
    | COMMAND_TOOLS
    | NAMED_TOOLS
    | {
        "AskUserQuestion",
        "BashOutput",
        "ExitPlanMode",
        "KillShell",
        "SlashCommand",
        "TodoWrite",
        "WebFetch",
        "WebSearch",
    }
}

_RULE = re.compile(r"([A-Za-z_*][\w.*:-]*)(?:\((.*)\))?", re.DOTALL)
_PARAMETER = re.compile(r"([A-Za-z_]\w*)\s*:\s*(.*)", re.DOTALL)
_ALLOWED_GLOB = re.compile(r"mcp__[^*]+?__.*")


def parse_rule(text: str, action: Action, source: Source) -> Rule | RuleProblem:
    """The rule that `text` is, or why it is none; never raises."""
    text = text.strip()
    forbids = action in (Action.DENY, Action.ASK)
    if len(text) > TEXT_CHARACTERS:
        return RuleProblem(text[:60] + "…", source, f"longer than {TEXT_CHARACTERS} characters", forbids)
    found = _RULE.fullmatch(text)
    if found is None:
        return RuleProblem(text, source, "must be Tool or Tool(specifier)", forbids)
    tool, specifier = found[1], found[2]
    if specifier is not None:
        specifier = specifier.strip()
        if specifier in ("*", ":*") and tool in COMMAND_TOOLS:
            specifier = None
    rule = Rule(action, tool, specifier, source)
    reason = _unusable(rule)
    if reason is None:
        return rule
    # Ignoring an exception makes a deny or ask rule wider, not narrower.
    return RuleProblem(text, source, reason, forbids and not (specifier or "").startswith("!"))


def parameter(rule: Rule) -> tuple[str, str] | None:
    """Name and value of `Tool(param:value)`; None for a rule that is not one."""
    found = _PARAMETER.fullmatch(rule.specifier or "")
    return None if found is None or found[1] in PRIMARY_FIELDS else (found[1], found[2])


def understood(rule: Rule) -> bool:
    """Return whether the specifier is supported. An unsupported deny or ask rule asks for every use of its tool."""
    if rule.specifier is None or rule.tool in PATH_TOOLS | COMMAND_TOOLS | NAMED_TOOLS:
        return True
    if rule.tool == "WebFetch" and rule.specifier.startswith("domain:"):
        return True
    return rule.action in (Action.DENY, Action.ASK) and parameter(rule) is not None


def removes_tool(rule: Rule) -> bool:
    """Return whether Claude Code, given this deny rule at its start, removes the tool from the model's list.

    `Bash`, `Bash(*)` and `Read(*)` do. `Bash(**)` denies each use instead.
    """
    return rule.specifier in (None, "*")


def _meant(tool: str) -> str:
    """Return the known tool whose name differs only in case, otherwise the name itself."""
    return "mcp__" + tool[5:] if tool.lower().startswith("mcp__") else _TOOLS.get(tool.lower(), tool)


def _unusable(rule: Rule) -> str | None:
    allows = rule.action in (Action.ALLOW, Action.GRANT)
    if not allows and (meant := _meant(rule.tool)) != rule.tool:
        return f"unknown tool {rule.tool}; write {meant}"
    if rule.specifier == "":
        return "the parentheses are empty; omit them to cover every call"
    if allows and "*" in rule.tool and not _ALLOWED_GLOB.fullmatch(rule.tool):
        return "in an allow rule, * is only supported after mcp__SERVER__"
    if rule.tool in PATH_TOOLS and (rule.specifier or "").startswith("!"):
        return "exceptions with ! are not supported; write a rule that names the files instead"
    if allows and not understood(rule):
        return f"{rule.tool}(…) is not supported, so it allows nothing"
    found = _PARAMETER.fullmatch(rule.specifier or "")
    if found is not None and found[1] in PRIMARY_FIELDS and rule.tool in COMMAND_TOOLS | PATH_TOOLS | {"WebFetch"}:
        return f"{found[1]} cannot be matched by name; write {rule.tool}({found[2]})"
    return None
