"""What counts as something that a project makes agents run, and what does not."""

import json
from pathlib import Path

import pytest

from betcode.domain.agents.project_files import ALL_PROGRAMS, Program, ProjectItem, digest
from betcode.engine.permissions.project_guard import shown_items
from betcode.engine.permissions.project_scan import scan

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
        (CLAUDE, "{}" + " " * 1_100_000, "settings that cannot be read"),
        (".mcp.json", {"mcpServers": {"lab": {"command": "true"}}}, "MCP servers (lab)"),
        (".mcp.json", "{", "settings that cannot be read"),
        (".claude/commands/x.md", "!`true`", "commands, which can run commands"),
        (".claude/skills/x/SKILL.md", "x", "skills, which can run commands"),
        (".claude/agents/x.md", "x", "agents, which can run commands"),
        (".claude/scheduled_tasks.json", {"tasks": []}, "scheduled prompts, which run without a person"),
        (".claude/something-of-next-year/x", "x", "a directory of unknown use"),
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
    "key",
    [
        *("apiKeyHelper", "awsAuthRefresh", "awsCredentialExport", "otelHeadersHelper", "statusLine", "fileSuggestion"),
        *("enableAllProjectMcpServers", "enabledMcpjsonServers", "extraKnownMarketplaces", "sandbox"),
    ],
)
def test_settings_that_run_something_or_let_it_through_count(tmp_path: Path, key: str) -> None:
    write(tmp_path, CLAUDE, {key: "true"})
    assert found(tmp_path) == [(CLAUDE, f"setting {key}")]


@pytest.mark.parametrize(
    "name",
    [
        *(f".claude/{name}" for name in ("commands", "skills", "agents", "workflows")),
        *(f".opencode/{name}{s}" for name in ("command", "agent", "mode", "tool", "skill") for s in ("", "s")),
        *(f".gemini/{name}" for name in ("commands", "extensions", "agents", "skills", "policies")),
    ],
)
def test_directories_with_code_count(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir(parents=True)
    assert found(tmp_path) == [], "an empty one does not"
    write(tmp_path, f"{name}/x.md", "x")
    assert found(tmp_path) == [(name, f"{Path(name).name}, which can run commands")]


@pytest.mark.parametrize("name", ["hooks", "plugins", "scripts", "bin"])
def test_entries_of_claude_that_are_not_known_count(tmp_path: Path, name: str) -> None:
    write(tmp_path, f".claude/{name}/x", "x")
    assert found(tmp_path) == [(f".claude/{name}", "a directory of unknown use")]


@pytest.mark.parametrize(
    "name", ["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"]
)
def test_every_settings_file_of_opencode_counts(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, {"mcp": {"lab": {}}})
    assert found(tmp_path) == [(name, "MCP servers (lab)")]


def test_a_directory_that_cannot_be_read_counts(tmp_path: Path) -> None:
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini/commands").symlink_to("commands")
    assert found(tmp_path) == [(".gemini/commands", "commands, which can run commands")]
    (tmp_path / ".claude").symlink_to(".claude")
    assert (".claude", "a directory that cannot be read") in found(tmp_path)


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
        (".claude/rules/x.md", "text for the model"),
        (".claude/scheduled_tasks.lock", "{}"),
        (".claude/worktrees/x/.claude/settings.json", {"hooks": HOOK}),
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


def link(root: Path, named: str, *, common: str = "../..\n") -> None:
    """Make `root/tree` a linked worktree of `root/repo`, as its `.git` file names it."""
    write(root, "repo/.git/worktrees/tree/commondir", common)
    write(root, "tree/.git", named)


@pytest.mark.parametrize(
    "named",
    [
        "gitdir: {}/repo/.git/worktrees/tree\n",
        "gitdir: ../repo/.git/worktrees/tree\n",
        "gitdir:../repo/.git/worktrees/tree",
    ],
)
@pytest.mark.parametrize("where", ["tree", "tree/below"])
def test_the_main_repository_of_a_linked_worktree_counts(tmp_path: Path, named: str, where: str) -> None:
    link(tmp_path, named.format(tmp_path))
    write(tmp_path, "repo/.claude/settings.local.json", {"hooks": HOOK})
    write(tmp_path, "repo/.claude/commands/x.md", "!`true`")
    assert found(tmp_path, where) == [
        ("repo/.claude/settings.local.json", "hooks (Stop)"),
        ("repo/.claude/commands", "commands, which can run commands"),
    ]


def test_a_bare_main_repository_counts_and_links_are_resolved_as_agents_do(tmp_path: Path) -> None:
    write(tmp_path, "bare/.mcp.json", {"mcpServers": {"bare": {}}})
    link(tmp_path, "gitdir: ../repo/.git/worktrees/tree", common="../../../../bare")
    assert found(tmp_path, "tree") == [("bare/.mcp.json", "MCP servers (bare)")]
    write(tmp_path, "repo/.mcp.json", {"mcpServers": {"lab": {}}})
    write(tmp_path, "far/away/deep/x", "")
    (tmp_path / "tree/link").symlink_to("../far/away/deep")
    link(tmp_path, "gitdir: link/../../repo/.git/worktrees/tree")  # through the link: far/repo
    assert found(tmp_path, "tree") == [("repo/.mcp.json", "MCP servers (lab)")]


@pytest.mark.parametrize(
    "named", ["", "gitdir: ", "gitdir: ../nowhere", "gitdir: \0", "gitdir: " + "x/" * 40_000, "tree"]
)
def test_a_git_file_that_names_no_repository_counts_for_nothing(tmp_path: Path, named: str) -> None:
    link(tmp_path, named)
    assert found(tmp_path, "tree") == []


def test_what_prevents_a_start_is_found_behind_any_number_of_other_files(tmp_path: Path) -> None:
    write(tmp_path, ".opencode/plugin/evil.js", "x")
    place = tmp_path
    for number in range(8):
        place /= f"d{number}"
        for name in ("command", "commands", "agent", "agents", "mode", "modes", "tool", "tools", "skill", "skills"):
            write(place, f".opencode/{name}/a.md", "x")
    items = scan(str(place), {Program.OPENCODE})
    assert [Path(item.path).name for item in items if not item.can_be_ignored] == ["plugin"]
    shown = shown_items(items)
    assert (len(shown), Path(shown[0].path).name) == (50, "plugin")
    assert "and 31 more files that are not listed" in shown[-1].brings
    assert shown_items(items, most=len(items)) == items


def test_a_settings_directory_with_very_many_entries_is_one_item(tmp_path: Path) -> None:
    for number in range(51):
        write(tmp_path, f".claude/unknown-{number}", "")
    assert found(tmp_path) == [(".claude", "more than 50 files of unknown use")]


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
    write(tmp_path, ".opencode/plugins/p.js", "x")
    write(tmp_path, ".opencode/tool/t.js", "x")
    write(tmp_path, "opencode.json", {"plugin": ["x"]})
    write(tmp_path, "opencode.jsonc", "// it may name plugins")
    items = scan(str(tmp_path), {Program.OPENCODE})
    assert {Path(item.path).name: item.can_be_ignored for item in items} == {
        "opencode.json": False,
        "opencode.jsonc": False,
        "plugin": False,
        "plugins": False,
        "tool": True,
    }


def details(root: Path) -> list[str]:
    [item] = scan(str(root), ALL_PROGRAMS)
    return list(item.details)


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        (CLAUDE, {"hooks": HOOK}, ["hook Stop: true"]),
        (
            CLAUDE,
            {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "a\nb"}]}]}},
            ["hook PreToolUse (Bash): a ␊ b"],
        ),
        (CLAUDE, {"hooks": {"Stop": "odd"}}, ["hook Stop: odd"]),
        (CLAUDE, {"hooks": "odd"}, ["hooks: odd"]),
        (
            ".mcp.json",
            {"mcpServers": {"lab": {"type": "stdio", "command": "npx", "args": ["-y", "a b"], "env": {"A": "1"}}}},
            ["""MCP server lab: npx -y 'a b' {"env": {"A": "1"}}"""],
        ),
        (".mcp.json", {"mcpServers": {"far": {"url": "https://x.example"}}}, ["MCP server far: https://x.example"]),
        (
            ".mcp.json",
            {"mcpServers": {"far": {"headersHelper": "id"}}},
            ["""MCP server far: {"headersHelper": "id"}"""],
        ),
        (CLAUDE, {"env": {"PATH": "/evil"}}, ["environment PATH=/evil"]),
        (CLAUDE, {"env": {"API_KEY": "hunter2"}}, ["environment API_KEY=[redacted]"]),
        (CLAUDE, {"apiKeyHelper": "./steal.sh"}, ["setting apiKeyHelper: ./steal.sh"]),
        (CLAUDE, {"statusLine": {"type": "command", "command": "date"}}, ["setting statusLine: date"]),
        (CLAUDE, {"enabledPlugins": {"x@y": True}}, ["plugin x@y: true"]),
        (CLAUDE, {"permissions": {"allow": ["Bash(ls)"], "deny": ["Edit"]}}, ["allow rule: Bash(ls)"]),
        (
            CLAUDE,
            {"permissions": {"defaultMode": "bypassPermissions"}},
            ["setting permissions.defaultMode: bypassPermissions"],
        ),
        (CLAUDE, {"model": "x", "env": {"A": "b"}}, ["environment A=b"]),
        (CLAUDE, "{", []),
        (".claude/skills/x/SKILL.md", "x", ["file x/SKILL.md"]),
        (".codex/config.toml", '[mcp_servers.lab]\ncommand = "true"\nargs = ["1"]\n', ["MCP server lab: true 1"]),
        (".codex/hooks.json", {"hooks": HOOK}, ["hook Stop: true"]),
        ("opencode.json", {"mcp": {"lab": {"type": "local", "command": ["bun", "x"]}}}, ["MCP server lab: bun x"]),
        ("opencode.json", {"plugin": ["evil"]}, ["plugin: evil"]),
        (".gemini/.env", "# A=0\nA=1\nTOKEN=abc", ["environment A=1", "environment TOKEN=[redacted]"]),
    ],
)
def test_what_would_run_is_shown(tmp_path: Path, name: str, content: object, lines: list[str]) -> None:
    write(tmp_path, name, content)
    assert details(tmp_path) == lines


def test_details_have_what_runs_first_and_are_safe_short_and_bounded(tmp_path: Path) -> None:
    rules = [f"Bash({number})" for number in range(2000)]
    command = f"\x1b[31m\u202e{'x' * 500} sk-ant-{'a1' * 20} ; curl evil"
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}
    write(tmp_path, CLAUDE, {"permissions": {"allow": rules}, "env": {"A": "b"}, "hooks": hooks})
    [item] = scan(str(tmp_path), ALL_PROGRAMS)
    first, second, *others = item.details
    assert first.startswith("hook Stop: ?[31m?xxx")
    assert first.endswith("; curl evil")
    assert "a1a1" not in first
    assert len(first) <= 200
    assert second == "environment A=b"
    assert (len(others), item.detail_count) == (48, 1000)


CHANGED = [
    (CLAUDE, {"hooks": HOOK}, {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "false"}]}]}}),
    (".mcp.json", {"mcpServers": {"lab": {"command": "true"}}}, {"mcpServers": {"lab": {"command": "false"}}}),
    (CLAUDE, {"env": {"A": "1"}}, {"env": {"A": "2"}}),
    (CLAUDE, "{", "{{"),
    (".claude/commands/x.md", "one", "two"),
    (".claude/skills/x/run.sh", "one", "two"),
    (".claude/something-of-next-year/x", "one", "two"),
    (".claude/something.json", {"run": "true"}, {"run": "false"}),
    (".claude/something.sh", "one", "two"),
    (".codex/hooks.json", {"hooks": HOOK}, {"hooks": {}}),
    (".gemini/.env", "A=1", "A=2"),
]


@pytest.mark.parametrize(("name", "before", "after"), CHANGED)
def test_changed_content_changes_the_digest(tmp_path: Path, name: str, before: object, after: object) -> None:
    write(tmp_path, name, before)
    first = digest(scan(str(tmp_path), ALL_PROGRAMS))
    assert digest(scan(str(tmp_path), ALL_PROGRAMS)) == first
    write(tmp_path, name, after)
    assert digest(scan(str(tmp_path), ALL_PROGRAMS)) != first


@pytest.mark.parametrize(
    ("name", "content", "details"),
    [
        (".claude/next-year/deep/x.sh", "x", ("file deep/x.sh",)),
        (".claude/next-year.json", {"run": "true"}, ("setting run: true",)),
        (".claude/next-year.sh", "12345", ("5 bytes",)),
    ],
)
def test_an_entry_of_unknown_use_has_details(
    tmp_path: Path, name: str, content: object, details: tuple[str, ...]
) -> None:
    write(tmp_path, name, content)
    [item] = scan(str(tmp_path), ALL_PROGRAMS)
    assert (item.details, item.detail_count) == (details, 1)


def test_one_of_many_entries_of_unknown_use_changes_the_digest(tmp_path: Path) -> None:
    for number in range(60):
        write(tmp_path, f".claude/unknown-{number}", "one")
    [before] = scan(str(tmp_path), ALL_PROGRAMS)
    write(tmp_path, ".claude/unknown-59", "two")
    [after] = scan(str(tmp_path), ALL_PROGRAMS)
    assert before.brings == after.brings == "more than 50 files of unknown use"
    assert digest([before]) != digest([after])


def test_settings_that_do_not_count_do_not_change_the_digest(tmp_path: Path) -> None:
    write(tmp_path, CLAUDE, {"hooks": HOOK, "model": "x"})
    first = digest(scan(str(tmp_path), ALL_PROGRAMS))
    write(tmp_path, CLAUDE, json.dumps({"model": "y", "hooks": HOOK}, indent=4))
    assert digest(scan(str(tmp_path), ALL_PROGRAMS)) == first


def test_the_digest_is_of_what_is_brought_and_not_of_its_order() -> None:
    one, two = ProjectItem(Program.CLAUDE, "/a", "hooks"), ProjectItem(Program.CODEX, "/b", "hooks")
    assert digest([one, two]) == digest([two, one])
    assert digest([one]) != digest([two])
