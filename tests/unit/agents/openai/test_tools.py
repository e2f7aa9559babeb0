"""The tools: what each does, what it asks about, and paths that lead elsewhere than they seem to."""

import json
import os
from pathlib import Path

import pytest

from betcode.agents.openai.records import Call
from betcode.agents.openai.tools.plans import Plan, Result, Unfit, Workspace
from betcode.agents.openai.tools.table import TOOLS, changed_plan, plan_of
from support.daemon.runs import gone

pytestmark = pytest.mark.anyio


@pytest.fixture
def root(tmp_path: Path) -> Path:
    project = tmp_path.resolve() / "project"
    project.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("a secret\n")
    return project


def plan(root: Path, tool: str, **arguments: object) -> Plan:
    return plan_of(Workspace(root, {"PATH": os.environ["PATH"], "SEEN": "yes"}), Call("c", tool, json.dumps(arguments)))


async def run(root: Path, tool: str, **arguments: object) -> Result:
    return await plan(root, tool, **arguments).run()


# ---------------------------------------------------------------- what is asked


@pytest.mark.parametrize(
    "path",
    ["../outside/secret.txt", "link", "inside/../../outside/secret.txt", "linked/secret.txt", "/etc/passwd", "~"],
)
async def test_reading_outside_is_asked_about_by_its_real_path(root: Path, path: str) -> None:
    (root / "inside").mkdir()
    (root / "link").symlink_to(root.parent / "outside" / "secret.txt")
    (root / "linked").symlink_to(root.parent / "outside")
    found = plan(root, "read", path=path)
    assert found.is_asked
    assert not str(found.shown["file_path"]).startswith(str(root))
    assert "link" not in Path(str(found.shown["file_path"])).parts


async def test_reading_inside_is_not_asked_about(root: Path) -> None:
    (root / "a.txt").write_text("one\ntwo\n")
    for tool, arguments in (("read", {"path": "a.txt"}), ("grep", {"pattern": "x"}), ("glob", {"pattern": "*"})):
        assert not plan(root, tool, **arguments).is_asked
    asking = Workspace(root, {}, asks_reads=True)
    assert plan_of(asking, Call("c", "read", '{"path": "a.txt"}')).is_asked


async def test_searching_outside_is_asked_about(root: Path) -> None:
    assert plan(root, "grep", pattern="x", path="..").is_asked
    assert plan(root, "glob", pattern="*", path="/").is_asked


async def test_whatever_changes_or_executes_is_asked_about(root: Path) -> None:
    assert plan(root, "write", path="a", content="").is_asked
    assert plan(root, "edit", path="a", old_string="x", new_string="y").is_asked
    assert plan(root, "shell", command="true").is_asked
    assert plan(root, "shell", command="true").name == "Bash"


async def test_a_place_that_became_a_link_since_is_refused(root: Path) -> None:
    """Between the question and the deed somebody puts a link there."""
    secret = root.parent / "outside" / "secret.txt"
    (root / "a.txt").write_text("one\n")
    read = plan(root, "read", path="a.txt")
    write = plan(root, "write", path="a.txt", content="mine")
    below = plan(root, "write", path="below/b.txt", content="mine")
    (root / "a.txt").unlink()
    (root / "a.txt").symlink_to(secret)
    (root / "below").symlink_to(secret.parent)
    for each in (read, write, below):
        with pytest.raises(Unfit, match="link"):
            await each.run()
    assert secret.read_text() == "a secret\n"
    assert sorted(path.name for path in secret.parent.iterdir()) == ["secret.txt"]


@pytest.mark.parametrize("path", ["/dev/zero", "pipe", "socket", "loop", "a\0b", "", "x" * 5000, "no/such/file"])
async def test_what_is_no_readable_file_is_said(root: Path, path: str) -> None:
    os.mkfifo(root / "pipe")
    os.mknod(root / "socket", 0o140600)
    (root / "loop").symlink_to(root / "loop")
    with pytest.raises(Unfit):
        await run(root, "read", path=path)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("grep", {"pattern": "(" * 5000}),
        ("grep", {"pattern": "a{99999999999999999999}"}),
        ("grep", {"pattern": "\ud800"}),
        ("shell", {"command": "true", "cwd": "x" * 300}),
        ("shell", {"command": "echo \udcff"}),
        ("write", {"path": "a.txt", "content": "half a character: \ud83d"}),
        ("write", {"path": "x/" * 2000 + "a.txt", "content": ""}),
        ("edit", {"path": "a.txt", "old_string": "a", "new_string": "\ud800"}),
    ],
)
async def test_whatever_cannot_be_done_is_said_to_the_model(root: Path, tool: str, arguments: dict[str, str]) -> None:
    with pytest.raises(Unfit):
        await run(root, tool, **arguments)
    assert list(root.iterdir()) == []


async def test_a_directory_that_became_a_link_since_is_neither_searched_nor_worked_in(root: Path) -> None:
    (root / "below").mkdir()
    plans = [plan(root, "grep", pattern="secret", path="below"), plan(root, "shell", command="cat *", cwd="below")]
    (root / "below").rmdir()
    (root / "below").symlink_to(root.parent / "outside")
    for each in plans:
        with pytest.raises(Unfit, match="link"):
            await each.run()


async def test_names_that_are_no_text_are_listed_one_in_a_line(root: Path) -> None:
    Path(os.fsdecode(os.fsencode(root) + b"/a\xff\nb")).touch()
    assert (await run(root, "read", path=".")).text == "a\ufffd\\nb"


async def test_a_name_as_long_as_names_may_be_can_be_written(root: Path) -> None:
    await run(root, "write", path="ü" * 127, content="x")
    assert [path.name for path in root.iterdir()] == ["ü" * 127]


# ---------------------------------------------------------------- what is done


async def test_lines_are_numbered_and_directories_listed(root: Path) -> None:
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    (root / "below").mkdir()
    assert (await run(root, "read", path="a.txt")).text == "1\tone\n2\ttwo\n3\tthree"
    assert (await run(root, "read", path="a.txt", offset=2, limit=1)).text == "2\ttwo\n(lines 2 to 2 of 3)"
    assert (await run(root, "read", path=".")).text == "a.txt\nbelow/"


async def test_a_binary_file_is_not_shown(root: Path) -> None:
    (root / "a.bin").write_bytes(b"\0\1\2")
    with pytest.raises(Unfit, match="not a text file"):
        await run(root, "read", path="a.bin")


async def test_a_line_without_an_end_is_cut(root: Path) -> None:
    (root / "long.txt").write_text("x" * 1_000_000 + "\nsecond\n")
    text = (await run(root, "read", path="long.txt")).text
    assert len(text) < 150_000
    assert "characters omitted" in text
    assert (await run(root, "read", path="long.txt", offset=2)).text == "2\tsecond"


async def test_an_edit_keeps_mode_and_line_ends_and_shows_both_sides(root: Path) -> None:
    path = root / "run.sh"
    path.write_bytes(b"one\r\ntwo\r\n")
    path.chmod(0o775)
    result = await run(root, "edit", path="run.sh", old_string="two", new_string="2")
    assert path.read_bytes() == b"one\r\n2\r\n"
    assert path.stat().st_mode & 0o777 == 0o775
    assert result.diff is not None
    assert (result.diff.old, result.diff.new) == ("one\r\ntwo\r\n", "one\r\n2\r\n")
    assert sorted(each.name for each in root.iterdir()) == ["run.sh"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"old_string": "x", "new_string": "y"}, "2 times"),
        ({"old_string": "z", "new_string": "y"}, "not in the file"),
        ({"old_string": "", "new_string": "y"}, "empty"),
        ({"old_string": "x", "new_string": "x"}, "same"),
        ({"old_string": "x"}, "missing"),
        ({"old_string": "x", "new_string": 3}, "string"),
    ],
)
async def test_an_edit_that_is_not_clear_changes_nothing(root: Path, arguments: dict[str, object], why: str) -> None:
    (root / "a.txt").write_text("x x\n")
    with pytest.raises(Unfit, match=why):
        await run(root, "edit", path="a.txt", **arguments)
    assert (root / "a.txt").read_text() == "x x\n"


async def test_every_occurrence_is_replaced_on_request(root: Path) -> None:
    (root / "a.txt").write_text("x x\n")
    await run(root, "edit", path="a.txt", old_string="x", new_string="y", replace_all=True)
    assert (root / "a.txt").read_text() == "y y\n"


async def test_a_new_file_may_be_in_a_new_directory(root: Path) -> None:
    result = await run(root, "write", path="new/below/a.txt", content="ü\n")
    assert (root / "new/below/a.txt").read_text() == "ü\n"
    assert result.diff is not None
    assert result.diff.old is None


async def test_searching_finds_lines_and_files_and_follows_no_link(root: Path) -> None:
    (root / "src").mkdir()
    (root / "src" / "a.py").write_text("x = 1\nsecret = 2\n")
    (root / "b.txt").write_text("secret\n")
    (root / "out").symlink_to(root.parent / "outside")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("secret\n")
    found = (await run(root, "grep", pattern="sec.et")).text.splitlines()
    assert found == [f"{root}/b.txt:1:secret", f"{root}/src/a.py:2:secret = 2"]
    assert (await run(root, "grep", pattern="secret", glob="*.py")).text == f"{root}/src/a.py:2:secret = 2"
    assert (await run(root, "glob", pattern="**/*.py")).text == f"{root}/src/a.py"
    assert (await run(root, "glob", pattern="*.md")).text == "(nothing found)"


async def test_a_command_has_its_output_exit_code_and_environment(root: Path) -> None:
    result = await run(root, "shell", command="pwd; echo $SEEN; echo wrong >&2; exit 3")
    assert result.text == f"{root}\nyes\nwrong\n\n(exit code 3)"
    assert result.is_error
    assert (await run(root, "shell", command="true")).text == "(no output)"


async def test_long_output_keeps_its_beginning_and_its_end(root: Path) -> None:
    text = (await run(root, "shell", command="seq 100000")).text
    assert text.startswith("1\n2\n")
    assert text.endswith("99999\n100000\n")
    assert "bytes omitted" in text
    assert len(text) < 40_000


async def test_a_command_that_takes_too_long_is_ended(root: Path) -> None:
    result = await run(root, "shell", command="echo begun; trap '' TERM; sleep 600 & wait; wait", timeout_s=1)
    assert result.text == "begun\n\n(ended after 1 s)"
    assert result.is_error


async def test_what_a_command_leaves_in_the_background_ends_with_it(root: Path) -> None:
    # It is at work for a while, so that its end is waited for before it comes.
    result = await run(root, "shell", command="sleep 600 & echo $!; for each in $(seq 20000); do :; done")
    await gone(int(result.text))


async def test_a_person_may_change_what_is_done(root: Path) -> None:
    workspace = Workspace(root, {"PATH": os.environ["PATH"]})
    call = Call("c", "write", '{"path": "a.txt", "content": "theirs"}')
    await changed_plan(workspace, call, {"file_path": str(root / "b.txt"), "content": "ours"}).run()
    assert not (root / "a.txt").exists()
    assert (root / "b.txt").read_text() == "ours"


@pytest.mark.parametrize("arguments", ["", "[]", "{", '"x"', "null", "[" * 5000, '{"path": 1}'])
async def test_arguments_that_make_no_sense_are_said(root: Path, arguments: str) -> None:
    with pytest.raises(Unfit):
        plan_of(Workspace(root, {}), Call("c", "read", arguments))


async def test_every_tool_that_is_offered_can_be_planned() -> None:
    for tool in TOOLS:
        with pytest.raises(Unfit, match="missing"):
            plan_of(Workspace(Path("/"), {}), Call("c", tool.name, "{}"))
