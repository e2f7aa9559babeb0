"""Shared code of the commands: parser, dispatch, console, tables, completion."""
