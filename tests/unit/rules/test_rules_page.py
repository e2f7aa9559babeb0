"""The tables of docs/rules.md are true."""

import json
import re
from pathlib import Path

import pytest

from betcode.rules import Layer, ScreenOutcome, SettingsText, ToolUse, read_layers, screen
from support.rules.rules import bash, rules

PAGE = (Path(__file__).parents[3] / "docs" / "rules.md").read_text()
_USE = re.compile(r"(tool|url|agent|path|) ?`([^`]+)`")


def use(kind: str, text: str) -> ToolUse:
    match kind:
        case "tool":
            return ToolUse(text, {})
        case "url":
            return ToolUse("WebFetch", {"url": text})
        case "agent":
            return ToolUse("Agent", {"subagent_type": text})
        case "path":
            return ToolUse("Edit", {"file_path": text})
        case _:
            return bash(text)


def rows() -> list[tuple[str, str, str, ScreenOutcome]]:
    found: list[tuple[str, str, str, ScreenOutcome]] = []
    for line in PAGE.splitlines():
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 3 and cells[0].startswith("`"):
            for cell, outcome in ((cells[1], ScreenOutcome.ALLOW), (cells[2], ScreenOutcome.ASK)):
                found += [(cells[0].strip("`"), kind, text, outcome) for kind, text in _USE.findall(cell)]
    return found


@pytest.mark.parametrize(("rule", "kind", "text", "outcome"), rows())
def test_the_page_tells_what_a_rule_covers(rule: str, kind: str, text: str, outcome: ScreenOutcome) -> None:
    assert screen(use(kind, text), rules(allow=[rule])).outcome is outcome


def test_the_page_has_its_tables_and_a_sample_that_is_read_without_a_problem() -> None:
    assert len(rows()) > 60
    (sample,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    lists = read_layers([SettingsText(Layer.USER, "settings.json", sample)], trusted=True)
    assert lists.problems == ()
    written = json.loads(sample)["permissions"]
    assert sorted(rule.text for rule in lists.rules) == sorted(text for texts in written.values() for text in texts)
