package api

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
)

//go:embed openapi.json
var openAPI []byte

//go:embed templates/docs.html static/docs.css
var docsFiles embed.FS

// OpenAPI returns the description of the interface, an OpenAPI 3.1 document.
func OpenAPI() []byte { return slices.Clone(openAPI) }

func serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI) // ignore a client that closed the connection
}

// docsPage is the API description as an HTML page. It is rendered once. It needs no script and loads
// nothing from other hosts.
var docsPage = sync.OnceValues(renderDocs)

func serveDocs(w http.ResponseWriter, _ *http.Request) {
	page, err := docsPage()
	if err != nil {
		writeProblem(w, problem{Status: http.StatusInternalServerError, Code: "internal", Title: "The page could not be rendered."})
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page)
}

func serveDocsStyle(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, docsFiles, "static/docs.css")
}

// document has the parts of the API description that the page shows.
type document struct {
	Info struct {
		Title       string `json:"title"`
		Version     string `json:"version"`
		Description string `json:"description"`
	} `json:"info"`
	Tags []struct {
		Name string `json:"name"`
	} `json:"tags"`
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas   map[string]json.RawMessage `json:"schemas"`
		Responses map[string]answer          `json:"responses"`
	} `json:"components"`
}

type operation struct {
	ID          string             `json:"operationId"`
	Summary     string             `json:"summary"`
	Description string             `json:"description"`
	Tags        []string           `json:"tags"`
	Security    []map[string][]any `json:"security"`
	Parameters  []parameter        `json:"parameters"`
	Body        *content           `json:"requestBody"`
	Responses   map[string]answer  `json:"responses"`
}

type parameter struct {
	Name        string `json:"name"`
	In          string `json:"in"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

type content struct {
	Content map[string]struct {
		Schema reference `json:"schema"`
	} `json:"content"`
}

type reference struct {
	Ref string `json:"$ref"`
}

type answer struct {
	reference
	content
	Description string `json:"description"`
}

// section is a tag of the API description with its calls.
type section struct {
	Name  string
	Calls []shownCall
}

type shownCall struct {
	operation
	Method, Path, Access string
	BodySchema           string
	Answers              []shownAnswer
}

type shownAnswer struct {
	Status, Description, Schema string
}

type shownSchema struct {
	Name, Text string
}

func renderDocs() ([]byte, error) {
	var d document
	if err := json.Unmarshal(openAPI, &d); err != nil {
		return nil, err
	}
	schemas, err := d.shownSchemas()
	if err != nil {
		return nil, err
	}
	page, err := template.ParseFS(docsFiles, "templates/docs.html")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = page.Execute(&out, map[string]any{"Info": d.Info, "Sections": d.sections(), "Schemas": schemas})
	return out.Bytes(), err
}

func (d document) sections() []section {
	sections := make([]section, len(d.Tags))
	for i, tag := range d.Tags {
		sections[i].Name = tag.Name
		for path, methods := range d.Paths {
			for method, o := range methods {
				if slices.Contains(o.Tags, tag.Name) {
					sections[i].Calls = append(sections[i].Calls, d.shown(method, path, o))
				}
			}
		}
		slices.SortFunc(sections[i].Calls, func(x, y shownCall) int {
			return strings.Compare(x.Path+x.Method, y.Path+y.Method)
		})
	}
	return sections
}

func (d document) shown(method, path string, o operation) shownCall {
	c := shownCall{operation: o, Method: strings.ToUpper(method), Path: path, Access: "anyone"}
	switch {
	case strings.HasPrefix(path, "/admin/"):
		c.Access = "administrators"
	case len(o.Security) > 0:
		c.Access = "signed in"
	}
	if o.Body != nil {
		c.BodySchema = o.Body.schema()
	}
	for status, a := range o.Responses {
		if name, is := strings.CutPrefix(a.Ref, "#/components/responses/"); is {
			a = d.Components.Responses[name]
		}
		c.Answers = append(c.Answers, shownAnswer{status, a.Description, a.schema()})
	}
	slices.SortFunc(c.Answers, func(x, y shownAnswer) int { return strings.Compare(x.Status, y.Status) })
	return c
}

// schema returns the name of the content's schema if it is one of the components.
func (c content) schema() string {
	for _, media := range c.Content {
		if name, is := strings.CutPrefix(media.Schema.Ref, "#/components/schemas/"); is {
			return name
		}
	}
	return ""
}

func (d document) shownSchemas() ([]shownSchema, error) {
	var shown []shownSchema
	for name, raw := range d.Components.Schemas {
		var text bytes.Buffer
		if err := json.Indent(&text, raw, "", "  "); err != nil {
			return nil, err
		}
		shown = append(shown, shownSchema{name, text.String()})
	}
	slices.SortFunc(shown, func(x, y shownSchema) int { return strings.Compare(x.Name, y.Name) })
	return shown, nil
}
