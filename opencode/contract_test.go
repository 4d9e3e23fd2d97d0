package opencode

import (
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/threadtree/threadtree/gitops"
	"github.com/threadtree/threadtree/workspace"
	"github.com/threadtree/threadtree/workspace/providertest"
)

func TestProviderContract(t *testing.T) {
	t.Parallel()
	s := common(t)
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		p := newPlace(t, s, nil)
		return providertest.Subject{Provider: p.provider, Project: p.request(workspace.Name{}).Project}
	})
}

// TestProviderContractThere is the same where the server makes the worktrees,
// and so chooses where.
func TestProviderContractThere(t *testing.T) {
	t.Parallel()
	s := common(t)
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		p := newPlace(t, s, own)
		return providertest.Subject{Provider: p.provider, Project: p.request(workspace.Name{}).Project, PlaceLater: true}
	})
}

// BenchmarkCreate makes a workspace by git alone and one by OpenCode in turn,
// and reports how many times as long the second takes.
func BenchmarkCreate(b *testing.B) {
	s := common(b)
	for _, files := range []int{0, 10_000} {
		b.Run(strconv.Itoa(files)+" files", func(b *testing.B) { benchCreate(b, s, files) })
	}
}

func benchCreate(b *testing.B, s *Server, files int) {
	b.Helper()
	p := newPlace(b, s, nil)
	for i := range files {
		p.write(strconv.Itoa(i), "some content\n")
	}
	if files > 0 {
		p.commit("last", "some content\n")
	}
	git := gitops.NewProvider(p.repo, gitops.ProviderOptions{})
	through, err := workspace.NewManager(workspace.Config{
		Store: p.store, Repository: p.repo, Provider: git, Removers: []workspace.Provider{p.provider}, Locker: p.locks,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	client(b, s)
	p.create("warm", workspace.CreateOptions{Title: "warm"})
	took := make(map[*workspace.Manager]time.Duration)
	n := 0
	for b.Loop() {
		for _, m := range []*workspace.Manager{through, p.manager} {
			n++
			began := time.Now()
			w, err := m.Create(b.Context(), workspace.CreateOptions{Project: p.dir, ThreadID: strconv.Itoa(n), Title: "one"})
			took[m] += time.Since(began)
			if err != nil || len(w.Warnings) > 0 {
				b.Fatalf("%+v, %s", w, detail(err))
			}
		}
	}
	b.ReportMetric(float64(took[p.manager])/float64(took[through]), "times-git")
	b.ReportMetric(float64(took[through].Milliseconds())/float64(b.N), "git-ms/op")
	b.ReportMetric(float64(took[p.manager].Milliseconds())/float64(b.N), "opencode-ms/op")
}
