#!/usr/bin/env bash
# Amounts with a decimal comma, some of them with three decimals, in a journal of two accounting programs that share a format. The
# same lines in two orders.
#
# Guess before the run: 2,125 may be read as two thousand. Whatever it is, the order of lines does not matter.
# Seen (ledger 3.3.0 and hledger 1.25 of Debian 12; neither is told a style of numbers):
#   - 1,5 and then 2,125 are 3,625 in ledger. 2,125 and then 1,5 are 2.126,5. The first number that can only have a decimal comma
#     decides for all that follow, and for none before.
#   - So ledger makes 2.000 and 12.500,00 the sum 12.502,000, and in the other order 14.500,00.
#   - In hledger the order changes nothing. Each number decides by itself, and one sign alone is a decimal mark: 12.500,00 and
#     2.000 are 12.502,000.
#   - So 1,500 and 0.5 are 1,500.5 in ledger. In hledger they are 2,000, which means two.
#   - Neither says that a journal has numbers of two kinds. Each transaction balances.
# What follows: an export has one decimal mark, no sign for thousands, and as many decimals as the currency. Where a program is
# told the style (decimal-mark, --decimal-comma), tell it.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir debs root
(cd debs && apt-get download -qq ledger=3.3.0-3 hledger=1.25-2+b5 libboost-filesystem1.74.0 libboost-iostreams1.74.0 libboost-python1.74.0 \
  libboost-regex1.74.0 libpython3.11 libicu72 libmpfr6 libgmp10 libexpat1 2>/dev/null)
for deb in debs/*.deb; do dpkg-deb -x "$deb" root; done
LD_LIBRARY_PATH=$dir/root/usr/lib/$(uname -m)-linux-gnu:$dir/root/usr/lib/ledger
export LD_LIBRARY_PATH LEDGER_FILE=$dir/journal

# total prints the sum that a program finds for amounts, in this order.
total() {
  local program=$1 amount
  shift
  {
    echo "2026-11-30 order"
    for amount; do echo "  Assets:Cash  $amount EUR"; done
    echo "  Income:Sales"
  } >journal
  "root/usr/bin/$program" -f journal balance Assets:Cash | awk 'NR == 1 { print $1 }'
}
{
  for amounts in "1,5 2,125" "2,125 1,5" "2.000 12.500,00" "12.500,00 2.000" "1,500 0.5" "0.5 1,500"; do
    read -ra list <<<"$amounts"
    echo "$amounts: ledger $(total ledger "${list[@]}"), hledger $(total hledger "${list[@]}")"
  done
} | tee seen
diff seen - <<'SEEN'
1,5 2,125: ledger 3,625, hledger 3,625
2,125 1,5: ledger 2.126,5, hledger 3,625
2.000 12.500,00: ledger 12.502,000, hledger 12.502,000
12.500,00 2.000: ledger 14.500,00, hledger 12.502,000
1,500 0.5: ledger 1,500.5, hledger 2,000
0.5 1,500: ledger 1,500.5, hledger 2.000
SEEN
