package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// contractDocument and contractResult are the texts of contract section 7.
const contractDocument = `{"id":"case-1","at":"2026-11-20T12:00:00Z","currency":"EUR",
 "customer":{"id":"u1","email":"ann@example.org"},
 "lines":[{"id":"A","kind":"device","itemId":"phone","quantity":3,"unitPrice":"10.00"},
          {"id":"S","kind":"shipping","itemId":"dhl","quantity":1,"unitPrice":"4.90"}],
 "coupon":{"code":"TEN","name":"Ten off","discountType":"FIXED_AMOUNT","discountValue":"10","appliesTo":"ALL"},
 "usage":{"completed":0,"reserved":0,"completedByCustomer":0,"reservedByCustomer":0,"customerHoldsReservation":false}}
`

const contractResult = `{"id":"case-1","applied":true,"currency":"EUR","subtotal":"30.00","eligibleSubtotal":"30.00","discount":"10.00","shipping":"4.90","total":"24.90",
 "lines":[{"id":"A","eligible":true,"subtotal":"30.00","discount":"10.00","total":"20.00","units":[{"quantity":2,"unitPrice":"6.67"},{"quantity":1,"unitPrice":"6.66"}]},
          {"id":"S","eligible":false,"subtotal":"4.90","discount":"0.00","total":"4.90","units":[{"quantity":1,"unitPrice":"4.90"}]}],
 "rejections":[]}
`

// oneLine returns the JSON text on one line, as the program writes results.
func oneLine(tb testing.TB, text string) string {
	tb.Helper()
	var b bytes.Buffer
	require.NoError(tb, json.Compact(&b, []byte(text)))
	return b.String() + "\n"
}

// small is a document of the least length with that ID.
func small(id string) string {
	return `{"id":"` + id + `","currency":"EUR","lines":[]}`
}

func smallResult(id string) string {
	return `{"id":"` + id + `","applied":false,"currency":"EUR","subtotal":"0.00","eligibleSubtotal":"0.00",` +
		`"discount":"0.00","shipping":"0.00","total":"0.00","lines":[],"rejections":[]}` + "\n"
}

func TestContractExampleToTheLetter(t *testing.T) {
	t.Parallel()
	for name, input := range map[string]string{
		"over several lines":               contractDocument,
		"on one line":                      oneLine(t, contractDocument),
		"with an instant in small letters": strings.Replace(contractDocument, "2026-11-20T12:00:00Z", "2026-11-20t12:00:00z", 1),
		"with whole numbers in other exact forms": strings.NewReplacer(
			`"quantity":3`, `"quantity":3.0`, `"quantity":1`, `"quantity":10e-1`, `"completed":0`, `"completed":0e0`,
		).Replace(contractDocument),
	} {
		out, diagnostics, status := runOn(input)
		if diff := cmp.Diff(oneLine(t, contractResult), out); diff != "" || status != statusDone || diagnostics != "" {
			t.Errorf("%s: status %d, %q (-want +got):\n%s", name, status, diagnostics, diff)
		}
	}
}

// TestSmokeFiles keeps the files of smoke.sh in step with the contract.
func TestSmokeFiles(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{"example.jsonl": contractDocument, "example.out": oneLine(t, contractResult)} {
		got, err := os.ReadFile(filepath.Join("testdata", file))
		require.NoError(t, err)
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ input, want string }{
		"nothing":                     {"", ""},
		"white space":                 {" \n\t\r\n", ""},
		"one a line, in order":        {small("b") + "\n" + small("a") + "\n", smallResult("b") + smallResult("a")},
		"no line break at the end":    {small("a"), smallResult("a")},
		"nothing between":             {small("a") + small("b"), smallResult("a") + smallResult("b")},
		"empty lines between":         {"\n\n" + small("a") + "\r\n\r\n" + small("b") + "\n\n", smallResult("a") + smallResult("b")},
		"the same twice":              {small("a") + "\n" + small("a"), smallResult("a") + smallResult("a")},
		"a long one before a short":   {contractDocument + small("a"), oneLine(t, contractResult) + smallResult("a")},
		"keys in another order":       {`{"lines":[],"currency":"EUR","id":"a"}`, smallResult("a")},
		"escapes in names and values": {`{"\u0069d":"\u0061","currency":"\u0045UR","lines":[]}`, smallResult("a")},
		"null is absent": {
			`{"id":"a","at":null,"currency":"EUR","customer":null,"lines":[],"coupon":null,"usage":null}`, smallResult("a"),
		},
		"IDs are written as encoding/json writes them": {
			small(`<\"\\\u0007\u00e9\ud83d\ude00>`), smallResult(`\u003c\"\\\u0007` + "é😀" + `\u003e`),
		},
	} {
		out, diagnostics, status := runOn(c.input)
		if diff := cmp.Diff(c.want, out); diff != "" || status != statusDone || diagnostics != "" {
			t.Errorf("%s: status %d, %q (-want +got):\n%s", name, status, diagnostics, diff)
		}
	}
}

// TestRefusedIsNoFailure is contract section 7: status 0 even when carts are
// rejected.
func TestRefusedIsNoFailure(t *testing.T) {
	t.Parallel()
	out, diagnostics, status := runOn(strings.Replace(contractDocument, `"appliesTo"`, `"active":false,"appliesTo"`, 1))
	if status != statusDone || diagnostics != "" {
		t.Errorf("status %d, %q", status, diagnostics)
	}
	const want = `"rejections":[{"code":"coupon_inactive","message":"This coupon is not active.","params":{}}]}` + "\n"
	if !strings.HasSuffix(out, want) {
		t.Errorf("the reason is missing: %s", out)
	}
}

func TestResultsBeforeAMalformedDocumentAreWritten(t *testing.T) {
	t.Parallel()
	input := small("a") + "\n" + small("b") + "\n" + `{"id":"c","currency":"EUR"}` + "\n" + small("d") + "\n"
	out, diagnostics, status := runOn(input)
	if diff := cmp.Diff(smallResult("a")+smallResult("b"), out); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	const want = "quote: document 3 (id \"c\") is malformed; nothing after it was read\n  lines: is required\n"
	if diff := cmp.Diff(want, diagnostics); diff != "" || status != statusMalformed {
		t.Errorf("status %d (-want +got):\n%s", status, diff)
	}
}

// TestPrompt answers over pipes: a program that waits for each result before it
// sends the next document must not wait for ever. In a bubble, waiting for ever is
// a failure at once.
func TestPrompt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		documents, send := io.Pipe()
		receive, results := io.Pipe()
		done := make(chan int, 1)
		go func() {
			status := run(documents, results, io.Discard, noon)
			results.Close()
			done <- status
		}()
		for _, id := range []string{"a", "b", "c"} {
			_, err := send.Write([]byte(small(id) + "\n"))
			require.NoError(t, err)
			got := make([]byte, len(smallResult(id)))
			_, err = io.ReadFull(receive, got)
			require.NoError(t, err)
			if diff := cmp.Diff(smallResult(id), string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", id, diff)
			}
		}
		require.NoError(t, send.Close())
		if status := <-done; status != statusDone {
			t.Errorf("status %d", status)
		}
	})
}

// TestTextIsWrittenAsEncodingJSON tries each character by itself and beside others.
func TestTextIsWrittenAsEncodingJSON(t *testing.T) {
	t.Parallel()
	for r := range rune(0x2100) {
		for _, text := range []string{string(r), "a" + string(r) + "b"} {
			want, err := json.Marshal(text)
			require.NoError(t, err)
			if got := appendText(nil, text); string(got) != string(want) {
				t.Errorf("%U: got %s, want %s", r, got, want)
			}
		}
	}
}

func TestReadingInSmallPieces(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	status := run(iotest.OneByteReader(strings.NewReader(contractDocument+contractDocument)), &out, io.Discard, noon)
	if diff := cmp.Diff(strings.Repeat(oneLine(t, contractResult), 2), out.String()); diff != "" || status != statusDone {
		t.Errorf("status %d (-want +got):\n%s", status, diff)
	}
}

// TestFailures tells a broken pipe or disk from a malformed document.
func TestFailures(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")

	var diagnostics, out bytes.Buffer
	in := io.MultiReader(strings.NewReader(small("a")), iotest.ErrReader(broken))
	if status := run(in, &out, &diagnostics, noon); status != statusFailed || !strings.Contains(diagnostics.String(), "broken") {
		t.Errorf("reading: status %d, %q", status, diagnostics.String())
	}
	if diff := cmp.Diff(smallResult("a"), out.String()); diff != "" {
		t.Errorf("reading: results before the failure (-want +got):\n%s", diff)
	}

	diagnostics.Reset()
	if status := run(strings.NewReader(small("a")), brokenWriter{broken}, &diagnostics, noon); status != statusFailed ||
		!strings.Contains(diagnostics.String(), "broken") {
		t.Errorf("writing: status %d, %q", status, diagnostics.String())
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// TestProgram builds and runs what a reader of the contract runs.
func TestProgram(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "quote")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	text, err := build.CombinedOutput()
	require.NoError(t, err, "%s", text)

	start := func(input string, arguments ...string) (out, diagnostics string, status int) {
		command := exec.CommandContext(t.Context(), program, arguments...)
		var stdout, stderr bytes.Buffer
		command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &stdout, &stderr
		if err := command.Run(); err != nil {
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit)
		}
		return stdout.String(), stderr.String(), command.ProcessState.ExitCode()
	}

	out, diagnostics, status := start(contractDocument)
	if diff := cmp.Diff(oneLine(t, contractResult), out); diff != "" || status != 0 || diagnostics != "" {
		t.Errorf("status %d, %q (-want +got):\n%s", status, diagnostics, diff)
	}
	out, diagnostics, status = start(contractDocument + `{"id":"case-2"}`)
	if out != oneLine(t, contractResult) || status != 2 || !strings.Contains(diagnostics, `document 2 (id "case-2")`) {
		t.Errorf("a malformed document: status %d, %q, %q", status, out, diagnostics)
	}
	if _, diagnostics, status = start("", "carts.jsonl"); status != 2 || diagnostics == "" {
		t.Errorf("an argument: status %d, %q", status, diagnostics)
	}
	// Without "at" the coupon of the past is expired by the clock of the machine.
	out, _, status = start(`{"id":"now","currency":"EUR","lines":[{"id":"A","kind":"plan","itemId":"p","quantity":1,"unitPrice":"5"}],` +
		`"coupon":{"code":"OLD","name":"Old","discountType":"PERCENTAGE","discountValue":"10","expiresAt":"2020-01-01"}}`)
	if status != 0 || !strings.Contains(out, `"code":"coupon_expired"`) {
		t.Errorf("now: status %d, %s", status, out)
	}
}
