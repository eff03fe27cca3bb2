package jobcontrol

import (
	"fmt"
	"iter"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Indexes is a set of completion indexes. It is kept as ranges, so that its
// cost is that of its text: a million indexes in a row are one range. The zero
// value is empty. A set is never changed once made; what is done to it gives
// another one.
type Indexes struct {
	ranges []indexRange // ascending, with a gap between any two
	size   int
}

// indexRange holds the indexes from first to last, both included.
type indexRange struct{ first, last int }

// ParseIndexes reads the form that status.completedIndexes and a success
// policy have: numbers and ranges "a-b" joined by commas, each above the one
// before. Empty text is the empty set. Anything else is an error, and no index
// of such a text counts.
func ParseIndexes(text string) (Indexes, error) {
	var s Indexes
	if text == "" {
		return s, nil
	}
	s.ranges = make([]indexRange, 0, strings.Count(text, ",")+1)
	for part := range strings.SplitSeq(text, ",") {
		r, err := parseRange(part)
		if err != nil {
			return Indexes{}, fmt.Errorf("indexes %q: %w", abridged(text), err)
		}
		if n := len(s.ranges); n > 0 && r.first <= s.ranges[n-1].last {
			return Indexes{}, fmt.Errorf("indexes %q: %q does not come after %d", abridged(text), part, s.ranges[n-1].last)
		}
		s.extend(r)
	}
	return s, nil
}

// abridged keeps an error about a long text readable.
func abridged(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}

func parseRange(text string) (r indexRange, err error) {
	first, last, isRange := strings.Cut(text, "-")
	if r.first, err = parseIndex(first); err != nil {
		return r, err
	}
	if r.last = r.first; isRange {
		if r.last, err = parseIndex(last); err != nil {
			return r, err
		}
	}
	if r.last < r.first {
		return r, fmt.Errorf("%q ends before it begins", text)
	}
	return r, nil
}

// parseIndex reads a number as the API writes it: digits, none too many.
func parseIndex(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || len(text) > 1 && text[0] == '0' {
		return 0, fmt.Errorf("%q is not an index", text)
	}
	return int(n), nil
}

// extend adds a range that does not begin before the set's last.
func (s *Indexes) extend(r indexRange) {
	n := len(s.ranges)
	if n == 0 || r.first > s.ranges[n-1].last+1 {
		s.ranges = append(s.ranges, r)
		s.size += r.last - r.first + 1
		return
	}
	if last := &s.ranges[n-1].last; r.last > *last {
		s.size += r.last - *last
		*last = r.last
	}
}

// String returns the text that ParseIndexes reads, in its one canonical form:
// three indexes in a row or more are a range.
func (s Indexes) String() string {
	var b []byte
	for i, r := range s.ranges {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(r.first), 10)
		if r.last > r.first {
			separator := byte('-')
			if r.last == r.first+1 {
				separator = ','
			}
			b = strconv.AppendInt(append(b, separator), int64(r.last), 10)
		}
	}
	return string(b)
}

// Len is the number of indexes in the set.
func (s Indexes) Len() int { return s.size }

// Has says whether the index is in the set.
func (s Indexes) Has(index int) bool {
	i := sort.Search(len(s.ranges), func(i int) bool { return s.ranges[i].last >= index })
	return i < len(s.ranges) && s.ranges[i].first <= index
}

// All yields the indexes in ascending order.
func (s Indexes) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, r := range s.ranges {
			for i := r.first; i <= r.last; i++ {
				if !yield(i) {
					return
				}
			}
		}
	}
}

// Below returns the indexes of the set that are below n.
func (s Indexes) Below(n int) Indexes {
	if len(s.ranges) == 0 || s.ranges[len(s.ranges)-1].last < n {
		return s
	}
	var below Indexes
	for _, r := range s.ranges {
		if r.first >= n {
			break
		}
		below.extend(indexRange{r.first, min(r.last, n-1)})
	}
	return below
}

// Union returns the indexes that are in either set.
func (s Indexes) Union(other Indexes) Indexes {
	if len(other.ranges) == 0 {
		return s
	}
	if len(s.ranges) == 0 {
		return other
	}
	union := Indexes{ranges: make([]indexRange, 0, len(s.ranges)+len(other.ranges))}
	a, b := s.ranges, other.ranges
	for len(a) > 0 || len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && a[0].first <= b[0].first {
			union.extend(a[0])
			a = a[1:]
		} else {
			union.extend(b[0])
			b = b[1:]
		}
	}
	return union
}

// Without returns the indexes of the set that are not in the other.
func (s Indexes) Without(other Indexes) Indexes {
	var left Indexes
	cut := other.ranges
	for _, r := range s.ranges {
		for len(cut) > 0 && cut[0].last < r.first {
			cut = cut[1:]
		}
		for rest := cut; len(rest) > 0 && rest[0].first <= r.last; rest = rest[1:] {
			if rest[0].first > r.first {
				left.extend(indexRange{r.first, rest[0].first - 1})
			}
			r.first = rest[0].last + 1
		}
		if r.first <= r.last {
			left.extend(r)
		}
	}
	return left
}

// indexesOf returns the set of these indexes, in any order and repeated or
// not. It sorts them in place.
func indexesOf(list []int) Indexes {
	slices.Sort(list)
	var s Indexes
	for _, i := range list {
		s.extend(indexRange{i, i})
	}
	return s
}

// allBelow returns the indexes from 0 to n-1.
func allBelow(n int) Indexes {
	var s Indexes
	if n > 0 {
		s.extend(indexRange{0, n - 1})
	}
	return s
}
