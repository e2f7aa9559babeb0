"""Trusting a project through the engine: kept, found out by rule books, and in the audit."""

from pathlib import Path

import pytest

from betcode.config.paths import choose_paths
from betcode.config.settings import EngineSettings
from betcode.domain.errors import InvalidRequest
from betcode.domain.permissions.audit import AuditFilter
from betcode.engine import open_engine
from betcode.engine.permissions.rule_files import RuleBook
from betcode.rules import ScreenOutcome, ToolUse, screen
from support.rules.files import write_rules
from support.storage.rows import store_at

pytestmark = pytest.mark.anyio


async def test_a_project_is_trusted_and_no_longer(tmp_path: Path) -> None:
    paths = choose_paths({}, state_dir=tmp_path / "state", config_dir=tmp_path / "config")
    project = tmp_path / "project"
    write_rules(project / ".claude" / "settings.json", allow=["Bash(make *)"])
    environment = {"HOME": str(tmp_path)}
    use = ToolUse("Bash", {"command": "make it"})
    (tmp_path / "state").mkdir()
    async with (
        store_at(paths.database) as store,
        open_engine(store, {}, EngineSettings(), paths.runs, paths=paths) as supervisor,
    ):
        policy = supervisor.policy

        async def outcome(book: RuleBook) -> ScreenOutcome:
            return (await book.file_io.inline_or_run(lambda: screen(use, book.rules))).outcome

        book = await policy.rule_book(str(project), environment)
        assert await outcome(book) is ScreenOutcome.ASK
        assert await policy.trust(str(project), trusted=True, client="me")
        assert not await policy.trust(str(project), trusted=True, client="me")
        assert [listed.directory for listed in await policy.trusted()] == [str(project)]
        assert await book.refresh()
        assert await outcome(book) is ScreenOutcome.ALLOW
        assert await policy.trust(str(project), trusted=False, client="me")
        assert await outcome(await policy.rule_book(str(project), environment)) is ScreenOutcome.ASK
        for wrong in ("project", str(tmp_path / "nothing"), f"{project}\0"):
            with pytest.raises(InvalidRequest):
                await policy.trust(wrong, trusted=True)
        kept = [
            (row.entry.what.value, row.entry.outcome, row.entry.rule)
            for row in await store.audit_page(AuditFilter(), None, 10)
        ]
        assert kept == [("trust", "granted", str(project)), ("trust", "cleared", str(project))]
