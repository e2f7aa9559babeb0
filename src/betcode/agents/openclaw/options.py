"""The options of the program, and the gateway that they select."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from betcode.agents.openclaw.link import Address
from betcode.agents.openclaw.paths import TOKEN_VARIABLE, GatewayPaths, find_token, make_token

WITHIN_S = 90.0  # a gateway that is being started takes some 20 s, on a busy machine a minute
_MODES = ("read-only", "guarded", "workspace", "full")


@dataclass(frozen=True, slots=True)
class BridgeOptions:
    address: Address | str  # or why there is none
    places: GatewayPaths | None
    permission_mode: str
    within_s: float
    is_started: bool = False  # the gateway is being started for us

    def hopeless(self) -> str:
        """Return why the gateway that is being started will fail; empty: it may succeed."""
        if not self.is_started or self.places is None:
            return ""
        try:
            return self.places.trouble.read_text(errors="replace").strip()
        except OSError:
            return ""


def read_options(arguments: Sequence[str], environ: Mapping[str, str]) -> BridgeOptions:
    """Raises SystemExit, as argparse does."""
    parser = argparse.ArgumentParser(
        prog="betcode.agents.openclaw",
        description="Shows one session of an OpenClaw gateway to a client that speaks the Agent Client Protocol.",
    )
    parser.add_argument("--url", required=True, help="the gateway's address, such as ws://127.0.0.1:18789")
    parser.add_argument("--token-file", type=Path, help=f"file with its token; default: {TOKEN_VARIABLE} is read")
    parser.add_argument(
        "--state-dir",
        type=Path,
        help="directory for the position in each session, and for a gateway that betcode starts",
    )
    parser.add_argument("--started", action="store_true", help="a gateway is being started with this state directory")
    parser.add_argument("--permission-mode", choices=_MODES, default="guarded", help="of new sessions")
    parser.add_argument(
        "--within", type=float, default=WITHIN_S, help="seconds to wait for a gateway that does not answer"
    )
    said = parser.parse_args(arguments)
    places = GatewayPaths(said.state_dir) if said.state_dir is not None else None
    try:
        if said.started and places is not None and said.token_file is None:
            places.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            token = make_token(places.token)  # created by the first of them, the gateway or one of its bridges
        else:
            token = find_token(said.url, said.token_file, places.token if places else None, environ)
        address: Address | str = Address(said.url, token)
    except (OSError, ValueError) as trouble:
        address = f"The token of the OpenClaw gateway cannot be read: {trouble}"
    return BridgeOptions(address, places, said.permission_mode, said.within, is_started=said.started)
