"""Updates the completion list while the person types, without delaying a key."""

from collections.abc import Sequence

import anyio.to_thread
from textual.widget import Widget

from betcode.tui.composer.completion import (
    AgentCommand,
    Candidate,
    CompletionKind,
    CompletionRequest,
    command_candidates,
    file_candidates,
    history_candidates,
)
from betcode.tui.composer.completion_list import CompletionList
from betcode.tui.tasks import begin

_FRESH_S = 15.0
_AT_ONCE = 2000  # so many paths can be searched between two keys


class CompletionUpdater:
    """Keeps the candidates for the word at the cursor up to date."""

    def __init__(self, owner: Widget, shown: CompletionList) -> None:
        self._owner = owner
        self._shown = shown
        self._wanted: CompletionRequest | None = None
        self._dismissed: tuple[CompletionKind, int] | None = None
        self._directory = ""
        self._files: Sequence[str] = ()
        self._listed_at = -_FRESH_S
        self.commands: Sequence[AgentCommand] = ()
        self.history: Sequence[str] = ()

    @property
    def is_open(self) -> bool:
        return self._shown.is_open

    @property
    def wanted(self) -> CompletionRequest | None:
        """The request that the list answers."""
        return self._wanted

    @property
    def selected(self) -> Candidate | None:
        return self._shown.selected

    def move(self, by: int) -> None:
        self._shown.move(by)

    def show_directory(self, directory: str) -> None:
        """Complete files of this directory; none if it is empty."""
        self._directory, self._files, self._listed_at = directory, (), -_FRESH_S

    def look(self, wanted: CompletionRequest | None) -> None:
        """Show the candidates for this request."""
        if wanted is None or (self._dismissed is not None and self._dismissed != (wanted.kind, wanted.start)):
            self._dismissed = None
        if wanted is None or self._dismissed is not None:
            self._wanted = None
            self._offer(())
            return
        if wanted == self._wanted:
            return
        self._wanted = wanted
        match wanted.kind:
            case CompletionKind.COMMAND:
                self._offer(command_candidates(wanted.query, self.commands))
            case CompletionKind.HISTORY:
                self._offer(history_candidates(wanted.query, self.history))
            case CompletionKind.FILE:
                self._look_for_files(wanted)

    def dismiss(self) -> None:
        """Close the list until another word is typed."""
        if self._wanted is not None:
            self._dismissed = (self._wanted.kind, self._wanted.start)
        self.close()

    def close(self) -> None:
        self._wanted = None
        self._offer(())

    def _look_for_files(self, wanted: CompletionRequest) -> None:
        if anyio.current_time() - self._listed_at > _FRESH_S:
            self._listed_at = anyio.current_time()
            begin(self._owner, self._list, group="list files", exclusive=True)
        if len(self._files) <= _AT_ONCE:
            self._offer(file_candidates(wanted.query, self._files))
        else:
            begin(self._owner, self._match, wanted, group="match files", exclusive=True)

    async def _list(self) -> None:
        from betcode.tui.composer.file_list import list_files

        directory = self._directory
        files = await list_files(directory)
        if directory == self._directory:
            self._files = files
            if self._wanted is not None and self._wanted.kind is CompletionKind.FILE:
                self._look_for_files(self._wanted)

    async def _match(self, wanted: CompletionRequest) -> None:
        found = await anyio.to_thread.run_sync(file_candidates, wanted.query, self._files, abandon_on_cancel=True)
        if wanted == self._wanted:
            self._offer(found)

    def _offer(self, candidates: Sequence[Candidate]) -> None:
        if candidates or self._shown.is_open:
            self._shown.show(candidates)
