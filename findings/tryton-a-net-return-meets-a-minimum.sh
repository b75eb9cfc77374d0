#!/usr/bin/env bash
# Promotions of an ERP in Debian: 10 % off from 100, on an exchange; on a price that was agreed; and two of them in one sale.
#
# Guess before the run: a sale below zero does not meet a minimum of 100. 10 % off is off the price of the line. Which promotion
# was entered first does not matter.
# Seen (tryton-server 6.0.29 of Debian 12 with sale_promotion 6.0.2, on SQLite in memory):
#   - Each sale below zero meets every minimum: the sign is compared as well, for minimums below zero. One pen at 2 is too
#     little. Beside a lamp that comes back for 20, the pen has 10 % off.
#   - The formula has the product's list price, and not the one of the line. A lamp agreed at 25 instead of 20 costs 18 with 10 %
#     off. Agreed at 15 it stays at 15, and agreed at 18.50 it costs 18.
#   - Of 10 % and 20 % the customer has 20 %.
#   - A free pen, and 10 % from ten pieces on: eight lamps and two pens cost 160 or 144. Where the free pens were entered
#     first, they no longer count among the ten.
#   - "unit_price / 3" is rounded by piece to four decimals, and by line to cents: three lamps at 6.6667 cost 20.00.
# What follows: facts of a cart (its sum, its pieces) are computed once, before the first discount. A minimum compares what is
# bought, without what comes back. A property permutes the coupons.
# The run takes half a minute.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
mkdir debs root
(cd debs && apt-get download -qq tryton-server=6.0.29-2+deb12u4 tryton-proteus=6.0.8-1 tryton-modules-currency=6.0.4-2 tryton-modules-country=6.0.3-2 \
  tryton-modules-party=6.0.3-2 tryton-modules-company=6.0.6-2 tryton-modules-account=6.0.15-1 tryton-modules-product=6.0.3-3 \
  tryton-modules-account-product=6.0.3-2 tryton-modules-account-invoice=6.0.9-1 tryton-modules-stock=6.0.18-1 \
  tryton-modules-account-invoice-stock=6.0.1-2 tryton-modules-product-price-list=6.0.0-3 tryton-modules-sale=6.0.10-1 \
  tryton-modules-sale-price-list=6.0.1-3 tryton-modules-sale-promotion=6.0.2-2 python3-bcrypt python3-dateutil python3-defusedxml \
  python3-genshi python3-lxml python3-magic python3-markupsafe python3-passlib python3-pkg-resources python3-polib python3-relatorio \
  python3-simpleeval python3-six python3-sql python3-stdnum python3-werkzeug python3-wrapt python3.11-minimal \
  libpython3.11-minimal libpython3.11-stdlib libexpat1 libffi8 libicu72 libmagic-mgc libmagic1 libsqlite3-0 libxml2 libxslt1.1 2>/dev/null)
for deb in debs/*.deb; do dpkg-deb -x "$deb" root; done
LD_LIBRARY_PATH=$dir/root/usr/lib/$(uname -m)-linux-gnu:$dir/root/lib/$(uname -m)-linux-gnu
export LD_LIBRARY_PATH PYTHONHOME=$dir/root/usr PYTHONPATH=$dir/root/usr/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1
export MAGIC=$dir/root/usr/lib/file/magic.mgc DB_NAME=:memory: TRYTOND_DATABASE_URI=sqlite://
cat >sales.py <<'PY'
from decimal import Decimal

from proteus import Model
from trytond.modules.company.tests.tools import create_company, get_company
from trytond.tests.tools import activate_modules

config = activate_modules(["sale_promotion"])
create_company()
company = get_company()
customer = Model.get("party.party")(name="Customer")
customer.save()
unit, = Model.get("product.uom").find([("name", "=", "Unit")])
Product, Promotion, Sale = (Model.get(name) for name in ("product.product", "sale.promotion", "sale.sale"))


def product(name, price):
    template = Model.get("product.template")(
        name=name, default_uom=unit, type="goods", salable=True, list_price=Decimal(price))
    template.save()
    return template.products[0].id


def promotion(name, formula, products=(), **facts):
    made = Promotion(name=name, formula=formula, **facts)
    made.products.extend([Product(item) for item in products])
    made.save()
    return made


def sell(*lines):
    sale = Sale(party=customer)
    for item, quantity, *price in lines:
        line = sale.lines.new()
        line.product, line.quantity = Product(item), quantity
        if price:
            line.unit_price = Decimal(price[0])
    sale.save()
    before = sale.untaxed_amount
    sale.click("quote")
    return f"{before} becomes {sale.untaxed_amount}"


def show(title, promotions, *sales):
    made = [make() for make in promotions]
    for name, lines in sales:
        print(f"{title}, {name}: {sell(*lines)}")
    for each in made:
        each.active = False
        each.save()


lamp, pen = product("Lamp", "20"), product("Pen", "2")
show("10 % from 100", [lambda: promotion("from 100", "0.9 * unit_price", amount=Decimal(100), currency=company.currency)],
     ("a pen", [(pen, 1)]), ("50 pens", [(pen, 50)]), ("a pen, a lamp back", [(pen, 1), (lamp, -1)]))
ten = lambda: promotion("10 %", "0.9 * unit_price")
show("10 %", [ten], ("agreed at 25", [(lamp, 1, "25")]), ("agreed at 18.50", [(lamp, 1, "18.50")]), ("agreed at 15", [(lamp, 1, "15")]))
show("10 % and 20 %", [ten, lambda: promotion("20 %", "0.8 * unit_price")], ("a lamp", [(lamp, 1)]))
free = lambda: promotion("free pens", "0.0", [pen])
many = lambda: promotion("from ten pieces", "0.9 * unit_price", quantity=10, unit=unit)
cart = ("eight lamps, two pens", [(lamp, 8), (pen, 2)])
show("free pens, then from ten", [free, many], cart)
show("from ten, then free pens", [many, free], cart)
show("a third", [lambda: promotion("a third", "unit_price / 3")], ("a lamp", [(lamp, 1)]), ("three lamps", [(lamp, 3)]))
PY
root/usr/bin/python3.11 sales.py 2>/dev/null | tee seen
diff seen - <<'SEEN'
10 % from 100, a pen: 2.00 becomes 2.00
10 % from 100, 50 pens: 100.00 becomes 90.00
10 % from 100, a pen, a lamp back: -18.00 becomes -18.20
10 %, agreed at 25: 25.00 becomes 18.00
10 %, agreed at 18.50: 18.50 becomes 18.00
10 %, agreed at 15: 15.00 becomes 15.00
10 % and 20 %, a lamp: 20.00 becomes 16.00
free pens, then from ten, eight lamps, two pens: 164.00 becomes 160.00
from ten, then free pens, eight lamps, two pens: 164.00 becomes 144.00
a third, a lamp: 20.00 becomes 6.67
a third, three lamps: 60.00 becomes 20.00
SEEN
