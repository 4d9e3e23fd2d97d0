package discordtest

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
)

// The server's side of RFC 6455, as much as a gateway client uses: text and
// control frames, masked by the client, in fragments if it likes.

const (
	opContinue = 0x0
	opText     = 0x1
	opClose    = 0x8
	opPing     = 0x9
	opPong     = 0xa

	maxFrame = 1 << 20
)

// errSocketClosed is returned by read after the client's close frame.
var errSocketClosed = errors.New("discordtest: the websocket was closed by the client")

type socket struct {
	conn      net.Conn
	reader    *bufio.Reader
	closeCode int // the client's, after errSocketClosed

	mu sync.Mutex // held while a frame is written
}

// upgrade answers a websocket handshake and takes the connection over.
func upgrade(w http.ResponseWriter, r *http.Request) (*socket, error) {
	key := r.Header.Get("Sec-WebSocket-Key")
	if key == "" || !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		http.Error(w, "a websocket handshake is wanted", http.StatusBadRequest)
		return nil, errors.New("discordtest: not a websocket handshake")
	}
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		return nil, errors.New("discordtest: the connection can't be taken over")
	}
	conn, buffered, err := hijacker.Hijack()
	if err != nil {
		return nil, err
	}
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	_, err = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		base64.StdEncoding.EncodeToString(sum[:]))
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &socket{conn: conn, reader: buffered.Reader}, nil
}

// read returns the next whole message; it answers pings and the close frame.
func (s *socket) read() ([]byte, error) {
	var message []byte
	for {
		final, op, payload, err := s.readFrame()
		if err != nil {
			return nil, err
		}
		switch op {
		case opPing:
			if err := s.write(opPong, payload); err != nil {
				return nil, err
			}
		case opPong:
		case opClose:
			s.closeCode = 1005
			if len(payload) >= 2 {
				s.closeCode = int(binary.BigEndian.Uint16(payload))
			}
			return nil, errors.Join(errSocketClosed, s.write(opClose, payload))
		case opText, opContinue:
			if message = append(message, payload...); len(message) > maxFrame {
				return nil, errors.New("discordtest: the message is too long")
			}
			if final {
				return message, nil
			}
		default:
			return nil, fmt.Errorf("discordtest: frame of unknown kind %d", op)
		}
	}
}

func (s *socket) readFrame() (final bool, op byte, payload []byte, err error) {
	var head [2]byte
	if _, err = io.ReadFull(s.reader, head[:]); err != nil {
		return false, 0, nil, err
	}
	size := uint64(head[1] & 0x7f)
	switch size {
	case 126:
		var n [2]byte
		_, err = io.ReadFull(s.reader, n[:])
		size = uint64(binary.BigEndian.Uint16(n[:]))
	case 127:
		var n [8]byte
		_, err = io.ReadFull(s.reader, n[:])
		size = binary.BigEndian.Uint64(n[:])
	}
	if err != nil {
		return false, 0, nil, err
	}
	if head[1]&0x80 == 0 || size > maxFrame {
		return false, 0, nil, errors.New("discordtest: the frame is not masked, or too long")
	}
	var mask [4]byte
	if _, err = io.ReadFull(s.reader, mask[:]); err != nil {
		return false, 0, nil, err
	}
	payload = make([]byte, size)
	if _, err = io.ReadFull(s.reader, payload); err != nil {
		return false, 0, nil, err
	}
	for i := range payload {
		payload[i] ^= mask[i%4]
	}
	return head[0]&0x80 != 0, head[0] & 0x0f, payload, nil
}

func (s *socket) write(op byte, payload []byte) error {
	frame := []byte{0x80 | op}
	switch n := len(payload); {
	case n < 126:
		frame = append(frame, byte(n))
	case n < 1<<16:
		frame = binary.BigEndian.AppendUint16(append(frame, 126), uint16(n))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, 127), uint64(n))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.conn.Write(append(frame, payload...))
	return err
}

// closeWith sends a close frame; the client closes the connection.
func (s *socket) closeWith(code int, reason string) error {
	return s.write(opClose, append(binary.BigEndian.AppendUint16(nil, uint16(code)), reason...))
}
