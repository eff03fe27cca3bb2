package main

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// prSetChildSubreaper is PR_SET_CHILD_SUBREAPER of prctl(2).
const prSetChildSubreaper = 36

// adoptOrphans makes this process the parent of every process whose parent
// ends among those it started, so that killDescendants finds them and none is
// left as a zombie to somebody else.
func adoptOrphans() {
	syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
}

// killMarked ends every process that has the variable, NAME=value, in its
// environment: what escaped its process group, by a session of its own. It
// returns when there is none left.
func killMarked(variable string) {
	entry := []byte(variable)
	killAll(func(pid int) verdict {
		environ, err := os.ReadFile(procFile(pid, "environ"))
		switch {
		case err != nil:
			return spare // ended, or somebody else's
		case len(environ) == 0 && isDescendant(pid) && !statOf(pid).bare:
			return unsure // in the middle of an exec, which empties it for a moment
		}
		for v := range bytes.SplitSeq(environ, []byte{0}) {
			if bytes.Equal(v, entry) {
				return kill
			}
		}
		return spare
	})
}

// killDescendants ends every process that this one started, or that one of
// those started. It is for the end of the program, when nothing of what it
// started is to be there: also not what has cleared its environment.
func killDescendants() {
	killAll(func(pid int) verdict {
		if isDescendant(pid) && !statOf(pid).zombie {
			return kill
		}
		return spare
	})
}

// verdict is what is to become of a process.
type verdict int

const (
	spare verdict = iota
	kill
	unsure // look again
)

// killAll ends all processes that are to be killed, until it finds none: a
// process that is being ended may still have started another.
func killAll(judge func(pid int) verdict) {
	for again := true; again; {
		again = false
		for _, pid := range processes() {
			switch judge(pid) {
			case unsure:
				again = true
			case kill:
				if syscall.Kill(pid, syscall.SIGKILL) != nil {
					continue // it has ended, or runs as another user
				}
				again = true
				// Waits if it is our child, and is an error at once if it is not.
				syscall.Wait4(pid, nil, 0, nil)
			}
		}
	}
}

// processes lists the processes of this machine.
func processes() (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what could be read is all there is
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// isDescendant says whether this process started that one, or one of its
// ancestors.
func isDescendant(pid int) bool {
	self := os.Getpid()
	for pid > 1 {
		pid = statOf(pid).parent
		if pid == self {
			return true
		}
	}
	return false
}

// stat is what /proc/PID/stat says of a process; it is zero if there is none.
type stat struct {
	parent int
	zombie bool // it has ended, its parent has not taken note
	bare   bool // it has no environment and will get none, short of an exec
}

func statOf(pid int) stat {
	// "PID (NAME) STATE PARENT ... ENV_START ENV_END EXIT_CODE", where NAME may
	// hold anything.
	text, err := os.ReadFile(procFile(pid, "stat"))
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if err != nil || len(fields) < 50 {
		return stat{}
	}
	parent, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return stat{}
	}
	start, end := string(fields[47]), string(fields[48]) // 0 in the middle of an exec
	zombie := string(fields[0]) == "Z" || string(fields[0]) == "X"
	return stat{parent: parent, zombie: zombie, bare: zombie || start == end && end != "0"}
}

func procFile(pid int, name string) string {
	return "/proc/" + strconv.Itoa(pid) + "/" + name
}
