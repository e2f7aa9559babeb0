"""Shared code of the commands: parser, dispatch, options, exit codes, connection."""
