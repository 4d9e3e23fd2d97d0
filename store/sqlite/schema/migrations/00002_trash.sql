-- +goose Up

-- The deleted workspaces that can be restored; a thread may have several. All
-- text is as it was, byte for byte: no path has to be Unicode. Times are in
-- RFC 3339 with nanoseconds, or empty. Lists have a line for each item, quoted
-- as Go does it.
CREATE TABLE threadtree_trash (
    id                 TEXT PRIMARY KEY,
    deleted_at         TEXT NOT NULL,

    -- The workspace as it was.
    thread_id          TEXT NOT NULL,
    session_id         TEXT NOT NULL,
    provider           TEXT NOT NULL,
    provider_id        TEXT NOT NULL,
    name               TEXT NOT NULL,
    branch             TEXT NOT NULL,
    branch_created     INTEGER NOT NULL,
    base               TEXT NOT NULL,
    base_commit        TEXT NOT NULL,
    project_id         TEXT NOT NULL,
    project_directory  TEXT NOT NULL,
    subdirectory       TEXT NOT NULL,
    directory          TEXT NOT NULL,
    status             TEXT NOT NULL,
    error              TEXT NOT NULL,
    error_code         TEXT NOT NULL,
    warnings           TEXT NOT NULL, -- a list
    created_at         TEXT NOT NULL,
    attempt_id         TEXT NOT NULL,
    attempt_host       TEXT NOT NULL,
    attempt_lock       TEXT NOT NULL,
    attempt_lease      TEXT NOT NULL,
    attempt_started_at TEXT NOT NULL,

    -- What is left of its working copy.
    kept_ref           TEXT NOT NULL,
    kept_snapshot      TEXT NOT NULL,
    kept_tip           TEXT NOT NULL,
    kept_branch        TEXT NOT NULL,
    kept_directory     TEXT NOT NULL,
    kept_missing       TEXT NOT NULL, -- a list
    directory_until    TEXT NOT NULL,
    restorable_until   TEXT NOT NULL,
    size               INTEGER NOT NULL, -- in bytes, -1 where it wasn't measured
    measured_at        TEXT NOT NULL
) WITHOUT ROWID;

CREATE INDEX threadtree_trash_by_project ON threadtree_trash (project_id, project_directory);
CREATE INDEX threadtree_trash_by_directory ON threadtree_trash (directory);
CREATE INDEX threadtree_trash_by_thread ON threadtree_trash (thread_id);
