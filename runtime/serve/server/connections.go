package server

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// connections is a listener that has no more than a given number of connections at a time. If there
// are as many and another one comes, the one goes that has been without a request for
// longest; else whoever opens connections and asks for nothing would keep all others out.
// If all have requests at hand, a few spare ones are taken, on which only /health is
// answered: who looks there would take the server for dead otherwise.
type connections struct {
	net.Listener
	slots chan struct{} // one for each connection
	spare chan struct{} // one for each of those beyond
	done  chan struct{}
	once  sync.Once

	mu    sync.Mutex
	idle  *list.List // connections without a request, the one that waits longest first
	at    map[net.Conn]*list.Element
	short bool // somebody waits for a slot
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
		_ = conn.Close() // it was given nothing yet
		return nil, net.ErrClosed
	}
}

// makeRoom closes the connection that has been idle for longest. If there is none, it sees to
// it that the next one that becomes idle is closed, and returns false.
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

// drop closes an idle connection. The lock is held, so that no request begins on it.
func (l *connections) drop(c net.Conn) {
	l.forget(c)
	_ = c.Close() // there is nobody to tell
	l.short = false
}

func (l *connections) forget(c net.Conn) {
	if e := l.at[c]; e != nil {
		l.idle.Remove(e)
		delete(l.at, c)
	}
}

// state is http.Server.ConnState. A new connection is idle until its first request's header
// is there.
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

// spareConnections is how many are taken beyond the limit.
const spareConnections = 16

// connection gives its slot back when it is closed.
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

// connectionKey is where a request's context has its connection.
type connectionKey struct{}

// isSpare says whether a request came on a connection beyond the limit.
func isSpare(r *http.Request) bool {
	c, ok := r.Context().Value(connectionKey{}).(*connection)
	return ok && c.spare
}
