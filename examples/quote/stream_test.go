package main

import (
	"bytes"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/testsize"
)

// TestBoundedMemory sends many documents. Between the thousandth and the last
// the memory in use must not have grown by what a hundred of them take.
func TestBoundedMemory(t *testing.T) { // not parallel: it looks at the memory of the process
	const (
		early = 1_000
		slack = 64 << 10
	)
	documents := testsize.Of(20_000, 100_000)
	var before, after uint64
	in := &repeated{document: oneLine(t, contractDocument), left: documents, at: map[int]func(){
		documents - early: func() { before = heapInUse() },
		0:                 func() { after = heapInUse() },
	}}
	var out lineCounter
	if status := run(in, &out, io.Discard, noon); status != statusDone || out.lines != documents {
		t.Fatalf("status %d, %d results for %d documents", status, out.lines, documents)
	}
	require.NotZero(t, before)
	require.NotZero(t, after)
	if after > before+slack {
		t.Errorf("after %d documents %d bytes were in use, after %d %d", early, before, documents, after)
	}
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// repeated is a stream of one document again and again.
type repeated struct {
	document string
	left     int
	at       map[int]func() // called when so many are left
	rest     string
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.rest == "" {
		if hook := r.at[r.left]; hook != nil {
			hook()
		}
		if r.left == 0 {
			return 0, io.EOF
		}
		r.left--
		r.rest = r.document
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

type lineCounter struct{ lines int }

func (c *lineCounter) Write(p []byte) (int, error) {
	c.lines += bytes.Count(p, []byte("\n"))
	return len(p), nil
}

// TestOversizeDocument is refused before it is held: white space before it, open
// texts and lists that never end count alike.
func TestOversizeDocument(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ head, endless string }{
		"a text":      {`{"id":"x`, strings.Repeat("x", 1<<10)},
		"lines":       {`{"id":"x","lines":[`, goodLine + ","},
		"white space": {"", strings.Repeat(" ", 1<<10)},
	} {
		in := io.MultiReader(strings.NewReader(small("a")+c.head), &repeated{document: c.endless, left: maxDocument})
		counted := &countingReader{in: in}
		var out, diagnostics bytes.Buffer
		status := run(counted, &out, &diagnostics, noon)
		if status != statusMalformed || !strings.Contains(diagnostics.String(), "document 2") ||
			!strings.Contains(diagnostics.String(), "at most "+strconv.Itoa(maxDocument)+" bytes") {
			t.Errorf("%s: status %d, %.300s", name, status, diagnostics.String())
		}
		if diff := cmp.Diff(smallResult("a"), out.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if counted.read > maxDocument+2*blockSize {
			t.Errorf("%s: %d bytes were read", name, counted.read)
		}
	}
}

// TestLargestDocument fills a document to the last byte that is allowed.
func TestLargestDocument(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("x", maxDocument-len(small("")))
	for _, c := range []struct{ extra, want int }{{0, statusDone}, {1, statusMalformed}} {
		in := io.MultiReader(strings.NewReader(small(id[:len(id)-1]+strings.Repeat("y", 1+c.extra))), strings.NewReader(small("a")))
		var diagnostics bytes.Buffer
		if status := run(in, io.Discard, &diagnostics, noon); status != c.want {
			t.Errorf("%d bytes beyond the bound: status %d, %.300s", c.extra, status, diagnostics.String())
		}
	}
}

type countingReader struct {
	in   io.Reader
	read int
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.in.Read(p)
	r.read += n
	return n, err
}

func BenchmarkDocuments(b *testing.B) {
	ten := withLine(strings.Repeat(goodLine+",", 9) + goodLine)
	for name, document := range map[string]string{
		"contract": oneLine(b, contractDocument),
		"10lines":  oneLine(b, ten),
		"refused":  oneLine(b, strings.Replace(contractDocument, `"appliesTo"`, `"active":false,"appliesTo"`, 1)),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(document)))
			started := time.Now()
			if status := run(&repeated{document: document, left: b.N}, io.Discard, io.Discard, noon); status != statusDone {
				b.Fatal(status)
			}
			b.ReportMetric(float64(b.N)/time.Since(started).Seconds(), "docs/s")
		})
	}
}
