// Package discordtest is a Discord that runs inside a test, for bots built on
// disgo.
//
// A [Discord] holds guilds, members, channels, threads, messages and registered
// commands. A bot reaches it through a client made by [Discord.NewClient]: its
// REST calls are answered in process and its gateway events are delivered in
// order, without a socket. The test plays the people: it says things, runs
// commands, presses buttons, and reads what everybody would see.
//
//	d := discordtest.New(discordtest.Options{})
//	defer d.Close()
//	guild := d.AddGuild("garden")
//	channel := d.AddChannel(guild, discord.ChannelTypeGuildText, "beds")
//	ada := d.AddMember(guild, "ada")
//	client, err := d.NewClient(bot.WithEventListenerFunc(onCommand))
//	...
//	err = d.Open(client)
//	answer, err := d.Command(ada, channel, "plant", map[string]any{"what": "tree"}).Wait(ctx)
//
// What Discord refuses is refused here with the same status and JSON error
// code, and is kept in [Discord.Violations]. Any route can be made to fail or to
// be slow with [Discord.Fail].
//
// Deadlines are measured by [Options.Now] and waited for with ordinary timers,
// so in a testing/synctest bubble they pass in virtual time: create the Discord
// in the bubble and close it before the bubble ends. [Discord.Serve] offers the
// same Discord over HTTP and a websocket on loopback, for the test that wants
// the whole way.
//
// Where Discord's behaviour isn't documented the stricter reading is taken: a
// bot's message to an archived thread is refused rather than reopening it, and a
// mention counts as a ping even where a code span would have kept it quiet.
package discordtest
