// Package codecsv reads and writes codes as CSV, as spreadsheets and other coupon systems write it.
//
// A [Reader] turns each row into a draft of a code, or tells why the row is refused. A [Writer] exports issued codes. Both
// need constant memory, whatever the size of the file. The package has no database: who imports decides what happens with
// a code that exists.
//
// # Columns
//
// The first row names the columns. Letter case, spaces, dashes and underscores in names are ignored. The order is free.
//
//	field      ours       Talon.One               Voucherify
//	code       code       value                   Code
//	owner      owner      recipientintegrationid
//	           customerId
//	           email
//	maxUses    maxUses    limitval                Redemption Limit, redemption_quantity
//	usedCount  usedCount  counter                 Redeemed Quantity, redemption_count
//	expiresAt  expiresAt  expirydate              Expiration Date
//	active     active                             Active
//
// A column named value has the codes only if there is no column named code: the Value of Voucherify is a discount. In a
// Talon.One file, a limit of 0 means none, and an empty or absent limit means one use. Elsewhere an empty limit means
// none. An owner of ours is "id:" and a customer ID, or an address, perhaps after "email:". A recipient is a customer ID. The
// customer ID of a Voucherify file, which has a column Voucher Type, is ignored: other customers may use the voucher.
//
// A [RecipientReader] reads a list of customers who are to get codes, with one column owner, customerId,
// recipientintegrationid or email. A list of owners alone needs no header.
//
// A code cannot keep everything that other systems have. A row is refused rather than loosened if it has a start date, a
// limit of discounts or further limits, days or times of validity, if it needs a reservation, if its voucher is no discount
// voucher, or if it is marked as deleted. [Options].Ignore names columns that may be lost. All other columns are ignored. A
// misspelled column is ignored, too, so tell the names of [Reader.Ignored] to whoever has sent the file.
//
// # Cells
//
//   - Cells are separated by commas, semicolons, tabs or vertical bars. The header, or a first row such as sep=; decides.
//   - Rows end with LF, CR LF or CR. Quoted cells may contain all of them. Empty rows are counted and skipped.
//   - A byte order mark of UTF-8 is skipped. UTF-16 and files of spreadsheet programs are refused.
//   - Leading zeros stay. A cell ="0012" is 0012. A code that a spreadsheet has shortened, such as 1.2E+12, is refused.
//   - A whole number may have decimals that are zero: 5.0 or 5,00. A cell 1.000 or 1,000 may be one or a thousand, and is
//     refused.
//   - Dates are read in all usual forms that have one meaning: 2026-12-31, 31.12.2026, 2026/12/31, 31/12/2026,
//     31-Dec-2026, Dec 31, 2026. A date such as 03/04/2026 is refused. Instants may have no zone; see [Options].Location.
//   - True and false may be words, also in German, French, Italian, Spanish or Dutch, or 1 and 0.
//
// # Formulas
//
// Spreadsheets run cells that begin with an equals sign, plus, minus, @, tab or line break. The Writer puts an apostrophe
// before such cells, and before cells that look like shortened numbers. The Reader takes the apostrophe away. This works
// in a spreadsheet that splits cells at the same separator.
//
// A spreadsheet drops leading zeros of codes that have digits only. Codes with a prefix or with groups stay whole.
package codecsv
