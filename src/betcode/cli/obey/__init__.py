"""The command `obey`: the same sessions, with the commands and the output of the obey API.

This package imports nothing, so that `obey --version`, `--help` and completion start fast.
"""
