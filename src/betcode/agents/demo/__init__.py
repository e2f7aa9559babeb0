"""The demo agent: plays recorded conversations on stdio, so that betcode can be tried without an account.

It speaks the claude CLI's stream-json. It plays its own small repertoire or any recording (`--cassette`), and generates
load (`--flood`). It never runs a tool and never opens a connection: the tools it shows are part of a recording.
"""
