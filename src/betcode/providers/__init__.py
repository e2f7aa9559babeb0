"""Kinds of agents, one folder each: how an agent is launched, and the dialogue that translates what it says.

A provider runs nothing. Processes, journals and the log are left to the holder and to `sessions`.
"""
