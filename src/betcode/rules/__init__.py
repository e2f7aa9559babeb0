"""Permission rules: decides whether an agent may make a tool call, and by which rule.

The rules have Claude Code's syntax. This package parses them, reads them from the texts of settings files, parses shell
commands with a grammar, and decides (`screen`). It runs nothing, waits for nothing and stores nothing: `engine` and
`storage` ask people, remember their answers and watch files. Its only access to the file system is
`PathContext.resolve`, which follows links.
"""

from betcode.rules.evaluate import FOR_PEOPLE, ScreenOutcome, ToolUse, Verdict, objection, screen, segments
from betcode.rules.layers import FileProblem, Lists, SettingsText, beside_permissions, read_layers
from betcode.rules.lists import Grants, Rules
from betcode.rules.offers import Offer, exact_rule, granting, offers
from betcode.rules.removals import READ_BY_AGENT, removal, removals
from betcode.rules.rule import (
    FROM_THE_PROJECT,
    PATH_TOOLS,
    Action,
    Layer,
    Rule,
    RuleProblem,
    Source,
    parse_rule,
    removes_tool,
)
from betcode.rules.session_paths import PathContext

__all__ = [
    "FOR_PEOPLE",
    "FROM_THE_PROJECT",
    "PATH_TOOLS",
    "READ_BY_AGENT",
    "Action",
    "FileProblem",
    "Grants",
    "Layer",
    "Lists",
    "Offer",
    "PathContext",
    "Rule",
    "RuleProblem",
    "Rules",
    "ScreenOutcome",
    "SettingsText",
    "Source",
    "ToolUse",
    "Verdict",
    "beside_permissions",
    "exact_rule",
    "granting",
    "objection",
    "offers",
    "parse_rule",
    "read_layers",
    "removal",
    "removals",
    "removes_tool",
    "screen",
    "segments",
]
