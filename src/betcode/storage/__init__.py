"""The durable log: one SQLite file with sessions, events, runs, inputs, prompts and blobs.

This room keeps what it is given and gives it back: all of a commit or nothing, each number once. What the events mean,
who is told of them and when to try again is the business of `sessions`. SQL stays in here.
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
