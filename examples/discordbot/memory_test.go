//go:build !race

package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"

	"github.com/threadtree/threadtree/adapters/discordbot/discordtest"
)

// asProgram makes the test's program the bot itself.
const asProgram = "DISCORDBOT_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// program starts the bot as a process and returns it once it is ready.
func (w *world) program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := w.options()
	args = append([]string{
		"--provider", "git", "--home", o.Home, "--guild", w.guild.String(), "--api-url", o.APIURL, "--gateway-url", o.GatewayURL,
	}, args...)
	for channel, directory := range o.Project {
		args = append(args, "--project", fmt.Sprintf("%d=%s", channel, directory))
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "DISCORD_TOKEN="+w.Token())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "ready: ") {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd
}

// resident is how many bytes of memory a process has.
func resident(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skipf("this system doesn't say: %v", err)
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatalf("no VmRSS:\n%s", status)
	return 0
}

// TestMemoryOfTheIdleBot measures it as a process of its own, with several
// servers, after some work.
func TestMemoryOfTheIdleBot(t *testing.T) {
	w := newWorld(t, discordtest.Options{})
	for g := range 5 {
		guild := w.guild
		if g > 0 {
			guild = w.AddGuild(fmt.Sprintf("server %d", g))
		}
		owner := w.AddMember(guild, "owner")
		for c := range 20 {
			channel := w.AddChannel(guild, discord.ChannelTypeGuildText, fmt.Sprintf("channel %d", c))
			for i := range 20 {
				w.AddThread(channel, discord.ChannelTypeGuildPublicThread, fmt.Sprintf("thread %d", i), owner)
			}
		}
		for i := range 100 {
			w.AddMember(guild, fmt.Sprintf("member %d", i))
		}
	}
	bot := w.program(t)
	limit, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const made = 8
	for i := range made {
		if _, err := w.Command(w.boss, w.channel, "new-worktree", map[string]any{"name": fmt.Sprintf("work %d", i)}).WaitFinal(limit); err != nil {
			t.Fatal(err)
		}
	}
	var threads []snowflake.ID
	for _, thread := range w.Threads(w.channel) {
		threads = append(threads, thread.ID)
		if _, err := w.WaitMessage(limit, thread.ID, func(m discordtest.Message) bool { return strings.Contains(m.Text(), "Folder: ") }); err != nil {
			t.Fatal(err)
		}
	}
	for range 5 {
		if _, err := w.Command(w.boss, w.channel, "worktrees", nil).WaitFinal(limit); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Second) // idle
	const most = 60 << 20
	got := resident(t, bot.Process.Pid)
	t.Logf("%.1f MB", float64(got)/(1<<20))
	if len(threads) != made || got >= most {
		t.Errorf("%d threads, %d bytes", len(threads), got)
	}
}
