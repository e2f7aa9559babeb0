"""The bridge to an OpenClaw gateway: one process per session, ACP on stdio and the gateway's WebSocket.

The session and its runs live in the gateway; the bridge only shows them. If a bridge dies, no run ends: the next bridge
resumes the session, reports what was missed and continues. It starts no gateway: all sessions share one, which must
outlive every bridge (`betcode.agents.openclaw.start`).
"""
