"""Keeps keys that were typed before the screen took over the terminal."""

import os
import termios
import tty
from array import array
from fcntl import ioctl
from typing import Any

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver


class TypeAheadDriver(LinuxDriver):
    """Textual's driver; an Enter that was typed while the terminal was still in line mode stays an Enter.

    In line mode the terminal turns Enter (CR) into a newline, which means Ctrl+J once the screen reads the keys.
    """

    def start_application_mode(self) -> None:
        line_mode = _modes(self.fileno)
        if line_mode is not None:
            self._enter_raw_mode()
            typed = _pending(self.fileno)
            for event in XTermParser().feed(typed.decode(errors="ignore").replace("\n", "\r")):
                self.process_message(event)
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if line_mode is not None:
            self.attrs_before = line_mode  # restored at the end

    def _enter_raw_mode(self) -> None:
        modes = termios.tcgetattr(self.fileno)
        modes[tty.LFLAG] = self._patch_lflag(modes[tty.LFLAG])
        modes[tty.IFLAG] = self._patch_iflag(modes[tty.IFLAG])
        modes[tty.CC][termios.VMIN] = 1
        termios.tcsetattr(self.fileno, termios.TCSANOW, modes)


def _modes(fileno: int) -> list[Any] | None:
    """Return the modes of a terminal in line mode that this process may read; None for any other file."""
    try:
        modes = termios.tcgetattr(fileno)
    except termios.error:
        return None
    return modes if modes[tty.LFLAG] & termios.ICANON and not _is_background(fileno) else None


def _is_background(fileno: int) -> bool:
    """Whether another job of the shell owns the terminal: changing its modes would stop this process."""
    try:
        return os.tcgetpgrp(fileno) != os.getpgrp()
    except OSError:
        return False  # not the controlling terminal, so it has no jobs


def _pending(fileno: int) -> bytes:
    """Return the input that can be read without waiting."""
    count = array("i", [0])
    ioctl(fileno, termios.FIONREAD, count)
    return os.read(fileno, count[0]) if count[0] else b""
