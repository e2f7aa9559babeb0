"""The daemon's entry point: signals are held before anything that takes time is imported."""

import sys

from betcode.util.start_signals import START_SIGNALS


def main() -> int:
    """Run the daemon; the exit code."""
    START_SIGNALS.hold()
    from betcode.daemon.command_line import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
