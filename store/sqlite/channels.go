package sqlite

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/threadtree/threadtree/store/internal/rules"
	"github.com/threadtree/threadtree/workspace"
)

const selectChannel = `SELECT d.channel_id, COALESCE(d.guild_id, ''), d.channel_type, d.directory,
	COALESCE(e.enabled, 0) <> 0, COALESCE(CAST(d.created_at AS TEXT), '')
	FROM channel_directories d LEFT JOIN channel_worktrees e ON e.channel_id = d.channel_id WHERE `

func scanChannel(rows *sql.Rows) (workspace.Channel, error) {
	var c workspace.Channel
	var created string
	err := rows.Scan(&c.ID, &c.GuildID, &c.Type, &c.Directory, &c.Automatic, &created)
	c.CreatedAt = rules.Second(readClock(created))
	return c, err
}

// Channel implements [workspace.Channels].
func (s *Store) Channel(ctx context.Context, channelID string) (c workspace.Channel, err error) {
	err = s.read(ctx, "reading a channel", func(ctx context.Context) error {
		found, err := collect(ctx, s.db, scanChannel, selectChannel+"d.channel_id = ?", channelID)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return rules.NoChannel(channelID)
		}
		c = found[0]
		return nil
	})
	return c, err
}

// PutChannel implements [workspace.Channels].
func (s *Store) PutChannel(ctx context.Context, c workspace.Channel) error {
	return s.write(ctx, "writing a channel", func(ctx context.Context, conn *sql.Conn) error {
		now := s.now()
		if c.CreatedAt.IsZero() {
			c.CreatedAt = now
		}
		_, err := conn.ExecContext(ctx, `INSERT INTO channel_directories (channel_id, directory, channel_type, guild_id, created_at)
			VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (channel_id) DO UPDATE SET
				directory = excluded.directory, channel_type = excluded.channel_type, guild_id = excluded.guild_id`,
			c.ID, c.Directory, cmp.Or(c.Type, "text"), null(c.GuildID), clockText(c.CreatedAt))
		if err != nil {
			return err
		}
		_, err = conn.ExecContext(ctx, `INSERT INTO channel_worktrees (channel_id, enabled, created_at, updated_at)
			VALUES (?1, ?2, ?3, ?3)
			ON CONFLICT (channel_id) DO UPDATE SET enabled = excluded.enabled, updated_at = excluded.updated_at`,
			c.ID, c.Automatic, clockText(now))
		return err
	})
}

// ListChannels implements [workspace.Channels].
func (s *Store) ListChannels(ctx context.Context, guildID string) (channels []workspace.Channel, err error) {
	err = s.read(ctx, "listing the channels", func(ctx context.Context) (err error) {
		channels, err = collect(ctx, s.db, scanChannel, selectChannel+"?1 = '' OR d.guild_id = ?1 ORDER BY d.channel_id", guildID)
		return err
	})
	return channels, err
}

// DeleteChannel implements [workspace.Channels].
func (s *Store) DeleteChannel(ctx context.Context, channelID string) error {
	return s.write(ctx, "deleting a channel", func(ctx context.Context, conn *sql.Conn) error {
		for _, table := range []string{"channel_worktrees", "channel_directories"} {
			if _, err := conn.ExecContext(ctx, "DELETE FROM "+table+" WHERE channel_id = ?", channelID); err != nil {
				return err
			}
		}
		return nil
	})
}
