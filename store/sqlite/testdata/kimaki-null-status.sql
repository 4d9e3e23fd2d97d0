-- A database of an old Kimaki: columns that came later are not there, and some
-- rows have no status. Thread orphan has no session row either.
PRAGMA foreign_keys = OFF;
CREATE TABLE thread_sessions (
    thread_id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE thread_worktrees (
    thread_id TEXT PRIMARY KEY REFERENCES thread_sessions (thread_id) ON UPDATE CASCADE,
    worktree_name TEXT NOT NULL,
    worktree_directory TEXT,
    project_directory TEXT NOT NULL,
    status TEXT DEFAULT 'pending',
    error_message TEXT,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE channel_directories (
    channel_id TEXT PRIMARY KEY,
    directory TEXT NOT NULL,
    channel_type TEXT NOT NULL,
    created_at DATETIME DEFAULT CURRENT_TIMESTAMP
);

INSERT INTO thread_sessions (thread_id, session_id, created_at) VALUES
    ('known', 'ses_known', '2024-05-06 07:08:09'),
    ('unknown', 'ses_unknown', '2024-05-06 07:08:10'),
    ('nowhere', '', '2024-05-06 07:08:11');
INSERT INTO thread_worktrees VALUES
    ('known', 'opencode/kimaki-known', '/known', '/src/project', NULL, NULL, '2024-05-06 07:08:09'),
    ('unknown', 'opencode/kimaki-unknown', '/unknown', '/src/project', NULL, NULL, '2024-05-06 07:08:10'),
    ('nowhere', 'opencode/kimaki-nowhere', NULL, '/src/project', NULL, 'went wrong', NULL),
    ('orphan', 'opencode/kimaki-orphan', '/known', '/src/project', 'ready', NULL, '2024-05-06 07:08:12'),
    ('odd', 'opencode/kimaki-odd', '/odd', '/src/project', 'merged', NULL, '2024-05-06 07:08:13');
INSERT INTO channel_directories (channel_id, directory, channel_type, created_at) VALUES
    ('c1', '/src/project', 'text', '2024-05-06 07:08:09');
