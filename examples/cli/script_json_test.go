package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdJSON checks a value of the last command's standard output:
//
//	json PATH VALUE     it is VALUE; a string bare, anything else as JSON
//	json PATH /REGEXP/  it is a string that matches
//	json PATH           it is there
//	! json PATH         it isn't there
//
// PATH is like workspaces[thread_id=1].branch or warnings[0].
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 || len(args) > 2 || neg && len(args) != 1 {
		ts.Fatalf("usage: [!] json PATH [VALUE]")
	}
	v, found := find(ts, ts.ReadFile("stdout"), args[0])
	switch {
	case neg && found:
		ts.Fatalf("%s is there: %s", args[0], shownJSON(v))
	case neg:
		return
	case !found:
		ts.Fatalf("%s is not in %s", args[0], ts.ReadFile("stdout"))
	case len(args) == 1:
		return
	}
	want := args[1]
	if len(want) > 2 && want[0] == '/' && want[len(want)-1] == '/' {
		s, ok := v.(string)
		if re, err := regexp.Compile(want[1 : len(want)-1]); err == nil && ok {
			if !re.MatchString(s) {
				ts.Fatalf("%s is %q, which doesn't match %s", args[0], s, want)
			}
			return
		}
	}
	if got := shownJSON(v); got != want {
		ts.Fatalf("%s is %s, not %s", args[0], got, want)
	}
}

// cmdJSONKeys checks that an object has exactly these keys: jsonkeys PATH
// KEY..., with . for the whole output.
func cmdJSONKeys(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: jsonkeys PATH KEY...")
	}
	v, _ := find(ts, ts.ReadFile("stdout"), args[0])
	object, ok := v.(map[string]any)
	if !ok {
		ts.Fatalf("%s is no object: %s", args[0], shownJSON(v))
	}
	got, want := slices.Sorted(maps.Keys(object)), slices.Sorted(slices.Values(args[1:]))
	if !slices.Equal(got, want) {
		ts.Fatalf("%s has the keys %v, not %v", args[0], got, want)
	}
}

// cmdJSONEnv puts a value into the environment: jsonenv NAME PATH.
func cmdJSONEnv(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: jsonenv NAME PATH")
	}
	v, found := find(ts, ts.ReadFile("stdout"), args[1])
	if !found {
		ts.Fatalf("%s is not in %s", args[1], ts.ReadFile("stdout"))
	}
	ts.Setenv(args[0], shownJSON(v))
}

// cmdRefused checks that the last command wrote nothing but an error of the
// contract's form, with this code: refused CODE.
func cmdRefused(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: refused CODE")
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("it wrote to standard output: %s", out)
	}
	var e struct {
		Error *struct {
			Code    *string   `json:"code"`
			Message *string   `json:"message"`
			Hint    *string   `json:"hint"`
			Files   *[]string `json:"files"`
			conflictJSON
		} `json:"error"`
	}
	d := json.NewDecoder(strings.NewReader(ts.ReadFile("stderr")))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		ts.Fatalf("standard error is no JSON error: %v\n%s", err, ts.ReadFile("stderr"))
	}
	if e.Error == nil || e.Error.Code == nil || e.Error.Message == nil || e.Error.Hint == nil || e.Error.Files == nil {
		ts.Fatalf("a field of the error lacks: %s", ts.ReadFile("stderr"))
	}
	if *e.Error.Code != args[0] {
		ts.Fatalf("the code is %s, not %s: %s", *e.Error.Code, args[0], *e.Error.Message)
	}
	if *e.Error.Message == "" || *e.Error.Hint == "" {
		ts.Fatalf("an error without a message or a hint: %s", ts.ReadFile("stderr"))
	}
	if has, want := e.Error.Instructions != "", strings.HasSuffix(*e.Error.Code, "_conflict"); has != want {
		ts.Fatalf("instructions are there: %v, for %s", has, *e.Error.Code)
	}
	if d.More() {
		ts.Fatalf("more than an error on standard error: %s", ts.ReadFile("stderr"))
	}
}

// find decodes text and walks along path.
func find(ts *testscript.TestScript, text, path string) (any, bool) {
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		ts.Fatalf("standard output is no JSON: %v\n%s", err, text)
	}
	if d.More() {
		ts.Fatalf("more than one JSON value: %s", text)
	}
	for _, step := range regexp.MustCompile(`[^.\[\]]+|\[[^\]]*\]`).FindAllString(path, -1) {
		var ok bool
		if key, inner := strings.CutPrefix(step, "["); inner {
			v, ok = element(v, strings.TrimSuffix(key, "]"))
		} else {
			var object map[string]any
			if object, ok = v.(map[string]any); ok {
				v, ok = object[step]
			}
		}
		if !ok {
			return nil, false
		}
	}
	return v, true
}

// element finds an element of a list by its index or by key=value.
func element(v any, which string) (any, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	key, value, byKey := strings.Cut(which, "=")
	if !byKey {
		i, err := strconv.Atoi(which)
		if err != nil || i >= len(list) {
			return nil, false
		}
		return list[i], true
	}
	for _, e := range list {
		if object, ok := e.(map[string]any); ok && object[key] != nil && shownJSON(object[key]) == value {
			return e, true
		}
	}
	return nil, false
}

func shownJSON(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(text)
}
