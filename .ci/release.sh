# shellcheck shell=bash
# A release: one commit beside main, on which every released module requires the version that
# is tagged, and a tag for each. A host's `go get` ignores replace directives, which main needs.

# Nested modules that are released with the root, each after those that it requires: those that hosts
# import, and the tool with what it is made of. The tests of programs require internal/integration.
readonly RELEASED="store/pgxstore processor/stripeprocessor internal/integration internal/integration/sqldb examples/service cmd/couponkit"

# step_releases releases a version that nobody else has, for it names the commit, in a clone, and
# uses it as a host does.
step_releases() {
  local tree="$WORK/release" version
  need_debian zip:zip
  version="v0.1.0-check.$(git -c safe.directory='*' rev-parse --short=12 HEAD)"
  clone_for_release "$tree" HEAD
  make_release "$tree" "$version"
}

# clone_for_release makes a clone of the repository at a commit.
clone_for_release() {
  local tree=$1 commit=$2
  git -c safe.directory='*' clone -q --no-checkout "$ROOT" "$tree"
  git -C "$tree" checkout -q --detach "$(git -c safe.directory='*' -C "$ROOT" rev-parse "$commit")"
}

# make_release pins, tags and checks, in a clone.
make_release() {
  local tree=$1 version=$2 module
  [[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] || die "$version is no version, as v0.1.0 is"
  local proxy="$tree.proxy"
  mkdir -p "$proxy"
  local -x GOPROXY="file://$proxy,$(go env GOPROXY)" GONOSUMDB="$MODULE,$MODULE/*" GOWORK=off
  publish "$tree" "$proxy" . "$version"
  for module in $RELEASED; do
    pin "$tree/$module" "$version"
    publish "$tree" "$proxy" "$module" "$version" # for the modules that require it
  done
  git -C "$tree" -c user.name=couponkit -c user.email=release@couponkit.invalid \
    commit -q -a -m "release $version: modules require it"
  git -C "$tree" tag "$version"
  for module in $RELEASED; do
    git -C "$tree" tag "$module/$version"
  done
  for module in $RELEASED; do
    case $module in
      cmd/*) install_release "$tree.host/${module##*/}" "$module" "$version" ;;
      examples/* | internal/*) ;; # the tool, which was installed, is made of it
      *) use_release "$tree.host/${module##*/}" "$module" "$version" ;;
    esac
  done
}

# pin replaces the folders of this repository by the version.
pin() {
  local dir=$1 version=$2 path
  (
    cd "$dir"
    go mod edit -json | sed -n 's/^[[:space:]]*"Path": "\(.*\)",\{0,1\}$/\1/p' | sort -u |
      while read -r path; do
        [[ $path == "$MODULE" || $path == "$MODULE"/* ]] || continue
        [[ $(head -1 go.mod) == "module $path" ]] || go mod edit -dropreplace="$path" -require="$path@$version"
      done
    go mod tidy
  )
  ! grep -q '^replace\|=> \.\.' "$dir/go.mod" || die "$dir/go.mod still replaces a module"
}

# publish puts a module of the tree into a proxy of files, as Go packs it: without the modules
# below it, and with the license of the root.
publish() {
  local tree=$1 proxy=$2 folder=$3 version=$4 name=$MODULE stage below
  [[ $folder == . ]] || name+=/$folder
  stage="$WORK/stage/$name@$version"
  rm -rf "$stage"
  mkdir -p "$stage" "$proxy/$name/@v"
  (cd "$tree/$folder" && git ls-files -z | xargs -0 cp --parents -t "$stage")
  find "$stage" -mindepth 2 -name go.mod -printf '%h\n' | while read -r below; do rm -rf "$below"; done
  [[ -f $stage/LICENSE ]] || cp "$tree/LICENSE" "$stage/"
  cp "$stage/go.mod" "$proxy/$name/@v/$version.mod"
  printf '{"Version":"%s","Time":"2026-01-01T00:00:00Z"}\n' "$version" >"$proxy/$name/@v/$version.info"
  printf '%s\n' "$version" >"$proxy/$name/@v/list"
  (cd "$WORK/stage" && zip -q -r -X "$proxy/$name/@v/$version.zip" "$name@$version")
}

# use_release is a host that gets a nested module, and nothing else of couponkit.
use_release() {
  local dir=$1 module=$2 version=$3 package=${2##*/}
  mkdir -p "$dir"
  (
    cd "$dir"
    go mod init -q example.com/host 2>/dev/null || go mod init example.com/host
    GOSUMDB=off go get "$MODULE/$module@$version"
    write_host "$package" >main.go
    GOSUMDB=off go mod tidy
    go vet ./...
    go run .
    ! go list -m -f '{{if .Replace}}{{.Path}}{{end}}' all | grep . || die "$module replaces modules of its host"
    [[ $(go list -m -f '{{.Version}}' "$MODULE") == "$version" ]] || die "$module does not require $version"
  )
  printf 'ok\t%s/%s %s\n' "$MODULE" "$module" "$version"
}

# install_release installs a program as a person does, who has nothing else of couponkit.
install_release() {
  local dir=$1 module=$2 version=$3
  mkdir -p "$dir"
  (cd "$dir" && GOSUMDB=off GOBIN="$dir" GOFLAGS="$GOFLAGS -ldflags=-w" go install "$MODULE/$module@$version")
  [[ $("$dir/${module##*/}" --version) == "$version" ]] || die "$module does not know its version"
  printf 'ok\t%s/%s %s\n' "$MODULE" "$module" "$version"
}

# write_host prints a program that calls what a host calls first.
write_host() {
  case $1 in
    pgxstore) cat <<GO ;;
package main

import (
	"fmt"
	"log"

	"$MODULE/store/pgxstore"
)

func main() {
	script, err := pgxstore.Schema(pgxstore.Options{Schema: "promo"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(script) > 0, pgxstore.SchemaVersion)
}
GO
    stripeprocessor) cat <<GO ;;
package main

import (
	"fmt"

	"$MODULE"
	"$MODULE/processor/stripeprocessor"
	"$MODULE/processor/stripeprocessor/stripefake"
	"$MODULE/store/memstore"
)

func main() {
	_, err := stripeprocessor.New("", stripeprocessor.Options{})
	_, none := couponkit.New(memstore.New(), nil)
	fmt.Println(err != nil, none != nil, stripefake.New(stripefake.Options{}) != nil)
}
GO
    *) die "no program uses $1" ;;
  esac
}
