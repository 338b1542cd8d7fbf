package server

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// connections is a listener with a limit on concurrent connections. When the limit is reached, a new
// connection replaces the one that has been idle longest: otherwise a client that opens connections without
// requests would lock all others out. If all have requests, a few spare connections are accepted, on which
// only /health is answered, so that supervisors do not take the server for dead.
type connections struct {
	net.Listener
	slots chan struct{} // one for each connection
	spare chan struct{} // one for each connection beyond the limit
	done  chan struct{}
	once  sync.Once

	mu    sync.Mutex
	idle  *list.List // connections without a request, the longest idle first
	at    map[net.Conn]*list.Element
	short bool // a new connection waits for a slot
}

func limitConnections(l net.Listener, n int) *connections {
	return &connections{Listener: l, slots: make(chan struct{}, n), spare: make(chan struct{}, spareConnections), done: make(chan struct{}), idle: list.New(), at: map[net.Conn]*list.Element{}}
}

// Accept implements net.Listener.
func (l *connections) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	select {
	case l.slots <- struct{}{}:
		return &connection{Conn: conn, slot: l.slots}, nil
	default:
	}
	if !l.makeRoom() {
		select {
		case l.spare <- struct{}{}:
			return &connection{Conn: conn, slot: l.spare, spare: true}, nil
		default:
		}
	}
	select {
	case l.slots <- struct{}{}:
		l.mu.Lock()
		l.short = false
		l.mu.Unlock()
		return &connection{Conn: conn, slot: l.slots}, nil
	case l.spare <- struct{}{}:
		return &connection{Conn: conn, slot: l.spare, spare: true}, nil
	case <-l.done:
		_ = conn.Close() // nothing was sent on it yet
		return nil, net.ErrClosed
	}
}

// makeRoom closes the connection that has been idle longest. If there is none, it returns false, and the next
// connection that becomes idle is closed.
func (l *connections) makeRoom() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.short = true
	oldest := l.idle.Front()
	if oldest != nil {
		l.drop(oldest.Value.(net.Conn))
	}
	return oldest != nil
}

// drop closes an idle connection. The caller holds the lock, so that no request begins on it.
func (l *connections) drop(c net.Conn) {
	l.forget(c)
	_ = c.Close() // nobody could use the error
	l.short = false
}

func (l *connections) forget(c net.Conn) {
	if e := l.at[c]; e != nil {
		l.idle.Remove(e)
		delete(l.at, c)
	}
}

// state is http.Server.ConnState. A new connection is idle until the header of its first request has arrived.
func (l *connections) state(c net.Conn, s http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(c)
	if s != http.StateNew && s != http.StateIdle {
		return
	}
	l.at[c] = l.idle.PushBack(c)
	if l.short && s == http.StateIdle {
		l.drop(c)
	}
}

// Close implements net.Listener.
func (l *connections) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// spareConnections is the number of connections accepted beyond the limit.
const spareConnections = 16

// connection releases its slot when it is closed.
type connection struct {
	net.Conn
	slot  chan struct{}
	spare bool
	once  sync.Once
}

// Close implements net.Conn.
func (c *connection) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { <-c.slot })
	return err
}

// connectionKey is the key of the connection in a request's context.
type connectionKey struct{}

// isSpare says whether a request came on a spare connection.
func isSpare(r *http.Request) bool {
	c, ok := r.Context().Value(connectionKey{}).(*connection)
	return ok && c.spare
}
