"""Terminal input and output of commands: console, keyboard, questions, progress, tables."""
