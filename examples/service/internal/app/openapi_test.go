package app_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/examples/service/internal/api"
)

// openAPISchema is the OpenAPI Initiative's own schema of a 3.1 document, from
// spec.openapis.org, under the Apache License 2.0.
//
//go:embed testdata/openapi-3.1-schema.json
var openAPISchema []byte

// description is the OpenAPI document as the tests use it. Its schemas are JSON
// Schema 2020-12, as OpenAPI 3.1 has it.
type description struct {
	Paths map[string]map[string]struct {
		Body      *descriptionBody           `json:"requestBody"`
		Responses map[string]descriptionBody `json:"responses"`
	} `json:"paths"`
	Components struct {
		Responses map[string]descriptionBody `json:"responses"`
	} `json:"components"`

	mu       sync.Mutex // guards compiler, which caches
	compiler *jsonschema.Compiler
}

type descriptionBody struct {
	Ref     string                     `json:"$ref"`
	Content map[string]json.RawMessage `json:"content"`
	Headers map[string]struct {
		Required bool `json:"required"`
	} `json:"headers"`
}

const documentURL = "https://service.example/openapi.json"

var described = sync.OnceValues(func() (*description, error) {
	d := &description{compiler: jsonschema.NewCompiler()}
	if err := json.Unmarshal(api.OpenAPI(), d); err != nil {
		return nil, err
	}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(api.OpenAPI()))
	if err != nil {
		return nil, err
	}
	return d, d.compiler.AddResource(documentURL, document)
})

// valid checks a JSON text against the schema at a place in the document.
func (d *description) valid(pointer []string, text []byte) error {
	for i, step := range pointer {
		pointer[i] = strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(step)
	}
	d.mu.Lock()
	schema, err := d.compiler.Compile(documentURL + "#/" + strings.Join(pointer, "/"))
	d.mu.Unlock()
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// find returns the path of the document that a request is for. Paths without
// parameters win.
func (d *description) find(path string) (string, bool) {
	if _, is := d.Paths[path]; is {
		return path, true
	}
	steps := strings.Split(path, "/")
	for pattern := range d.Paths {
		parts := strings.Split(pattern, "/")
		if slices.EqualFunc(parts, steps, func(p, s string) bool { return p == s || strings.HasPrefix(p, "{") && s != "" }) {
			return pattern, true
		}
	}
	return "", false
}

// holdToDocument checks an answer, and the request if it was accepted.
func holdToDocument(t *testing.T, sent *http.Request, body []byte, response *http.Response, received []byte) {
	t.Helper()
	d, err := described()
	require.NoError(t, err)
	path, known := d.find(sent.URL.EscapedPath())
	if !known {
		require.Equalf(t, http.StatusNotFound, response.StatusCode, "%s is not in the document", sent.URL.Path)
		return
	}
	method := strings.ToLower(sent.Method)
	operation, known := d.Paths[path][method]
	if !known {
		require.Equalf(t, http.StatusMethodNotAllowed, response.StatusCode, "%s %s is not in the document", method, path)
		return
	}
	status := strconv.Itoa(response.StatusCode)
	answer, known := operation.Responses[status]
	if !known {
		t.Errorf("%s %s answers %s, which the document does not tell: %s", method, path, status, received)
		return
	}
	pointer := []string{"paths", path, method, "responses", status}
	if name, is := strings.CutPrefix(answer.Ref, "#/components/responses/"); is {
		answer, pointer = d.Components.Responses[name], []string{"components", "responses", name}
	}
	for name, header := range answer.Headers {
		if header.Required && response.Header.Get(name) == "" {
			t.Errorf("%s %s: %s lacks the header %s", method, path, status, name)
		}
	}
	d.checkContent(t, answer, pointer, response.Header.Get("Content-Type"), received)
	if response.StatusCode < http.StatusBadRequest && operation.Body != nil {
		d.checkContent(t, *operation.Body, []string{"paths", path, method, "requestBody"}, sent.Header.Get("Content-Type"), body)
	}
}

// checkContent holds a body to the schema of its media type.
func (d *description) checkContent(t *testing.T, b descriptionBody, pointer []string, contentType string, body []byte) {
	t.Helper()
	if len(b.Content) == 0 {
		if len(body) > 0 && contentType != "text/html; charset=utf-8" { // a redirect's note for people
			t.Errorf("%v has a body: %s", pointer, body)
		}
		return
	}
	media, _, err := mime.ParseMediaType(contentType)
	require.NoErrorf(t, err, "content type %q of %v", contentType, pointer)
	if _, known := b.Content[media]; !known {
		t.Errorf("%v is %s, which the document does not tell: %s", pointer, media, body)
		return
	}
	var values [][]byte
	switch {
	case media == "application/jsonl":
		values = bytes.Split(bytes.TrimSuffix(body, []byte("\n")), []byte("\n"))
	case strings.HasSuffix(media, "json"):
		values = [][]byte{body}
	}
	for _, value := range values {
		if err := d.valid(append(slices.Clone(pointer), "content", media, "schema"), value); err != nil {
			t.Errorf("%v: %v\n%s", pointer, err, value)
		}
	}
}

// TestTheDocumentIsOpenAPI31: the document is valid, and served as it is.
func TestTheDocumentIsOpenAPI31(t *testing.T) {
	t.Parallel()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(openAPISchema))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	const schemaURL = "https://spec.openapis.org/oas/3.1/schema/2022-10-07"
	require.NoError(t, compiler.AddResource(schemaURL, schema))
	compiled, err := compiler.Compile(schemaURL)
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(api.OpenAPI()))
	require.NoError(t, err)
	require.NoError(t, compiled.Validate(document))
	delete(document.(map[string]any), "info")
	require.Error(t, compiled.Validate(document), "the schema accepts a document without info")

	a := newWorld(t).browser(t).get("/openapi.json").is(http.StatusOK)
	require.Equal(t, string(api.OpenAPI()), string(a.body))
	require.Equal(t, "3.1.0", a.text("openapi"))
}

// TestEverySchemaCompiles: no reference of the document leads nowhere.
func TestEverySchemaCompiles(t *testing.T) {
	t.Parallel()
	d, err := described()
	require.NoError(t, err)
	var walk func(pointer []string, v any)
	walk = func(pointer []string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				next := append(slices.Clone(pointer), name)
				if name == "schema" || len(pointer) == 2 && pointer[1] == "schemas" {
					var mistake *jsonschema.ValidationError
					if err := d.valid(next, []byte(`null`)); err != nil && !errors.As(err, &mistake) {
						t.Errorf("%v: %v", next, err)
					}
				}
				walk(next, member)
			}
		case []any:
			for i, member := range v {
				walk(append(slices.Clone(pointer), strconv.Itoa(i)), member)
			}
		}
	}
	var document any
	require.NoError(t, json.Unmarshal(api.OpenAPI(), &document))
	walk(nil, document)
}

// TestTheDocumentDescribesEveryCall: the document and the handlers have the same
// calls.
func TestTheDocumentDescribesEveryCall(t *testing.T) {
	t.Parallel()
	d, err := described()
	require.NoError(t, err)
	var inDocument []string
	for path, methods := range d.Paths {
		for method := range methods {
			inDocument = append(inDocument, strings.ToUpper(method)+" "+path)
		}
	}
	served := api.Patterns()
	slices.Sort(inDocument)
	slices.Sort(served)
	if diff := cmp.Diff(inDocument, served); diff != "" {
		t.Errorf("(-document +handlers):\n%s", diff)
	}
}

// TestTheDocumentIsReadable: /docs names every call, and loads nothing but its
// style sheet from here.
func TestTheDocumentIsReadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	page := w.browser(t).get("/docs").is(http.StatusOK)
	require.Equal(t, "text/html; charset=utf-8", page.header.Get("Content-Type"))
	for _, pattern := range api.Patterns() {
		_, path, _ := strings.Cut(pattern, " ")
		if !strings.Contains(string(page.body), "<code>"+path+"</code>") {
			t.Errorf("the page does not name %s", pattern)
		}
	}
	for _, foreign := range []string{"<script", "src=", "http://", "style="} {
		if strings.Contains(string(page.body), foreign) {
			t.Errorf("the page holds %s", foreign)
		}
	}
	loose := w.browser(t)
	loose.loose = true
	style := loose.get("/docs/docs.css").is(http.StatusOK)
	require.Contains(t, style.header.Get("Content-Type"), "text/css")
}
