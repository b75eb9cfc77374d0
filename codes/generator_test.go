package codes_test

import (
	"bytes"
	"crypto/aes"
	"crypto/hkdf"
	"crypto/sha256"
	"iter"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/codes"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

var secret = []byte("0123456789abcdef0123456789abcdef")

func generator(t require.TestingT, shape coupon.CodeShape) *codes.Generator {
	g, err := codes.NewGenerator(secret, shape)
	require.NoError(t, err)
	return g
}

func sequence(t require.TestingT, g *codes.Generator, first, end uint64) iter.Seq[coupon.Code] {
	s, err := g.Codes(first, end)
	require.NoError(t, err)
	return s
}

// The codes of a key, a shape and a number never change: they are in letters and in shops.
func TestTheCodesOfAKeyNeverChange(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		shape coupon.CodeShape
		first uint64
		want  []string
	}{
		{coupon.CodeShape{}, 0, []string{"432HTH8CKTM6H", "25W4CW9C72KR3", "XW5X73666P889"}},
		{coupon.CodeShape{Symbols: 8}, 1_000_000, []string{"9JKMTMC1W", "24C08W51V", "2M2V9K4X3"}},
		{coupon.CodeShape{Symbols: 13, Prefix: "summer"}, 0, []string{"SUMMER-6X243K8MH9H0P6", "SUMMER-96MF6C11X0CMK5", "SUMMER-K4V8KPKWH71C08"}},
		{coupon.CodeShape{Pattern: "XXXX-XXXX-XXXX", Prefix: "VIP"}, 0, []string{"VIP-RW6C-02MT-01FH", "VIP-VV5X-WCX5-6MCX", "VIP-9F1J-755M-216P"}},
		{coupon.CodeShape{Symbols: 28}, math.MaxUint64 - 3, []string{"FXMW1TC97HPPP2X9P027496WP7XTM", "VKCKRCC0WTCK40W505240MMFVV6W7", "1V82PMT054CHH41409H8R9TH5V0V8"}},
	} {
		var got []string
		for code := range sequence(t, generator(t, test.shape), test.first, test.first+3) {
			got = append(got, code.String())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.shape, diff)
		}
	}
}

// All numbers of a small space have codes, all codes are different, and they are all codes that there are.
func TestEveryCodeHasOneNumber(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		prefix, pattern string
		symbols, want   int
	}{
		{"", "XXX", 2, 22 * 21},
		{"", "XX-XX", 3, 22 * 22 * 21},
		{"SALE", "XXXX", 3, 22 * 22 * 21},
		{"Ü", "XXXX-X", 4, 22 * 22 * 22 * 21},
	} {
		g, err := codes.SmallGenerator(secret, test.prefix, test.pattern, test.symbols)
		require.NoError(t, err)
		require.Equal(t, uint64(test.want), g.Capacity())
		seen := map[coupon.Code]bool{}
		for code := range sequence(t, g, 0, g.Capacity()) {
			read, ok := g.Form().Read(code)
			require.True(t, ok && read == code, code)
			require.False(t, seen[code], "%s comes twice", code)
			seen[code] = true
		}
		require.Len(t, seen, test.want)
	}
}

// oracle computes a code as the package comment describes it, with large numbers and texts.
func oracle(t require.TestingT, key []byte, shape coupon.CodeShape, number uint64) string {
	shape, err := shape.Normalize()
	require.NoError(t, err)
	derived, err := hkdf.Key(sha256.New, key, nil, "couponkit codes 1\x00"+shape.Prefix+"\x00"+shape.Pattern, 16)
	require.NoError(t, err)
	block, err := aes.NewCipher(derived)
	require.NoError(t, err)
	round := func(i byte, x *big.Int) *big.Int {
		in := append([]byte{i}, make([]byte, 15)...)
		x.FillBytes(in[8:])
		block.Encrypt(in, in)
		return new(big.Int).SetBytes(in)
	}
	of := func(n int) *big.Int { return new(big.Int).Exp(big.NewInt(22), big.NewInt(int64(n)), nil) }
	half := shape.Symbols / 2
	a, b := of(half), new(big.Int).Mul(of(shape.Symbols-half-1), big.NewInt(21))
	right, left := new(big.Int).DivMod(new(big.Int).SetUint64(number), a, new(big.Int))
	for i := byte(0); i < 10; i += 2 {
		left.Mod(left.Add(left, round(i, right)), a)
		right.Mod(right.Add(right, round(i+1, left)), b)
	}
	right, last := right.DivMod(right, big.NewInt(21), new(big.Int))
	digits := func(n *big.Int, length int) string {
		text := n.Text(22)
		return strings.Map(func(r rune) rune {
			return rune(coupon.CodeSymbols[strings.IndexRune("0123456789abcdefghijkl", r)])
		}, strings.Repeat("0", length-len(text))+text)
	}
	begin := digits(left, half) + digits(right, shape.Symbols-half-1)
	// Try all endings in the order of symbols, and count those that have a check symbol.
	for _, symbol := range coupon.CodeSymbols {
		for _, check := range coupon.CodeSymbols {
			at, text := 0, []byte(shape.Pattern)
			all := begin + string(symbol) + string(check)
			for i := range text {
				if text[i] == 'X' {
					text[i], at = all[at], at+1
				}
			}
			code := string(text)
			if shape.Prefix != "" {
				code = shape.Prefix + "-" + code
			}
			if _, ok := codes.AsGenerated(coupon.StoredCode(code)); !ok {
				continue
			}
			if last.Sign() == 0 {
				return code
			}
			last.Sub(last, big.NewInt(1))
		}
	}
	return "none"
}

// The codes are those of the documented construction.
func TestTheConstruction(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOfN(rapid.Byte(), codes.MinKeyLength, 64).Draw(t, "key")
		shape := shapes().Draw(t, "shape")
		g, err := codes.NewGenerator(key, shape)
		require.NoError(t, err)
		number := rapid.Uint64Range(0, g.Capacity()-1).Draw(t, "number")
		for code := range sequence(t, g, number, number+1) {
			require.Equal(t, oracle(t, key, shape, number), code.String())
		}
	})
}

// A sequence that goes on where another one stopped has the same codes as one sequence.
func TestASequenceCanBeResumed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		shape := shapes().Draw(t, "shape")
		first := rapid.Uint64Range(0, generator(t, shape).Capacity()-60).Draw(t, "first")
		n := rapid.IntRange(0, 60).Draw(t, "codes")
		stop := rapid.IntRange(0, n).Draw(t, "stop")
		whole := slices.Collect(sequence(t, generator(t, shape), first, first+uint64(n)))
		require.Len(t, whole, n)
		var begin []coupon.Code
		for code := range sequence(t, generator(t, shape), first, first+uint64(n)) {
			if len(begin) == stop {
				break
			}
			begin = append(begin, code)
		}
		rest := slices.Collect(sequence(t, generator(t, shape), first+uint64(stop), first+uint64(n)))
		require.Equal(t, whole, append(begin, rest...)[:n:n])
	})
}

// Two batches of one key and shape have no code in common, wherever their numbers are.
func TestBatchesHaveNoCodeInCommon(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := generator(t, shapes().Draw(t, "shape"))
		middle := rapid.Uint64Range(500, g.Capacity()-500).Draw(t, "middle")
		seen := map[coupon.Code]bool{}
		for _, batch := range [][2]uint64{{0, 200}, {middle - 100, middle}, {middle, middle + 100}, {g.Capacity() - 200, g.Capacity()}} {
			for code := range sequence(t, g, batch[0], batch[1]) {
				require.False(t, seen[code], "%s is in two batches", code)
				seen[code] = true
			}
		}
	})
}

// Another key and another shape have other codes, at each number.
func TestKeysAndShapesAreIndependent(t *testing.T) {
	t.Parallel()
	other := bytes.Repeat([]byte{1}, codes.MinKeyLength)
	withOther, err := codes.NewGenerator(other, coupon.CodeShape{})
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, g := range []*codes.Generator{
		generator(t, coupon.CodeShape{}), withOther, generator(t, coupon.CodeShape{Prefix: "A"}), generator(t, coupon.CodeShape{Prefix: "B"}),
		generator(t, coupon.CodeShape{Symbols: 11}), generator(t, coupon.CodeShape{Pattern: "XXXX-XXXX-XXXX"}),
	} {
		for code := range sequence(t, g, 0, 100) {
			symbols := strings.ReplaceAll(strings.TrimLeft(code.String(), "AB-"), "-", "")[:11]
			require.False(t, seen[symbols], "%s looks like another one", code)
			seen[symbols] = true
		}
	}
}

// Symbols and pairs of codes with neighboring numbers are as frequent as by chance. The key is fixed, and so is the result.
func TestCodesLookRandom(t *testing.T) {
	t.Parallel()
	const n = 22 * 22 * 200
	var symbols [coupon.MinCodeSymbols][22]int
	var same [coupon.MinCodeSymbols]int
	before := ""
	for code := range sequence(t, generator(t, coupon.CodeShape{Symbols: coupon.MinCodeSymbols}), 0, n) {
		key := code.String()
		for i := range symbols {
			symbols[i][strings.IndexByte(coupon.CodeSymbols, key[i])]++
			if before != "" && key[i] == before[i] {
				same[i]++
			}
		}
		before = key
	}
	for i := range symbols {
		const expected = n / 22
		square := 0
		for _, count := range symbols[i] {
			square += (count - expected) * (count - expected)
		}
		// The last random symbol is one of 21 and a little less even.
		if bound := 50 * expected; square > bound && i < coupon.MinCodeSymbols-1 {
			t.Errorf("place %d: chi square is %d, with 21 degrees of freedom", i, square/expected)
		}
		if diff := same[i] - expected; diff*diff > 25*expected {
			t.Errorf("place %d: %d of %d neighbors have the same symbol", i, same[i], n)
		}
	}
}

// A short key is refused, and so are an invalid shape and numbers that the shape does not have.
func TestLimitsOfAGenerator(t *testing.T) {
	t.Parallel()
	_, err := codes.NewGenerator(secret[:codes.MinKeyLength-1], coupon.CodeShape{})
	require.ErrorIs(t, err, codes.ErrShortKey)
	_, err = codes.NewGenerator(nil, coupon.CodeShape{})
	require.ErrorIs(t, err, codes.ErrShortKey)
	_, err = codes.NewGenerator(secret[:codes.MinKeyLength], coupon.CodeShape{})
	require.NoError(t, err)
	_, err = codes.NewGenerator(secret, coupon.CodeShape{Symbols: 1})
	require.ErrorIs(t, err, validation.ErrInvalid)

	g := generator(t, coupon.CodeShape{Symbols: coupon.MinCodeSymbols})
	require.Equal(t, uint64(22*22*22*22*22*22*22*21), g.Capacity())
	require.Equal(t, uint64(math.MaxUint64), generator(t, coupon.CodeShape{Symbols: coupon.MaxCodeSymbols}).Capacity())
	require.Empty(t, slices.Collect(sequence(t, g, g.Capacity(), g.Capacity())))
	require.Empty(t, slices.Collect(sequence(t, g, 0, 0)))
	for want, numbers := range map[string][2]uint64{
		"first": {2, 1}, "end": {0, g.Capacity() + 1}, "first end": {math.MaxUint64, math.MaxUint64 - 1},
	} {
		_, err := g.Codes(numbers[0], numbers[1])
		var invalid *validation.Error
		require.ErrorAs(t, err, &invalid)
		var fields []string
		for _, f := range invalid.Fields {
			fields = append(fields, f.Path)
		}
		require.Equal(t, want, strings.Join(fields, " "))
	}
}

// A sequence allocates the text of each code, and nothing else.
func TestACodeAllocatesItsText(t *testing.T) {
	const n = 1_000
	g := generator(t, coupon.CodeShape{Prefix: "SUMMER", Symbols: 16})
	allocated := testing.AllocsPerRun(10, func() {
		for range sequence(t, g, 0, n) {
		}
	})
	require.Less(t, allocated, float64(n+10))
}

// The speed of a code: divide 10¹⁰ by the nanoseconds of an operation for the codes of ten seconds.
func BenchmarkCodes(b *testing.B) {
	for name, shape := range map[string]coupon.CodeShape{
		"12 symbols": {}, "28 symbols": {Symbols: coupon.MaxCodeSymbols}, "a pattern": {Prefix: "SUMMER", Pattern: "XXXX-XXXX-XXXX-XXXX"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			g := generator(b, shape)
			for code := range sequence(b, g, 0, uint64(b.N)) {
				if code.IsZero() {
					b.Fatal("no code")
				}
			}
		})
	}
}
