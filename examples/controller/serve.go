package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
)

// listen serves what the options ask for, and returns what ends that.
func (p *program) listen() (stop func(), err error) {
	var servers []*http.Server
	stop = func() {
		for _, s := range servers {
			_ = s.Close() // nobody is left to be told
		}
	}
	for _, s := range []struct {
		what, flag, address string
		handler             http.Handler
	}{
		{"metrics", "-metrics-address", p.o.metricsAddress, p.metrics.handler()},
		{"health", "-health-address", p.o.healthAddress, p.healthHandler()},
	} {
		if s.address == "" {
			continue
		}
		server, err := listenOn(s.address, s.what, s.handler, p.logger)
		if err != nil {
			stop()
			return nil, fmt.Errorf("%s %s: %w", s.flag, s.address, err)
		}
		servers = append(servers, server)
	}
	return stop, nil
}

// listenOn starts a server and logs the address, which may have been any.
func listenOn(address, what string, handler http.Handler, logger *slog.Logger) (*http.Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	logger.Info("serving "+what, "address", listener.Addr().String())
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("no longer serving "+what, "error", err)
		}
	}()
	return server, nil
}

// healthHandler answers whether the program lives and whether it is ready to
// work, or to take over.
func (p *program) healthHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", answer(http.StatusInternalServerError, p.alive))
	mux.HandleFunc("/readyz", answer(http.StatusServiceUnavailable, func(*http.Request) error { return p.ready() }))
	return mux
}

// alive is an error where a restart would help.
func (p *program) alive(r *http.Request) error {
	if lease := p.leaseHealth(); lease != nil {
		return lease.Check(r)
	}
	return nil
}

func (p *program) ready() error {
	if p.ending.Load() {
		return errors.New("draining")
	}
	if missing := p.caches.missing(); len(missing) > 0 {
		return fmt.Errorf("caches not synced: %s", strings.Join(missing, ", "))
	}
	return nil
}

// answer says "ok", or the error with the status.
func answer(status int, check func(*http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := check(r); err != nil {
			http.Error(w, err.Error(), status)
			return
		}
		fmt.Fprintln(w, "ok")
	}
}
