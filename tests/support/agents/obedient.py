"""A stand-in for the claude CLI that does what the prompt says, line by line; standard library only.

    say WORDS         one text delta per word
    count N [BYTES]   N text deltas flat out, each at least BYTES long
    wait NAME         goes on when the file NAME appears in the working directory (or it is interrupted)
    beat NAME         the same, with a tool's heartbeat every tenth of a second
    tool [NAME]       asks to run a command, or to use the tool NAME; allowed, it appends a line to ran.txt
    peek [DIR]        lists files, or reads DIR/notes.txt from within DIR; asks nobody about it, but shows it first if
                      it was told to; done, it appends a line to peeked.txt
    ask               asks one question
    spawn COMMAND…    runs a program of its own, as a tool would, and says what it printed
    play FILE         writes the bytes of a file of the working directory to stdout, just as they are
    deaf              hears no interrupt from here on
    ignore SIGNAL…    nor these signals
    mind SIGNAL…      is ended by these as any program is
    polite [stays|stops]  ends its turn on SIGINT and then, as the real one does, itself; or stays, or is as if stopped
    fail WORDS        ends the turn with an error in these words
    die               exits with 3 in the middle of the turn
    stumble NAME [N]  does so once, with exit code N: not where the file NAME exists, which it makes first
    env NAME          says the value of an environment variable
    argv              says its own arguments
    tokens N          its context has N tokens from here on
    compact           compacts by itself, as an agent does whose context is full

The message /compact compacts, as compacting.py says.

A file called `input` in the working directory holds what a tool is to be given beside the rest, and while there is one
called `skip` no tool is asked for. A file called `hold` names a step, and the agent that comes to it makes a file
`at-STEP` and stays there as long as the file names it: `heard` (an answer), `ran` (the tool has done its work), `told`
(so has its result been). A file called `mcp` holds the MCP servers that it reports, as JSON.

With OBEDIENT_DAWDLES in its environment it begins its first turn only after an interrupt, of which it makes nothing.
With BETCODE_OBEDIENT_KILLED_ONCE=NAME it is killed at its start unless the file NAME exists, which it makes first.
It writes its pid to agent.pids, one line per process, so that a test can count processes.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from support.agents.compacting import Compacting, Frame, Interrupted

MODEL = "obedient-1"


class Agent(Compacting):
    def __init__(self, arguments: list[str]) -> None:
        self._arguments = arguments
        named = [a for flag in ("--session-id=", "--resume=") for a in arguments if a.startswith(flag)]
        self.session = named[0].split("=", 1)[1] if named else str(uuid.uuid4())
        self._messages: queue.Queue[Frame | None] = queue.Queue()
        self._answers: queue.Queue[Frame] = queue.Queue()
        self._interrupted = threading.Event()
        self._is_deaf, self._is_screened = Path("deaf").exists(), False
        self._then = "stays"
        self._cost = 0.0
        self._plan = "--permission-mode=plan" in arguments
        self._said = ""  # the id of the message that is being said
        self._texts: list[str] = []
        self._tokens = 100
        self._failed = ""

    def run(self) -> None:
        with Path("agent.pids").open("a") as pids:
            pids.write(f"{os.getpid()}\n")
        killed = os.environ.get("BETCODE_OBEDIENT_KILLED_ONCE")
        if killed and not Path(killed).exists():
            Path(killed).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        threading.Thread(target=self._listen, daemon=True).start()
        while (message := self._messages.get()) is not None:
            self._turn(message)
            if self._then == "leaves":
                return
            if self._then == "stops":
                signal.raise_signal(signal.SIGSTOP)

    def _listen(self) -> None:
        for line in sys.stdin:
            frame = json.loads(line)
            if frame["type"] == "user":
                self._messages.put(frame)
            elif frame["type"] == "control_response":
                self._answers.put(frame["response"])
            elif frame["type"] == "control_request" and not self._is_deaf:
                if frame["request"]["subtype"] == "cancel_async_message":
                    self._let_go(frame)
                    continue
                if frame["request"]["subtype"] == "initialize":
                    if "hooks" in frame["request"] and Path("refuses-hooks").exists():
                        no = {"subtype": "error", "request_id": frame["request_id"], "error": "no hooks here"}
                        self._write({"type": "control_response", "response": no})
                        continue
                    self._is_screened |= "hooks" in frame["request"]
                else:
                    self._interrupted.set()
                ok = {"subtype": "success", "request_id": frame["request_id"], "response": {"still_queued": []}}
                self._write({"type": "control_response", "response": ok})
        self._messages.put(None)

    def _let_go(self, frame: Frame) -> None:
        wanted, kept = frame["request"]["message_uuid"], list[Frame | None]()
        while not self._messages.empty():
            kept.append(self._messages.get())
        found = [each for each in kept if each and each.get("uuid") == wanted]
        for each in kept:
            if each not in found:
                self._messages.put(each)
        for each in found:
            self._lifecycle(each, "cancelled")
        answer = {"subtype": "success", "request_id": frame["request_id"], "response": {"cancelled": bool(found)}}
        self._write({"type": "control_response", "response": answer})

    def _turn(self, message: Frame) -> None:
        if os.environ.pop("OBEDIENT_DAWDLES", ""):
            self._interrupted.wait()
        self._interrupted.clear()
        if message["message"]["content"] == "/compact":
            self._compact_as_told(message)
            return
        mode = "plan" if self._plan else "default"
        model = next((a.split("=", 1)[1] for a in self._arguments if a.startswith("--model=")), MODEL)
        servers = json.loads(Path("mcp").read_text()) if Path("mcp").exists() else []
        tools = ["Bash", *(f"mcp__{server['name']}__look" for server in servers)]
        self._write(
            {"type": "system", "subtype": "init", "cwd": str(Path.cwd()), "tools": tools, "mcp_servers": servers}
            | {"model": model, "permissionMode": mode, "slash_commands": [], "claude_code_version": "2.1.325"}
        )
        self._lifecycle(message, "started")
        body = message["message"]
        content = body["content"]
        prompt = content if isinstance(content, str) else "\n".join(b["text"] for b in content if b["type"] == "text")
        ending = {"subtype": "success", "is_error": False, "terminal_reason": "completed", "stop_reason": "end_turn"}
        try:
            self._begin_message()
            for text in self._deeds(prompt):
                self._texts.append(text)
                delta = {"type": "text_delta", "text": text}
                self._stream({"type": "content_block_delta", "index": 0, "delta": delta})
                if self._interrupted.is_set():
                    raise Interrupted
            if self._failed:
                ending = {"subtype": "error_during_execution", "is_error": True, "errors": [self._failed]}
                self._failed = ""
        except Interrupted:
            ending = {"subtype": "error_during_execution", "is_error": True, "terminal_reason": "aborted_streaming"}
        text = "".join(self._texts)
        self._end_message("end_turn", aborted=bool(ending["is_error"]))
        usage = {"input_tokens": self._tokens, "output_tokens": 20}
        self._lifecycle(message, "completed")
        self._cost += 0.25
        usage_of_model = {"inputTokens": 100, "outputTokens": 20, "contextWindow": 1000, "costUSD": self._cost}
        self._write(
            {"type": "result", "duration_ms": 5, "num_turns": 1, "usage": usage, "total_cost_usd": self._cost}
            | {"modelUsage": {model: usage_of_model}, "result": text, "permission_denials": []}
            | {"user_message_uuids": [message["uuid"]] if "uuid" in message else []}
            | ending
        )

    def _deeds(self, prompt: str) -> Iterator[str]:
        deeds: dict[str, Callable[[str], Iterator[str]]] = {
            "say": self._say,
            "count": self._count,
            "wait": self._wait,
            "beat": self._beat,
            "tool": lambda name: iter([self._tool(name or "Bash")]),
            "peek": lambda where: iter([self._peek(where)]),
            "ask": lambda _: iter([self._question()]),
            "spawn": self._spawn,
            "play": self._play,
            "deaf": self._go_deaf,
            "ignore": lambda names: self._treat(names, signal.SIG_IGN),
            "mind": lambda names: self._treat(names, signal.SIG_DFL),
            "polite": self._be_polite,
            "fail": self._fail,
            "die": self._die,
            "stumble": self._stumble,
            "env": lambda name: iter([os.environ.get(name, "")]),
            "argv": lambda _: iter([json.dumps(self._arguments)]),
            "tokens": self._set_tokens,
            "compact": lambda _: self._compact("auto"),
        }
        for line in prompt.splitlines():
            verb, _, rest = line.partition(" ")
            yield from deeds[verb](rest) if verb in deeds else iter([f"you said: {line}"])

    def _say(self, words: str) -> Iterator[str]:
        for number, word in enumerate(words.split(" ")):
            yield word if number == 0 else f" {word}"

    def _count(self, rest: str) -> Iterator[str]:
        amount, _, size = rest.partition(" ")
        for number in range(int(amount)):
            if number and number % 500 == 0:  # a model's message is never endless
                self._end_message("end_turn")
                self._begin_message()
            yield f"{number} ".ljust(int(size or 0), "x")

    def _wait(self, name: str) -> Iterator[str]:
        yield "waiting"
        while not Path(name).exists():
            if self._interrupted.wait(0.01):
                raise Interrupted

    def _beat(self, name: str) -> Iterator[str]:
        yield "waiting"
        while not Path(name).exists():
            self._write({"type": "tool_progress", "tool_use_id": "toolu_1-heartbeat-1", "tool_name": "Bash"})
            if self._interrupted.wait(0.1):
                raise Interrupted

    def _spawn(self, command: str) -> Iterator[str]:
        done = subprocess.run(command.split(" "), capture_output=True, text=True, check=False)
        yield (done.stdout + done.stderr).strip()

    def _play(self, name: str) -> Iterator[str]:
        sys.stdout.flush()
        sys.stdout.buffer.write(Path(name).read_bytes())
        sys.stdout.buffer.flush()
        yield "played"

    def _go_deaf(self, _: str) -> Iterator[str]:
        self._is_deaf = True
        yield "deaf "

    def _treat(self, names: str, how: signal.Handlers) -> Iterator[str]:
        for name in names.split(" "):
            signal.signal(signal.Signals[name], how)
        yield "so be it "

    def _be_polite(self, how: str) -> Iterator[str]:
        signal.signal(signal.SIGINT, lambda _number, _frame: self._stop(how or "leaves"))
        yield "polite "

    def _stop(self, then: str) -> None:
        self._then = then
        self._interrupted.set()

    def _fail(self, words: str) -> Iterator[str]:
        self._failed = words
        yield "failing"

    def _die(self, code: str) -> Iterator[str]:
        yield "dying"
        os._exit(int(code or 3))

    def _stumble(self, rest: str) -> Iterator[str]:
        name, _, code = rest.partition(" ")
        if not Path(name).exists():
            Path(name).touch()
            sys.stderr.write("stumbled over a stone\n")
            sys.stderr.flush()
            yield from self._die(code)
        yield "up again"

    def _begin_message(self) -> None:
        self._said, self._texts = f"msg_{uuid.uuid4().hex}", []
        self._stream({"type": "message_start", "message": self._message([])})
        self._stream({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})

    def _end_message(self, stop_reason: str, *uses: Frame, aborted: bool = False) -> None:
        blocks: list[Frame] = [{"type": "text", "text": "".join(self._texts)}] if self._texts else []
        for block in [*blocks, *uses]:
            frame: Frame = {"type": "assistant", "message": self._message([block]), "parent_tool_use_id": None}
            self._write(frame | ({"aborted": True} if aborted else {}))
        self._stream({"type": "content_block_stop", "index": 0})
        usage = {"input_tokens": self._tokens, "output_tokens": 20}
        self._stream({"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": usage})
        self._stream({"type": "message_stop"})

    def _tool(self, name: str) -> str:
        if Path("skip").exists():
            return "skipped"
        tool = f"toolu_{uuid.uuid4().hex}"
        given: Frame = {"command": "touch ran.txt", "description": "Leave a mark", "times": 10}
        if Path("input").exists():
            given["more"] = Path("input").read_text()
        use = {"type": "tool_use", "id": tool, "name": name, "input": given}
        self._end_message("tool_use", use)
        allowed = any(a.startswith("--allowedTools=") and name in a for a in self._arguments)
        reply: Frame = {"behavior": "allow"} if allowed else self._request(name, given, tool)
        self._come_to("heard")
        yes = reply.get("behavior") == "allow"
        if yes:
            with Path("ran.txt").open("a") as ran:
                ran.write(json.dumps(reply.get("updatedInput")) + "\n")
        self._come_to("ran")
        text = "it ran" if yes else str(reply.get("message"))
        self._tool_result(tool, text, is_error=not yes, denied_by="" if yes else "user_reject")
        self._come_to("told")
        self._begin_message()
        return "ran" if yes else "denied"

    def _come_to(self, step: str) -> None:
        hold = Path("hold")
        while hold.exists() and hold.read_text() == step:
            Path(f"at-{step}").touch()
            time.sleep(0.01)

    def _peek(self, where: str) -> str:
        tool = f"toolu_{uuid.uuid4().hex}"
        given = {"command": "cat notes.txt" if where else "ls -la"}
        self._end_message("tool_use", {"type": "tool_use", "id": tool, "name": "Bash", "input": given})
        verdict: Frame = {}
        if self._is_screened:
            called = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": given}
            called["cwd"] = str(Path.cwd() / where)
            request = {"subtype": "hook_callback", "callback_id": "screening", "input": called, "tool_use_id": tool}
            verdict = self._answer_to(request).get("hookSpecificOutput", {})
        decision = verdict.get("permissionDecision")
        if decision == "ask":
            decision = self._request("Bash", given, tool)["behavior"]
        if decision != "deny":
            with Path("peeked.txt").open("a") as peeked:
                peeked.write("peeked\n")
        said, denied = str(verdict.get("permissionDecisionReason", "files")), decision == "deny"
        self._tool_result(tool, said, is_error=denied, denied_by="hook" if denied else "")
        self._begin_message()
        return "peeked" if decision != "deny" else "kept out"

    def _question(self) -> str:
        tool = f"toolu_{uuid.uuid4().hex}"
        options = [{"label": "red", "description": "like fire"}, {"label": "blue", "description": "like water"}]
        question = {"question": "Which colour?", "header": "Colour", "options": options, "multiSelect": False}
        given: Frame = {"questions": [question]}
        use = {"type": "tool_use", "id": tool, "name": "AskUserQuestion", "input": given}
        self._end_message("tool_use", use)
        reply = self._request("AskUserQuestion", given, tool)
        self._tool_result(tool, "answered", is_error=False)
        self._begin_message()
        return json.dumps(reply.get("updatedInput"))

    def _request(self, name: str, given: Frame, tool: str) -> Frame:
        request = {"subtype": "can_use_tool", "tool_name": name, "input": given, "tool_use_id": tool}
        return self._answer_to(request | {"description": "a mark"})

    def _answer_to(self, request: Frame) -> Frame:
        request_id = str(uuid.uuid4())
        self._write({"type": "control_request", "request_id": request_id, "request": request})
        while True:
            try:
                answer = self._answers.get(timeout=0.01)
            except queue.Empty:
                if self._interrupted.is_set():
                    self._write({"type": "control_cancel_request", "request_id": request_id})
                    raise Interrupted from None
                continue
            if answer["request_id"] == request_id:
                return dict(answer.get("response", {}))

    def _tool_result(self, tool: str, text: str, *, is_error: bool, denied_by: str = "") -> None:
        result = {"tool_use_id": tool, "type": "tool_result", "content": text, "is_error": is_error}
        decided = {"decision": "reject", "source": denied_by} if denied_by else {"decision": "accept"}
        self._write(
            {"type": "user", "message": {"role": "user", "content": [result]}, "parent_tool_use_id": None}
            | {"tool_result_meta": [{"id": tool, "permission_decision": decided}]}
        )

    def _lifecycle(self, message: Frame, state: str) -> None:
        if "uuid" in message:
            self._write({"type": "command_lifecycle", "command_uuid": message["uuid"], "state": state})

    def _message(self, content: list[Frame]) -> Frame:
        usage = {"input_tokens": self._tokens, "output_tokens": 1}
        message = {"id": self._said, "type": "message", "role": "assistant", "model": MODEL, "stop_reason": None}
        return message | {"content": content, "usage": usage}

    def _stream(self, event: Frame) -> None:
        self._write({"type": "stream_event", "event": event, "parent_tool_use_id": None, "api_message_id": self._said})

    def _write(self, frame: Frame) -> None:
        frame = frame | {"session_id": self.session, "uuid": str(uuid.uuid4())}
        sys.stdout.write(json.dumps(frame, separators=(",", ":")) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    if "--version" in sys.argv:
        sys.stdout.write("2.1.325 (Claude Code)\n")
    else:
        Agent(sys.argv[1:]).run()
