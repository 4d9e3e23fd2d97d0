package discordbot

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/disgoorg/disgo/discord"

	"github.com/threadtree/threadtree/workspace"
)

// What Discord allows of a message made of components.
const (
	componentsMax = 40
	displayedMax  = 4000
	customIDMax   = 100
	noticeMax     = 1200
)

// listView is what a list is drawn from.
type listView struct {
	// Project is the project's name.
	Project string
	Rows    []workspace.Row
	// Page counts from 0; beyond the last it is the last.
	Page int
	// Automatic is whether new threads of the channel get a workspace, nil
	// outside of a project's channel.
	Automatic *bool
	// Notice is Markdown that stands on top.
	Notice string
	// Make says how to make a workspace, where there is none.
	Make string
	// ID is in each custom id.
	ID  string
	Now time.Time
	// Link returns what links to a thread, an address or a mention, and ""
	// where there is none.
	Link func(threadID string) string

	MayDelete, MayForce, MaySet bool
	// Undo is what can be restored at a press, thread and kept copy with a
	// slash between, "" for nothing, and UndoUntil is for how long. Undone is
	// what was, or can't be any more.
	Undo, Undone string
	UndoUntil    time.Time
}

// renderList draws a page of the list, within Discord's limits, and says how
// many pages there are.
func renderList(v listView) (components []discord.LayoutComponent, pages int) {
	head := discord.NewTextDisplay(v.head())
	if len(v.Rows) == 0 {
		return v.withButtons([]discord.LayoutComponent{head}, v.buttons(0, 1)), 1
	}
	drawn := v.drawRows()
	all := v.pages(drawn, measureOf(head).plus(rowOf(v.buttons(0, 1))))
	if len(all) > 1 {
		// In the middle there are both of the buttons that turn pages.
		all = v.pages(drawn, measureOf(head).plus(rowOf(v.buttons(1, 3))).plus(measure{characters: len("\n-# 60 worktrees, page 10 of 10")}))
	}
	page := min(max(v.Page, 0), len(all)-1)
	if len(all) > 1 {
		head.Content += fmt.Sprintf("\n-# %s, page %d of %d", counted(len(v.Rows), "worktree"), page+1, len(all))
	}
	components = append([]discord.LayoutComponent{head}, all[page]...)
	return v.withButtons(components, v.buttons(page, len(all))), len(all)
}

// head is the text above the rows.
func (v listView) head() string {
	t := text{max: displayedMax / 2}
	if notice := strings.TrimSpace(v.Notice); notice != "" {
		parts := split(notice, noticeMax)
		if len(parts) > 1 {
			parts[0] += "\n…"
		}
		t.add(parts[0])
	}
	t.add("### Worktrees of " + isolated(v.Project, plain(v.Project, 120)))
	if v.Automatic != nil {
		if *v.Automatic {
			t.add("Automatic workspaces for new threads here: **on**")
		} else {
			t.add("Automatic workspaces for new threads here: **off**")
		}
	}
	if len(v.Rows) == 0 {
		t.add(strings.TrimSpace("There are none. " + v.Make))
	}
	return t.String()
}

// buttons are those below the rows.
func (v listView) buttons(page, pages int) []discord.InteractiveComponent {
	var buttons []discord.InteractiveComponent
	add := func(style discord.ButtonStyle, label string, parts ...string) {
		if id, ok := v.customID(parts...); ok {
			buttons = append(buttons, discord.NewButton(style, label, id, "", 0))
		}
	}
	if page > 0 {
		add(discord.ButtonStyleSecondary, "Previous", "page", fmt.Sprint(page-1))
	}
	if page < pages-1 {
		add(discord.ButtonStyleSecondary, "Next", "page", fmt.Sprint(page+1))
	}
	if v.Undo != "" {
		add(discord.ButtonStylePrimary, "Undo", append([]string{"undo"}, strings.Split(v.Undo, "/")...)...)
	}
	if v.Automatic != nil && v.MaySet {
		if *v.Automatic {
			add(discord.ButtonStyleSecondary, "Turn automatic off", "auto", "off")
		} else {
			add(discord.ButtonStyleSecondary, "Turn automatic on", "auto", "on")
		}
	}
	return buttons
}

func (v listView) withButtons(components []discord.LayoutComponent, buttons []discord.InteractiveComponent) []discord.LayoutComponent {
	if len(buttons) == 0 {
		return components
	}
	return append(components, discord.NewActionRow(buttons...))
}

// drawRows draws each row. No two buttons have the same id.
func (v listView) drawRows() []discord.LayoutComponent {
	drawn := make([]discord.LayoutComponent, 0, len(v.Rows))
	taken := make(map[string]bool)
	for _, row := range v.Rows {
		content := discord.NewTextDisplay(v.rowText(row))
		button, ok := v.rowButton(row)
		if !ok || taken[button.CustomID] {
			drawn = append(drawn, content)
			continue
		}
		taken[button.CustomID] = true
		drawn = append(drawn, discord.NewSection(content).WithAccessory(button))
	}
	return drawn
}

// rowText draws what is known of a worktree.
func (v listView) rowText(row workspace.Row) string {
	source := plain(string(row.Source), 40)
	if row.Workspace != nil {
		source += " " + threadRef(row.Workspace.ThreadID, v.Link)
	}
	name := nameOf(row)
	age := "age not known"
	switch {
	case row.Workspace != nil && !row.Workspace.CreatedAt.IsZero():
		age = "made " + ago(row.Workspace.CreatedAt, v.Now)
	case row.State.LastActivity != nil:
		age = "last change " + ago(*row.State.LastActivity, v.Now)
	}
	folder := "no folder"
	if dir := row.Directory(); dir != "" {
		folder = codeOf(folderOf(dir), 160)
	}
	return "**" + isolated(name, plain(name, 200)) + "** · " + source + "\n" +
		stateOf(row, v.Link) + "\n-# " + age + " · " + folder
}

// rowButton returns the button of a row, if it has one.
func (v listView) rowButton(row workspace.Row) (discord.ButtonComponent, bool) {
	w := row.Workspace
	switch {
	case w == nil:
	case row.Deletable && v.MayDelete:
		id, ok := v.customID("delete", w.ThreadID, orElse(w.Attempt.ID, "0"))
		return discord.NewSecondaryButton("Delete", id), ok
	case !row.Deletable && v.MayForce && forcible(row):
		id, ok := v.customID("force", w.ThreadID, orElse(w.Attempt.ID, "0"))
		return discord.NewDangerButton("Delete anyway…", id), ok
	}
	return discord.ButtonComponent{}, false
}

// forcible reports whether there is any use in asking for a delete that would
// be refused: what is still being made is not for force to take.
func forcible(row workspace.Row) bool {
	return row.Workspace.Status != workspace.StatusPending || row.Liveness == workspace.Dead
}

// customID returns the id of a button; ok is false where the parts can't be
// carried in one.
func (v listView) customID(parts ...string) (id string, ok bool) {
	for _, part := range parts {
		if part == "" || strings.ContainsFunc(part, func(r rune) bool { return r == '/' || r <= ' ' || r > '~' }) {
			return "", false
		}
	}
	id = "/tt/list/" + v.ID + "/" + strings.Join(parts, "/")
	return id, len(id) <= customIDMax
}

// pages spreads the rows over pages; fixed is what each page has besides.
func (v listView) pages(rows []discord.LayoutComponent, fixed measure) [][]discord.LayoutComponent {
	var pages [][]discord.LayoutComponent
	var page []discord.LayoutComponent
	used := fixed
	for _, row := range rows {
		with := used.plus(measureOf(row))
		if len(page) > 0 && !with.fits() {
			pages, page = append(pages, page), nil
			with = fixed.plus(measureOf(row))
		}
		page, used = append(page, row), with
	}
	return append(pages, page)
}

// measure is what Discord counts of a message.
type measure struct{ components, characters int }

func (m measure) plus(o measure) measure {
	return measure{m.components + o.components, m.characters + o.characters}
}

func (m measure) fits() bool {
	return m.components <= componentsMax && m.characters <= displayedMax
}

func rowOf(buttons []discord.InteractiveComponent) measure {
	if len(buttons) == 0 {
		return measure{}
	}
	return measureOf(discord.NewActionRow(buttons...))
}

// measureOf counts a component and those within it. Characters are counted as
// UTF-16 has them, and those of buttons too, so that no way of counting has
// more.
func measureOf(c discord.Component) measure {
	m := measure{components: 1}
	switch c := c.(type) {
	case discord.TextDisplayComponent:
		m.characters = displayed(c.Content)
	case discord.ButtonComponent:
		m.characters = displayed(c.Label)
	case discord.SectionComponent:
		for _, sub := range c.Components {
			m = m.plus(measureOf(sub))
		}
		m = m.plus(measureOf(c.Accessory))
	case discord.ActionRowComponent:
		for _, sub := range c.Components {
			m = m.plus(measureOf(sub))
		}
	}
	return m
}

func displayed(s string) int { return len(utf16.Encode([]rune(s))) }
