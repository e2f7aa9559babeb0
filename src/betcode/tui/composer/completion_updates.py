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
        self._request: CompletionRequest | None = None
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
    def request(self) -> CompletionRequest | None:
        """The request that the list answers."""
        return self._request

    @property
    def selected(self) -> Candidate | None:
        return self._shown.selected

    def move(self, by: int) -> None:
        self._shown.move(by)

    def show_directory(self, directory: str) -> None:
        """Complete files of this directory; none if it is empty."""
        self._directory, self._files, self._listed_at = directory, (), -_FRESH_S

    def update_for(self, request: CompletionRequest | None) -> None:
        """Show the candidates for this request."""
        if request is None or (self._dismissed is not None and self._dismissed != (request.kind, request.start)):
            self._dismissed = None
        if request is None or self._dismissed is not None:
            self._request = None
            self._offer(())
            return
        if request == self._request:
            return
        self._request = request
        match request.kind:
            case CompletionKind.COMMAND:
                self._offer(command_candidates(request.query, self.commands))
            case CompletionKind.HISTORY:
                self._offer(history_candidates(request.query, self.history))
            case CompletionKind.FILE:
                self._complete_files(request)

    def dismiss(self) -> None:
        """Close the list until another word is typed."""
        if self._request is not None:
            self._dismissed = (self._request.kind, self._request.start)
        self.close()

    def close(self) -> None:
        self._request = None
        self._offer(())

    def _complete_files(self, request: CompletionRequest) -> None:
        if anyio.current_time() - self._listed_at > _FRESH_S:
            self._listed_at = anyio.current_time()
            begin(self._owner, self._list, group="list files", exclusive=True)
        if len(self._files) <= _AT_ONCE:
            self._offer(file_candidates(request.query, self._files))
        else:
            begin(self._owner, self._match, request, group="match files", exclusive=True)

    async def _list(self) -> None:
        from betcode.tui.composer.file_list import list_files

        directory = self._directory
        files = await list_files(directory)
        if directory == self._directory:
            self._files = files
            if self._request is not None and self._request.kind is CompletionKind.FILE:
                self._complete_files(self._request)

    async def _match(self, request: CompletionRequest) -> None:
        found = await anyio.to_thread.run_sync(file_candidates, request.query, self._files, abandon_on_cancel=True)
        if request == self._request:
            self._offer(found)

    def _offer(self, candidates: Sequence[Candidate]) -> None:
        if candidates or self._shown.is_open:
            self._shown.show(candidates)
