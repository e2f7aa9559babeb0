"""The gRPC API of the daemon: convert the request, call the engine, convert the result.

The engine decides everything about sessions. This package knows who may call, which requests are valid, how errors are
sent, and how a stream begins and ends.
"""

from betcode.server.health.runner import About
from betcode.server.listeners.socket_file import SocketTaken, make_private_directory
from betcode.server.listeners.tcp import TcpListeners, prepare
from betcode.server.release import Release
from betcode.server.server import ObeyOptions, ServerHandle, serve

__all__ = [
    "About",
    "ObeyOptions",
    "Release",
    "ServerHandle",
    "SocketTaken",
    "TcpListeners",
    "make_private_directory",
    "prepare",
    "serve",
]
