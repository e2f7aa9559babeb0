"""Settings and paths, layered and read once, and the lock that one daemon holds.

Modules are imported one by one: the quickest commands need only `paths`.
"""
