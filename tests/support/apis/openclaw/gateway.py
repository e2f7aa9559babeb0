"""A stand-in for `openclaw gateway`: its WebSocket protocol, its memory, and what it does by itself.

A message carries its script: `Say hello [[ [{"text": "Hello."}] ]]`. A step may have `text`, `cmd` (a command, which
is really run), `error`, and `wait`: a file that must be there before the step goes on. What was under way when it was
killed it takes up again by itself under another name, as the real one does. The shapes are those of the recordings.
"""

import asyncio
import json
import os
import re
import sys
import uuid
from contextlib import suppress
from pathlib import Path

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from support.apis.openclaw.memory import Json, Run, Session, assistant, now, user

SCRIPT = re.compile(r"\[\[ (.*) \]\]", re.DOTALL)
RESUMED = "[System] Your previous turn was interrupted by a gateway restart."


class Gateway:
    def __init__(self, memory: Path, token: str, starting: int) -> None:
        self._memory = memory
        self._token = token
        self._starting = starting
        self._people: dict[ServerConnection, set[str]] = {}
        self._all: set[ServerConnection] = set()  # who hears of the tools of runs that others began
        self._senders: dict[str, ServerConnection] = {}  # of runs
        self._approvals: dict[str, tuple[Json, asyncio.Future[str]]] = {}
        self._seen: dict[str, str] = {}  # messages, by their id: how they stand
        self._seq = 0
        kept = json.loads(memory.read_text()) if memory.exists() else {}
        self.sessions = {key: Session(**each) for key, each in kept.items()}

    def resume(self) -> None:
        """What a killed one left."""
        for session in self.sessions.values():
            if session.status == "running":
                run = session.run = Run(str(uuid.uuid4()), step=session.step)
                provenance = {"kind": "internal_system", "sourceTool": "main_session_restart_recovery"}
                self._store(session, user(run.run_id, RESUMED) | {"provenance": provenance})
                run.task = asyncio.create_task(self._play(session, run))

    # ------------------------------------------------------------ people

    async def serve(self, socket: ServerConnection) -> None:
        challenge = {"nonce": str(uuid.uuid4()), "ts": now(), "capabilities": ["model-catalog-snapshot"]}
        await socket.send(json.dumps({"type": "event", "event": "connect.challenge", "payload": challenge}))
        with suppress(ConnectionClosed):
            async for line in socket:
                frame = json.loads(line)
                await self._answer(socket, frame["id"], frame["method"], frame.get("params") or {})
        self._people.pop(socket, None)

    async def _answer(self, socket: ServerConnection, request_id: str, method: str, params: Json) -> None:
        if method == "connect":
            await self._connect(socket, request_id, params)
            return
        handler = getattr(self, f"_{method.replace('.', '_')}", None)
        if handler is None:
            await self._refuse(socket, request_id, "INVALID_REQUEST", f"unknown method: {method}")
            return
        await handler(socket, request_id, params)

    async def _connect(self, socket: ServerConnection, request_id: str, params: Json) -> None:
        if self._starting > 0:
            self._starting -= 1
            more = {"retryable": True, "retryAfterMs": 500, "details": {"reason": "startup-sidecars"}}
            await self._refuse(socket, request_id, "UNAVAILABLE", "gateway starting; retry shortly", more)
            await socket.close(1013, "gateway starting")
        elif params.get("auth", {}).get("token") != self._token:
            message = "unauthorized: gateway token mismatch (provide gateway auth token)"
            details = {"code": "AUTH_TOKEN_MISMATCH", "authReason": "token_mismatch"}
            await self._refuse(socket, request_id, "INVALID_REQUEST", message, {"details": details})
            await socket.close(1008, message)
        else:
            assert {"tool-events", "exec-approvals"} <= set(params["caps"])
            assert "operator.admin" in params["scopes"]
            self._people[socket] = set()
            await self._say(socket, request_id, {"type": "hello-ok", "protocol": 4})

    async def _sessions_create(self, socket: ServerConnection, request_id: str, params: Json) -> None:
        if not Path(params["cwd"]).is_dir():
            await self._refuse(socket, request_id, "INVALID_REQUEST", "sessions.create cwd is unavailable: ENOENT")
            return
        key = f"agent:main:dashboard:{uuid.uuid4()}"
        mode = params.get("permissionMode", "full")
        self.sessions[key] = Session(key, params["cwd"], mode, params.get("model") or "fake-model")
        self._keep()
        entry = {"sessionRoot": params["cwd"], "permissionMode": mode}
        made = {"ok": True, "key": key, "sessionId": str(uuid.uuid4()), "entry": entry, "runStarted": False}
        await self._say(socket, request_id, made)

    async def _sessions_describe(self, socket: ServerConnection, request_id: str, params: Json) -> None:
        session = self.sessions.get(params["key"])
        await self._say(socket, request_id, {"session": self._info(session) if session else None})

    async def _sessions_messages_subscribe(self, socket: ServerConnection, request_id: str, params: Json) -> None:
        self._people[socket].add(params["key"])
        await self._say(socket, request_id, {"subscribed": True, "key": params["key"]})

    async def _sessions_subscribe(self, socket: ServerConnection, request_id: str, _: Json) -> None:
        self._all.add(socket)
        await self._say(socket, request_id, {"subscribed": True})

    async def _chat_history(self, socket: ServerConnection, request_id: str, params: Json) -> None:
        session = self.sessions[params["sessionKey"]]
        told = {"sessionKey": session.key, "messages": session.messages, "sessionInfo": self._info(session)}
        if session.run is not None:
            told["inFlightRun"] = {"runId": session.run.run_id, "text": "", "events": session.run.flight}
        await self._say(socket, request_id, told)

    async def _chat_send(self, socket: ServerConnection, request_id: str, params: Json) -> None:
        session, run_id = self.sessions[params["sessionKey"]], params["idempotencyKey"]
        if run_id in self._seen:
            await self._say(socket, request_id, {"runId": run_id, "status": self._seen[run_id]})
            return
        self._seen[run_id] = "in_flight"
        self._senders[run_id] = socket
        await self._say(socket, request_id, {"runId": run_id, "status": "started"})
        if session.run is not None:
            await self._tell(session, "chat", {"runId": run_id, "seq": 1, "state": "final"})
            return
        self._store(session, user(run_id, params["message"]))
        session.status, session.broken, session.aborted, session.step = "running", params["message"], False, 0
        self._keep()
        await self._tell_stored(session)
        run = session.run = Run(run_id)
        run.task = asyncio.create_task(self._play(session, run))

    async def _chat_abort(self, socket: ServerConnection, request_id: str, params: Json) -> None:
        session = self.sessions[params["sessionKey"]]
        run = session.run
        if run is None or params.get("runId", run.run_id) != run.run_id:
            await self._say(socket, request_id, {"ok": True, "aborted": False, "runIds": []})
            return
        if run.task is not None:
            run.task.cancel()
        if run.process is not None:
            with suppress(ProcessLookupError):
                run.process.kill()
        await self._end(session, run, "cancelled")
        await self._chat(session, run, {"state": "aborted", "stopReason": "rpc"})
        ended = {"phase": "end", "status": "cancelled", "aborted": True, "stopReason": "rpc"}
        await self._agent(session, run, "lifecycle", ended)
        await self._say(socket, request_id, {"ok": True, "aborted": True, "runIds": [run.run_id]})

    async def _exec_approval_list(self, socket: ServerConnection, request_id: str, _: Json) -> None:
        await self._say(socket, request_id, [asked for asked, _ in self._approvals.values()])

    async def _exec_approval_resolve(self, socket: ServerConnection, request_id: str, params: Json) -> None:
        if params["decision"] == "allow-always":
            await self._refuse(socket, request_id, "INVALID_REQUEST", "allow-always is unavailable for this command")
            return
        asked, answered = self._approvals.pop(params["id"], ({}, None))
        if answered is None:
            await self._refuse(socket, request_id, "INVALID_REQUEST", "unknown approval")
            return
        answered.set_result(params["decision"])
        told = {"id": params["id"], "decision": params["decision"], "request": asked["request"], "ts": now()}
        await self._tell_all("exec.approval.resolved", told | {"resolvedBy": "gateway-client"})
        await self._say(socket, request_id, {"ok": True})

    # ------------------------------------------------------------ runs

    async def _play(self, session: Session, run: Run) -> None:
        await self._agent(session, run, "run_status", {"phase": "preparing_workspace"})
        await self._agent(session, run, "lifecycle", {"phase": "start", "startedAt": now()})
        found = SCRIPT.search(session.broken)
        steps: list[Json] = json.loads(found[1]) if found else [{"text": "No script."}]
        text = ""
        for number in range(run.step, len(steps)):
            step = steps[number]
            if error := step.get("error"):
                await self._fail(session, run, error)
                return
            text = await self._speak(session, run, number, step)
            if command := step.get("cmd"):
                await self._use(session, run, number, text, command)
            elif text:
                self._store(session, assistant(run.run_id, [{"type": "text", "text": text}], "stop"))
                await self._tell_stored(session)
            session.step = number + 1
            self._keep()
        await self._end(session, run, "done")
        reply = {"disposition": "visible", "text": text}
        ended = {"phase": "end", "stopReason": "stop", "aborted": False, "terminalReply": reply}
        await self._agent(session, run, "lifecycle", ended | {"executionSettled": True})
        message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
        await self._chat(session, run, {"state": "final", "stopReason": "stop", "message": message})

    async def _speak(self, session: Session, run: Run, number: int, step: Json) -> str:
        said = ""
        words = re.findall(r"\S+\s*", step.get("text", ""))
        for position, word in enumerate(words or [""]):
            said += word
            data = {"text": said, "delta": word, "itemId": f"item-{run.run_id}:{number}"}
            if word:
                await self._agent(session, run, "assistant", data)
            if position == 0 and (gate := step.get("wait")):
                await _there(Path(gate))
        return said

    async def _use(self, session: Session, run: Run, number: int, text: str, command: str) -> None:
        call_id = f"call_{number}_{run.run_id[:8]}"
        if text:
            preamble = {"kind": "preamble", "title": "Preamble", "phase": "end", "progressText": text, "itemId": "c-0"}
            await self._agent(session, run, "item", preamble)
        call = {"type": "toolCall", "id": call_id, "name": "exec", "arguments": {"command": command}}
        self._store(session, assistant(run.run_id, [call], "toolUse"))
        await self._tell_stored(session)
        started = {"phase": "start", "name": "exec", "toolCallId": call_id, "args": {"command": command}}
        await self._agent(session, run, "tool", started)
        allowed = session.mode != "guarded" or await self._asked(session, run, call_id, command)
        code, output = await self._run(session, run, command) if allowed else (None, f"Exec denied: {command}")
        details = {"status": "completed", "exitCode": code, "durationMs": 5, "cwd": session.cwd}
        result = {"content": [{"type": "text", "text": output or "(no output)"}], "details": details}
        stored = {"role": "toolResult", "toolCallId": call_id, "toolName": "exec", "content": result["content"]}
        self._store(session, stored | {"isError": not allowed, "__openclaw": {"runId": run.run_id}})
        ended = {"phase": "result", "name": "exec", "toolCallId": call_id, "isError": not allowed, "result": result}
        await self._agent(session, run, "tool", ended)

    async def _run(self, session: Session, run: Run, command: str) -> tuple[int, str]:
        pipe = asyncio.subprocess.PIPE
        run.process = await asyncio.create_subprocess_shell(command, stdout=pipe, cwd=session.cwd)
        output, _ = await run.process.communicate()
        return run.process.returncode or 0, output.decode().rstrip()

    async def _asked(self, session: Session, run: Run, call_id: str, command: str) -> bool:
        asked: Json = {"command": command, "cwd": session.cwd, "host": "gateway", "sessionKey": session.key}
        asked |= {"allowedDecisions": ["allow-once", "deny"], "runId": run.run_id, "toolCallId": call_id}
        approval_id = str(uuid.uuid4())
        told = {
            "approvalKind": "exec",
            "id": approval_id,
            "request": asked,
            "createdAtMs": now(),
            "expiresAtMs": now(),
        }
        answered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._approvals[approval_id] = (told, answered)
        await self._tell_all("exec.approval.requested", told)
        try:
            return await answered == "allow-once"
        finally:
            self._approvals.pop(approval_id, None)

    async def _fail(self, session: Session, run: Run, error: str) -> None:
        session.last_error = error
        await self._end(session, run, "failed")
        told = {"phase": "error", "error": error, "aborted": False, "executionSettled": True}
        await self._agent(session, run, "lifecycle", told)
        detail = {"provider": "lab", "model": "fake-model", "failoverReason": "auth"}
        await self._chat(session, run, {"state": "error", "errorMessage": error, "errorDetail": detail})

    async def _end(self, session: Session, run: Run, status: str) -> None:
        session.run, session.status, session.last_run, session.broken = None, status, run.run_id, ""
        session.aborted = status == "cancelled"
        self._seen[run.run_id] = "ok"
        self._keep()

    # ------------------------------------------------------------ words

    def _store(self, session: Session, message: Json) -> None:
        kept = message.setdefault("__openclaw", {})
        kept |= {"id": str(uuid.uuid4()), "recordTimestampMs": now(), "seq": len(session.messages) + 1}
        session.messages.append(message)
        self._keep()

    async def _tell_stored(self, session: Session) -> None:
        message = session.messages[-1]
        told = {
            "agentId": "main",
            "message": message,
            "messageSeq": message["__openclaw"]["seq"],
            "contextTokens": 128000,
        }
        if session.run is not None:
            session.run.flight.clear()
        await self._tell(session, "session.message", told)

    async def _agent(self, session: Session, run: Run, stream: str, data: Json) -> None:
        run.seq += 1
        told: Json = {"runId": run.run_id, "stream": stream, "data": data, "sessionKey": session.key, "agentId": "main"}
        told |= {"seq": run.seq, "ts": now() + 1, "isHeartbeat": False}
        run.flight.append(told)
        for person, keys in list(self._people.items()):
            if session.key not in keys:
                continue
            if stream != "tool" or self._senders.get(run.run_id) is person:
                await self._event(person, "agent", told)
            elif person in self._all:
                await self._event(person, "session.tool", told)

    async def _chat(self, session: Session, run: Run, more: Json) -> None:
        await self._tell(session, "chat", {"runId": run.run_id, "agentId": "main", "seq": run.seq, **more})

    async def _tell(self, session: Session, event: str, payload: Json) -> None:
        told = {"sessionKey": session.key, **payload}
        for socket, keys in list(self._people.items()):
            if session.key in keys:
                await self._event(socket, event, told)

    async def _tell_all(self, event: str, payload: Json) -> None:
        for socket in list(self._people):
            await self._event(socket, event, payload)

    async def _event(self, socket: ServerConnection, event: str, payload: Json) -> None:
        self._seq += 1
        with suppress(ConnectionClosed):
            frame = {"type": "event", "event": event, "payload": payload, "seq": self._seq}
            await socket.send(json.dumps(frame))

    async def _say(self, socket: ServerConnection, request_id: str, payload: object) -> None:
        await socket.send(json.dumps({"type": "res", "id": request_id, "ok": True, "payload": payload}))

    async def _refuse(
        self, socket: ServerConnection, request_id: str, code: str, message: str, more: Json | None = None
    ) -> None:
        error = {"code": code, "message": message, **(more or {})}
        await socket.send(json.dumps({"type": "res", "id": request_id, "ok": False, "error": error}))

    def _info(self, session: Session) -> Json:
        return {
            "key": session.key,
            "status": session.status,
            "hasActiveRun": session.run is not None,
            "activeRunIds": [session.run.run_id] if session.run else [],
            "lastRunId": session.last_run,
            "lastRunError": session.last_error,
            "abortedLastRun": session.aborted,
        }

    def _keep(self) -> None:
        beside = self._memory.with_suffix(".new")
        beside.write_text(json.dumps({key: each.kept() for key, each in self.sessions.items()}))
        beside.replace(self._memory)


async def _there(path: Path) -> None:
    while not path.exists():  # noqa: ASYNC110 another process makes it
        await asyncio.sleep(0.01)


async def _main() -> None:
    assert sys.argv[1:] == ["gateway"]
    config = json.loads(Path(os.environ["OPENCLAW_CONFIG_PATH"]).read_text())
    settings = config["gateway"]
    state = Path(os.environ["OPENCLAW_STATE_DIR"])
    state.mkdir(parents=True, exist_ok=True)
    gateway = Gateway(state / "memory.json", settings["auth"]["token"], int(os.environ.get("STAND_IN_STARTING", "0")))
    async with serve(gateway.serve, "127.0.0.1", settings["port"], max_size=None):
        gateway.resume()
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(_main())
