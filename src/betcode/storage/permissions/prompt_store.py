"""The store's methods for prompts, grants and the audit."""

from collections.abc import Sequence

from betcode.storage.permissions import audit_log, prompt_queries
from betcode.storage.permissions.prompt_signal import PromptSignal
from betcode.storage.sqlite.access import DatabaseAccess, DatabaseStore, reads


class SqlitePrompts(DatabaseStore):
    """Behind the ports of `betcode.domain.store.store_ports`, where each method is described."""

    def __init__(self, database: DatabaseAccess) -> None:
        super().__init__(database)
        self._prompt_signal = PromptSignal()

    @property
    def prompts_version(self) -> int:
        return self._prompt_signal.version

    def prompts_since(self, version: int) -> Sequence[str] | None:
        return self._prompt_signal.since(version)

    async def prompts_changed(self, since: int) -> None:
        await self._prompt_signal.changed(since)

    open_prompts = reads(prompt_queries.open_prompts)
    kept_prompts = reads(prompt_queries.kept_prompts)
    answered_prompts = reads(prompt_queries.answered_prompts)
    asked_uses = reads(prompt_queries.asked_uses)
    find_prompt = reads(prompt_queries.find_prompt)
    prompts_beginning = reads(prompt_queries.prompts_beginning)
    answered_with = reads(prompt_queries.answered_with)
    grants = reads(prompt_queries.grants)

    peer_of_answer = reads(audit_log.peer_of_answer)
    audit_page = reads(audit_log.page)
    check_audit = reads(audit_log.check)
