package msl

import "fmt"

// Products whose tiles have a part of a step of columns.

// parts reports whether tiles have a part of a step: templates/msl/lib/part_product.metal.
func (v *partView) parts() bool { return v.printer.target().Parts() }

// NormFactors returns the function that computes the factors of norms.
func (v *partView) NormFactors() string {
	if v.parts() {
		return "norm_factors_in_turn"
	}
	return "norm_factors"
}

// TileProduct returns the template of the product, with its first arguments.
func (v *partView) TileProduct() string {
	_, cols := matrix(v.P)
	shape := fmt.Sprintf("<%du, %du, %du, %du", cols, v.Product.Tokens, v.Slices(), v.Threads)
	if v.parts() {
		return "part_tile" + shape
	}
	return "tile_product" + shape + fmt.Sprintf(", %t", v.Copies())
}
