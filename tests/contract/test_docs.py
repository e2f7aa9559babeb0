"""The documents name every setting, error code, state and exit code that there is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from betcode.cli.core.exit_codes import ExitCode
from betcode.config.schema import RULE_LISTS, SETTINGS
from betcode.domain.error_codes import ErrorCode
from betcode.domain.release.features import FEATURES
from betcode.domain.runs.state import RunState
from betcode.domain.sessions.status import SessionStatus
from betcode.domain.store.rows import InputState, PromptState
from betcode.server.errors import STATUS

ROOT = Path(__file__).parent.parent.parent
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
_FILES = frozenset({"daemon.lock", "daemon.log", "daemon.sock", "obey.sock"})


@pytest.mark.parametrize("key", SETTINGS)
def test_every_setting_is_described(key: str) -> None:
    assert f"| `{key}` |" in OPERATIONS


def test_the_tables_of_operations_are_those_that_the_code_makes() -> None:
    script = ROOT / "scripts" / "reference.py"
    ended = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("code", [*ErrorCode, *ExitCode])
def test_every_code_has_a_meaning(code: ErrorCode | ExitCode) -> None:
    assert code.meaning


def test_every_error_code_is_described_with_its_status_and_no_other() -> None:
    described = dict(re.findall(r"^\| `([A-Z_]+)` \| ([A-Z_]+) \|", OPERATIONS, re.MULTILINE))
    assert described == {code.value: STATUS[code].name for code in ErrorCode}


def test_every_exit_code_is_described_and_no_other() -> None:
    described = re.findall(r"^\| (\d+) \|", OPERATIONS, re.MULTILINE)
    assert [int(each) for each in described] == list(ExitCode)


def test_documents_name_no_variable_that_nobody_reads() -> None:
    source = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py") if not path.name.endswith("_pb2.py"))
    known = set(re.findall(r"\bBETCODE_[A-Z_]+\b", source)) | {each.environment_name for each in SETTINGS.values()}
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        named = set(re.findall(r"\bBETCODE_[A-Z_]*[A-Z]\b", path.read_text()))
        assert named <= known, path.name


def test_documents_name_no_setting_that_there_is_not() -> None:
    sections = "|".join(sorted({key.partition(".")[0] for key in SETTINGS if "." in key}))
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        named = set(re.findall(rf"`((?:{sections})\.[a-z_.]+)`", path.read_text()))
        assert named <= SETTINGS.keys() | RULE_LISTS | _FILES, path.name


@pytest.mark.parametrize("state", [*SessionStatus, *RunState, *InputState, *PromptState])
def test_every_state_is_in_the_architecture(state: str) -> None:
    assert state.upper() in ARCHITECTURE


def test_every_feature_flag_is_described_and_no_other() -> None:
    known = {feature.name for feature in FEATURES}
    assert all(f"| `{name}` |" in OPERATIONS for name in known)
    for path in (ROOT / "docs").glob("*.md"):
        assert set(re.findall(r"feature_flags\.(\w+)", path.read_text())) <= known, path.name


def test_every_decision_is_in_the_index() -> None:
    decisions = ROOT / "docs" / "decisions"
    index = (decisions / "README.md").read_text()
    for path in decisions.glob("0*.md"):
        assert f"({path.name})" in index, path.name
    for name in index.split("](")[1:]:
        assert (decisions / name.split(")")[0]).exists(), name


def headings(text: str) -> set[str]:
    """The anchors that a page has: its headings as GitHub and GitLab write them in links."""
    lines = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL).splitlines()
    titles = (line.lstrip("#").strip().lower() for line in lines if line.startswith("#"))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


def broken_links(page: Path) -> list[str]:
    """The links of a page that lead to no file, or to no heading of that file."""
    found = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and anchor not in headings(target.read_text(encoding="utf-8"))):
            found.append(link)
    return found


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")], ids=lambda page: page.name)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    assert broken_links(page) == []


def test_a_link_to_nothing_is_found(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# Other page\n\n```\n# no heading\n```\n\n## The `code` of it\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md#other-page) [b](other.md#the-code-of-it) [c](https://example.com/x)\n# Here\n[d](#here)"
    )
    assert broken_links(page) == []
    page.write_text("[a](gone.md) [b](other.md#no-heading) [c](#nowhere)")
    assert broken_links(page) == ["gone.md", "other.md#no-heading", "#nowhere"]


def _where_to_change_what() -> list[str]:
    section = ARCHITECTURE.partition("## Where to change what")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| .* \|$", section, re.MULTILINE)[1:]
    assert len(rows) == 12
    return sorted({path for row in rows for path in re.findall(r"`([a-z0-9_]+/[a-z0-9_./]*)`", row)})


@pytest.mark.parametrize("path", _where_to_change_what())
def test_paths_of_where_to_change_what_exist(path: str) -> None:
    base = ROOT if path.startswith(("proto/", "docs/", "tests/")) else ROOT / "src" / "betcode"
    assert (base / path).exists()


def long_prose_lines(text: str) -> list[str]:
    """The lines of prose over 100 columns; not code, tables, comments, links or `JSON:` lines."""
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    free = re.compile(r"\s*(\||JSON\b|<!--|[-*]? ?!?\[[^\]]*\]\(\S+\)[.,]?$)")
    return [line for line in prose.splitlines() if len(line) > 100 and not free.match(line)]


_PROSE = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "changes").rglob("*.md")]


@pytest.mark.parametrize("page", _PROSE, ids=lambda page: str(page.relative_to(ROOT)))
def test_prose_is_wrapped_at_100_columns(page: Path) -> None:
    assert long_prose_lines(page.read_text(encoding="utf-8")) == []


def test_a_long_line_is_found_in_prose_only() -> None:
    long = "word " * 21
    assert long_prose_lines(f"short\n{long}\n") == [long]
    assert long_prose_lines(f"```\n{long}\n```\n| {long} |\nJSON: {long}\n[a](https://e.com/{'x' * 100})\n") == []
