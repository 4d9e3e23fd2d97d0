package discordtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/disgoorg/disgo/gateway"
)

const defaultHeartbeat = 41250 * time.Millisecond

// Server is a [Discord] on loopback: the REST routes over HTTP, and a gateway
// over a websocket with frames in plain text, for clients that ask for no
// compression.
type Server struct {
	// APIURL is for rest.WithURL, and GatewayURL for gateway.WithURL.
	APIURL, GatewayURL string

	d         *Discord
	heartbeat time.Duration
	http      *http.Server
	running   sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	sockets map[*socket]bool
}

// Serve listens on a free port of 127.0.0.1. Clients are told to send heartbeats
// that often; 0 is Discord's usual interval. The caller closes the server, and
// does so before it closes d.
func (d *Discord) Serve(heartbeat time.Duration) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("discordtest: %w", err)
	}
	if heartbeat == 0 {
		heartbeat = defaultHeartbeat
	}
	s := &Server{
		APIURL:     "http://" + listener.Addr().String() + "/api/v10",
		GatewayURL: "ws://" + listener.Addr().String() + "/gateway",
		d:          d, heartbeat: heartbeat, sockets: map[*socket]bool{},
	}
	mux := http.NewServeMux()
	mux.Handle("/api/v10/", d)
	mux.HandleFunc("/gateway", s.gateway)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	s.running.Go(func() { _ = s.http.Serve(listener) })
	return s, nil
}

// Close ends all connections and waits for what served them.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	err := s.http.Close()
	s.Break()
	s.running.Wait()
	return err
}

// Break cuts all websockets without a word. Clients come back and resume.
func (s *Server) Break() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ws := range s.sockets {
		_ = ws.conn.Close()
	}
}

// gateway serves one websocket until it ends.
func (s *Server) gateway(w http.ResponseWriter, r *http.Request) {
	ws, err := upgrade(w, r)
	if err != nil {
		return
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		_ = ws.conn.Close()
		return
	}
	s.sockets[ws] = true
	s.running.Add(1)
	s.mu.Unlock()
	defer func() {
		_ = ws.conn.Close()
		s.mu.Lock()
		delete(s.sockets, ws)
		s.mu.Unlock()
		s.running.Done()
	}()
	c := &gatewayConn{server: s, ws: ws}
	err = c.serve()
	c.leave(errors.Is(err, errSocketClosed) && (ws.closeCode == 1000 || ws.closeCode == 1001))
}

// gatewayConn is a websocket and, once it has identified, its session.
type gatewayConn struct {
	server  *Server
	ws      *socket
	session *session
}

type payload struct {
	Op gateway.Opcode    `json:"op"`
	D  any               `json:"d"`
	S  int               `json:"s,omitempty"`
	T  gateway.EventType `json:"t,omitempty"`
}

func (c *gatewayConn) send(p payload) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return c.ws.write(opText, data)
}

func (c *gatewayConn) serve() error {
	hello := object{"heartbeat_interval": c.server.heartbeat.Milliseconds()}
	if err := c.send(payload{Op: gateway.OpcodeHello, D: hello}); err != nil {
		return err
	}
	for {
		data, err := c.ws.read()
		if err != nil {
			return err
		}
		if err := c.command(data); err != nil {
			return err
		}
	}
}

func (c *gatewayConn) command(data []byte) error {
	var p struct {
		Op gateway.Opcode  `json:"op"`
		D  json.RawMessage `json:"d"`
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return c.ws.closeWith(gateway.CloseEventCodeDecodeError.Code, "Decode error")
	}
	switch p.Op {
	case gateway.OpcodeHeartbeat:
		return c.send(payload{Op: gateway.OpcodeHeartbeatACK})
	case gateway.OpcodeIdentify:
		return c.identify(p.D)
	case gateway.OpcodeResume:
		return c.resume(p.D)
	default:
		if c.session == nil {
			return c.ws.closeWith(gateway.CloseEventCodeNotAuthenticated.Code, "Not authenticated.")
		}
		return nil // presence and voice are not kept
	}
}

func (c *gatewayConn) identify(data json.RawMessage) error {
	var b struct {
		Token   string          `json:"token"`
		Intents gateway.Intents `json:"intents"`
	}
	d := c.server.d
	switch err := json.Unmarshal(data, &b); {
	case err != nil:
		return c.ws.closeWith(gateway.CloseEventCodeDecodeError.Code, "Decode error")
	case b.Token != d.token:
		return c.ws.closeWith(gateway.CloseEventCodeAuthenticationFailed.Code, "Authentication failed.")
	case b.Intents&d.opts.DeniedIntents != 0:
		return c.ws.closeWith(gateway.CloseEventCodeDisallowedIntent.Code, "Disallowed intent(s).")
	case c.session != nil:
		return c.ws.closeWith(gateway.CloseEventCodeAlreadyAuthenticated.Code, "Already authenticated.")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return ErrClosed
	}
	c.session = &session{d: d, id: d.newID().String(), intents: b.Intents, open: true, keep: true, deliver: c.deliver, conn: c}
	d.sessions = append(d.sessions, c.session)
	c.session.greet(c.server.GatewayURL)
	return nil
}

func (c *gatewayConn) resume(data json.RawMessage) error {
	var b struct {
		Token     string `json:"token"`
		SessionID string `json:"session_id"`
		Seq       int    `json:"seq"`
	}
	d := c.server.d
	switch err := json.Unmarshal(data, &b); {
	case err != nil:
		return c.ws.closeWith(gateway.CloseEventCodeDecodeError.Code, "Decode error")
	case b.Token != d.token:
		return c.ws.closeWith(gateway.CloseEventCodeAuthenticationFailed.Code, "Authentication failed.")
	}
	d.mu.Lock()
	for _, s := range d.sessions {
		if s.id != b.SessionID || !s.keep || !s.open {
			continue
		}
		c.session, s.conn, s.deliver = s, c, c.deliver
		s.queue = nil
		for _, f := range s.history {
			if f.seq > b.Seq {
				s.queue = append(s.queue, f)
			}
		}
		s.push(gateway.EventTypeResumed, object{})
		s.start()
		d.mu.Unlock()
		return nil
	}
	d.mu.Unlock()
	return c.send(payload{Op: gateway.OpcodeInvalidSession, D: false})
}

// deliver writes an event; what a broken connection loses is resumed.
func (c *gatewayConn) deliver(f frame) {
	_ = c.send(payload{Op: gateway.OpcodeDispatch, D: json.RawMessage(f.data), S: f.seq, T: f.kind})
}

// leave ends the session, or lets it wait to be resumed.
func (c *gatewayConn) leave(forGood bool) {
	s := c.session
	if s == nil {
		return
	}
	d := c.server.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.conn != c {
		return
	}
	s.queue, s.deliver = nil, nil
	if forGood {
		s.end()
	}
	d.touch()
}
