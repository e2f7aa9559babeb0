"""One session at work: its memory, its agent process, and the tasks that belong to it."""
