package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"github.com/threadtree/threadtree/store/internal/rules"
	"github.com/threadtree/threadtree/workspace"
)

// ListWorkspaces implements [workspace.Workspaces].
func (s *Store) ListWorkspaces(ctx context.Context, q workspace.Query) (found []workspace.Workspace, err error) {
	query, args := listQuery(q)
	if query == "" {
		return nil, rules.Stopped(ctx)
	}
	err = s.read(ctx, "listing the workspaces", func(whole context.Context) error {
		rows, err := collect(whole, s.db, func(rows *sql.Rows) (workspace.Workspace, error) {
			if err := ctx.Err(); err != nil {
				return workspace.Workspace{}, err
			}
			return scanRow(rows)
		}, query, args...)
		if err != nil {
			return err
		}
		found = rows[:0]
		for _, w := range rows {
			if rules.Selects(q, w) {
				found = append(found, w)
			}
		}
		return nil
	})
	rules.Sort(found)
	return found, err
}

// listQuery returns the statement that finds all rows which q selects, by
// indexes, and maybe a row more: one whose record is void. It is empty where q
// selects nothing.
func listQuery(q workspace.Query) (string, []any) {
	if q.All {
		return `SELECT ` + rowColumns + ` FROM thread_workspaces w` + joins, nil
	}
	picks, args := picksOf(q, [4]string{
		"SELECT thread_id FROM threadtree_workspaces WHERE project_id",
		"SELECT thread_id FROM threadtree_unidentified WHERE project_directory",
		"SELECT thread_id FROM thread_workspaces WHERE workspace_directory",
		"SELECT thread_id FROM thread_workspaces WHERE thread_id",
	})
	if len(picks) == 0 {
		return "", nil
	}
	return `SELECT ` + rowColumns + ` FROM (` + strings.Join(picks, " UNION ") + `) p
		CROSS JOIN thread_workspaces w ON w.thread_id = p.thread_id` + joins, args
}

// picksOf returns the conditions of which each selects something for q, begun
// by the texts for the identity, the spelling, the directory and the thread.
func picksOf(q workspace.Query, begun [4]string) (picks []string, args []any) {
	pick := func(begun string, values ...string) {
		picks = append(picks, begun+" IN (?"+strings.Repeat(",?", len(values)-1)+")")
		for _, v := range values {
			args = append(args, v)
		}
	}
	if q.ProjectID != "" {
		pick(begun[0], q.ProjectID)
	}
	if len(q.ProjectDirectories) > 0 {
		pick(begun[1], q.ProjectDirectories...)
	}
	if q.Directory != "" {
		pick(begun[2], q.Directory)
	}
	if q.ThreadID != "" {
		pick(begun[3], q.ThreadID)
	}
	return picks, args
}

// ProjectDirectories implements [workspace.Workspaces]. It steps from one
// spelling to the next in the index, whatever number of rows each has.
func (s *Store) ProjectDirectories(ctx context.Context) (directories []string, err error) {
	err = s.read(ctx, "listing the project directories", func(ctx context.Context) (err error) {
		directories, err = collect(ctx, s.db, func(rows *sql.Rows) (directory string, err error) {
			return directory, rows.Scan(&directory)
		}, `WITH RECURSIVE spellings (directory) AS (
				SELECT MIN(project_directory) FROM threadtree_unidentified
				UNION ALL
				SELECT (SELECT MIN(u.project_directory) FROM threadtree_unidentified u WHERE u.project_directory > p.directory)
				FROM spellings p WHERE p.directory IS NOT NULL
			)
			SELECT directory FROM spellings
			WHERE directory IS NOT NULL AND EXISTS (
				SELECT 1 FROM threadtree_unidentified u
				CROSS JOIN thread_workspaces w ON w.thread_id = u.thread_id
				LEFT JOIN `+validRecord+`
				WHERE u.project_directory = directory AND COALESCE(r.project_id, '') = '')
			ORDER BY directory`)
		return err
	})
	return directories, err
}
