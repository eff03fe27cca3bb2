package jobcontrol

// activeIndexes is a set of the indexes at work. It lives on the stack and,
// below its first hundred thousand indexes, costs no allocation.
type activeIndexes struct {
	low  [2048]uint64 // a bit for each index below 64*2048
	high map[int]struct{}
	// repeated counts the indexes that were added again.
	repeated int32
}

func (s *activeIndexes) add(index int) {
	if s.has(index) {
		s.repeated++
		return
	}
	if word := index / 64; word < len(s.low) {
		s.low[word] |= 1 << (index % 64)
		return
	}
	if s.high == nil {
		s.high = make(map[int]struct{})
	}
	s.high[index] = struct{}{}
}

func (s *activeIndexes) has(index int) bool {
	if word := index / 64; word < len(s.low) {
		return s.low[word]&(1<<(index%64)) != 0
	}
	_, ok := s.high[index]
	return ok
}
