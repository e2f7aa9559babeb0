"""The commands: arguments in, plain lines out. Talking to the daemon is left to `client`.

Nothing is imported here: `betcode --version`, `--help` and completion answer before anything heavy is loaded.
"""
