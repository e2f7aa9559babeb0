"""The screen's model of a session, built from events: blocks and session status. No Textual, no I/O."""
