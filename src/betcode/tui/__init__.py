"""The screen that people keep open: one session or all of them, prompts, and a place to write in.

Starting a daemon and choosing by arguments are left to `cli`; reconnecting is left to `client`.
"""

from betcode.tui.app import BetcodeApp, ScreenExit, StartOptions, run_screen

__all__ = ["BetcodeApp", "ScreenExit", "StartOptions", "run_screen"]
