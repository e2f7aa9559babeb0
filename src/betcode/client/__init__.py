"""The client library of every front end: connect, converse, follow, and reconnect.

`cli`, `tui` and `web` present the data to people, and `cli` starts the daemon.
"""

from betcode.client.backoff import LADDER_MS, Backoff
from betcode.client.client import Accepted, Client, open_client
from betcode.client.connection import ClientIdentity, Link, LinkState
from betcode.client.conversation import ConversationStream
from betcode.client.environment import session_environment
from betcode.client.errors import ClientError, Outdated, Refused, Unreachable
from betcode.client.handshake import Handshake
from betcode.client.input_lock import LockAnswer
from betcode.client.new_conversation import NewConversation
from betcode.client.worktrees import NewWorktree, SessionKind

__all__ = [
    "LADDER_MS",
    "Accepted",
    "Backoff",
    "Client",
    "ClientError",
    "ClientIdentity",
    "ConversationStream",
    "Handshake",
    "Link",
    "LinkState",
    "LockAnswer",
    "NewConversation",
    "NewWorktree",
    "Outdated",
    "Refused",
    "SessionKind",
    "Unreachable",
    "open_client",
    "session_environment",
]
