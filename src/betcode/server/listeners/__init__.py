"""Sockets: the files of unix sockets, TCP listeners, and limits on their connections."""
