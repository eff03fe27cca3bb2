package jobcontrol

import (
	"maps"
	"math/bits"
	"slices"
)

// indexBits is a set of indexes that is being gathered. It lives on the stack
// and, below its first hundred thousand indexes, costs no allocation.
type indexBits struct {
	low  [2048]uint64 // a bit for each index below 64*2048
	used int          // words of low
	high map[int]struct{}
	// repeated counts the indexes that were added again.
	repeated int32
}

func (s *indexBits) add(index int) {
	if word, bit := index/64, uint64(1)<<(index%64); word < len(s.low) {
		if s.low[word]&bit != 0 {
			s.repeated++
		}
		s.low[word] |= bit
		s.used = max(s.used, word+1)
		return
	}
	if s.has(index) {
		s.repeated++
		return
	}
	if s.high == nil {
		s.high = make(map[int]struct{})
	}
	s.high[index] = struct{}{}
}

func (s *indexBits) has(index int) bool {
	if word := index / 64; word < len(s.low) {
		return s.low[word]&(1<<(index%64)) != 0
	}
	_, ok := s.high[index]
	return ok
}

// indexes returns what was gathered.
func (s *indexBits) indexes() Indexes {
	var set Indexes
	for i, word := range s.low[:s.used] {
		for ; word != 0; word &= word - 1 {
			index := i*64 + bits.TrailingZeros64(word)
			set.extend(indexRange{index, index})
		}
	}
	for _, index := range slices.Sorted(maps.Keys(s.high)) {
		set.extend(indexRange{index, index})
	}
	return set
}
