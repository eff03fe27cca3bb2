// Package podsort orders pods: which one to delete first, and which one
// finished first.
//
// The functions are comparators for [slices.SortFunc] and its kin:
//
//   - each is a total order: it ends in the UID, then namespace and name, so
//     that two pods compare equal only if they cannot be told apart by these;
//   - the result of sorting therefore depends on the pods alone, never on the
//     order in which they were given;
//   - pods are only read, and may be shared with other readers;
//   - nothing is missing from a pod that was never defaulted or never ran:
//     what is absent has a documented place in the order;
//   - comparing does not allocate, unless a deletion cost is no number.
//
// Pods must not be nil. Sorting in place reorders the slice; to keep a slice
// that is shared, such as one from a cache, sort a copy:
//
//	surplus := slices.SortedFunc(slices.Values(active), podsort.ForDeletion)[:n]
package podsort
