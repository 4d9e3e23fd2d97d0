CREATE TRIGGER threadtree_session_deleted AFTER DELETE ON thread_sessions BEGIN
    UPDATE threadtree_counters SET value = value + 1 WHERE name = 'revision';
END;

CREATE TRIGGER threadtree_session_inserted AFTER INSERT ON thread_sessions BEGIN
    UPDATE threadtree_counters SET value = value + 1 WHERE name = 'revision';
END;

CREATE TRIGGER threadtree_session_updated AFTER UPDATE ON thread_sessions BEGIN
    UPDATE threadtree_counters SET value = value + 1 WHERE name = 'revision';
END;

CREATE TRIGGER threadtree_workspace_deleted AFTER DELETE ON thread_workspaces BEGIN
    UPDATE threadtree_counters SET value = value + 1 WHERE name = 'revision';
    DELETE FROM threadtree_unidentified WHERE thread_id = OLD.thread_id;
    DELETE FROM threadtree_workspaces WHERE thread_id = OLD.thread_id;
END;

CREATE TRIGGER threadtree_workspace_inserted AFTER INSERT ON thread_workspaces BEGIN
    UPDATE threadtree_counters SET value = value + 1 WHERE name = 'revision';
    DELETE FROM threadtree_unidentified WHERE thread_id = NEW.thread_id;
    INSERT INTO threadtree_unidentified (thread_id, project_directory) VALUES (NEW.thread_id, NEW.project_directory);
END;

CREATE TRIGGER threadtree_workspace_updated AFTER UPDATE ON thread_workspaces BEGIN
    UPDATE threadtree_counters SET value = value + 1 WHERE name = 'revision';
    DELETE FROM threadtree_unidentified WHERE thread_id IN (OLD.thread_id, NEW.thread_id);
    INSERT INTO threadtree_unidentified (thread_id, project_directory) VALUES (NEW.thread_id, NEW.project_directory);
END;

CREATE TABLE channel_directories (
    channel_id   TEXT PRIMARY KEY,
    directory    TEXT NOT NULL,
    channel_type TEXT NOT NULL,
    guild_id     TEXT,
    created_at   TEXT DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE channel_worktrees (
    channel_id TEXT PRIMARY KEY REFERENCES channel_directories (channel_id) ON UPDATE CASCADE,
    enabled    INTEGER NOT NULL DEFAULT 0,
    created_at TEXT DEFAULT CURRENT_TIMESTAMP,
    updated_at TEXT DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE sqlite_sequence(name,seq);

CREATE TABLE thread_sessions (
    thread_id         TEXT PRIMARY KEY,
    session_id        TEXT NOT NULL,
    source            TEXT NOT NULL DEFAULT 'kimaki',
    last_synced_name  TEXT,
    parent_session_id TEXT,
    created_at        TEXT DEFAULT CURRENT_TIMESTAMP,
    updated_at        TEXT DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE thread_workspaces (
    thread_id           TEXT PRIMARY KEY REFERENCES thread_sessions (thread_id) ON UPDATE CASCADE,
    workspace_id        TEXT,
    workspace_type      TEXT NOT NULL,
    status              TEXT NOT NULL DEFAULT 'pending',
    error_message       TEXT,
    project_directory   TEXT NOT NULL,
    workspace_directory TEXT,
    workspace_name      TEXT NOT NULL,
    created_at          TEXT DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE thread_worktrees (
    thread_id          TEXT PRIMARY KEY REFERENCES thread_sessions (thread_id) ON UPDATE CASCADE,
    worktree_name      TEXT NOT NULL,
    worktree_directory TEXT,
    project_directory  TEXT NOT NULL,
    status             TEXT DEFAULT 'pending',
    error_message      TEXT,
    created_at         TEXT DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE threadtree_counters (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE threadtree_deleted (
    thread_id  TEXT PRIMARY KEY,
    deleted_at TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE threadtree_migrations (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);

CREATE TABLE threadtree_notes (
    namespace  TEXT NOT NULL,
    key        TEXT NOT NULL,
    value      BLOB NOT NULL,
    version    INTEGER NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (namespace, key)
) WITHOUT ROWID;

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

CREATE TABLE threadtree_unidentified (
    thread_id         TEXT PRIMARY KEY,
    project_directory TEXT NOT NULL
) WITHOUT ROWID;

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

CREATE INDEX threadtree_sessions_by_id ON thread_sessions (session_id);

CREATE INDEX threadtree_trash_by_directory ON threadtree_trash (directory);

CREATE INDEX threadtree_trash_by_project ON threadtree_trash (project_id, project_directory);

CREATE INDEX threadtree_trash_by_thread ON threadtree_trash (thread_id);

CREATE INDEX threadtree_unidentified_by_directory ON threadtree_unidentified (project_directory);

CREATE INDEX threadtree_workspaces_by_directory ON thread_workspaces (workspace_directory);

CREATE INDEX threadtree_workspaces_by_project ON threadtree_workspaces (project_id);
