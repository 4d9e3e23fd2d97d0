package storetest

import (
	"testing"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

func putChannel(t *testing.T, s workspace.Store, c workspace.Channel) {
	t.Helper()
	if err := s.PutChannel(t.Context(), c); err != nil {
		t.Fatalf("PutChannel(%s): %v", c.ID, err)
	}
}

func channel(t *testing.T, s workspace.Store, id string) workspace.Channel {
	t.Helper()
	c, err := s.Channel(t.Context(), id)
	if err != nil {
		t.Fatalf("Channel(%s): %v", id, err)
	}
	return c
}

var channelTests = map[string]func(*testing.T, workspace.Store){
	"EveryFieldComesBack": func(t *testing.T, s workspace.Store) {
		want := workspace.Channel{
			ID: "1", GuildID: "g", Type: "voice", Directory: "/src/a 'b'", Automatic: true, CreatedAt: created,
		}
		putChannel(t, s, want)
		check(t, "channel", channel(t, s, "1"), want)
	},
	"Defaults": func(t *testing.T, s workspace.Store) {
		putChannel(t, s, workspace.Channel{ID: "1", Directory: "/p"})
		got := channel(t, s, "1")
		if got.CreatedAt.IsZero() || got.CreatedAt.Nanosecond() != 0 {
			t.Errorf("CreatedAt is %v, want the present second", got.CreatedAt)
		}
		check(t, "channel", got, workspace.Channel{ID: "1", Type: "text", Directory: "/p", CreatedAt: got.CreatedAt})
	},
	"ReplacingKeepsCreatedAt": func(t *testing.T, s workspace.Store) {
		putChannel(t, s, workspace.Channel{ID: "1", GuildID: "g", Type: "voice", Directory: "/p", Automatic: true, CreatedAt: created})
		putChannel(t, s, workspace.Channel{ID: "1", Directory: "/q", CreatedAt: created.Add(time.Hour)})
		check(t, "channel", channel(t, s, "1"), workspace.Channel{ID: "1", Type: "text", Directory: "/q", CreatedAt: created})
	},
	"NotFound": func(t *testing.T, s workspace.Store) {
		_, err := s.Channel(t.Context(), "1")
		refused(t, err, workspace.ErrNotFound, nil)
	},
	"ListsByGuildAndID": func(t *testing.T, s workspace.Store) {
		for _, c := range []workspace.Channel{
			{ID: "3", GuildID: "g"}, {ID: "1", GuildID: "g", Automatic: true}, {ID: "2", GuildID: "h"}, {ID: "4"},
		} {
			c.Directory, c.Type, c.CreatedAt = "/p", "text", created
			putChannel(t, s, c)
		}
		for guild, want := range map[string][]string{"g": {"1", "3"}, "h": {"2"}, "": {"1", "2", "3", "4"}, "x": nil} {
			channels, err := s.ListChannels(t.Context(), guild)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range channels {
				got = append(got, c.ID)
				check(t, "listed channel", c, channel(t, s, c.ID))
			}
			check(t, "channels of "+guild, got, want)
		}
	},
	"DeleteForgets": func(t *testing.T, s workspace.Store) {
		putChannel(t, s, workspace.Channel{ID: "1", Directory: "/p", Automatic: true, CreatedAt: created})
		for range 2 { // the second time there is none, which is no error
			if err := s.DeleteChannel(t.Context(), "1"); err != nil {
				t.Fatal(err)
			}
			_, err := s.Channel(t.Context(), "1")
			refused(t, err, workspace.ErrNotFound, nil)
		}
		putChannel(t, s, workspace.Channel{ID: "1", Directory: "/p"})
		if channel(t, s, "1").Automatic {
			t.Error("what was set for a forgotten channel came back")
		}
	},
}
