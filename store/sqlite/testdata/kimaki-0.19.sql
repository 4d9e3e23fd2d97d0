-- A database of Kimaki 0.19 or later: thread_workspaces beside the older table.
CREATE TABLE "thread_sessions" (
    "thread_id" TEXT NOT NULL PRIMARY KEY,
    "session_id" TEXT NOT NULL,
    "source" TEXT NOT NULL DEFAULT 'kimaki',
    "last_synced_name" TEXT,
    "parent_session_id" TEXT,
    "created_at" DATETIME DEFAULT CURRENT_TIMESTAMP,
    "updated_at" DATETIME DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE "thread_workspaces" (
    "thread_id" TEXT NOT NULL PRIMARY KEY,
    "workspace_id" TEXT,
    "workspace_type" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'pending',
    "error_message" TEXT,
    "project_directory" TEXT NOT NULL,
    "workspace_directory" TEXT,
    "workspace_name" TEXT NOT NULL,
    "created_at" DATETIME DEFAULT CURRENT_TIMESTAMP,
    FOREIGN KEY ("thread_id") REFERENCES "thread_sessions" ("thread_id") ON UPDATE CASCADE
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

INSERT INTO bot_tokens VALUES ('app', 'not for us');
INSERT INTO thread_sessions (thread_id, session_id, created_at, updated_at) VALUES
    ('both', 'ses_both', '2025-06-02 03:04:05', '2025-06-02 03:04:05'),
    ('new', 'ses_new', '2025-06-03 03:04:05', '2025-06-03 03:04:05'),
    ('old', 'ses_old', '2025-01-02 03:04:05', '2025-01-02 03:04:05');
INSERT INTO thread_workspaces VALUES
    ('both', NULL, 'kimaki-worktree', 'error', 'later failed', '/src/project', NULL, 'opencode/kimaki-both', '2025-06-02 03:04:05'),
    ('new', 'wrk_1', 'kimaki-worktree', 'ready', NULL, '/src/project', '/data/worktrees/0123abcd/new', 'opencode/kimaki-new', '2025-06-03 03:04:05');
INSERT INTO thread_worktrees VALUES
    ('both', 'opencode/kimaki-both', '/data/worktrees/0123abcd/both', '/src/project', 'ready', NULL, '2025-01-01 00:00:00'),
    ('old', 'opencode/kimaki-old', '/data/worktrees/0123abcd/old', '/src/project', 'ready', NULL, '2025-01-02 03:04:05');
