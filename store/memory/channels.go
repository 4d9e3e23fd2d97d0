package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/threadtree/threadtree/store/internal/rules"
	"github.com/threadtree/threadtree/workspace"
)

// Channel implements [workspace.Channels].
func (s *Store) Channel(ctx context.Context, channelID string) (workspace.Channel, error) {
	if err := s.enter(ctx); err != nil {
		return workspace.Channel{}, err
	}
	defer s.mu.Unlock()
	c, ok := s.channels[channelID]
	if !ok {
		return workspace.Channel{}, rules.NoChannel(channelID)
	}
	return c, nil
}

// PutChannel implements [workspace.Channels].
func (s *Store) PutChannel(ctx context.Context, c workspace.Channel) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	c.Type = cmp.Or(c.Type, "text")
	if present, ok := s.channels[c.ID]; ok {
		c.CreatedAt = present.CreatedAt
	} else if c.CreatedAt.IsZero() {
		c.CreatedAt = s.Now()
	}
	c.CreatedAt = rules.Second(c.CreatedAt)
	s.channels[c.ID] = c
	return nil
}

// ListChannels implements [workspace.Channels].
func (s *Store) ListChannels(ctx context.Context, guildID string) ([]workspace.Channel, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var channels []workspace.Channel
	for _, c := range s.channels {
		if guildID == "" || c.GuildID == guildID {
			channels = append(channels, c)
		}
	}
	slices.SortFunc(channels, func(a, b workspace.Channel) int { return cmp.Compare(a.ID, b.ID) })
	return channels, nil
}

// DeleteChannel implements [workspace.Channels].
func (s *Store) DeleteChannel(ctx context.Context, channelID string) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	delete(s.channels, channelID)
	return nil
}
