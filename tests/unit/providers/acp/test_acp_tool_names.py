"""What a tool's use is called and given, so that rules of one agent hold for all; what is not certain stays unnamed."""

import json
from typing import Any

import pytest

from betcode.providers.acp.profiles import GENERIC, PROFILES
from betcode.providers.acp.tool_names import LONGEST_TITLE, KnownTool, contradicts, named
from betcode.wire.acp.frames import ToolContent


def use(kind: str, given: dict[str, Any] | None = None, **more: Any) -> KnownTool:
    return KnownTool(kind, input="" if given is None else json.dumps(given), **more)


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({"command": "ls -l"}, "ls -l"),
        ({"cmd": "ls -l", "cwd": "/x"}, "ls -l"),
        ({"command": ["ls", "a b"]}, "ls 'a b'"),
        ({"command": ["/bin/bash", "-lc", "ls | wc"]}, "ls | wc"),
        ({"command": "git", "args": ["push", "--force"]}, "git push --force"),
    ],
)
def test_a_command_is_one_wherever_it_stands(given: dict[str, Any], command: str) -> None:
    found = named(use("execute", given), GENERIC)
    assert (found.name, json.loads(found.input_json)["command"]) == ("Bash", command)
    assert found.directory == given.get("cwd", "")


def test_the_agents_own_words_are_kept_where_they_serve() -> None:
    text = '{"command": "ls",  "description": "look"}'
    assert named(KnownTool("execute", input=text), GENERIC).input_json == text


def test_a_command_that_is_shown_as_reading_is_still_a_command() -> None:
    found = named(use("read", {"command": "cat a; rm b"}, paths=["/x/a"]), GENERIC)
    assert found.name == "Bash"


@pytest.mark.parametrize("kind", ["execute", "read"])
def test_a_shell_whose_command_is_not_said_is_a_command_that_nobody_knows(kind: str) -> None:
    found = named(KnownTool(kind, "List files", "exec_command", paths=["/x/a"]), GENERIC)
    assert (found.name, json.loads(found.input_json)) == ("Bash", {"title": "List files"})


@pytest.mark.parametrize("kind", ["execute", "read", "search"])
@pytest.mark.parametrize(
    "given",
    [
        {"command": "ls", "script": "rm b"},
        {"command": {"line": "rm b"}, "pattern": "x"},
        {"command": "git push", "args": ["--force"]},
        {"command": "git", "args": "push"},
        {"command": ["git", 5]},
    ],
)
def test_a_command_that_is_not_said_clearly_is_none_that_a_rule_allows(kind: str, given: dict[str, Any]) -> None:
    found = named(use(kind, given, paths=["/x/a"]), GENERIC)
    assert (found.name, json.loads(found.input_json)) == ("Bash", {"input": given})


@pytest.mark.parametrize("kind", ["edit", "fetch"])
def test_a_command_beside_a_file_or_an_address_is_one(kind: str) -> None:
    given = {"path": "/x/a", "url": "https://example.com", "command": "rm -rf b"}
    assert named(use(kind, given), GENERIC).name == "Bash"
    assert named(use(kind, {**given, "command": "str_replace"}), GENERIC).name != "Bash"


@pytest.mark.parametrize("name", ["Read", "Bash", "Edit", "WebFetch", "Task"])
@pytest.mark.parametrize("kind", ["", "other", "think", "Read"])
def test_a_tools_own_name_is_none_of_those_that_rules_know(name: str, kind: str) -> None:
    found = named(KnownTool(kind, "Read a file", name, input='{"x": 1}'), GENERIC)
    assert found.name == (kind if kind in ("other", "think") else "tool")


def test_a_name_that_rules_know_is_not_believed_against_all_else() -> None:
    assert contradicts("Read", "execute", "")
    assert contradicts("Read", "", '{"command": "rm b", "file_path": "/x/a"}')
    assert contradicts("WebFetch", "delete", "")
    assert not contradicts("Read", "read", '{"file_path": "/x/a"}')
    assert not contradicts("Edit", "edit", '{"command": "str_replace"}')
    assert not contradicts("Bash", "execute", '{"command": "ls"}')


def test_a_search_is_looked_at_where_it_is_done() -> None:
    found = named(use("search", {"pattern": "x", "dir_path": "/etc"}), GENERIC)
    assert (found.name, json.loads(found.input_json)["path"]) == ("Grep", "/etc")
    assert named(use("search", {"pattern": "x", "dir_path": "/etc", "path": "/x"}), GENERIC).name == "search"


def test_a_title_is_a_command_only_where_the_program_is_known_to_mean_it() -> None:
    shown = KnownTool("execute", "touch x")
    assert named(shown, PROFILES["gemini"]).name == "Bash"
    assert json.loads(named(shown, PROFILES["gemini"]).input_json) == {"command": "touch x"}
    assert json.loads(named(shown, GENERIC).input_json) == {"title": "touch x"}
    cut = KnownTool("execute", "touch x; ".ljust(LONGEST_TITLE, "y"))
    assert "command" not in json.loads(named(cut, PROFILES["gemini"]).input_json)


@pytest.mark.parametrize("key", ["file_path", "filePath", "path", "absolute_path"])
def test_files_are_named_alike(key: str) -> None:
    found = named(use("read", {key: "/x/a"}), GENERIC)
    assert (found.name, json.loads(found.input_json)["file_path"]) == ("Read", "/x/a")


def test_a_whole_content_is_written_and_a_part_is_edited() -> None:
    assert named(use("edit", {"filePath": "/x/a", "content": "new"}), GENERIC).name == "Write"
    assert named(use("edit", {"filePath": "/x/a", "oldString": "a", "newString": "b"}), GENERIC).name == "Edit"


def test_a_diff_says_which_file_is_edited() -> None:
    diff = ToolContent("diff", path="/x/a", old_text="old", new_text="new")
    found = named(KnownTool("edit", diffs=[diff]), GENERIC)
    assert json.loads(found.input_json) == {"file_path": "/x/a", "old_string": "old", "new_string": "new"}
    found = named(KnownTool("edit", diffs=[ToolContent("diff", path="/x/a", new_text="new")]), GENERIC)
    assert (found.name, json.loads(found.input_json)) == ("Write", {"file_path": "/x/a", "content": "new"})


@pytest.mark.parametrize(
    "several",
    [
        KnownTool("edit", diffs=[ToolContent("diff", path="/x/a"), ToolContent("diff", path="/etc/b")]),
        KnownTool("edit", input='{"path": "/x/a"}', diffs=[ToolContent("diff", path="/etc/b")]),
        KnownTool("read", paths=["/x/a", "/etc/b"]),
        KnownTool("edit", title="Edit something"),
        KnownTool("read", input='{"file_path": "/x/a", "path": "/etc/b"}'),
    ],
)
def test_a_use_of_several_files_or_of_none_is_asked_about(several: KnownTool) -> None:
    assert named(several, GENERIC).name in ("edit", "read")


def test_other_tools_keep_their_names() -> None:
    assert named(use("search", {"pattern": "x"}), GENERIC).name == "Grep"
    assert named(use("fetch", {"url": "https://example.com"}), GENERIC).name == "WebFetch"
    assert named(use("other", {"command": "view"}, own_name="mcp__editor"), GENERIC).name == "mcp__editor"
    assert named(use("delete", {"path": "/x/a"}), GENERIC).name == "delete"
    assert named(KnownTool(), GENERIC).name == "tool"
