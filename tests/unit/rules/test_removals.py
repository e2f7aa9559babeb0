"""Which deny rules make Claude Code remove a tool from the model's list."""

import pytest

from betcode.rules import Action, Layer, Rule, Source, parse_rule, removal


def rule(text: str, layer: Layer = Layer.AGENT, action: Action = Action.DENY) -> Rule:
    found = parse_rule(text, action, Source(layer, "settings.json", 1))
    assert isinstance(found, Rule)
    return found


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("Bash", "Bash"),
        ("Bash(*)", "Bash"),
        ("Task", "Agent"),
        ("mcp__github", "mcp__github__push"),
        ("mcp__github__*", "mcp__github__push"),
        ("AskUserQuestion", "AskUserQuestion"),
    ],
)
def test_a_rule_for_every_use_removes_the_tool(text: str, tool: str) -> None:
    assert removal([rule(text)], tool) == rule(text)


@pytest.mark.parametrize(
    ("text", "tool"),
    [("Bash(**)", "Bash"), ("Bash(rm *)", "Bash"), ("Bash", "Read"), ("mcp__git", "mcp__github__push")],
)
def test_other_rules_remove_nothing(text: str, tool: str) -> None:
    assert removal([rule(text)], tool) is None


@pytest.mark.parametrize("layer", [Layer.USER, Layer.FLAGS, Layer.SESSION])
def test_rules_that_the_agent_does_not_read_remove_nothing(layer: Layer) -> None:
    assert removal([rule("Bash", layer), rule("Bash", action=Action.ASK)], "Bash") is None
