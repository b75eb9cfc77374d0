package stripefake

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// integer reads a whole number, or 0 if the parameter is absent.
func integer(form url.Values, name string) (int64, *problem) {
	if !form.Has(name) {
		return 0, nil
	}
	n, err := strconv.ParseInt(form.Get(name), 10, 64)
	if err != nil {
		return 0, invalid("parameter_invalid_integer", name, "Invalid integer: %s", form.Get(name))
	}
	return n, nil
}

// only refuses parameters whose name, up to the first bracket, is not in the list.
func only(form url.Values, allowed ...string) *problem {
	for name := range form {
		if name == "expand" {
			return invalid("", name, "expand is a list")
		}
		first, _, _ := strings.Cut(name, "[")
		if !slices.Contains(allowed, first) {
			return invalid("parameter_unknown", name, "Received unknown parameter: %s", name)
		}
	}
	return nil
}

// metadata reads metadata[key]=value and enforces Stripe's limits.
func metadata(form url.Values, prefix string) (map[string]string, *problem) {
	out := map[string]string{}
	for name, values := range form {
		key, ok := strings.CutPrefix(name, prefix+"[")
		if !ok {
			continue
		}
		key, ok = strings.CutSuffix(key, "]")
		switch {
		case !ok || strings.ContainsAny(key, "[]"):
			return nil, invalid("", name, "Metadata keys have no square brackets")
		case utf8.RuneCountInString(key) > 40:
			return nil, invalid("", name, "Metadata keys have at most 40 characters")
		case utf8.RuneCountInString(values[0]) > 500:
			return nil, invalid("", name, "Metadata values can have up to 500 characters")
		}
		out[key] = values[0]
	}
	if len(out) > 50 {
		return nil, invalid("", prefix, "Metadata can have up to 50 keys")
	}
	return out, nil
}

// merge applies an update. An empty value removes the key.
func merge(old, update map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, old)
	for key, value := range update {
		if value == "" {
			delete(out, key)
		} else {
			out[key] = value
		}
	}
	return out
}

// wants reports whether expand[] names the field.
func wants(form url.Values, field string) bool {
	for name, values := range form {
		if strings.HasPrefix(name, "expand[") && slices.Contains(values, field) {
			return true
		}
	}
	return false
}

// pageOf returns one page of a list that is sorted newest first.
func pageOf[T any](form url.Values, path string, items []T, id func(T) string, show func(T) any) (any, *problem) {
	limit, refusal := integer(form, "limit")
	if refusal != nil {
		return nil, refusal
	}
	if !form.Has("limit") {
		limit = 10
	}
	if limit < 1 || limit > 100 {
		return nil, invalid("parameter_invalid_integer", "limit", "limit is 1 to 100")
	}
	if after := form.Get("starting_after"); after != "" {
		at := slices.IndexFunc(items, func(item T) bool { return id(item) == after })
		if at < 0 {
			return nil, invalid("resource_missing", "starting_after", "No such object: '%s'", after)
		}
		items = items[at+1:]
	}
	more := int64(len(items)) > limit
	data := []any{}
	for _, item := range items[:min(int64(len(items)), limit)] {
		data = append(data, show(item))
	}
	return map[string]any{"object": "list", "url": path, "has_more": more, "data": data}, nil
}
