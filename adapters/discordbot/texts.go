package discordbot

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Text names a text that [Config.Texts] can replace. What is in it between %
// signs stays, in the same order.
type Text string

// The texts.
const (
	TextNotAllowed    Text = "not-allowed"
	TextMayNotSet     Text = "may-not-set"
	TextMayNotTalk    Text = "may-not-talk"
	TextNotHere       Text = "not-here"
	TextNoProject     Text = "no-project"
	TextNotThread     Text = "not-thread"
	TextMaking        Text = "making"
	TextThreadTitle   Text = "thread-title"
	TextReusing       Text = "reusing"
	TextNotReusing    Text = "not-reusing"
	TextStart         Text = "start"
	TextStaleButton   Text = "stale-button"
	TextBusyButton    Text = "busy-button"
	TextClosing       Text = "closing"
	TextNoAgent       Text = "no-agent"
	TextAskedAgent    Text = "asked-agent"
	TextAgentDone     Text = "agent-done"
	TextAborted       Text = "aborted"
	TextNoRepository  Text = "no-repository"
	TextFolderChanged Text = "folder-changed"
	TextQueueDropped  Text = "queue-dropped"
	TextNotTaken      Text = "not-taken"
	TextStuck         Text = "stuck"
	TextMissed        Text = "missed"
	TextProjectSet    Text = "project-set"
	TextStopped       Text = "stopped"
	TextInterrupted   Text = "interrupted"
	TextWasCut        Text = "was-cut"
	TextMergeDone     Text = "merge-done"
	TextMergeUndone   Text = "merge-undone"
	TextPushAgain     Text = "push-again"
	TextAskAgain      Text = "ask-again"
	TextNothingMade   Text = "nothing-made"
	TextDeleted       Text = "deleted"
	TextNotDeleted    Text = "not-deleted"
	TextRestored      Text = "restored"
	TextMake          Text = "make"
	TextNotRestored   Text = "not-restored"
	TextCut           Text = "cut"
	TextFault         Text = "fault"
)

var defaultTexts = map[Text]string{
	TextNotAllowed:    "You may not do that here. Ask somebody who may manage threads.",
	TextNotHere:       "This works in a text or announcement channel of a server and in its threads, not in forums, voice chats or direct messages.",
	TextMayNotSet:     "You may not change settings here. Ask somebody who may manage the server.",
	TextMayNotTalk:    "The agent here takes no messages from you. Ask somebody who may manage threads.",
	TextNoProject:     "No project is set for this channel. Somebody who may change settings can set one with `/project set`.",
	TextNotThread:     "Use this in a thread that has a workspace.",
	TextMaking:        "Making a workspace in %s.",
	TextThreadTitle:   "worktree: %s",
	TextReusing:       "The conversation goes on from %s.",
	TextNotReusing:    "This begins a new conversation: %s",
	TextStart:         "Send a message to begin.",
	TextStaleButton:   "That button is out of date; nothing was changed.",
	TextBusyButton:    "That is being done already.",
	TextClosing:       "The bot is being restarted. Nothing was changed; try again in a minute.",
	TextNoAgent:       "This bot has no agent. Resolve the conflict in the workspace, then press *Continue merge*.",
	TextAskedAgent:    "The agent is resolving the conflict.",
	TextAgentDone:     "The agent is done. Look at what it did, then continue the merge.",
	TextAborted:       "The merge was aborted. The workspace is as it was before it.",
	TextNoRepository:  "This channel's folder is no git repository, so the thread works in the folder itself.",
	TextFolderChanged: "This thread worked in the channel's folder itself, and the channel works on a repository or another folder now. Type `/new-worktree` to go on in a workspace.",
	TextQueueDropped:  "There is no workspace to work in, so what waits was not handed on: %s. Nothing ran in the main checkout; send it again once there is a workspace.",
	TextNotTaken:      "This message was not taken: the bot could not note it. Nothing was done; send it again in a minute.",
	TextStuck:         "The bot can't get at its records, so messages here wait. They are handed on with the next one, or when the bot is restarted.",
	TextMissed:        "This was said while the bot was away. Not handed on, because it is too old: %s. Send again what is still wanted.",
	TextProjectSet:    "This channel works on %s now.",
	TextStopped:       "Stopped.",
	TextWasCut:        "The bot was restarted while it was at this.",
	TextMergeDone:     "%s has all of this workspace's commits.",
	TextMergeUndone:   "The merge is not done: %s is as it was, and so is the workspace. Merge again if it is still wanted.",
	TextPushAgain:     "Push again if it is still wanted; what is published already stays as it is.",
	TextAskAgain:      "Look at how things are, then ask again.",
	TextNothingMade:   "No thread and no workspace was made; ask again.",
	TextDeleted:       "🗑️ The workspace is deleted.",
	TextNotDeleted:    "%s is not deleted. Look at it below, then delete it again if it is still to go.",
	TextRestored:      "↩️ It is back.",
	TextMake:          "Type `/new-worktree` to make one.",
	TextNotRestored:   "It is not back yet. Press *Undo* again.",
	TextCut:           "The bot is being restarted, and this was stopped. Look at how things are, then try again.",
	TextFault:         "Something unexpected went wrong. The bot's log has more.",
	TextInterrupted:   "The bot was restarted while the agent worked on this. Look at what is there, then ask again.",
}

// namer puts the commands' names into texts that have the default ones.
func namer(names map[Command]string) *strings.Replacer {
	var pairs []string
	for _, command := range slices.SortedFunc(maps.Keys(DefaultNames()), func(a, b Command) int { return len(b) - len(a) }) {
		pairs = append(pairs, "`/"+string(command), "`/"+orElse(names[command], string(command)))
	}
	return strings.NewReplacer(pairs...)
}

// text is a text with what is filled in.
func (b *Bot) text(t Text, args ...any) string {
	format, ok := b.cfg.Texts[t]
	if !ok {
		format = b.named.Replace(defaultTexts[t])
	}
	if len(args) == 0 {
		return format
	}
	return fmt.Sprintf(format, args...)
}
