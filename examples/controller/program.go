package main

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"k8s.io/client-go/tools/leaderelection"

	"github.com/jobwright/jobwright/jobcontrol"
	"github.com/jobwright/jobwright/jobcontrol/kube"
)

// program is what works once it is known where.
type program struct {
	o       options
	logger  *slog.Logger
	metrics *metrics
	clients clients
	caches  *caches
	leader  *leader     // nil without election
	ending  atomic.Bool // a drain has begun
}

func newProgram(t target, o options, measured *metrics, logger *slog.Logger) (*program, error) {
	p := &program{o: o, logger: logger, metrics: measured}
	var err error
	if p.clients, err = newClients(t.config, o, p.mayWrite); err != nil {
		return nil, err
	}
	p.caches = newCaches(p.clients.watch, o.namespace)
	if !o.elect {
		return p, nil
	}
	if o.election.namespace == "" {
		return nil, errors.New("-leader-elect: in which namespace the lease is cannot be found out here; give -leader-elect-lease-namespace")
	}
	p.leader, err = newLeader(p.clients.lease, o.election, measured.leads(o.election.name), logger)
	return p, err
}

// mayWrite is an error while what the controller would write must not be.
func (p *program) mayWrite() error {
	if p.leader == nil {
		return nil
	}
	return p.leader.mayWrite()
}

// run works until ctx ends: it fills the caches, waits for the lease if there is
// to be one, and controls Jobs. What it returns after that is the end of ctx
// only if it is nil.
func (p *program) run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		p.ending.Store(true)
		p.logger.Info("draining: no sync starts any more, those under way go to their end")
	})()
	events := kube.StartEvents(p.clients.plain, component)
	// The informers outlast ctx: what is in flight must not decide from caches
	// that stand still.
	informing, stopInforming := context.WithCancel(context.WithoutCancel(ctx))
	defer stopInforming()
	p.caches.factory.StartWithContext(informing)

	p.logger.Info("filling the caches")
	if p.caches.wait(ctx) {
		p.logger.Info("caches are synced", "jobs", len(p.caches.jobs.GetStore().ListKeys()), "pods", len(p.caches.pods.GetStore().ListKeys()))
		if err := p.lead(ctx, events); err != nil {
			return err // without Stop: who has lost the lease does nothing any more
		}
	}
	stopInforming()
	p.caches.factory.Shutdown()
	events.Stop()
	return nil
}

// lead controls Jobs while this is the replica to do it.
func (p *program) lead(ctx context.Context, events *kube.EventWriter) error {
	cfg := p.controllerConfig(events)
	work := func(ctx context.Context) error {
		return p.caches.control(ctx, p.clients.write, cfg, p.o.workers, p.metrics.jobUpdated(p.o.name))
	}
	var err error
	if p.leader == nil {
		err = work(ctx)
	} else {
		err = p.leader.run(ctx, work)
	}
	if err == nil && ctx.Err() == nil {
		err = errors.New("the controller has ended, and was not told to")
	}
	return err
}

func (p *program) controllerConfig(events *kube.EventWriter) jobcontrol.Config {
	batchPeriod := p.o.batchPeriod
	if batchPeriod == 0 {
		batchPeriod = -1 // zero is the default there
	}
	return jobcontrol.Config{
		Name:        p.o.name,
		Logger:      p.logger,
		Events:      events,
		Metrics:     p.metrics.controller(),
		BatchPeriod: batchPeriod,
	}
}

// leaseHealth is the part of /healthz that is about the lease; nil without one.
func (p *program) leaseHealth() *leaderelection.HealthzAdaptor {
	if p.leader == nil {
		return nil
	}
	return p.leader.health
}
