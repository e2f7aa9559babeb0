"""A stand-in for an agent that speaks the Agent Client Protocol: it does what the prompt says, line by line.

    say WORDS         one chunk of text per word
    think WORDS       the same, as thoughts
    count N [BYTES]   N chunks flat out, each at least BYTES long
    wait NAME         goes on when the file NAME appears in the working directory (or it is cancelled)
    tool [COMMAND]    asks to run a command; allowed, it appends a line to ran.txt
    edit PATH         asks to edit a file; allowed, it writes it
    read PATH         says that it reads a file, and asks nobody
    plan A, B, C      tells a plan whose first step is being done
    commands A, B     tells which commands it has
    mode NAME         tells that it is in another mode now
    usage N M         says, as our own programs do, that a call of the model read N tokens and wrote M
    spawn COMMAND…    runs a program of its own, as a tool would, and says what it printed
    fs PATH           asks its client to read a file, and says what came of it
    remember          says what it was told in this session before, also to processes before this one
    env NAME          says the value of an environment variable
    argv              says its own arguments
    given             says what the last prompt held beside text
    error WORDS       the prompt fails with these words
    unauthorised      the prompt fails, since nobody is logged in
    own WORDS         begins a turn of its own once this one is over, and says these words in it
    deaf              hears no cancel from here on
    die               exits with 3 in the middle of the turn
    stumble NAME      does so once: not where the file NAME exists, which it makes first

What each session was told is kept in the directory .acp below the working directory. Arguments: --no-resume and
--no-load (it cannot), --no-login (no session can be opened), --repeats (it knows messages again and says so),
--version-2, --modes (it has the modes ask, act and plan, and acts unless it is told to ask), --no-files. A prompt that
comes while a turn is open is refused. It writes its pid to agent.pids, one line per process.
"""

import asyncio
import json
import os
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, cast

from acp import RequestError, run_agent
from acp.helpers import (
    plan_entry,
    start_tool_call,
    text_block,
    tool_content,
    tool_diff_content,
    update_agent_message_text,
    update_agent_thought_text,
    update_available_commands,
    update_current_mode,
    update_plan,
    update_tool_call,
    update_user_message_text,
)
from acp.interfaces import Agent, Client
from acp.schema import (
    AgentCapabilities,
    AuthMethodAgent,
    AvailableCommand,
    Implementation,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionMode,
    SessionModeState,
    SessionResumeCapabilities,
    SetSessionModeResponse,
    ToolCallUpdate,
    Usage,
)

_OPTIONS = [
    PermissionOption(option_id="always", name="Always", kind="allow_always"),
    PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
    PermissionOption(option_id="no", name="No", kind="reject_once"),
]


class Cancelled(Exception):
    """The turn is to end."""


class ScriptedAgent:
    """Implements `acp.interfaces.Agent`, as far as it is asked."""

    _client: Client

    def __init__(self, flags: list[str]) -> None:
        self._flags = flags
        self._cancelled = asyncio.Event()
        self._is_deaf = self._is_busy = False
        self._mode = "act" if "--modes" in flags else "ask"
        self._prompt: list[Any] = []
        self._later: list[str] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        resume = None if "--no-resume" in self._flags else SessionResumeCapabilities()
        repeats = {"betcode": {"recognisesRepeats": True}} if "--repeats" in self._flags else None
        files = "--no-files" not in self._flags
        return InitializeResponse(
            protocol_version=2 if "--version-2" in self._flags else protocol_version,
            agent_capabilities=AgentCapabilities(
                load_session="--no-load" not in self._flags,
                prompt_capabilities=PromptCapabilities(image=files, embedded_context=files),
                session_capabilities=SessionCapabilities(resume=resume),
                field_meta=repeats,
            ),
            agent_info=Implementation(name="scripted", version="1.0.0"),
            auth_methods=[
                AuthMethodAgent(id="none", name="Password", description="Say the word to the scripted agent")
            ],
        )

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        if "--no-login" in self._flags:
            raise RequestError.auth_required()
        session_id = f"scripted-{uuid.uuid4()}"
        self._memory(session_id, cwd).parent.mkdir(exist_ok=True)
        self._memory(session_id, cwd).touch()
        return NewSessionResponse(session_id=session_id, modes=self._modes())

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        for told in self._remembered(session_id, cwd):
            await self._client.session_update(session_id, update_user_message_text(told["text"]))
            await self._client.session_update(session_id, update_agent_message_text(f"I did: {told['text']}"))
        return LoadSessionResponse(modes=self._modes())

    async def resume_session(self, cwd: str, session_id: str, **_: Any) -> ResumeSessionResponse:
        self._remembered(session_id, cwd)
        return ResumeSessionResponse(modes=self._modes())

    async def set_session_mode(self, mode_id: str, session_id: str, **_: Any) -> SetSessionModeResponse:
        self._mode = mode_id
        await self._client.session_update(session_id, update_current_mode(mode_id))
        return SetSessionModeResponse()

    async def cancel(self, session_id: str, **_: Any) -> None:  # noqa: ARG002 (there is one session)
        if not self._is_deaf:
            self._cancelled.set()

    async def prompt(self, prompt: list[Any], session_id: str, **meta: Any) -> PromptResponse:
        if self._is_busy:
            raise RequestError.invalid_request({"details": "a turn is open"})
        message_id = meta.get("betcode", {}).get("messageId", "")
        text = "\n".join(block.text for block in prompt if block.type == "text")
        if "--repeats" in self._flags and any(
            message_id == told["id"] for told in self._remembered(session_id, str(Path.cwd()))
        ):
            return PromptResponse(stop_reason="end_turn")
        self._is_busy = True
        self._cancelled.clear()
        self._prompt = prompt
        _note(self._memory(session_id, str(Path.cwd())), json.dumps({"id": message_id, "text": text}))
        try:
            return await self._turn(session_id, text)
        finally:
            self._is_busy = False
            for words in self._later:
                self._begin(self._own_turn(session_id, words))
            self._later = []

    async def _turn(self, session_id: str, text: str) -> PromptResponse:
        usage = Usage(total_tokens=120, input_tokens=100, output_tokens=20)
        try:
            for line in text.splitlines():
                async for said in self._deed(session_id, line):
                    await self._client.session_update(session_id, said)
                    if self._cancelled.is_set():
                        raise Cancelled
        except Cancelled:
            return PromptResponse(stop_reason="cancelled", usage=usage)
        return PromptResponse(stop_reason="end_turn", usage=usage)

    async def _deed(self, session_id: str, line: str) -> AsyncIterator[Any]:
        verb, _, rest = line.partition(" ")
        told = list(_told(verb, rest))
        for said in told:
            yield said
        if told or await self._done(session_id, verb, rest):
            return
        match verb:
            case "wait":
                yield update_agent_message_text("waiting")
                await self._appears(rest)
            case "tool":
                async for said in self._tool(session_id, rest or "touch it"):
                    yield said
            case "edit":
                async for said in self._edit(session_id, rest):
                    yield said
            case _:
                yield update_agent_message_text(await self._fact(session_id, verb, rest) or f"you said: {line}")

    async def _done(self, session_id: str, verb: str, rest: str) -> bool:
        """Whether that was something to do without a word."""
        match verb:
            case "usage":
                read, _, wrote = rest.partition(" ")
                tokens = {"sessionId": session_id, "inputTokens": int(read), "outputTokens": int(wrote)}
                await self._client.ext_notification("betcode/usage", {**tokens, "costUsd": 0.25, "model": "scripted-1"})
            case "own":
                self._later.append(rest)
            case "error":
                raise RequestError(-32603, "Internal error", {"details": rest})
            case "unauthorised":
                raise RequestError.auth_required()
            case "deaf":
                self._is_deaf = True
            case "die":
                os._exit(3)
            case "stumble":
                if not Path(rest).exists():
                    Path(rest).touch()
                    os._exit(3)
            case _:
                return False
        return True

    async def _fact(self, session_id: str, verb: str, rest: str) -> str:
        match verb:
            case "remember":
                told = self._remembered(session_id, str(Path.cwd()))
                return "; ".join(each["text"].replace("\n", ", ") for each in told[:-1]) or "nothing"
            case "env":
                return os.environ.get(rest, "unset")
            case "argv":
                return json.dumps(self._flags)
            case "given":
                return ", ".join(block.type for block in self._prompt) or "nothing"
            case "spawn":
                process = await asyncio.create_subprocess_exec(
                    *rest.split(" "), stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
                )
                printed, _ = await process.communicate()
                return printed.decode() or "(nothing)"
            case "fs":
                try:
                    return (await self._client.read_text_file(session_id, rest)).content
                except RequestError as refused:
                    return f"refused: {refused}"
            case _:
                return ""

    async def _tool(self, session_id: str, command: str) -> AsyncIterator[Any]:
        tool = f"tool-{uuid.uuid4()}"
        yield start_tool_call(tool, "Terminal", kind="execute", status="pending", raw_input={})
        yield update_tool_call(tool, title=command, raw_input={"command": command})
        if await self._may(
            session_id, ToolCallUpdate(tool_call_id=tool, title=command, kind="execute", status="pending")
        ):
            _note("ran.txt", command)
            yield update_tool_call(tool, status="completed", content=[tool_content(text_block(f"ran {command}"))])
        else:
            yield update_tool_call(tool, status="failed", raw_output="denied")

    async def _edit(self, session_id: str, path: str) -> AsyncIterator[Any]:
        tool = f"tool-{uuid.uuid4()}"
        diff = tool_diff_content(str(Path.cwd() / path), "new\n", "old\n")
        use = ToolCallUpdate(tool_call_id=tool, title=f"Edit {path}", kind="edit", status="pending", content=[diff])
        if await self._may(session_id, use):
            Path(path).write_text("new\n")
            yield update_tool_call(tool, status="completed", content=[diff])
        else:
            yield update_tool_call(tool, status="failed")

    async def _may(self, session_id: str, use: ToolCallUpdate) -> bool:
        if self._mode == "act":
            return True
        answer = await self._client.request_permission(session_id, use, _OPTIONS)
        if answer.outcome.outcome == "cancelled":
            raise Cancelled
        return answer.outcome.option_id in ("yes", "always")

    async def _own_turn(self, session_id: str, words: str) -> None:
        await asyncio.sleep(0)  # behind the answer to the prompt
        self._cancelled.clear()
        await self._client.ext_notification("betcode/turn", {"sessionId": session_id, "state": "started"})
        how = await self._turn(session_id, f"say {words}")
        ended = {"sessionId": session_id, "state": "ended", "stopReason": how.stop_reason}
        await self._client.ext_notification("betcode/turn", ended)

    def _begin(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _appears(self, name: str) -> None:
        while not Path(name).exists():
            if self._cancelled.is_set():
                raise Cancelled
            await asyncio.sleep(0.01)

    def _modes(self) -> SessionModeState | None:
        if "--modes" not in self._flags:
            return None
        modes = [SessionMode(id=name, name=name) for name in ("ask", "act", "plan")]
        return SessionModeState(available_modes=modes, current_mode_id=self._mode)

    def _memory(self, session_id: str, cwd: str) -> Path:
        return Path(cwd) / ".acp" / f"{session_id}.jsonl"

    def _remembered(self, session_id: str, cwd: str) -> list[dict[str, str]]:
        memory = self._memory(session_id, cwd)
        if not memory.exists():
            raise RequestError(-32602, f"Session not found: {session_id}")
        return [json.loads(line) for line in memory.read_text().splitlines()]


def _note(path: Path | str, line: str) -> None:
    with Path(path).open("a") as file:
        file.write(f"{line}\n")


def _told(verb: str, rest: str) -> Iterator[Any]:
    """The updates of a deed that is nothing but words."""
    match verb:
        case "say" | "think":
            make = update_agent_message_text if verb == "say" else update_agent_thought_text
            for number, word in enumerate(rest.split(" ")):
                yield make(f" {word}" if number else word)
        case "count":
            amount, _, size = rest.partition(" ")
            for number in range(int(amount)):
                yield update_agent_message_text(f"{number} ".ljust(int(size or 0), "x"))
        case "read":
            tool = f"tool-{uuid.uuid4()}"
            yield start_tool_call(tool, f"Read {rest}", kind="read", status="in_progress", raw_input={"path": rest})
            yield update_tool_call(tool, status="completed", content=[tool_content(text_block("its content"))])
        case "plan":
            steps = enumerate(rest.split(", "))
            yield update_plan([plan_entry(step, status="pending" if n else "in_progress") for n, step in steps])
        case "commands":
            names = rest.split(", ")
            yield update_available_commands([AvailableCommand(name=n, description=f"does {n}") for n in names])
        case "mode":
            yield update_current_mode(rest)
        case _:
            pass


if __name__ == "__main__":
    _note("agent.pids", str(os.getpid()))
    asyncio.run(run_agent(cast("Agent", ScriptedAgent(sys.argv[1:])), use_unstable_protocol=True))
