package discordbot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/threadtree/threadtree/workspace"
)

// The namespaces of the notes.
const (
	notesStatus = "discord/status"
	notesQueue  = "discord/queue"
	notesList   = "discord/list"
	notesTold   = "discord/told"
	notesAsked  = "discord/asked"
)

// How long notes are kept that nothing waits for: of a person's list, of the
// last messages of a thread, and of what was asked.
const (
	listFor  = 30 * 24 * time.Hour
	queueFor = 90 * 24 * time.Hour
	askedFor = 7 * 24 * time.Hour
)

// dropOldDaily has dropOld run in the background, where it is a day ago.
func (b *Bot) dropOldDaily() {
	b.mu.Lock()
	now := b.cfg.Now()
	due := now.Sub(b.dropped) >= 24*time.Hour
	if due {
		b.dropped = now
	}
	b.mu.Unlock()
	if due {
		b.spawn("drop old notes", b.dropOld)
	}
}

// dropOld forgets notes that nothing waits for any more.
func (b *Bot) dropOld(ctx context.Context) {
	for namespace, keep := range map[string]time.Duration{notesList: listFor, notesQueue: queueFor, notesAsked: askedFor} {
		notes, err := b.cfg.Store.ListNotes(ctx, namespace)
		b.failed(ctx, "look for old notes", err)
		for _, note := range notes {
			if b.cfg.Now().Sub(note.UpdatedAt) < keep {
				continue
			}
			var n queueNote
			if namespace == notesQueue && (json.Unmarshal(note.Value, &n) != nil || len(n.Messages) > 0) {
				continue
			}
			if err := b.cfg.Store.DeleteNote(ctx, namespace, note.Key, note.Version); !errors.Is(err, workspace.ErrStale) {
				b.failed(ctx, "drop an old note", err)
			}
		}
	}
}

// noteTries bounds how often a change is tried where others change the same
// note.
const noteTries = 50

// readNote reads a note into v; found is false where there is none.
func (b *Bot) readNote(ctx context.Context, namespace, key string, v any) (version int64, found bool, err error) {
	note, err := b.cfg.Store.Note(ctx, namespace, key)
	if errors.Is(err, workspace.ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	if err := json.Unmarshal(note.Value, v); err != nil {
		return note.Version, false, fmt.Errorf("the note %s/%s can't be read: %w", namespace, key, err)
	}
	return note.Version, true, nil
}

// changeNote changes a note by comparing and setting; change gets the present
// value, zero where there is none, and says whether the note is to stay.
func changeNote[T any](ctx context.Context, b *Bot, namespace, key string, change func(v *T) (keep bool)) error {
	for range noteTries {
		var v T
		version, _, err := b.readNote(ctx, namespace, key, &v)
		if err != nil && version == 0 {
			return err
		}
		if keep := change(&v); !keep {
			if version == 0 {
				return nil
			}
			err = b.cfg.Store.DeleteNote(ctx, namespace, key, version)
		} else {
			var value []byte
			if value, err = json.Marshal(v); err != nil {
				return err
			}
			_, err = b.cfg.Store.PutNote(ctx, namespace, key, value, version)
		}
		if !errors.Is(err, workspace.ErrStale) {
			return err
		}
	}
	return fmt.Errorf("the note %s/%s is changed by others all the time", namespace, key)
}
