package discordtest

import (
	"regexp"
	"slices"
	"strings"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"
)

var mentionPattern = regexp.MustCompile(`@everyone|@here|<@[!&]?[0-9]+>`)

// mentionID is the id in a user or role mention, 0 for @everyone and @here.
func mentionID(mention string) snowflake.ID {
	id, err := snowflake.Parse(strings.Trim(mention, "<@!&>"))
	if err != nil {
		return 0
	}
	return id
}

// pings are the mentions in the text that the allowed mentions let through; nil
// allows all, as on Discord.
func pings(text string, allowed *discord.AllowedMentions) []string {
	var found []string
	for _, mention := range mentionPattern.FindAllString(text, -1) {
		kind, ids := discord.AllowedMentionTypeUsers, []snowflake.ID(nil)
		switch {
		case strings.HasPrefix(mention, "@"):
			kind = discord.AllowedMentionTypeEveryone
		case strings.HasPrefix(mention, "<@&"):
			kind = discord.AllowedMentionTypeRoles
		}
		if allowed != nil {
			switch kind {
			case discord.AllowedMentionTypeUsers:
				ids = allowed.Users
			case discord.AllowedMentionTypeRoles:
				ids = allowed.Roles
			}
		}
		if allowed == nil || slices.Contains(allowed.Parse, kind) || slices.Contains(ids, mentionID(mention)) {
			found = append(found, mention)
		}
	}
	return found
}

// checkMentions refuses what says two things about the same mentions.
func checkMentions(allowed *discord.AllowedMentions) error {
	if allowed == nil {
		return nil
	}
	for kind, ids := range map[discord.AllowedMentionType][]snowflake.ID{
		discord.AllowedMentionTypeUsers: allowed.Users, discord.AllowedMentionTypeRoles: allowed.Roles,
	} {
		if len(ids) > 0 && slices.Contains(allowed.Parse, kind) {
			return invalid("allowed_mentions: parse:[%q] and %[1]s: [ids...] are mutually exclusive", kind)
		}
		if len(ids) > 100 {
			return invalid("allowed_mentions.%s: Must be 100 or fewer in length.", kind)
		}
	}
	return nil
}
