// Package jobwright_test holds the rules about what the packages of this module
// may depend on.
package jobwright_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/jobwright/jobwright"

// run returns what a go command prints.
func run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("go", args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("go %s: %s", strings.Join(args, " "), exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestRequirements: whoever requires this module gets these four and what they
// need, and no replace line that would be void for them (B81).
func TestRequirements(t *testing.T) {
	var mod struct {
		Module  struct{ Path string }
		Require []struct {
			Path, Version string
			Indirect      bool
		}
		Replace []any
	}
	if err := json.Unmarshal([]byte(run(t, "mod", "edit", "-json")), &mod); err != nil {
		t.Fatal(err)
	}
	if mod.Module.Path != module || len(mod.Replace) != 0 {
		t.Errorf("module %s, replaces %v", mod.Module.Path, mod.Replace)
	}
	var direct []string
	for _, r := range mod.Require {
		if !r.Indirect {
			direct = append(direct, strings.TrimSuffix(r.Path+" "+r.Version, " "))
		}
	}
	want := []string{
		"github.com/google/go-cmp v0.7.0",
		"k8s.io/api v0.37.2",
		"k8s.io/apimachinery v0.37.2",
		"k8s.io/client-go v0.37.2",
	}
	if diff := cmp.Diff(want, direct); diff != "" {
		t.Errorf("direct requirements (-want +got):\n%s", diff)
	}
}

// TestImports: dependencies point inward. A package imports the standard
// library and what its row says; what has no row imports what it likes, but
// go-cmp, which is for tests.
func TestImports(t *testing.T) {
	const api, apimachinery = "k8s.io/api/", "k8s.io/apimachinery/"
	inner := []string{api, apimachinery, module + "/expectations", module + "/slowstart", module + "/podsort"}
	rules := map[string][]string{
		"/slowstart":    {},
		"/expectations": {apimachinery + "pkg/types"},
		"/podsort":      {api, apimachinery},
		"/jobcontrol":   inner,
	}
	checked := 0
	for _, p := range list(t, "list", "-json=ImportPath,Imports", "./...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		allowed, ruled := rules[name]
		if ruled {
			checked++
		}
		for _, imported := range p.Imports {
			if strings.HasPrefix(imported, "github.com/google/go-cmp") {
				t.Errorf("%s imports %s outside its tests", name, imported)
			}
			if ruled && !standard(imported) && !slices.ContainsFunc(allowed, func(prefix string) bool { return strings.HasPrefix(imported, prefix) }) {
				t.Errorf("%s imports %s", name, imported)
			}
		}
	}
	if checked != len(rules) {
		t.Errorf("%d packages have a rule, want %d", checked, len(rules))
	}
}

// TestTheCoreCarriesNoClient: not by way of another package either.
func TestTheCoreCarriesNoClient(t *testing.T) {
	for _, p := range list(t, "list", "-deps", "-json=ImportPath", "./jobcontrol") {
		if strings.HasPrefix(p.ImportPath, "k8s.io/client-go") {
			t.Errorf("jobcontrol depends on %s", p.ImportPath)
		}
	}
}

type pkg struct {
	ImportPath string
	Imports    []string
}

func list(t *testing.T, args ...string) (pkgs []pkg) {
	t.Helper()
	for d := json.NewDecoder(strings.NewReader(run(t, args...))); ; {
		var p pkg
		err := d.Decode(&p)
		if err == io.EOF {
			return pkgs
		}
		if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// standard: the first element of a path outside the standard library has a dot.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// TestREADMEShowsCompiledCode: the wiring in README.md is that of the example.
func TestREADMEShowsCompiledCode(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("jobcontrol/kube/example_informers_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, found := strings.Cut(string(readme), "```go\n")
	code, _, closed := strings.Cut(code, "```")
	if !found || !closed {
		t.Fatal("README.md shows no code")
	}
	var indented strings.Builder
	for line := range strings.Lines(code) {
		indented.WriteString("\t" + line)
	}
	if !strings.Contains(string(example), indented.String()) {
		t.Errorf("README.md shows code that is not in the example:\n%s", code)
	}
}

// TestDeparturesAreTests: every test that docs/DEPARTURES.md names is there.
func TestDeparturesAreTests(t *testing.T) {
	page, err := os.ReadFile("docs/DEPARTURES.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("jobcontrol/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, file := range files {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(code)
	}
	named := regexp.MustCompile(`\| (Test\w+) \|`).FindAllStringSubmatch(string(page), -1)
	if len(named) < 10 {
		t.Errorf("%d tests are named", len(named))
	}
	for _, n := range named {
		if !strings.Contains(tests.String(), "func "+n[1]+"(t *testing.T)") {
			t.Errorf("%s is not there", n[1])
		}
	}
}
