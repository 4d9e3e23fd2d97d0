package discordbot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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
