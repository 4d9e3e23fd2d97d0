package sqlite

import (
	"strconv"
	"time"
)

// clockText is how Kimaki's tables, and ours, hold a moment: in UTC and whole
// seconds, as SQLite's CURRENT_TIMESTAMP does.
func clockText(t time.Time) string { return t.UTC().Format(time.DateTime) }

// readLayouts are the forms in which programs that share the tables may have
// written a moment.
var readLayouts = []string{
	time.DateTime, // with or without fractions of a second
	time.RFC3339,
	"2006-01-02 15:04:05Z07:00",
	"2006-01-02T15:04:05",
}

// readClock returns the moment that text stands for, the zero time if none.
func readClock(text string) time.Time {
	for _, layout := range readLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC()
		}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n > 1e11 { // no seconds of this millennium, so milliseconds
			return time.UnixMilli(n).UTC()
		}
		return time.Unix(n, 0).UTC()
	}
	return time.Time{}
}

// exactText holds a moment with all its nanoseconds; the zero time is "".
func exactText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func readExact(text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	return readClock(text)
}
