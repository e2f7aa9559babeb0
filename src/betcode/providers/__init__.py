"""Providers, one folder each: how an agent is launched, and the dialogue that translates its output.

A provider runs nothing. The holder and `engine` handle processes, journals and the log.
"""
