package coupon_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

const alphabet = "0123456789CFHJKMPRTVWX"

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

func generated() *rapid.Generator[coupon.Code] {
	return rapid.Custom(func(t *rapid.T) coupon.Code {
		shape := coupon.CodeShape{
			Prefix:  rapid.SampledFrom([]string{"", "", "summer", "A-B", "T", "0", "Ü", "10%"}).Draw(t, "prefix"),
			Symbols: rapid.SampledFrom([]int{0, coupon.MinCodeSymbols, 9, coupon.MaxCodeSymbols}).Draw(t, "symbols"),
		}
		random := rapid.SliceOfN(rapid.Byte(), 8*coupon.MaxCodeSymbols, 8*coupon.MaxCodeSymbols).Draw(t, "random")
		code, err := coupon.GenerateCode(bytes.NewReader(random), shape)
		if err != nil {
			t.Fatal(err)
		}
		return code
	})
}

// parts returns the prefix with its dash, and the symbols.
func parts(code coupon.Code) (prefix, symbols string) {
	key := code.String()
	dash := strings.LastIndexByte(key, '-') + 1
	return key[:dash], key[dash:]
}

func readAsGenerated(t *rapid.T, text string) (coupon.Code, bool) {
	code, err := coupon.TypedCode(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return code.AsGenerated()
}

// The alphabet has one of each class, and a code is its own reading.
func TestGeneratedCodes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		code := generated().Draw(t, "code")
		_, symbols := parts(code)
		if strings.Trim(symbols, alphabet) != "" || len(symbols) <= coupon.MinCodeSymbols {
			t.Errorf("%q has other symbols", code)
		}
		if again, ok := code.AsGenerated(); !ok || again != code {
			t.Errorf("%q is read as %q, %t", code, again, ok)
		}
		if parsed, err := coupon.ParseCode(code.String()); err != nil || parsed != code {
			t.Errorf("%q is parsed as %q, %v", code, parsed, err)
		}
	})
	for _, class := range confused {
		require.Equal(t, 1, strings.Count(alphabet, class[:1]))
		require.False(t, strings.ContainsAny(alphabet, class[1:]), "of %s the alphabet has one", class)
	}
}

// Every replaced symbol is noticed, in every place behind the prefix.
func TestAReplacedSymbolIsNoticed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		code := generated().Draw(t, "code")
		prefix, symbols := parts(code)
		for i := range symbols {
			for _, r := range []byte("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-%") {
				meant, ok := readAsGenerated(t, prefix+symbols[:i]+string(r)+symbols[i+1:])
				if same := strings.IndexByte(alike(symbols[i]), r) >= 0; ok != same || ok && meant != code {
					t.Errorf("%s with %c in place %d is read as %q, %t", code, r, i, meant, ok)
				}
			}
		}
	})
}

// Two neighbors that are swapped are noticed, the dash of the prefix among them.
func TestSwappedNeighborsAreNoticed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		code := generated().Draw(t, "code")
		prefix, _ := parts(code)
		key := code.String()
		for i := max(len(prefix)-1, 0); i+1 < len(key); i++ {
			swapped := key[:i] + string(key[i+1]) + string(key[i]) + key[i+2:]
			if meant, ok := readAsGenerated(t, swapped); ok && swapped != key {
				t.Errorf("%s is read as %q", swapped, meant)
			}
		}
	})
}

// However the confusable symbols are typed, and in whatever case, the code is found.
func TestConfusedSymbolsAreRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		code := generated().Draw(t, "code")
		prefix, symbols := parts(code)
		typed := []byte(symbols)
		for i := range typed {
			typed[i] = rapid.SampledFrom([]byte(alike(typed[i]))).Draw(t, "typed")
		}
		text := prefix + string(typed)
		if rapid.Bool().Draw(t, "lower") {
			text = " " + strings.ToLower(text) + "\u200b"
		}
		if meant, ok := readAsGenerated(t, text); !ok || meant != code {
			t.Errorf("%q is read as %q, %t; want %q", text, meant, ok, code)
		}
	})
}

// What no code was generated as is not read as one.
func TestWhatIsNotGenerated(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"SUMMER10", "A", "-", "00000000", "PREFIX-", strings.Repeat("1", coupon.MaxCodeSymbols+2), "ÜÜÜÜÜÜÜÜÜÜ", "EEEEEEEEEEEEE"} {
		code, err := coupon.ParseCode(text)
		require.NoError(t, err)
		meant, ok := code.AsGenerated()
		require.False(t, ok, "%s is read as %s", text, meant)
	}
	_, ok := coupon.Code{}.AsGenerated()
	require.False(t, ok)
}

func TestTheShapeOfGeneratedCodes(t *testing.T) {
	t.Parallel()
	code, err := coupon.GenerateCode(rand.Reader, coupon.CodeShape{Prefix: " sommer‐24 "})
	require.NoError(t, err)
	require.Equal(t, len("SOMMER-24-")+coupon.DefaultCodeSymbols+1, utf8.RuneCountInString(code.String()))
	require.True(t, strings.HasPrefix(code.String(), "SOMMER-24-"))
	other, err := coupon.GenerateCode(rand.Reader, coupon.CodeShape{Prefix: "sommer-24"})
	require.NoError(t, err)
	require.NotEqual(t, code, other)
	for name, test := range map[string]struct {
		shape coupon.CodeShape
		field string
		want  validation.Code
	}{
		"few":         {coupon.CodeShape{Symbols: coupon.MinCodeSymbols - 1}, "symbols", validation.Malformed},
		"negative":    {coupon.CodeShape{Symbols: -1}, "symbols", validation.Malformed},
		"many":        {coupon.CodeShape{Symbols: coupon.MaxCodeSymbols + 1}, "symbols", validation.Malformed},
		"prefix":      {coupon.CodeShape{Prefix: "A B"}, "prefix", validation.Malformed},
		"long prefix": {coupon.CodeShape{Prefix: strings.Repeat("A", coupon.MaxCodeLength-13)}, "prefix", validation.TooLong},
	} {
		_, err := coupon.GenerateCode(rand.Reader, test.shape)
		require.Equal(t, map[string]validation.Code{test.field: test.want}, fieldCodes(t, err), name)
	}
	broken := errors.New("no entropy")
	_, err = coupon.GenerateCode(iotest.ErrReader(broken), coupon.CodeShape{})
	require.ErrorIs(t, err, broken)
	_, err = coupon.GenerateCode(strings.NewReader("short"), coupon.CodeShape{})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = coupon.GenerateCode(nil, coupon.CodeShape{})
	require.Error(t, err)
}
