package codes_test

import (
	"crypto/rand"
	"errors"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/codes"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

// typable are characters that people type in place of others.
const typable = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.%+ÄÖÜÉÑÇß"

// confused are the symbols that people confuse, with that of the alphabet first.
var confused = []string{"0OQD", "1IL", "2Z", "4A", "5S", "6G", "8B", "MN", "VUY"}

// alike returns the symbols that may be meant by r, itself included.
func alike(r byte) string {
	for _, class := range confused {
		if strings.IndexByte(class, r) >= 0 {
			return class
		}
	}
	return string(r)
}

func shapes() *rapid.Generator[coupon.CodeShape] {
	return rapid.Custom(func(t *rapid.T) coupon.CodeShape {
		shape := coupon.CodeShape{Prefix: rapid.SampledFrom([]string{"", "", "SUMMER", "A-B", "T", "0", "Ü", "10%"}).Draw(t, "prefix")}
		if rapid.Bool().Draw(t, "several groups") {
			shape.Pattern = rapid.SampledFrom([]string{"XXXX-XXXX-XXXX", "XXX-XXX-XXX", "XXXXXXXX-XXXXXXXX", "XX-XX-XX-XX-XX-XX"}).Draw(t, "pattern")
		} else {
			shape.Symbols = rapid.SampledFrom([]int{0, coupon.MinCodeSymbols, 9, coupon.MaxCodeSymbols}).Draw(t, "symbols")
		}
		return shape
	})
}

func form(t require.TestingT, shape coupon.CodeShape) codes.Form {
	f, err := codes.NewForm(shape)
	require.NoError(t, err)
	return f
}

// drawn returns a code of the form from a random source that rapid controls.
func drawn(t *rapid.T, f codes.Form) coupon.Code {
	random := rapid.SliceOfN(rapid.Byte(), 8*coupon.MaxCodeSymbols, 8*coupon.MaxCodeSymbols).Draw(t, "random")
	code, err := f.Random(strings.NewReader(string(random)))
	require.NoError(t, err)
	return code
}

func typed(t require.TestingT, text string) coupon.Code {
	code, err := coupon.TypedCode(text)
	require.NoError(t, err, text)
	return code
}

// parts returns the prefix with its dash, and the symbols with the dashes between them.
func parts(f codes.Form, code coupon.Code) (prefix, symbols string) {
	at := len(code.String()) - len(f.Shape().Pattern)
	return code.String()[:at], code.String()[at:]
}

// The alphabet has one symbol of each group that people confuse, and its number is one below a prime.
func TestTheAlphabet(t *testing.T) {
	t.Parallel()
	require.Len(t, coupon.CodeSymbols, 22)
	for _, class := range confused {
		require.Equal(t, 1, strings.Count(coupon.CodeSymbols, class[:1]))
		require.False(t, strings.ContainsAny(coupon.CodeSymbols, class[1:]), "of %s the alphabet has one", class)
	}
	for _, vowel := range "AEIOU" {
		require.NotContains(t, coupon.CodeSymbols, string(vowel))
	}
}

// A code has its shape, is normalized, and is read as itself, with its shape and without.
func TestCodesHaveTheirShape(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := form(t, shapes().Draw(t, "shape"))
		code := drawn(t, f)
		prefix, symbols := parts(f, code)
		pattern := strings.Map(func(r rune) rune {
			if strings.ContainsRune(coupon.CodeSymbols, r) {
				return 'X'
			}
			return r
		}, symbols)
		require.Equal(t, f.Shape().Pattern, pattern)
		if p := f.Shape().Prefix; p != "" {
			require.Equal(t, p+"-", prefix)
		}
		require.Equal(t, code, typed(t, code.String()), "the key of a code is itself")
		read, ok := f.Read(code)
		require.True(t, ok && read == code, "%s is read as %s", code, read)
		read, ok = codes.AsGenerated(code)
		require.True(t, ok && read == code, "%s is read without its shape as %s", code, read)
	})
}

// samples are shapes whose codes are tried in every place.
var samples = []coupon.CodeShape{
	{},
	{Symbols: coupon.MinCodeSymbols},
	{Symbols: coupon.MaxCodeSymbols},
	{Prefix: "SUMMER"},
	{Prefix: "ÉTÉ-2027", Symbols: 9},
	{Pattern: "XXXX-XXXX-XXXX"},
	{Prefix: "VIP", Pattern: "XXXX-XXXX-XXXX-XXXX"},
	{Prefix: "GIFT-2027-A", Pattern: "XXX-XXX-XXX"},
}

// sampleCodes returns codes of each sample, with their forms.
func sampleCodes(t *testing.T) iter.Seq2[codes.Form, coupon.Code] {
	t.Helper()
	return func(yield func(codes.Form, coupon.Code) bool) {
		for _, shape := range samples {
			g, err := codes.NewGenerator(secret, shape)
			require.NoError(t, err)
			for code := range sequence(t, g, 0, 40) {
				if !yield(g.Form(), code) {
					return
				}
			}
		}
	}
}

// One wrong character is refused in every place, also in the prefix, unless it is read as the right one.
func TestEveryWrongCharacterIsRefused(t *testing.T) {
	t.Parallel()
	for f, code := range sampleCodes(t) {
		key := []rune(code.String())
		prefix, _ := parts(f, code)
		for i := range key {
			for _, r := range typable {
				wrong := string(key[:i]) + string(r) + string(key[i+1:])
				right := r == key[i] || i >= len([]rune(prefix)) && key[i] < 128 && strings.ContainsRune(alike(byte(key[i])), r)
				if read, ok := f.Read(typed(t, wrong)); ok != right || ok && read != code {
					t.Errorf("%s for %s is read as %s, %t", wrong, code, read, ok)
				}
			}
			if read, ok := f.Read(typed(t, string(key[:i])+string(key[i+1:]))); ok {
				t.Errorf("%s without character %d is read as %s", code, i, read)
			}
		}
	}
}

// Two neighbors that are swapped are refused in every place, also in the prefix, unless they are alike.
func TestEverySwapOfNeighborsIsRefused(t *testing.T) {
	t.Parallel()
	for f, code := range sampleCodes(t) {
		key := []rune(code.String())
		for i := range len(key) - 1 {
			swapped := string(key[:i]) + string(key[i+1]) + string(key[i]) + string(key[i+2:])
			if read, ok := f.Read(typed(t, swapped)); ok && read != code {
				t.Errorf("%s for %s is read as %s", swapped, code, read)
			} else if ok && key[i] != key[i+1] {
				t.Errorf("%s for %s is not refused", swapped, code)
			}
		}
	}
}

// Without the shape, wrong symbols and swapped symbols are refused all the same.
func TestWrongSymbolsAreRefusedWithoutTheShape(t *testing.T) {
	t.Parallel()
	for f, code := range sampleCodes(t) {
		key := code.String()
		prefix, _ := parts(f, code)
		for i := len(prefix); i < len(key); i++ {
			for _, r := range coupon.CodeSymbols + "-" {
				wrong := key[:i] + string(r) + key[i+1:]
				if read, ok := codes.AsGenerated(typed(t, wrong)); ok && wrong != key {
					t.Errorf("%s for %s is read as %s", wrong, code, read)
				}
			}
		}
		for i := max(len(prefix)-1, 0); i+1 < len(key); i++ {
			swapped := key[:i] + string(key[i+1]) + string(key[i]) + key[i+2:]
			if read, ok := codes.AsGenerated(typed(t, swapped)); ok && swapped != key {
				t.Errorf("%s for %s is read as %s", swapped, code, read)
			}
		}
	}
}

// Without the shape, 1 in 22 wrong letters of a prefix counts like the right one. The shape refuses it.
func TestAWrongLetterInThePrefix(t *testing.T) {
	t.Parallel()
	f := form(t, coupon.CodeShape{Prefix: "SUMMER"})
	code, err := f.Random(rand.Reader)
	require.NoError(t, err)
	missed := 0
	for _, r := range "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		wrong := typed(t, "SUMM"+string(r)+strings.TrimPrefix(code.String(), "SUMME"))
		read, ok := f.Read(wrong)
		require.Equal(t, r == 'E', ok, "%s is read as %s", wrong, read)
		if _, ok := codes.AsGenerated(wrong); ok && r != 'E' {
			missed++
			require.Equal(t, '3', r)
		}
	}
	require.Equal(t, 1, missed)
}

// However the confusable symbols are typed, and in whatever case, the code is found.
func TestConfusedSymbolsAreRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := form(t, shapes().Draw(t, "shape"))
		code := drawn(t, f)
		prefix, symbols := parts(f, code)
		confusion := []byte(symbols)
		for i := range confusion {
			confusion[i] = rapid.SampledFrom([]byte(alike(confusion[i]))).Draw(t, "typed")
		}
		text := prefix + string(confusion)
		if rapid.Bool().Draw(t, "lower") {
			text = " " + strings.ToLower(text) + "\u200b"
		}
		read, ok := f.Read(typed(t, text))
		require.True(t, ok && read == code, "%q is read as %q; want %q", text, read, code)
		read, ok = codes.AsGenerated(typed(t, text))
		require.True(t, ok && read == code, "%q is read without its shape as %q; want %q", text, read, code)
	})
}

// A text without the form of a generated code is not read.
func TestTextsThatAreNoGeneratedCodes(t *testing.T) {
	t.Parallel()
	f := form(t, coupon.CodeShape{})
	for _, text := range []string{
		"SUMMER10", "A", "-", "--", "00000000", "PREFIX-", "0000-0000", strings.Repeat("1", coupon.MaxCodeSymbols+2), "ÜÜÜÜÜÜÜÜÜÜ", "EEEEEEEEEEEEE",
		"0000000000000", // the check sum is not 0
		strings.Repeat("0-", 100) + "0",
	} {
		read, ok := codes.AsGenerated(typed(t, text))
		require.False(t, ok, "%s is read as %s", text, read)
		_, ok = f.Read(typed(t, text))
		require.False(t, ok, text)
	}
	short, err := codes.SmallGenerator(secret, "A", "XXXXXXXX", coupon.MinCodeSymbols-1)
	require.NoError(t, err)
	for code := range sequence(t, short, 0, 10) {
		_, ok := codes.AsGenerated(code)
		require.False(t, ok, "%s has the right check symbol, and is too short", code)
	}
	_, ok := codes.AsGenerated(coupon.Code{})
	require.False(t, ok)
	_, ok = f.Read(coupon.Code{})
	require.False(t, ok)
	_, ok = codes.Form{}.Read(coupon.Code{})
	require.False(t, ok, "the zero form has no codes")
}

// A code needs a valid shape, and a random source that has enough bytes.
func TestRandomCodesNeedRandomness(t *testing.T) {
	t.Parallel()
	_, err := codes.NewForm(coupon.CodeShape{Prefix: "A B", Symbols: 1})
	require.ErrorIs(t, err, validation.ErrInvalid)
	f := form(t, coupon.CodeShape{})
	broken := errors.New("no entropy")
	_, err = f.Random(iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
	_, err = f.Random(strings.NewReader("short"))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = f.Random(nil)
	require.Error(t, err)
	_, err = codes.Form{}.Random(rand.Reader)
	require.Error(t, err)
	one, err := f.Random(rand.Reader)
	require.NoError(t, err)
	other, err := f.Random(rand.Reader)
	require.NoError(t, err)
	require.NotEqual(t, one, other)
}

// Whatever is typed: a reading is a code of its own, and the shape finds no other reading.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"summer-4f7k2xw9r1cm8", "VIP-O1IL-2Z4A-5S6G-8BMN", "0-0-0-0-0-0-0-0-0-0", "Ü-\u200b000000000", "cpn_1"} {
		f.Add(seed)
	}
	var forms []codes.Form
	for _, shape := range samples {
		forms = append(forms, form(f, shape))
	}
	f.Fuzz(func(t *testing.T, text string) {
		code, err := coupon.TypedCode(text)
		if err != nil {
			return
		}
		generated, ok := codes.AsGenerated(code)
		if again, same := codes.AsGenerated(generated); ok && (!same || again != generated) {
			t.Errorf("%q is read as %q, and that as %q", text, generated, again)
		}
		for _, form := range forms {
			read, is := form.Read(code)
			if is && (!ok || read != generated) {
				t.Errorf("%q of %+v is read as %q, and without the shape as %q", text, form.Shape(), read, generated)
			}
			if again, same := form.Read(read); is && (!same || again != read) {
				t.Errorf("%q is read as %q, and that as %q", text, read, again)
			}
		}
	})
}

// TestRefuses: a form refuses what has its form and a wrong check symbol, and nothing else.
func TestRefuses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		form, err := codes.NewForm(coupon.CodeShape{Prefix: "SPRING", Symbols: 12})
		require.NoError(t, err)
		text := "SPRING-" + rapid.StringOfN(rapid.RuneFrom([]rune(coupon.CodeSymbols+"AEO-")), 13, 16, -1).Draw(t, "text")
		code, err := coupon.ParseCode(text)
		require.NoError(t, err)
		_, read := form.Read(code)
		if form.Refuses(code) {
			require.False(t, read)
			repaired := 0
			for _, symbol := range coupon.CodeSymbols {
				other, err := coupon.ParseCode(text[:len(text)-1] + string(symbol))
				require.NoError(t, err)
				if _, ok := form.Read(other); ok {
					repaired++
				}
			}
			require.LessOrEqual(t, repaired, 1)
		}
	})
	require.False(t, codes.Form{}.Refuses(coupon.StoredCode("X")))
}
