"""The durable log: one SQLite file with sessions, events, runs, inputs, prompts and blobs.

This room keeps what it is given and gives it back: all of a commit or nothing, each number once. What the events mean,
who is told of them and when to try again is the business of `sessions`. SQL stays in here.
"""

from betcode.storage.audit_log import check_file
from betcode.storage.backup import copy_database
from betcode.storage.integrity_check import problems
from betcode.storage.open_store import open_store
from betcode.storage.run_list import runs_of_session
from betcode.storage.salvage import Salvaged, salvage
from betcode.storage.store import SqliteStore
from betcode.storage.usage import DatabaseUse, database_use

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
