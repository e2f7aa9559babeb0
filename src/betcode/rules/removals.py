"""Deny rules that remove a tool from the model's list, so that its use is never requested or audited."""

from collections.abc import Iterable
from typing import Final

from betcode.rules.lists import canonical
from betcode.rules.rule import FROM_THE_PROJECT, Action, Layer, Rule, removes_tool
from betcode.rules.wildcards import wildcard

READ_BY_AGENT: Final = FROM_THE_PROJECT | {Layer.AGENT, Layer.MANAGED}


def removals(rules: Iterable[Rule]) -> list[Rule]:
    """The rules that remove a tool, of those that Claude Code reads in its own files."""
    return [
        rule
        for rule in rules
        if rule.action is Action.DENY and rule.source.layer in READ_BY_AGENT and removes_tool(rule)
    ]


def removal(rules: Iterable[Rule], tool: str) -> Rule | None:
    """The rule that removes this tool."""
    name = canonical(tool)
    return next((rule for rule in removals(rules) if _covers(canonical(rule.tool), name)), None)


def _covers(pattern: str, name: str) -> bool:
    if "*" in pattern:
        return wildcard(pattern).fullmatch(name) is not None
    return name == pattern or (pattern.startswith("mcp__") and name.startswith(f"{pattern}__"))
