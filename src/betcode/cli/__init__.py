"""The commands of betcode: they parse arguments and print plain lines. `client` talks to the daemon.

This package imports nothing, so that `betcode --version`, `--help` and completion start fast.
"""
