-- The tables that are shared with Kimaki, as Kimaki has them. They are made
-- where they are missing, and are not ours to version.
CREATE TABLE IF NOT EXISTS thread_sessions (
    thread_id         TEXT PRIMARY KEY,
    session_id        TEXT NOT NULL,
    source            TEXT NOT NULL DEFAULT 'kimaki',
    last_synced_name  TEXT,
    parent_session_id TEXT,
    created_at        TEXT DEFAULT CURRENT_TIMESTAMP,
    updated_at        TEXT DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE IF NOT EXISTS thread_workspaces (
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

CREATE TABLE IF NOT EXISTS thread_worktrees (
    thread_id          TEXT PRIMARY KEY REFERENCES thread_sessions (thread_id) ON UPDATE CASCADE,
    worktree_name      TEXT NOT NULL,
    worktree_directory TEXT,
    project_directory  TEXT NOT NULL,
    status             TEXT DEFAULT 'pending',
    error_message      TEXT,
    created_at         TEXT DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE IF NOT EXISTS channel_directories (
    channel_id   TEXT PRIMARY KEY,
    directory    TEXT NOT NULL,
    channel_type TEXT NOT NULL,
    guild_id     TEXT,
    created_at   TEXT DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE IF NOT EXISTS channel_worktrees (
    channel_id TEXT PRIMARY KEY REFERENCES channel_directories (channel_id) ON UPDATE CASCADE,
    enabled    INTEGER NOT NULL DEFAULT 0,
    created_at TEXT DEFAULT CURRENT_TIMESTAMP,
    updated_at TEXT DEFAULT CURRENT_TIMESTAMP
);
