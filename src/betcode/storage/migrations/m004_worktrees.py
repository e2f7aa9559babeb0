"""Repositories, their worktrees, and the snapshots that are taken around turns."""

import apsw

_SCHEMA = """
CREATE TABLE repositories (
    id TEXT PRIMARY KEY,
    common_dir TEXT NOT NULL UNIQUE,
    path TEXT NOT NULL,
    is_bare INTEGER NOT NULL,
    created_ns INTEGER NOT NULL,
    last_used_ns INTEGER NOT NULL,
    active_worktree TEXT NOT NULL DEFAULT '',
    mark TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE worktrees (
    id TEXT PRIMARY KEY,
    repository TEXT NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    path TEXT NOT NULL,
    branch TEXT NOT NULL,
    origin TEXT NOT NULL,
    state TEXT NOT NULL,
    created_ns INTEGER NOT NULL,
    last_used_ns INTEGER NOT NULL,
    base TEXT NOT NULL,
    git_dir TEXT NOT NULL,
    git_mark TEXT NOT NULL,
    made_branch INTEGER NOT NULL,
    setup TEXT NOT NULL,
    setup_note TEXT NOT NULL,
    setup_process TEXT NOT NULL,
    brought_along TEXT NOT NULL,
    trouble TEXT NOT NULL,
    removal TEXT NOT NULL,
    UNIQUE (repository, name)
) STRICT;

-- Where one is gone, another may stand.
CREATE UNIQUE INDEX worktrees_at ON worktrees (path) WHERE state <> 'stale';

CREATE TABLE setup_outputs (
    worktree TEXT PRIMARY KEY REFERENCES worktrees (id) ON DELETE CASCADE,
    output BLOB NOT NULL
) STRICT;

CREATE TABLE turn_snapshots (
    session INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    turn INTEGER NOT NULL,
    top TEXT NOT NULL,
    start_tree TEXT NOT NULL,
    end_tree TEXT NOT NULL,
    started_ns INTEGER NOT NULL,
    ended_ns INTEGER NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (session, turn)
) STRICT, WITHOUT ROWID;

-- Where a session works below the top of its worktree, and the place as its client named it.
ALTER TABLE session_makings ADD COLUMN subdirectory TEXT NOT NULL DEFAULT '';
ALTER TABLE session_makings ADD COLUMN asked_place TEXT NOT NULL DEFAULT '';
"""


def m004_worktrees(db: apsw.Connection) -> None:
    """Make room for places to work in, and for what each turn changed there."""
    for _ in db.execute(_SCHEMA):
        pass
