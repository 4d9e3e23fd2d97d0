package sqlite

import "testing/fstest"

// WithFirstMigration makes the store that of a program which knows no later
// migration than the first.
func WithFirstMigration() Option {
	return func(s *Store) error {
		const name = "schema/migrations/00001_records.sql"
		content, err := migrations.ReadFile(name)
		s.migrations = fstest.MapFS{name: {Data: content}}
		return err
	}
}
