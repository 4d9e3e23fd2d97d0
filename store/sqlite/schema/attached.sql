-- What hangs on Kimaki's tables. Kimaki may make a table anew and lose it, so
-- it is looked after at every opening. No statement in a trigger relies on a
-- conflict clause: that of the statement which fires it would take its place.
CREATE INDEX IF NOT EXISTS threadtree_workspaces_by_directory ON thread_workspaces (workspace_directory);
CREATE INDEX IF NOT EXISTS threadtree_sessions_by_id ON thread_sessions (session_id);

CREATE TRIGGER IF NOT EXISTS threadtree_workspace_inserted AFTER INSERT ON thread_workspaces BEGIN
    UPDATE threadtree_counters SET value = value + 1 WHERE name = 'revision';
    DELETE FROM threadtree_unidentified WHERE thread_id = NEW.thread_id;
    INSERT INTO threadtree_unidentified (thread_id, project_directory) VALUES (NEW.thread_id, NEW.project_directory);
END;

CREATE TRIGGER IF NOT EXISTS threadtree_workspace_updated AFTER UPDATE ON thread_workspaces BEGIN
    UPDATE threadtree_counters SET value = value + 1 WHERE name = 'revision';
    DELETE FROM threadtree_unidentified WHERE thread_id IN (OLD.thread_id, NEW.thread_id);
    INSERT INTO threadtree_unidentified (thread_id, project_directory) VALUES (NEW.thread_id, NEW.project_directory);
END;

CREATE TRIGGER IF NOT EXISTS threadtree_workspace_deleted AFTER DELETE ON thread_workspaces BEGIN
    UPDATE threadtree_counters SET value = value + 1 WHERE name = 'revision';
    DELETE FROM threadtree_unidentified WHERE thread_id = OLD.thread_id;
    DELETE FROM threadtree_workspaces WHERE thread_id = OLD.thread_id;
END;

CREATE TRIGGER IF NOT EXISTS threadtree_session_inserted AFTER INSERT ON thread_sessions BEGIN
    UPDATE threadtree_counters SET value = value + 1 WHERE name = 'revision';
END;

CREATE TRIGGER IF NOT EXISTS threadtree_session_updated AFTER UPDATE ON thread_sessions BEGIN
    UPDATE threadtree_counters SET value = value + 1 WHERE name = 'revision';
END;

CREATE TRIGGER IF NOT EXISTS threadtree_session_deleted AFTER DELETE ON thread_sessions BEGIN
    UPDATE threadtree_counters SET value = value + 1 WHERE name = 'revision';
END;
