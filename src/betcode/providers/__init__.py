"""Providers, one folder each: how an agent is launched, and the dialogue that translates its output.

A provider runs nothing. The holder and `engine` handle processes, journals and the log. The `__init__.py` of a
provider's folder imports nothing, so that its `spec` can be read without the rest.
"""
