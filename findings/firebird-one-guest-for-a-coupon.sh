#!/usr/bin/env bash
# One use of a coupon for each customer, as a unique index over coupon and customer, where guests have no customer. And
# a counter that is raised below its limit, by two transactions at once.
#
# Guess before the run: guests are distinct, as nulls are. With READ COMMITTED the second transaction waits, looks again
# and changes no row.
# Seen (Firebird 3.0.11 of Debian 12, in the process):
#   - One guest for a coupon: the second row ('TEN', null) is a duplicate. Rows of which all columns are null are not.
#   - READ COMMITTED is two levels. The one without an addition, of this version, waits and changes no row. With
#     RECORD_VERSION it waits for the other's end as well, and then fails with a conflict, 40001. Its next statement in
#     the same transaction sees the new value.
#   - SNAPSHOT fails in the same way, and goes on to see the old value.
# What follows: give guests a value of their own in a unique index. Repeat by 40001 at every level, and not only where
# the level is called serializable.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir debs root lock
(cd debs && apt-get download -qq firebird3.0-server-core=3.0.11.33637.ds4-2+deb12u1 firebird3.0-utils=3.0.11.33637.ds4-2+deb12u1 \
  firebird3.0-common=3.0.11.33637.ds4-2+deb12u1 libfbclient2=3.0.11.33637.ds4-2+deb12u1 \
  libib-util=3.0.11.33637.ds4-2+deb12u1 libtommath1 libicu72 2>/dev/null)
for deb in debs/*.deb; do dpkg-deb -x "$deb" root; done
export LD_LIBRARY_PATH=$dir/root/usr/lib/$(uname -m)-linux-gnu
export FIREBIRD=$LD_LIBRARY_PATH/firebird/3.0 FIREBIRD_LOCK=$dir/lock FIREBIRD_TMP=$dir/lock ISC_USER=SYSDBA
export FIREBIRD_MSG=$FIREBIRD
rm "$FIREBIRD/firebird.conf" "$FIREBIRD/plugins.conf"
printf 'ServerMode = Classic\nProviders = Engine12\n' >"$FIREBIRD/firebird.conf"
printf 'Plugin = Engine12 {\n  Module = %s/plugins/libEngine12.so\n}\n' "$FIREBIRD" >"$FIREBIRD/plugins.conf"
root/usr/bin/isql-fb -q <<'SQL'
CREATE DATABASE 'test.fdb';
CREATE TABLE uses (coupon VARCHAR(10), customer VARCHAR(10));
CREATE UNIQUE INDEX one_each ON uses (coupon, customer);
CREATE TABLE coupons (code VARCHAR(10) NOT NULL PRIMARY KEY, used INTEGER NOT NULL);
COMMIT;
INSERT INTO coupons VALUES ('TEN', 0);
COMMIT;
SQL
cat >sessions.mjs <<'JS'
import { spawn } from "node:child_process";
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// session starts a program that runs statements, and returns a function that sends one and waits for its answer.
function session() {
  const isql = spawn("root/usr/bin/isql-fb", ["-q", "-m", "-m2", "test.fdb"]);
  let seen = "", sent = 0;
  isql.stdout.on("data", (text) => { seen += text; });
  isql.stdin.write("SET HEADING OFF; SET COUNT ON;\n");
  const run = async (statement) => {
    const end = `END ${++sent}\n`;
    isql.stdin.write(`${statement};\nSHELL echo ${end.trim()};\n`);
    while (!seen.includes(end)) await sleep(10);
    const [answer, rest] = seen.split(end);
    seen = rest;
    if (answer.includes("duplicate value")) return "a duplicate";
    const state = answer.match(/SQLSTATE = (\S+)/);
    if (state) return state[1];
    const rows = answer.match(/Records affected: (\d+)/);
    return rows && !statement.startsWith("SELECT") ? `${rows[1]} rows` : answer.trim().split(/\s/)[0];
  };
  run.end = () => isql.stdin.end("EXIT;\n");
  return run;
}

const one = session(), two = session();
for (const row of ["('TEN', 'ann')", "('TEN', null)", "('TEN', null)", "(null, null)", "(null, null)"]) {
  console.log(row + ":", await one(`INSERT INTO uses VALUES ${row}`));
}
await one("COMMIT");
const raise = "UPDATE coupons SET used = used + 1 WHERE used < 1", read = "SELECT used FROM coupons";
for (const level of ["READ COMMITTED", "READ COMMITTED RECORD_VERSION", "SNAPSHOT"]) {
  await one("UPDATE coupons SET used = 0");
  await one("COMMIT");
  for (const run of [one, two]) await run(`SET TRANSACTION WAIT ISOLATION LEVEL ${level}`);
  const first = await one(raise);
  const second = two(raise);
  const waits = await Promise.race([second.then(() => false), sleep(2000).then(() => true)]);
  await one("COMMIT");
  console.log(`${level}: ${first}, the second waits: ${waits}, ${await second}, and then reads ${await two(read)}`);
  await two("COMMIT");
}
one.end();
two.end();
JS
node sessions.mjs | tee seen
diff seen - <<'SEEN'
('TEN', 'ann'): 1 rows
('TEN', null): 1 rows
('TEN', null): a duplicate
(null, null): 1 rows
(null, null): 1 rows
READ COMMITTED: 1 rows, the second waits: true, 0 rows, and then reads 1
READ COMMITTED RECORD_VERSION: 1 rows, the second waits: true, 40001, and then reads 1
SNAPSHOT: 1 rows, the second waits: true, 40001, and then reads 0
SEEN
