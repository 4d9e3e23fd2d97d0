-- A database of Kimaki 0.17: worktrees have a table of their own.
CREATE TABLE "thread_sessions" (
    "thread_id" TEXT NOT NULL PRIMARY KEY,
    "session_id" TEXT NOT NULL,
    "source" TEXT NOT NULL DEFAULT 'kimaki',
    "last_synced_name" TEXT,
    "parent_session_id" TEXT,
    "created_at" DATETIME DEFAULT CURRENT_TIMESTAMP,
    "updated_at" DATETIME DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE "thread_worktrees" (
    "thread_id" TEXT NOT NULL PRIMARY KEY,
    "worktree_name" TEXT NOT NULL,
    "worktree_directory" TEXT,
    "project_directory" TEXT NOT NULL,
    "status" TEXT DEFAULT 'pending',
    "error_message" TEXT,
    "created_at" DATETIME DEFAULT CURRENT_TIMESTAMP,
    FOREIGN KEY ("thread_id") REFERENCES "thread_sessions" ("thread_id") ON UPDATE CASCADE
);
CREATE TABLE "channel_directories" (
    "channel_id" TEXT NOT NULL PRIMARY KEY,
    "directory" TEXT NOT NULL,
    "channel_type" TEXT NOT NULL,
    "guild_id" TEXT,
    "created_at" DATETIME DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE "channel_worktrees" (
    "channel_id" TEXT NOT NULL PRIMARY KEY,
    "enabled" INTEGER NOT NULL DEFAULT 0,
    "created_at" DATETIME DEFAULT CURRENT_TIMESTAMP,
    "updated_at" DATETIME DEFAULT CURRENT_TIMESTAMP,
    FOREIGN KEY ("channel_id") REFERENCES "channel_directories" ("channel_id") ON UPDATE CASCADE
);
CREATE TABLE "bot_tokens" ("app_id" TEXT NOT NULL PRIMARY KEY, "token" TEXT NOT NULL);
CREATE TABLE "part_messages" (
    "part_id" TEXT NOT NULL PRIMARY KEY,
    "thread_id" TEXT NOT NULL,
    FOREIGN KEY ("thread_id") REFERENCES "thread_sessions" ("thread_id") ON UPDATE CASCADE
);

INSERT INTO bot_tokens VALUES ('app', 'not for us');
INSERT INTO thread_sessions (thread_id, session_id, created_at, updated_at) VALUES
    ('ready', 'ses_ready', '2025-01-02 03:04:05', '2025-01-02 04:00:00'),
    ('pending', '', '2025-01-02 03:04:06', '2025-01-02 03:04:06'),
    ('plain', 'ses_plain', '2025-01-01 00:00:00', '2025-01-01 00:00:00'),
    ('failed', 'ses_failed', '2025-01-02 03:04:07', '2025-01-02 03:04:07');
INSERT INTO thread_worktrees (thread_id, worktree_name, worktree_directory, project_directory, status, error_message, created_at) VALUES
    ('ready', 'opencode/kimaki-fix-login', '/data/worktrees/0123abcd/fix-login', '/src//project/', 'ready', NULL, '2025-01-02 03:04:05'),
    ('pending', 'opencode/kimaki-slow', NULL, '/src//project/', 'pending', NULL, '2025-01-02 03:04:06'),
    ('failed', 'opencode/kimaki-broken', NULL, '/src/other', 'error', 'git said no', '2025-01-02 03:04:07');
INSERT INTO channel_directories VALUES
    ('c1', '/src//project/', 'text', 'g1', '2024-12-31 23:59:59'),
    ('c2', '/src/other', 'voice', NULL, '2024-12-31 23:59:58');
INSERT INTO channel_worktrees (channel_id, enabled) VALUES ('c1', 1);
INSERT INTO part_messages VALUES ('part', 'plain');
