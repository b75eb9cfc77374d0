// Package codes generates coupon codes, and checks typed codes before any database is asked.
//
// A [coupon.CodeShape] describes the form of codes. A [Form] writes and reads codes of one shape, and a [Generator] makes
// millions of them from a secret key. A [Policy] tells which shapes are long enough. The package does no I/O.
//
// # Symbols and check symbol
//
// There is one alphabet, the 22 symbols of [coupon.CodeSymbols]. A typed code does not tell its shape. With several
// alphabets, the same text would have several readings. One more symbol is the most that could be added: the vowel E.
//
// The dash counts 0, and the symbols count 1 to 22. Each character is multiplied by a power of 5, and the sum of a code
// is 0 modulo 23. 23 is a prime number. One wrong symbol changes the sum, because neither the difference nor the power is
// a multiple of 23. Two swapped neighbors change the sum, because their powers differ and their values differ. The dash
// is no check symbol. The last random symbol is therefore one of 21: that which needs the dash is left out.
//
// A check symbol has 22 values, but a prefix can have any letter. So no check symbol refuses every wrong letter in the
// prefix. [Form.Read] compares the prefix itself, and refuses them all.
//
// # Construction
//
// The code of a number is a permutation of the number, written as symbols. A permutation gives different numbers
// different codes, so that nobody must look up or remember which codes exist. Without the key, the codes look random, and
// known codes tell nothing about others.
//
// For n random symbols, the numbers are those below 22ⁿ⁻¹ × 21. The permutation follows FF1 of NIST SP 800-38G, a
// Feistel network of ten rounds. The halves are numbers of ⌊n/2⌋ symbols and of the rest, and are added modulo their
// ranges:
//
//	K = HKDF-SHA256(secret, salt: none, info: "couponkit codes 1" 00 prefix 00 pattern), 16 bytes
//	F(i, x) = AES-128(K, i as 1 byte, 7 bytes 00, x as 8 bytes)
//	A = 22^⌊n/2⌋, B = 22^(n-⌊n/2⌋-1) × 21
//	L = number mod A, R = number div A
//	for i = 0, 2, 4, 6, 8:  L = (L + F(i, R)) mod A;  R = (R + F(i+1, L)) mod B
//
// L, then R div 21, are written in base 22, the highest digit first. R mod 21 selects the last random symbol among those
// that have a check symbol.
//
//   - Addition modulo the ranges needs no cycle walking: each code takes ten blocks, whatever its shape. A network over
//     bits would walk up to four times.
//   - FF1 itself computes each round over text. Halves below 2⁶³ fit in a word: with 28 symbols, 10,000,000 codes take
//     seconds on one core.
//   - The smallest halves have 234,256 and 223,608 values. NIST asks for 1,000,000 values of the whole number.
//   - The key is derived from prefix and pattern, so that the codes of one shape tell nothing about those of another.
//
// A later version never changes the code of a number.
//
// # Batches
//
// Give each batch a range of numbers of its own, such as 0 to 999 and 1,000 to 5,999, and keep the range with the batch.
// Different numbers have different codes, so two batches of one key and shape have no code in common. A hash of the
// name of a batch could not promise that, because two names can have the same hash. Codes of another key or shape, and
// handmade codes, can be equal by chance: the store refuses a code that exists.
package codes
