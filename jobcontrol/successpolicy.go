package jobcontrol

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
)

// successRule is a rule of a success policy with its indexes read (KEP-3998).
type successRule struct {
	indexes *Indexes // nil: any
	count   int      // 0: all of indexes
}

// met says whether the indexes that have succeeded meet the rule. A rule about
// indexes that the Job does not have is never met: it is no promise that nothing
// has to be done.
func (r successRule) met(succeeded Indexes) bool {
	if r.indexes == nil {
		return r.count > 0 && succeeded.Len() >= r.count
	}
	if r.indexes.Len() == 0 {
		return false
	}
	missing := r.indexes.Without(succeeded).Len()
	return missing == 0 || r.count > 0 && r.indexes.Len()-missing >= r.count
}

// readSuccessPolicy reads the rules; the error names the one that it cannot read.
func readSuccessPolicy(policy *batchv1.SuccessPolicy, completions int) ([]successRule, error) {
	if policy == nil {
		return nil, nil
	}
	rules := make([]successRule, len(policy.Rules))
	for i, rule := range policy.Rules {
		if rule.SucceededCount != nil {
			rules[i].count = int(*rule.SucceededCount)
		}
		if rule.SucceededIndexes == nil {
			continue
		}
		indexes, err := ParseIndexes(*rule.SucceededIndexes)
		if err != nil {
			return nil, fmt.Errorf("rules[%d].succeededIndexes: %w", i, err)
		}
		indexes = indexes.Below(completions)
		rules[i].indexes = &indexes
	}
	return rules, nil
}

// judgeSuccess returns why the Job is decided by its success policy, or nil.
func judgeSuccess(rules []successRule, succeeded Indexes) *cause {
	if succeeded.Len() == 0 {
		return nil
	}
	for i, rule := range rules {
		if rule.met(succeeded) {
			return &cause{batchv1.JobReasonSuccessPolicy, fmt.Sprintf("Matched rules at index %d", i)}
		}
	}
	return nil
}
