"""What front ends say to people: events, prompts and standings in words, and text from elsewhere made safe to show.

Where the words appear (lines of a command, widgets of a screen) is left to `cli`, `tui` and `web`.
"""
