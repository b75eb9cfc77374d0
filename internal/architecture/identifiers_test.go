package architecture_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// identifier is a name of a package's API between back quotes, or at the start of a call:
// store.Store, couponkit.Service.Sweep.
var identifier = regexp.MustCompile("`([a-z][a-z0-9]*)\\.([A-Z][A-Za-z0-9]*)(?:\\.([A-Z][A-Za-z0-9]*))?[`({]")

// TestDocumentsNameRealIdentifiers: what a document names of this repository's packages exists.
func TestDocumentsNameRealIdentifiers(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	names := exported(t, root)
	found := 0
	for name, text := range texts(t, root, ".md") {
		found += len(identifier.FindAllString(text, -1))
		for _, fault := range identifierFaults(names, text) {
			t.Errorf("%s: %s", name, fault)
		}
	}
	require.Greater(t, found, 30, "the identifiers were not found")
}

// identifierFaults finds names that the packages of this repository do not have.
func identifierFaults(names map[string]map[string]bool, text string) (faults []string) {
	for _, found := range identifier.FindAllStringSubmatch(text, -1) {
		name := found[2]
		if found[3] != "" {
			name += "." + found[3]
		}
		if known, ours := names[found[1]]; ours && !known[name] {
			faults = append(faults, fmt.Sprintf("package %s has no %s", found[1], name))
		}
	}
	return faults
}

// exported returns the exported names of each package: its declarations, and the fields and
// methods of its types as Type.Member. Packages of the same name are one.
func exported(t *testing.T, root string) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	for name, text := range texts(t, root, ".go") {
		if strings.HasSuffix(name, "_test.go") || strings.Contains(path.Dir(name), "testdata") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		if all[file.Name.Name] == nil {
			all[file.Name.Name] = map[string]bool{}
		}
		for _, d := range file.Decls {
			maps.Copy(all[file.Name.Name], declared(d))
		}
	}
	return all
}

func declared(d ast.Decl) map[string]bool {
	names := map[string]bool{}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names[d.Name.Name] = true
		} else {
			names[receiver(d.Recv.List[0].Type)+"."+d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					names[name.Name] = true
				}
			case *ast.TypeSpec:
				names[spec.Name.Name] = true
				for _, member := range members(spec.Type) {
					names[spec.Name.Name+"."+member] = true
				}
			}
		}
	}
	return names
}

// receiver returns the name of the type of a method, without its pointer and type parameters.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// members returns the fields of a structure or the methods of an interface.
func members(e ast.Expr) (names []string) {
	var list *ast.FieldList
	switch e := e.(type) {
	case *ast.StructType:
		list = e.Fields
	case *ast.InterfaceType:
		list = e.Methods
	default:
		return nil
	}
	for _, field := range list.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}
