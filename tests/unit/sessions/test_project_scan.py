"""What counts as something that a project makes agents run, and what does not."""

import json
from pathlib import Path

import pytest

from betcode.domain.project_files import ALL_PROGRAMS, Program, ProjectItem, digest
from betcode.sessions.project_scan import scan

CLAUDE = ".claude/settings.json"
HOOK = {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}


def found(root: Path, where: str = ".") -> list[tuple[str, str]]:
    directory = root / where
    directory.mkdir(parents=True, exist_ok=True)
    own = (str(root / "home" / ".claude"),)
    items = scan(str(directory), ALL_PROGRAMS, own, ("sessions", "worktree"))
    return [(str(Path(item.path).relative_to(root)), item.brings) for item in items]


def write(root: Path, name: str, content: object) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


@pytest.mark.parametrize(
    ("name", "content", "brings"),
    [
        (CLAUDE, {"hooks": HOOK}, "hooks (Stop)"),
        (".claude/settings.local.json", {"hooks": HOOK}, "hooks (Stop)"),
        (CLAUDE, {"env": {"PATH": "/evil"}}, "environment (PATH)"),
        (CLAUDE, {"enabledPlugins": {"x@y": True}}, "plugins (x@y)"),
        (CLAUDE, {"apiKeyHelper": "true"}, "setting apiKeyHelper"),
        (CLAUDE, {"statusLine": {"command": "true"}}, "setting statusLine"),
        (CLAUDE, {"somethingOfNextYear": 1}, "setting somethingOfNextYear"),
        (CLAUDE, {"permissions": {"allow": ["Bash(ls)"]}}, "allow rules (Bash(ls))"),
        (CLAUDE, {"permissions": {"defaultMode": "bypassPermissions"}}, "permissions.defaultMode"),
        (CLAUDE, {"permissions": {"additionalDirectories": ["/"]}}, "permissions.additionalDirectories"),
        (CLAUDE, {"permissions": []}, "settings that cannot be read"),
        (CLAUDE, "{no json", "settings that cannot be read"),
        (CLAUDE, "[]", "settings that cannot be read"),
        (CLAUDE, "[" * 100_000, "settings that cannot be read"),
        (CLAUDE, " " * 1_100_000, "settings that cannot be read"),
        (".mcp.json", {"mcpServers": {"lab": {"command": "true"}}}, "MCP servers (lab)"),
        (".mcp.json", "{", "settings that cannot be read"),
        (".claude/commands/x.md", "!`true`", "commands, which can run commands"),
        (".claude/skills/x/SKILL.md", "x", "skills, which can run commands"),
        (".claude/agents/x.md", "x", "agents, which can run commands"),
        (".codex/config.toml", '[mcp_servers.lab]\ncommand = "true"\n', "MCP servers (lab)"),
        (".codex/config.toml", "= broken", "settings that cannot be read"),
        (".codex/hooks.json", "{}", "hooks"),
        (".codex/rules/default.rules", "x", "allow rules"),
        ("opencode.json", {"mcp": {"lab": {}}}, "MCP servers (lab)"),
        ("opencode.jsonc", "// comment\n{}", "settings that cannot be read"),
        (".opencode/plugin/p.js", "x", "plugins"),
        (".opencode/tool/t.js", "x", "tool, which can run commands"),
        (".gemini/settings.json", {"mcpServers": {"lab": {}}}, "MCP servers (lab)"),
        (".gemini/.env", "A=1", "environment"),
    ],
)
def test_what_runs_counts(tmp_path: Path, name: str, content: object, brings: str) -> None:
    write(tmp_path, name, content)
    [(path, said)] = found(tmp_path)
    assert (Path(name).is_relative_to(path), said) == (True, brings)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (CLAUDE, {"permissions": {"deny": ["Bash"], "ask": ["Edit"]}}),
        (CLAUDE, {"permissions": {"allow": []}, "model": "x", "$schema": "y"}),
        (CLAUDE, {"sessions": {"default_model": "x"}, "worktree": {"setup_commands": ["true"]}}),
        (".mcp.json", {"mcpServers": {}}),
        ("CLAUDE.md", "text for the model"),
        ("AGENTS.md", "text for the model"),
        (".claude/CLAUDE.md", "text for the model"),
        (".codex/config.toml", ""),
        ("opencode.json", {"$schema": "x"}),
        ("home/.claude/settings.json", {"hooks": HOOK}),
    ],
)
def test_what_runs_nothing_does_not_count(tmp_path: Path, name: str, content: object) -> None:
    write(tmp_path, name, content)
    assert found(tmp_path, "home" if name.startswith("home") else ".") == []


def test_directories_above_count(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", {"mcpServers": {"lab": {}}})
    assert found(tmp_path, "deep/below") == [(".mcp.json", "MCP servers (lab)")]


def test_odd_files_hold_nobody_up_and_count(tmp_path: Path) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / CLAUDE).mkdir()
    (tmp_path / ".claude/settings.local.json").symlink_to("settings.local.json")
    (tmp_path / ".mcp.json").symlink_to("/dev/zero")
    assert {said for _, said in found(tmp_path)} == {"settings that cannot be read"}
    assert len(found(tmp_path)) == 3


def test_names_are_safe_and_short(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", {"mcpServers": {f"\x1b[31m{'x' * 500}{number}": {} for number in range(100)}})
    [(_, said)] = found(tmp_path)
    assert "\x1b" not in said
    assert len(said) < 600
    assert "94 more" in said


def test_only_the_programs_that_are_asked_for_count(tmp_path: Path) -> None:
    write(tmp_path, ".mcp.json", {"mcpServers": {"lab": {}}})
    write(tmp_path, ".codex/hooks.json", "{}")
    assert [item.program for item in scan(str(tmp_path), {Program.CODEX})] == [Program.CODEX]
    assert scan(str(tmp_path), ()) == ()


def test_opencode_cannot_be_started_without_plugins(tmp_path: Path) -> None:
    write(tmp_path, ".opencode/plugin/p.js", "x")
    write(tmp_path, ".opencode/tool/t.js", "x")
    write(tmp_path, "opencode.json", {"plugin": ["x"]})
    items = scan(str(tmp_path), {Program.OPENCODE})
    assert {Path(item.path).name: item.can_be_ignored for item in items} == {
        "opencode.json": False,
        "plugin": False,
        "tool": True,
    }


def test_the_digest_is_of_what_is_brought_and_not_of_its_order() -> None:
    one, two = ProjectItem(Program.CLAUDE, "/a", "hooks"), ProjectItem(Program.CODEX, "/b", "hooks")
    assert digest([one, two]) == digest([two, one])
    assert digest([one]) != digest([two])
