// Package sqlite keeps workspaces, sessions, channels, notes and trash in an
// SQLite database. It passes store/storetest.
//
// # Beside Kimaki
//
// The database may be that of a Kimaki bot, and Kimaki may go on using it: the
// tables thread_sessions, thread_workspaces, channel_directories and
// channel_worktrees are Kimaki's own, each row is written as Kimaki would, and
// all other tables are left alone. Rows of thread_worktrees, Kimaki's older
// table, are copied to thread_workspaces at each opening, as Kimaki does at
// each of its starts; a workspace that is deleted leaves both.
//
// What a workspace has beyond Kimaki's columns is in a record of our own,
// together with the row's columns as they were when it was written. Where
// Kimaki has reset the row since, the two differ and the record counts for
// nothing: the row reads as one of Kimaki's, without an attempt. All tables,
// indexes and triggers of our own have names that begin with threadtree_.
//
// # One writer
//
// Each change is a transaction that takes the write lock before it reads, so
// it never has to give up because somebody wrote in between. Within a process
// the writers queue; those of other processes are waited for up to the busy
// time-out. Readers wait for nobody: the file is in write-ahead-log mode.
package sqlite
