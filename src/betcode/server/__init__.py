"""The gRPC API of the daemon: convert the request, call the engine, convert the result.

It decides nothing about sessions; that is the engine's. It knows who may call, what a request must look like, how
errors travel, and how a stream begins and ends.
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
