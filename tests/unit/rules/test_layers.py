"""The permission lists of settings files: comments, broken files, trust."""

import pytest

from betcode.rules import (
    Action,
    FileProblem,
    Layer,
    ScreenOutcome,
    SettingsText,
    ToolUse,
    parse_rule,
    read_layers,
    screen,
)
from betcode.rules.layers import Lists
from betcode.rules.rule import Rule, Source
from support.rules.rules import HOME, PLACE, PROJECT, screened

USER = SettingsText(
    Layer.USER,
    f"{HOME}/.config/betcode/settings.json",
    """{
  // what is mine
  "model": "opus",
  "permissions": {
    "allow": [
      "Bash(git *)", /* all of git */
      "Read",
    ],
    "deny": ["Bash(rm *)"], // and this
  },
}
""",
)
TEAM = SettingsText(
    Layer.PROJECT,
    f"{PROJECT}/.claude/settings.json",
    '{"permissions": {"allow": ["Bash(npm *)"], "ask": ["Bash(npm publish *)"], "deny": ["Read(.env)"]}}',
)
OWN = SettingsText(
    Layer.LOCAL, f"{PROJECT}/.claude/settings.local.json", '{"permissions": {"allow": ["Bash(make *)"]}}'
)


def said(lists: Lists, command: str) -> ScreenOutcome:
    return screened(command, lists.at(PLACE)).outcome


@pytest.mark.behaviour("launch.no-hooks-no-claude-md")
def test_only_permission_lists_are_read_from_settings() -> None:
    text = (
        '{"hooks": {"PreToolUse": [{"command": "rm -rf /"}]}, "permissions": {"allow": ["Read"], "defaultMode": "x"}}'
    )
    lists = read_layers([SettingsText(Layer.USER, "settings.json", text)], trusted=True)
    assert [rule.text for rule in lists.rules] == ["Read"]
    assert lists.problems == ()


def test_lists_of_all_layers_unite_and_a_deny_of_any_holds() -> None:
    lists = read_layers([USER, TEAM, OWN], trusted=True)
    assert said(lists, "git status && npm test && make all") is ScreenOutcome.ALLOW
    assert said(lists, "rm x") is ScreenOutcome.DENY
    assert said(lists, "npm publish") is ScreenOutcome.ASK
    assert said(lists, "cat .env") is ScreenOutcome.DENY
    assert lists.rules[0].source.layer is Layer.LOCAL  # the strongest first


def test_what_a_project_allows_counts_once_it_is_trusted() -> None:
    lists = read_layers([USER, TEAM, OWN], trusted=False)
    assert said(lists, "git status") is ScreenOutcome.ALLOW
    assert said(lists, "npm test") is ScreenOutcome.ASK
    assert said(lists, "make all") is ScreenOutcome.ASK
    assert said(lists, "cat .env") is ScreenOutcome.DENY
    assert [rule.text for rule in lists.untrusted] == ["Bash(make *)", "Bash(npm *)"]


def test_every_rule_knows_its_file_and_line() -> None:
    lists = read_layers([USER], trusted=True)
    assert {rule.text: str(rule.source) for rule in lists.rules} == {
        "Bash(git *)": f"{USER.path}:6",
        "Read": f"{USER.path}:7",
        "Bash(rm *)": f"{USER.path}:9",
    }
    assert {rule.source.anchor for rule in lists.rules} == {f"{HOME}/.config/betcode"}
    verdict = screened("rm x", lists.at(PLACE))
    assert str(verdict.rule) == f"deny Bash(rm *) ({USER.path}:9)"


def test_rules_from_flags_come_first() -> None:
    flag = parse_rule("Bash(ls *)", Action.ALLOW, Source(Layer.FLAGS))
    assert isinstance(flag, Rule)
    assert read_layers([TEAM], trusted=True, flags=[flag]).rules[0] is flag


BROKEN = [
    ('{\n"permissions": {\n"deny": ["a" "b"]}}', 3, "a comma or ] is missing"),
    ('{"permissions": {"deny": ["Bash(rm *)"],\n"deny": []}}', 2, 'duplicate key "deny" in one object'),
    ('{"permissions": {}}\n{', 2, "unexpected text after the end"),
    ('\n\n{"permissions": [', 3, "a value is missing"),
    ("[]", 1, "it must hold one JSON object"),
    ('{"permissions": 7}', 1, '"permissions" must be an object'),
    ('{"permissions":\n{"deny": "Bash"}}', 2, '"deny" must be a list of rules'),
    ('{"permissions": {"deny": ["Bash\n(rm *)"]}}', 1, "a string without a closing quote"),
    ('{"a": "\\x"}', 1, "a string with an invalid escape"),
    ("[" * 2000, 1, "nested too deep"),
    ("{'permissions': {}}", 1, "a key in double quotes is missing"),
    ("{,}", 1, "a key in double quotes is missing"),
    ("/* open", 1, "'/' does not begin a value"),
    (None, 0, "it cannot be read"),
    ("x" * 5_000_000, 0, "it is too long"),
]


@pytest.mark.parametrize(("text", "line", "reason"), BROKEN, ids=[row[2] for row in BROKEN])
def test_a_broken_file_is_named_with_its_line_and_nothing_is_allowed(text: str | None, line: int, reason: str) -> None:
    lists = read_layers([USER, SettingsText(Layer.PROJECT, "broken.json", text)], trusted=True)
    (problem,) = lists.problems
    assert isinstance(problem, FileProblem)
    assert problem.reason == reason
    assert str(problem.source) == (f"broken.json:{line}" if line else "broken.json")
    verdict = screened("git status", lists.at(PLACE))
    assert verdict.outcome is ScreenOutcome.ASK
    assert "broken.json" in verdict.reason
    assert said(lists, "rm x") is ScreenOutcome.DENY


@pytest.mark.parametrize("name", ["deny", "ask"])
def test_a_forbidding_rule_that_is_none_keeps_everything_from_being_allowed(name: str) -> None:
    text = f'{{"permissions": {{"{name}": ["Bash(rm *"]}}}}'
    lists = read_layers([USER, SettingsText(Layer.LOCAL, "x.json", text)], trusted=True)
    assert lists.broken == ("x.json:1",)
    assert said(lists, "git status") is ScreenOutcome.ASK


def test_an_allow_rule_that_is_none_is_reported_and_passed_over() -> None:
    text = '{"permissions": {"allow": ["Bash(git *", 7, "Read"]}}'
    lists = read_layers([SettingsText(Layer.USER, "x.json", text)], trusted=True)
    assert len(lists.problems) == 2
    assert lists.broken == ()
    assert screen(ToolUse("Read", {"file_path": "x"}), lists.at(PLACE)).outcome is ScreenOutcome.ALLOW


@pytest.mark.parametrize(
    "text", ["  \n", "{}", '{"permissions": null}', '{"permissions": {"allow": null}}', "\ufeff{}"]
)
def test_a_file_without_rules_is_no_problem(text: str) -> None:
    assert read_layers([SettingsText(Layer.USER, "x.json", text)], trusted=True) == Lists()


def test_a_file_without_a_byte_in_it_is_one_that_is_being_written() -> None:
    lists = read_layers([SettingsText(Layer.USER, "/s.json", "")], trusted=True)
    assert [str(problem) for problem in lists.problems] == ["/s.json: it is empty"]
    assert lists.broken == ("/s.json",)
