"""The durable log: one SQLite file with sessions, events, runs, inputs, prompts and blobs.

A commit is stored completely or not at all, and each sequence number once. The engine decides what events mean, who
receives them and when to retry. SQL occurs only in this package, divided into folders by subject.
"""

from betcode.storage.open_store import open_store
from betcode.storage.permissions.audit_log import check_file
from betcode.storage.repair.backup import copy_database
from betcode.storage.repair.integrity_check import problems
from betcode.storage.repair.salvage import Salvaged, salvage
from betcode.storage.sessions.run_list import runs_of_session
from betcode.storage.sqlite.usage import DatabaseUse, database_use
from betcode.storage.store import SqliteStore

__all__ = [
    "DatabaseUse",
    "Salvaged",
    "SqliteStore",
    "check_file",
    "copy_database",
    "database_use",
    "open_store",
    "problems",
    "runs_of_session",
    "salvage",
]
