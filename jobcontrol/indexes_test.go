package jobcontrol_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobwright/jobwright/jobcontrol"
)

func TestParseIndexes(t *testing.T) {
	for text, want := range map[string][]int{
		"":          nil,
		"0":         {0},
		"1,2":       {1, 2},
		"1-3":       {1, 2, 3},
		"1-3,5,7-8": {1, 2, 3, 5, 7, 8},
		"1-2,3":     {1, 2, 3},
	} {
		s, err := jobcontrol.ParseIndexes(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, slices.Collect(s.All())); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{"5-3", "1,1", "x", "1,", ",1", "2,1", "1-", "-1", "1--2", "01", "+1", " 1", "1-3,3", "1-3-5", "99999999999", "1 - 2"} {
		if s, err := jobcontrol.ParseIndexes(text); err == nil || s.Len() != 0 {
			t.Errorf("%q gives %v, %v; want an error and nothing", text, s, err)
		}
	}
}

func TestAMillionIndexesAreOneRange(t *testing.T) {
	s, err := jobcontrol.ParseIndexes("0-999999")
	if err != nil || s.Len() != 1000000 || !s.Has(999999) || s.Has(1000000) || s.String() != "0-999999" {
		t.Errorf("%v, %v, %d", s, err, s.Len())
	}
	allocs := testing.AllocsPerRun(10, func() {
		s, _ := jobcontrol.ParseIndexes("0-999999")
		s.Below(500000).Union(s).Without(s)
	})
	if allocs > 6 {
		t.Errorf("%v allocations for sets of one range", allocs)
	}
}

// naive is the dumb twin of Indexes.
type naive map[int]bool

func (n naive) sorted() []int { return slices.Sorted(maps.Keys(n)) }

// FuzzIndexes holds Indexes to the twin, and its text to a round trip.
func FuzzIndexes(f *testing.F) {
	f.Add([]byte{}, []byte{}, byte(0))
	f.Add([]byte{1, 2, 3, 5, 7, 8}, []byte{2, 4, 6, 7}, byte(6))
	f.Add([]byte{9, 8, 7, 0, 0, 200}, []byte{199, 201, 10}, byte(8))
	f.Fuzz(func(t *testing.T, a, b []byte, limit byte) {
		na, nb := naive{}, naive{}
		sa, sb := setOf(na, a), setOf(nb, b)
		check := func(name string, got jobcontrol.Indexes, keep func(int) bool) {
			t.Helper()
			want := naive{}
			for i := range 256 {
				if keep(i) {
					want[i] = true
				}
				if got.Has(i) != keep(i) {
					t.Errorf("%s has %d: %v", name, i, got.Has(i))
				}
			}
			if diff := cmp.Diff(want.sorted(), slices.Collect(got.All())); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if got.Len() != len(want) {
				t.Errorf("%s has %d indexes, want %d", name, got.Len(), len(want))
			}
			again, err := jobcontrol.ParseIndexes(got.String())
			if err != nil || again.String() != got.String() || again.Len() != got.Len() {
				t.Errorf("%s reads back from %q as %v, %v", name, got, again, err)
			}
		}
		check("a", sa, func(i int) bool { return na[i] })
		check("a below", sa.Below(int(limit)), func(i int) bool { return na[i] && i < int(limit) })
		check("a with b", sa.Union(sb), func(i int) bool { return na[i] || nb[i] })
		check("a without b", sa.Without(sb), func(i int) bool { return na[i] && !nb[i] })
		check("a still", sa, func(i int) bool { return na[i] })
	})
}

func setOf(n naive, list []byte) jobcontrol.Indexes {
	ints := make([]int, len(list))
	for i, b := range list {
		ints[i] = int(b)
		n[int(b)] = true
	}
	return jobcontrol.IndexesOf(ints)
}

func FuzzParseIndexes(f *testing.F) {
	for _, text := range []string{"", "0", "1-3,5", "5-3", "1,1", "x", "2147483647", "2147483648"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := jobcontrol.ParseIndexes(text)
		if err != nil {
			return
		}
		again, err := jobcontrol.ParseIndexes(s.String())
		if err != nil || again.String() != s.String() || again.Len() != s.Len() {
			t.Errorf("%q is %q, which reads back as %q, %v", text, s, again, err)
		}
	})
}
