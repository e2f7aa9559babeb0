"""NDJSON framing and the agents' stdio messages: bytes in, frames out, no I/O.

Nothing here raises for what an agent wrote: a line is a frame we know, one we do not know, or one that cannot be read.
What a frame means is left to the providers.
"""

from betcode.wire.decoder import decode
from betcode.wire.line_framer import LineFramer, TooLong
from betcode.wire.values import Malformed, Unknown

__all__ = ["LineFramer", "Malformed", "TooLong", "Unknown", "decode"]
