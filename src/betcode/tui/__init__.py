"""The terminal user interface: one session or all of them, prompts, and a message input.

`cli` starts the daemon and interprets the arguments; `client` reconnects.
"""

from betcode.tui.app import BetcodeApp, ScreenExit, StartOptions, run_screen

__all__ = ["BetcodeApp", "ScreenExit", "StartOptions", "run_screen"]
