"""Shared machinery of the commands: parser, dispatch, console, tables, completion."""
