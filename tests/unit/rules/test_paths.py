"""Path rules: anchors, gitignore's patterns, links, and every spelling of a file."""

import time
from pathlib import Path

import pytest

from betcode.rules import Action, Layer, PathContext, Rules, ScreenOutcome, Source, ToolUse, screen
from support.rules.rules import HOME, PLACE, PROJECT, ruled, rules

ALLOW, ASK, DENY = ScreenOutcome.ALLOW, ScreenOutcome.ASK, ScreenOutcome.DENY

# rule, path, does it match where it allows, does it where it forbids?
MATCHES = [
    ("Edit(src/**/*.ts)", "src/a.ts", True, True),
    ("Edit(src/**/*.ts)", "src/deep/er/a.ts", True, True),
    ("Edit(src/**/*.ts)", f"{PROJECT}/src/a.ts", True, True),
    ("Edit(src/**/*.ts)", "src/a.tsx", False, False),
    ("Edit(src/**/*.ts)", "other/a.ts", False, False),
    ("Edit(src/**/*.ts)", "src/../secret/a.ts", False, False),
    ("Edit(src/**/*.ts)", "other/../src/a.ts", True, True),
    ("Edit(src/**/*.ts)", "src/a.ts/inside.sh", False, True),
    ("Edit(src/**/*.ts)", "lib/src/a.ts", False, False),
    ("Edit(src/**)", "src/a", True, True),
    ("Edit(src/**)", "src", False, True),
    ("Edit(src/**)", "srcx/a", False, False),
    ("Edit(src/**)", "deep/src/a", False, True),
    ("Edit(**/src/**)", "deep/src/a", True, True),
    ("Edit(/src/**)", "src/a", True, True),
    ("Edit(/src/**)", "deep/src/a", False, False),
    ("Edit(./src/**)", "src/a", True, True),
    ("Edit(./src/**)", "deep/src/a", False, False),
    ("Edit(src)", "src/a", True, True),
    ("Edit(src/)", "src/a", True, True),
    ("Edit(src/)", "src", False, True),
    ("Edit(.env)", ".env", True, True),
    ("Edit(.env)", "deep/.env", True, True),
    ("Edit(.env)", ".env.local", False, False),
    ("Edit(./.env)", ".env", True, True),
    ("Edit(./.env)", "deep/.env", False, False),
    ("Edit(*.env)", "deep/prod.env", True, True),
    ("Edit(*)", "anything/below", True, True),
    ("Edit(*)", "/etc/passwd", False, False),
    ("Edit(**)", "anything/below", True, True),
    ("Edit(**)", "/etc/passwd", False, False),
    ("Edit(//etc/**)", "/etc/passwd", True, True),
    ("Edit(//etc/passwd)", "/etc/passwd", True, True),
    ("Edit(//etc/passwd)", "/etc/passwd2", False, False),
    ("Edit(//**/.env)", "/srv/x/.env", True, True),
    ("Edit(//**)", "/anything", True, True),
    ("Edit(/etc/passwd)", "/etc/passwd", False, False),
    ("Edit(~/notes/*.md)", f"{HOME}/notes/a.md", True, True),
    ("Edit(~/notes/*.md)", "~/notes/a.md", True, True),
    ("Edit(~/notes/*.md)", "../notes/a.md", True, True),
    ("Edit(~/notes/*.md)", f"{HOME}/notes/deep/a.md", False, False),
    ("Edit(~/**)", f"{HOME}/x", True, True),
    ("Edit(~/**)", "/home/adam/x", False, False),
    ("Edit(a?c)", "abc", True, True),
    ("Edit(a?c)", "a/c", False, False),
    ("Edit(a[bx]c)", "abc", True, True),
    ("Edit(a[!bx]c)", "abc", False, False),
    ("Edit(a[!bx]c)", "adc", True, True),
    ("Edit(a[b-d]c)", "acc", True, True),
    ("Edit(a[)", "a[", True, True),
    ("Edit(a[]-z]b)", "a]b", True, True),
    ("Edit(a[z-a]b)", "a[z-a]b", True, True),
    ("Edit(a\\*b)", "a*b", True, True),
    ("Edit(a\\*b)", "axb", False, False),
    ("Edit(a.b)", "axb", False, False),
    ("Edit(a+(b)|c)", "a+(b)|c", True, True),
    ("Edit(SRC/*)", "src/a", False, True),
    ("Edit(straße)", "STRASSE", False, True),
    ("Edit(caf\u00e9)", "cafe\u0301", False, True),
    ("Edit(a/**/b/**/c)", "a/x/b/y/z/c", True, True),
    ("Edit(a/**/b/**/c)", "a/b/c", True, True),
    ("Edit(a/**/b/**/c)", "a/c", False, False),
    ("Edit(a/*/c)", "a/b/c", True, True),
    ("Edit(a/*/c)", "a/b/d/c", False, False),
    ("Edit(docs/*b*d*f)", "docs/abcdef", True, True),
    ("Edit(docs/*b*d*f)", "docs/abdecf", True, True),
    ("Edit(docs/*b*d*f)", "docs/adbf", False, False),
]


@pytest.mark.parametrize(("rule", "path", "allows", "forbids"), MATCHES, ids=[f"{r[0]}:{r[1]}"[:60] for r in MATCHES])
def test_a_path_rule_matches_what_it_says(rule: str, path: str, allows: bool, forbids: bool) -> None:
    use = ToolUse("Edit", {"file_path": path})
    assert screen(use, rules(allow=[rule])).outcome is (ALLOW if allows else ASK)
    assert screen(use, rules(allow=["Edit"], deny=[rule])).outcome is (DENY if forbids else ALLOW)


@pytest.mark.behaviour("permission.rule.path-glob")
def test_a_glob_matches_at_any_depth_below_its_directory_and_nothing_else() -> None:
    by = rules(allow=["Edit(src/**/*.ts)"])
    for path, outcome in {"src/a.ts": ALLOW, "src/b/c/d.ts": ALLOW, "src/a.js": ASK, "test/a.ts": ASK}.items():
        assert screen(ToolUse("Edit", {"file_path": path}), by).outcome is outcome


@pytest.mark.parametrize("tool", ["Edit", "Write", "MultiEdit"])
def test_edit_rules_hold_for_every_tool_that_edits(tool: str) -> None:
    use = ToolUse(tool, {"file_path": "src/a"})
    assert screen(use, rules(allow=["Edit(src/**)"])).outcome is ALLOW
    assert screen(use, rules(allow=[tool], deny=["Edit(src/**)"])).outcome is DENY
    assert screen(use, rules(allow=[tool], deny=["Read(src/**)"])).outcome is DENY
    assert screen(use, rules(allow=["Read(src/**)"])).outcome is ASK


@pytest.mark.parametrize("tool", ["Read", "Grep", "Glob", "LS"])
def test_read_rules_hold_for_every_tool_that_reads(tool: str) -> None:
    use = ToolUse(tool, {"file_path": "src/a", "path": "src/a", "pattern": "x"})
    assert screen(use, rules(allow=["Read(src/**)"])).outcome is ALLOW
    assert screen(use, rules(allow=[tool], deny=["Read(src/**)"])).outcome is DENY
    assert screen(use, rules(allow=[tool], deny=["Edit(src/**)"])).outcome is ALLOW


def test_a_notebook_has_a_field_of_its_own() -> None:
    use = ToolUse("NotebookEdit", {"notebook_path": "src/a.ipynb", "file_path": "elsewhere"})
    assert screen(use, rules(allow=["Edit(src/**)"])).outcome is ALLOW


@pytest.mark.parametrize(
    ("pattern", "outcome"),
    [("**/*.py", ALLOW), ("/etc/**", ASK), ("~/.ssh/*", ASK), ("../*", ASK), ("src/../../x*", ASK), ("*/../../x", ASK)],
)
def test_where_a_glob_looks_counts(pattern: str, outcome: ScreenOutcome) -> None:
    assert (
        screen(ToolUse("Glob", {"pattern": pattern}), rules(allow=["Read(./**)", "Read(//home/ada/project)"])).outcome
        is outcome
    )


@pytest.mark.parametrize("path", [None, 7, "", "a\0b", "~bob/x", "x" * 5000])
def test_a_file_that_cannot_be_told_asks(path: object) -> None:
    use = ToolUse("Edit", {"file_path": path})
    assert screen(use, rules(allow=["Edit(**)"])).outcome is ASK
    assert screen(use, rules(allow=["Edit"], deny=["Edit(src/**)"])).outcome is ASK
    assert screen(use, rules(allow=["Edit"])).outcome is ALLOW


def test_a_slash_begins_where_the_settings_are() -> None:
    source = Source(Layer.USER, f"{HOME}/.config/betcode/settings.json", 1, f"{HOME}/.config/betcode")
    by = Rules(ruled(Action.ALLOW, ["Read(/notes/**)"], source), PLACE)
    assert screen(ToolUse("Read", {"file_path": "~/.config/betcode/notes/a"}), by).outcome is ALLOW
    assert screen(ToolUse("Read", {"file_path": "notes/a"}), by).outcome is ASK


GUARDED = [
    ".git/hooks/pre-commit",
    "deep/.git/config",
    ".GIT/config",
    ".claude/settings.local.json",
    ".claude/commands",
    ".vscode/tasks.json",
    ".bashrc",
    "~/.zshrc",
    "~/.config/betcode/settings.json",
    ".mcp.json",
]


@pytest.mark.parametrize("path", GUARDED)
def test_what_says_what_runs_or_is_allowed_must_be_named(path: str) -> None:
    use = ToolUse("Edit", {"file_path": path})
    for allowed in (["Edit"], ["Edit(//**)"], ["Edit(**)", "Edit(~/**)"]):
        assert screen(use, rules(allow=allowed)).outcome is ASK
    assert screen(ToolUse("Read", {"file_path": path}), rules(allow=["Read"])).outcome is ALLOW
    assert (
        screen(ToolUse("Bash", {"command": f"echo x > {path}"}), rules(allow=["Bash(echo *)", "Edit"])).outcome is ASK
    )


def test_a_rule_that_names_it_covers_a_guarded_file() -> None:
    assert screen(ToolUse("Edit", {"file_path": ".git/config"}), rules(allow=["Edit(.git/**)"])).outcome is ALLOW
    assert screen(ToolUse("Write", {"file_path": ".bashrc"}), rules(allow=["Edit(.bashrc)"])).outcome is ALLOW
    for path in (".claude/commands/x.md", ".claude/skills/a/b.md", ".gitignore", "git/config"):
        assert screen(ToolUse("Edit", {"file_path": path}), rules(allow=["Edit"])).outcome is ALLOW


@pytest.fixture(name="real")
def _real(tmp_path: Path) -> PathContext:
    project, home = tmp_path / "project", tmp_path / "home"
    (project / "src").mkdir(parents=True)
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id").write_text("key")
    (project / "src" / "plain").write_text("x")
    (project / "src" / "key").symlink_to(home / ".ssh" / "id")
    (project / "src" / "out").symlink_to(tmp_path)
    (project / "src" / "loop").symlink_to(project / "src" / "loop")
    (project / "alias").symlink_to(project / "src")
    (tmp_path / "linked").symlink_to(project)
    return PathContext(str(project), str(home))


@pytest.mark.parametrize(
    ("path", "outcome"),
    [
        ("src/plain", ALLOW),
        ("src/new/file/that/is/not/there", ALLOW),
        ("src/key", ASK),
        ("src/out/elsewhere", ASK),
        ("src/out/project/src/plain", ALLOW),  # out and in again, and both spellings lie in src
        ("alias/plain", ASK),  # another name, which the rule does not have
        ("src/out/../plain", ASK),
        ("src/loop", ALLOW),
    ],
)
def test_an_allow_holds_for_the_name_and_for_where_it_leads(
    real: PathContext, path: str, outcome: ScreenOutcome
) -> None:
    use = ToolUse("Edit", {"file_path": path})
    assert screen(use, rules(allow=["Edit(src/**)"], place=real)).outcome is outcome


@pytest.mark.parametrize("path", ["src/key", "src/out/home/.ssh/id", "alias/key", "~/.ssh/id", "../home/.ssh/id"])
def test_a_deny_holds_for_the_name_or_for_where_it_leads(real: PathContext, path: str) -> None:
    by = rules(allow=["Read"], deny=["Read(~/.ssh/**)"], place=real)
    assert screen(ToolUse("Read", {"file_path": path}), by).outcome is DENY
    assert screen(ToolUse("Read", {"file_path": "src/plain"}), by).outcome is ALLOW


def test_a_session_in_a_linked_directory_keeps_its_rules(real: PathContext) -> None:
    linked = PathContext(str(Path(real.directory).parent / "linked"), real.home)
    by = rules(allow=["Edit(src/**)"], deny=["Edit(src/plain)"], place=linked)
    assert screen(ToolUse("Edit", {"file_path": "src/new"}), by).outcome is ALLOW
    assert screen(ToolUse("Edit", {"file_path": f"{real.directory}/src/new"}), by).outcome is ALLOW
    assert screen(ToolUse("Edit", {"file_path": f"{real.directory}/src/plain"}), by).outcome is DENY


def test_a_rule_through_a_link_holds_where_the_link_leads(real: PathContext) -> None:
    by = rules(allow=["Edit"], deny=["Edit(/alias/plain)"], place=real)
    assert screen(ToolUse("Edit", {"file_path": "src/plain"}), by).outcome is DENY


def test_a_redirection_follows_links_too(real: PathContext) -> None:
    by = rules(allow=["Bash(echo *)", "Edit(src/**)"], place=real)
    assert screen(ToolUse("Bash", {"command": "echo x > src/plain"}), by).outcome is ALLOW
    assert screen(ToolUse("Bash", {"command": "echo x > src/key"}), by).outcome is ASK


def test_no_pattern_takes_long() -> None:
    hard = ["Edit(" + "*a" * 60 + "b)", "Edit(" + "**/a/" * 60 + "b)", "Edit(//" + "**/*a*/" * 60 + "b)"]
    by = rules(allow=hard, deny=hard)
    began = time.process_time()
    for path in ("a" * 4000, "a/" * 2000, "aa/" * 1300 + "a"):
        assert screen(ToolUse("Edit", {"file_path": path}), by).outcome is ASK
    assert time.process_time() - began < 20  # what it is guarded against would take years
