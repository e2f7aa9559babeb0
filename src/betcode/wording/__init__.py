"""Texts of front ends for people: events, prompts and states in words, and untrusted text made safe to show.

`cli`, `tui` and `web` decide where the texts appear.
"""
