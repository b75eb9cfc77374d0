package codes

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/big"
	"math/bits"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

// MinKeyLength is the minimum length of the secret key of a [Generator], in bytes.
const MinKeyLength = 16

// ErrShortKey means that the secret key of a [Generator] has fewer than [MinKeyLength] bytes.
var ErrShortKey = errors.New("a key for codes has at least 16 bytes")

const (
	// rounds is the number of rounds of the permutation, as in FF1.
	rounds = 10
	// construction is part of every derived key. A change of the construction needs a new name.
	construction = "couponkit codes 1"
)

// Generator turns the numbers from 0 up into codes of one shape. The code of a number depends only on the secret key, the
// normalized shape and the number. No two numbers have the same code. A Generator may be used by several goroutines.
type Generator struct {
	form        Form
	block       cipher.Block
	left, right uint64 // number of values of each half
	leftSymbols int
}

// NewGenerator returns the Generator with a secret key and a shape. Everybody who has the key can compute all codes. Use
// crypto/rand for the key, and keep it as long as the codes. NewGenerator returns [ErrShortKey], or a
// [*validation.Error] if the shape is invalid.
func NewGenerator(key []byte, shape coupon.CodeShape) (*Generator, error) {
	if len(key) < MinKeyLength {
		return nil, ErrShortKey
	}
	form, err := NewForm(shape)
	if err != nil {
		return nil, err
	}
	return newGenerator(key, form)
}

func newGenerator(key []byte, form Form) (*Generator, error) {
	block, err := blockOf(key, form.shape)
	if err != nil {
		return nil, fmt.Errorf("derive a key for codes: %w", err)
	}
	left := form.shape.Symbols / 2
	return &Generator{
		form: form, block: block, leftSymbols: left,
		left: power(left), right: power(form.shape.Symbols-left-1) * lastSymbols,
	}, nil
}

// blockOf derives a key for each shape, so that the codes of one shape reveal nothing about the codes
// of another.
func blockOf(key []byte, shape coupon.CodeShape) (cipher.Block, error) {
	derived, err := hkdf.Key(sha256.New, key, nil, construction+"\x00"+shape.Prefix+"\x00"+shape.Pattern, aes.BlockSize)
	if err != nil {
		return nil, err
	}
	return aes.NewCipher(derived)
}

// power returns the number of texts with n symbols. It is below 2⁶³ for up to 14 symbols.
func power(n int) uint64 {
	p := uint64(1)
	for range n {
		p *= base
	}
	return p
}

// Form returns the form of the codes, which reads what customers type.
func (g *Generator) Form() Form { return g.form }

// Capacity returns how many codes the generator has, at most 2⁶⁴ − 1.
func (g *Generator) Capacity() uint64 {
	high, low := bits.Mul64(g.left, g.right)
	if high != 0 {
		return math.MaxUint64
	}
	return low
}

// Codes returns the codes of the numbers from first, inclusive, to end, exclusive. They are all different. The same
// numbers always have the same codes: to resume after the code of number n, begin at n + 1. Give every batch numbers of
// its own. Then no two batches of one key and shape have a code in common.
//
// The sequence needs constant memory. If first is above end or end is above [Generator.Capacity], Codes returns a
// [*validation.Error].
func (g *Generator) Codes(first, end uint64) (iter.Seq[coupon.Code], error) {
	var faults validation.Error
	if first > end {
		faults.Add("first", validation.TooLarge, fmt.Sprintf("at most the end, which is %d", end))
	}
	if end > g.Capacity() {
		faults.Add("end", validation.TooLarge, fmt.Sprintf("the shape has %d codes", g.Capacity()))
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return func(yield func(coupon.Code) bool) {
		var w writer
		for n := first; n < end; n++ {
			if !yield(w.code(g, n)) {
				return
			}
		}
	}, nil
}

// writer has memory that all codes of a sequence share.
type writer struct {
	in, out [aes.BlockSize]byte
	choices [coupon.MaxCodeSymbols]byte
	text    [coupon.MaxCodeLength + coupon.MaxCodeSymbols]byte
}

// code returns the code for a number. n must be below the capacity.
func (w *writer) code(g *Generator, n uint64) coupon.Code {
	left, right := w.permuted(g, n%g.left, n/g.left)
	choices := w.choices[:g.form.shape.Symbols]
	writeChoices(choices[:g.leftSymbols], left)
	last := len(choices) - 1
	choices[last] = byte(right % lastSymbols)
	writeChoices(choices[g.leftSymbols:last], right/lastSymbols)
	return g.form.code(w.text[:0], choices)
}

// permuted runs the rounds. Each round adds a function of one half to the other half. To invert it,
// subtract in the reverse order.
func (w *writer) permuted(g *Generator, left, right uint64) (permutedLeft, permutedRight uint64) {
	for round := byte(0); round < rounds; round += 2 {
		left = addMod(left, w.random(g.block, round, right, g.left), g.left)
		right = addMod(right, w.random(g.block, round+1, left, g.right), g.right)
	}
	return left, right
}

// random is the round function. It encrypts the number of the round and a half with AES. It returns the
// result modulo modulus. The result is uniform to 2⁻⁶⁴, because AES gives 128 bits.
func (w *writer) random(block cipher.Block, round byte, half, modulus uint64) uint64 {
	w.in[0] = round
	binary.BigEndian.PutUint64(w.in[8:], half)
	block.Encrypt(w.out[:], w.in[:])
	return bits.Rem64(binary.BigEndian.Uint64(w.out[:8]), binary.BigEndian.Uint64(w.out[8:]), modulus)
}

// addMod adds two numbers modulo a modulus. Both must be below the modulus, and the modulus below 2⁶³.
func addMod(a, b, modulus uint64) uint64 {
	if sum := a + b; sum < modulus {
		return sum
	}
	return a + b - modulus
}

// writeChoices writes the digits of a number in base 22. The last choice is the least digit.
func writeChoices(choices []byte, number uint64) {
	for i := len(choices) - 1; i >= 0; i-- {
		choices[i] = byte(number % base)
		number /= base
	}
}

// space returns the number of codes of a shape with randomSymbols random symbols.
func space(randomSymbols int) *big.Int {
	texts := new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(randomSymbols-1)), nil)
	return texts.Mul(texts, big.NewInt(lastSymbols))
}
