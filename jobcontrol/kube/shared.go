package kube

import (
	"encoding/binary"
	"time"
)

// maxShared is how many values of a kind are remembered, at most twice as many.
const maxShared = 4096

// shared stores equal values once. The key says all that is in a value. What was
// not asked for while maxShared others were may be forgotten, and is then stored
// anew.
type shared[V any] struct{ young, old map[string]V }

// of returns the value for the key, made if there is none yet. The key stays the
// caller's, and make may change it.
func (s *shared[V]) of(key []byte, make func() V) V {
	if v, ok := s.young[string(key)]; ok {
		return v
	}
	name := string(key)
	v, ok := s.old[name]
	if !ok {
		v = make()
	}
	if len(s.young) >= maxShared {
		s.old, s.young = s.young, nil
	}
	if s.young == nil {
		s.young = map[string]V{}
	}
	s.young[name] = v
	return v
}

// text returns the string, as it was stored first.
func (t *trimmer) text(s string) string {
	if s == "" {
		return ""
	}
	return t.texts.of([]byte(s), func() string { return s })
}

// about adds strings to the key, so that no others make the same.
func (t *trimmer) about(texts ...string) {
	for _, s := range texts {
		t.key = append(binary.AppendUvarint(t.key, uint64(len(s))), s...)
	}
}

// flag adds a boolean that may be absent.
func (t *trimmer) flag(b *bool) {
	var code byte
	switch {
	case b == nil:
	case *b:
		code = 1
	default:
		code = 2
	}
	t.key = append(t.key, code)
}

// time adds a time.
func (t *trimmer) time(at time.Time) {
	t.key = binary.AppendVarint(t.key, at.Unix())
	t.key = binary.AppendVarint(t.key, int64(at.Nanosecond()))
}
