#!/usr/bin/env bash
# Uses of coupons are written in a batch: one INSERT with ON CONFLICT DO UPDATE SET used = used + 1, and one coupon twice
# in it.
#
# Guess before the run: the statement is refused, as by PostgreSQL, or every row counts, as in SQLite.
# Seen (DuckDB 1.5.6, @duckdb/node-api 1.5.6-r.1, with PGlite 0.5.14 beside it):
#   - One row of the statement counts, without an error. 5,000 uses of a coupon in one batch are one use. So it is
#     where the coupon is new, and where it is known.
#   - MERGE and UPDATE … FROM count one row too. The latter says that two rows changed.
#   - With DO NOTHING the first row stays. In a table with two unique constraints, it is the first or the last by
#     chance: the same statement gives one coupon to ann in one new database and to bob in another.
#   - PGlite refuses the same INSERT, with 21000.
# What follows: add up by key before the statement (GROUP BY), in every database. Compare sums, not numbers of rows.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund @duckdb/node-api@1.5.6-r.1 @electric-sql/pglite@0.5.14 >/dev/null 2>&1
cat >batch.mjs <<'JS'
import { DuckDBInstance } from "@duckdb/node-api";
import { PGlite } from "@electric-sql/pglite";
const duck = await (await DuckDBInstance.create(":memory:")).connect();
const rows = async (query) => (await duck.runAndReadAll(query)).getRowsJson();

await duck.run("CREATE TABLE coupons (code TEXT PRIMARY KEY, used INTEGER)");
const count = "ON CONFLICT (code) DO UPDATE SET used = coupons.used + excluded.used";
const used = async (title, query) => {
  const answer = await rows(query);
  console.log(`${title}: ${await rows("SELECT used FROM coupons")}${query.startsWith("UPDATE") ? `, ${answer} rows` : ""}`);
};
await used("a new coupon, 1 and 2", `INSERT INTO coupons VALUES ('TEN', 1), ('TEN', 2) ${count}`);
await used("a known coupon, 1 and 2", `INSERT INTO coupons VALUES ('TEN', 1), ('TEN', 2) ${count}`);
await used("a known coupon, 5,000 times 1", `INSERT INTO coupons SELECT 'TEN', 1 FROM range(5000) ${count}`);
await used("two statements, 1 and 2", `INSERT INTO coupons VALUES ('TEN', 1) ${count}; INSERT INTO coupons VALUES ('TEN', 2) ${count}`);
const added = "(VALUES ('TEN', 10), ('TEN', 20)) AS more (code, used)";
await used("MERGE, 10 and 20", `MERGE INTO coupons USING ${added} ON coupons.code = more.code WHEN MATCHED THEN UPDATE SET used = coupons.used + more.used`);
await used("UPDATE, 10 and 20", `UPDATE coupons SET used = coupons.used + more.used FROM ${added} WHERE coupons.code = more.code`);

const kept = {};
for (let i = 0; i < 200; i++) {
  const fresh = await (await DuckDBInstance.create(":memory:")).connect();
  await fresh.run("CREATE TABLE one (code TEXT UNIQUE, customer TEXT)");
  await fresh.run("CREATE TABLE two (id INTEGER PRIMARY KEY, code TEXT UNIQUE, customer TEXT)");
  await fresh.run("INSERT INTO one VALUES ('TEN', 'ann'), ('TEN', 'bob') ON CONFLICT DO NOTHING");
  await fresh.run("INSERT INTO two VALUES (1, 'TEN', 'ann'), (2, 'TEN', 'bob') ON CONFLICT DO NOTHING");
  for (const table of ["one", "two"]) (kept[table] ??= new Set()).add(String((await fresh.runAndReadAll(`SELECT customer FROM ${table}`)).getRows()));
}
for (const table of ["one", "two"]) console.log(`DO NOTHING in 200 databases, unique constraints: ${table}:`, [...kept[table]].sort().join(" or "));

const postgres = await PGlite.create();
await postgres.exec("CREATE TABLE coupons (code TEXT PRIMARY KEY, used INTEGER)");
try {
  await postgres.query(`INSERT INTO coupons VALUES ('TEN', 1), ('TEN', 2) ${count}`);
} catch (error) {
  console.log("PGlite:", error.code);
}
process.exit(0);
JS
node batch.mjs | tee seen
diff seen - <<'SEEN'
a new coupon, 1 and 2: 1
a known coupon, 1 and 2: 2
a known coupon, 5,000 times 1: 3
two statements, 1 and 2: 6
MERGE, 10 and 20: 16
UPDATE, 10 and 20: 26, 2 rows
DO NOTHING in 200 databases, unique constraints: one: ann
DO NOTHING in 200 databases, unique constraints: two: ann or bob
PGlite: 21000
SEEN
