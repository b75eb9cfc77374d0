#!/usr/bin/env bash
# One use per customer, by e-mail address: what three libraries make of one address.
#
# Guess before the run: a library removes what stands behind a plus sign, or leaves it. Where they
# know the provider, they agree.
# Seen (go-email-normalizer v2.0.0; normalize-email 1.1.1 and validator 13.15.35 of npm):
#   - go-email-normalizer removes the plus sign and keeps the tag, but for Gmail. ann+shop and
#     annshop at Outlook, Zoho or Fastmail are one customer then, and they are two mailboxes.
#     ann-shop at Yahoo becomes annshop as well.
#   - It changes no letter case where it does not know the provider. The others do.
#   - normalize-email removes dots at live.com, where ann.b and annb are two people. validator does not.
#   - For Gmail alone, all three agree.
# What follows: compare addresses as people write them, without letter case, and let the host decide more.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund normalize-email@1.1.1 validator@13.15.35 >/dev/null
cat >go.mod <<'MOD'
module findings

go 1.26.0

require github.com/dimuska139/go-email-normalizer/v2 v2.0.0
MOD
cat >main.go <<'GO'
package main

import (
	"fmt"
	"os"

	normalizer "github.com/dimuska139/go-email-normalizer/v2"
)

func main() {
	n := normalizer.NewNormalizer()
	for _, address := range os.Args[1:] {
		fmt.Println(n.Normalize(address))
	}
}
GO
cat >main.mjs <<'JS'
import normalizeEmail from "normalize-email";
import validator from "validator";
for (const address of process.argv.slice(2)) console.log(normalizeEmail(address) + " " + validator.normalizeEmail(address));
JS
addresses="ann.b+shop@gmail.com ann+shop@outlook.com ann+shop@zoho.com ann+shop@fastmail.com ann-shop@yahoo.com Ann@example.org ann.b@live.com"
go mod tidy >/dev/null 2>&1
go build -o normalize .
# shellcheck disable=SC2086 # one word an address
paste -d' ' <(tr ' ' '\n' <<<"$addresses") <(./normalize $addresses) <(node main.mjs $addresses) | tee seen
diff seen - <<'SEEN'
ann.b+shop@gmail.com annb@gmail.com annb@gmail.com annb@gmail.com
ann+shop@outlook.com annshop@outlook.com ann@outlook.com ann@outlook.com
ann+shop@zoho.com annshop@zoho.com ann+shop@zoho.com ann+shop@zoho.com
ann+shop@fastmail.com annshop@fastmail.com ann+shop@fastmail.com ann+shop@fastmail.com
ann-shop@yahoo.com annshop@yahoo.com ann-shop@yahoo.com ann@yahoo.com
Ann@example.org Ann@example.org ann@example.org ann@example.org
ann.b@live.com ann.b@live.com annb@live.com ann.b@live.com
SEEN
