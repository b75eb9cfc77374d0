package main

import (
	"embed"
	"strings"
	"text/template"
	"time"

	"golang.org/x/text/language"

	"github.com/couponkit/couponkit/coupon"
)

// texts has a template over [coupon.Params] for each code, in a file for each language.
//
//go:embed messages_en.txt messages_de.txt
var texts embed.FS

// translate writes one line for each reason, in the language of an Accept-Language header.
func translate(accept string, refused coupon.Rejections) string {
	file, date, point := "messages_en.txt", "January 2, 2006, 15:04 MST", "."
	_, best := language.MatchStrings(language.NewMatcher([]language.Tag{language.English, language.German}), accept)
	if best == 1 {
		file, date, point = "messages_de.txt", "02.01.2006, 15:04 MST", ","
	}
	messages := template.Must(template.New("").Funcs(template.FuncMap{
		"date": func(at time.Time) string { return at.Format(date) },
		"money": func(a coupon.Amount) string {
			return strings.Replace(a.Amount(), ".", point, 1) + " " + a.Currency().Code()
		},
		"list": func(names []string) string { return strings.Join(names, ", ") },
	}).ParseFS(texts, file))
	var lines []string
	for _, rejection := range refused {
		for _, reason := range rejection.Reasons {
			var line strings.Builder
			if err := messages.ExecuteTemplate(&line, reason.Code.String(), reason.Params); err != nil {
				line.WriteString(reason.Message()) // the code is newer than this program
			}
			lines = append(lines, line.String())
		}
	}
	return strings.Join(lines, "\n")
}
