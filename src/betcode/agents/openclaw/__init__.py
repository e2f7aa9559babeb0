"""The bridge to an OpenClaw Gateway: one process per session that speaks ACP on stdio and the Gateway's WebSocket.

The session itself lives in the gateway, under its key; so does a run, which the bridge only shows. A bridge that dies
ends no run: the next one takes the session up, says what was missed and goes on. It starts no gateway: all sessions
share one, which must outlive every bridge (`betcode.agents.openclaw.start`).
"""
