-- +goose Up

-- What a row of thread_workspaces has beyond Kimaki's columns. The columns up
-- to error_message repeat the row as it was when this was written: where they
-- differ from the row of today somebody else has reset it since, and the
-- record is void.
CREATE TABLE threadtree_workspaces (
    thread_id           TEXT PRIMARY KEY,
    created_at          TEXT,
    workspace_id        TEXT,
    workspace_type      TEXT,
    project_directory   TEXT,
    workspace_directory TEXT,
    workspace_name      TEXT,
    status              TEXT,
    error_message       TEXT,

    name                TEXT NOT NULL,
    branch_created      INTEGER NOT NULL,
    base                TEXT NOT NULL,
    base_commit         TEXT NOT NULL,
    project_id          TEXT NOT NULL,
    subdirectory        TEXT NOT NULL,
    error_code          TEXT NOT NULL,
    warnings            TEXT NOT NULL, -- JSON, an array of strings, or empty
    attempt_id          TEXT NOT NULL,
    attempt_host        TEXT NOT NULL,
    attempt_lock        TEXT NOT NULL,
    attempt_lease       TEXT NOT NULL, -- RFC 3339 with nanoseconds, or empty
    attempt_started_at  TEXT NOT NULL
) WITHOUT ROWID;

CREATE INDEX threadtree_workspaces_by_project ON threadtree_workspaces (project_id);

-- The rows of thread_workspaces that have no project identity, which are those
-- of other programs. Triggers keep it; it may name a row too many, never one
-- too few.
CREATE TABLE threadtree_unidentified (
    thread_id         TEXT PRIMARY KEY,
    project_directory TEXT NOT NULL
) WITHOUT ROWID;

CREATE INDEX threadtree_unidentified_by_directory ON threadtree_unidentified (project_directory);

-- The threads whose workspace was deleted and that got no other since.
CREATE TABLE threadtree_deleted (
    thread_id  TEXT PRIMARY KEY,
    deleted_at TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE threadtree_notes (
    namespace  TEXT NOT NULL,
    key        TEXT NOT NULL,
    value      BLOB NOT NULL,
    version    INTEGER NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (namespace, key)
) WITHOUT ROWID;

-- Counters that only grow: "revision" with each write of a workspace or
-- session row by anybody, "note" with each note.
CREATE TABLE threadtree_counters (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;

INSERT INTO threadtree_counters (name, value) VALUES ('revision', 0), ('note', 0);
