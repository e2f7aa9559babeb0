"""The demo agent: plays recorded conversations on stdio, so that all of betcode can be tried without any account.

It speaks the claude CLI's stream-json. Beside its own small repertoire it plays any recording (`--cassette`) and makes
load (`--flood`). It never runs a tool and never opens a connection: what it shows of tools is part of a recording.
"""
