package main

import (
	"io"
	"log/slog"
	"strconv"

	"k8s.io/klog/v2"
)

// newLogger returns the logger of the program, which from now on is client-go's
// as well. What client-go logs at a verbosity n has level -n.
func newLogger(w io.Writer, o options) *slog.Logger {
	handler := &slog.HandlerOptions{Level: slog.Level(-o.verbosity)}
	logger := slog.New(slog.NewTextHandler(w, handler))
	if o.logFormat == "json" {
		logger = slog.New(slog.NewJSONHandler(w, handler))
	}
	klog.SetSlogLogger(logger)
	var verbosity klog.Level
	if err := verbosity.Set(strconv.Itoa(o.verbosity)); err != nil { // sets that of the process
		logger.Warn("client-go does not take the verbosity", "error", err)
	}
	return logger
}
