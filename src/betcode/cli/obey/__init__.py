"""The command `obey`: the same sessions, with the words and the output of the obey face.

Nothing is imported here: `obey --version`, `--help` and completion answer before anything heavy is loaded.
"""
