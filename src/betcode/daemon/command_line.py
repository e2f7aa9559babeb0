"""The daemon's command line.

Exit codes: 0 it was asked to stop; 1 it cannot serve (another daemon runs, the socket is taken, the store cannot be
opened) or had to give up; 5 a setting or an argument is wrong.
"""

import argparse
import gc
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from betcode.config.flags import flags_of
from betcode.config.load import WrongSetting
from betcode.config.paths import choose_paths
from betcode.providers.specs import DEFAULT

EXIT_WRONG_ARGUMENTS = 5


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(EXIT_WRONG_ARGUMENTS, f"{self.prog}: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="betcode daemon run", description="Serve sessions until stopped.", allow_abbrev=False)
    parser.add_argument("--socket", type=Path, help="the gRPC socket (BETCODE_SOCKET)")
    parser.add_argument("--state-dir", type=Path, help="database, journals and log (BETCODE_STATE_DIR)")
    parser.add_argument("--config-dir", type=Path, help="settings.json (BETCODE_CONFIG_DIR)")
    parser.add_argument(
        "--claude-bin",
        type=Path,
        help=f"the {DEFAULT.executable} program ({DEFAULT.executable_variable}, else from PATH)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a setting of the files; may be repeated",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the daemon; the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        flags = flags_of(options.set)
    except WrongSetting as wrong:
        parser.error(str(wrong))
    umask = os.umask(0o077)  # for our own files; files for the user have the user's own mode
    paths = choose_paths(os.environ, state_dir=options.state_dir, config_dir=options.config_dir, socket=options.socket)
    # Otherwise gRPC writes its own lines into the log, one for each client whose handshake fails.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    gc.disable()  # until it serves: hardly anything made by starting is ever let go of
    # After the arguments were understood: what follows takes most of the start.
    from betcode.daemon.run import run

    return run(paths, os.environ, claude_bin=options.claude_bin, flags=flags, umask=umask)
