import json

import pytest

from betcode.cli.core.exit_codes import CommandFailed
from betcode.cli.policy.tool_use import json_input, tool_use


@pytest.mark.parametrize(
    ("text", "tool", "given"),
    [
        ("Bash(git push)", "Bash", {"command": "git push"}),
        ("Bash(echo $(date) && (ls))", "Bash", {"command": "echo $(date) && (ls)"}),
        (" Edit(src/a b.py) ", "Edit", {"file_path": "src/a b.py"}),
        ("WebFetch(domain:example.com)", "WebFetch", {"url": "https://example.com/"}),
        ("Agent(Explore)", "Agent", {"subagent_type": "Explore"}),
        ("mcp__github__create_issue", "mcp__github__create_issue", {}),
        ('mcp__github__create_issue({"title": "x"})', "mcp__github__create_issue", {"title": "x"}),
        ("Bash()", "Bash", {}),
    ],
)
def test_a_use_is_read_as_people_write_it(text: str, tool: str, given: dict[str, str]) -> None:
    name, input_json = tool_use(text)
    assert (name, json.loads(input_json)) == (tool, given)


@pytest.mark.parametrize("text", ["", "git push", "(git push)", "Bash(git push", "mcp__a__b(what)", "Bash({nonsense)"])
def test_an_invalid_tool_call_is_refused(text: str) -> None:
    with pytest.raises(CommandFailed):
        tool_use(text)


def test_a_tool_in_lower_case_gets_its_name_as_a_hint() -> None:
    with pytest.raises(CommandFailed, match=r"No tool is called bash: write Bash\(ls\)"):
        tool_use("bash(ls)")


def test_an_input_is_a_json_object() -> None:
    assert json_input("") == "{}"
    with pytest.raises(CommandFailed):
        json_input("[1]")
