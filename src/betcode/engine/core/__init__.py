"""Decisions of the engine as pure functions: no clock, no tasks, no store, no files."""
