// Command asm writes the assembly of package linalg: for every format the mat-vec loops, and
// the loops over floats. The amd64 loops use AVX-512 and AVX2; package neon writes those for arm64.
//
// The output depends only on this program: running it twice gives the same bytes.
package main

import (
	"errors"
	"flag"
	"log"
	"os"
	"path/filepath"
	"regexp"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"

	"mla/runtime/device/linalg/internal/asm/neon"
)

func main() {
	// avo puts flags of its own into the default set.
	flags := flag.NewFlagSet("asm", flag.ExitOnError)
	out := flags.String("out", ".", "`folder` of package linalg, where the files go")
	flags.Parse(os.Args[1:]) // exits on errors
	if err := write(*out); err != nil {
		build.LogError(log.New(os.Stderr, "asm: ", 0), err, 10)
		os.Exit(1)
	}
}

// write writes the generated files to a folder.
func write(folder string) error {
	files, err := generate()
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(folder, name), text, 0o644))
	}
	return err
}

// generate returns the generated files by name: for each architecture its assembly, and the
// Go file that declares the functions.
func generate() (map[string][]byte, error) {
	assembly, declarations, err := generateAMD64()
	if err != nil {
		return nil, err
	}
	arm, armDeclarations := neon.Generate()
	return map[string][]byte{
		"zdot_amd64.s": assembly, "zdot_amd64.go": declarations,
		"zdot_arm64.s": arm, "zdot_arm64.go": armDeclarations,
	}, nil
}

// aligned matches an instruction's name and the spaces that align its operands. generateAMD64
// replaces the spaces by one: they are a fifth of the text.
var aligned = regexp.MustCompile(`(?m)^(\t\S+) +`)

// generateAMD64 returns zdot_amd64.s and zdot_amd64.go.
func generateAMD64() (assembly, declarations []byte, err error) {
	g := &gen{Context: build.NewContext(), constants: map[string][]byte{}}
	for _, f := range formats512 {
		g.matVec(avx512, f)
		g.decode(avx512, f, scaledPanel)
	}
	for _, f := range int8Formats512 {
		g.matVec(avx512, int8Of(f))
	}
	for _, inputs := range panelInputs {
		g.panelLoop(avx512, scaledPanel, inputs)
		for _, k := range panelKinds2 {
			g.panelLoop(avx2, k, inputs)
		}
	}
	g.sumPanel()
	for _, f := range formats2 {
		g.matVec(avx2, f)
		if f.folded {
			g.decode(avx2, f, f.panelKind())
		}
		if f.int8 != nil {
			g.matVec(avx2, int8Of(f))
		}
	}
	for _, f := range formatsLow2 {
		g.matVec(avx2, f)
		g.decodeRow(avx2, f)
	}
	for _, f := range int8FormatsLow2 {
		g.matVec(avx2, int8Of(f))
	}
	for _, f := range grids {
		g.matVec(avx2, f.floats())
		g.decodeRow(avx2, f.floats())
		g.matVec(avx2, int8Of(f.bytes(f.begin8)))
		g.matVec(avx512, int8Of(f.bytes(f.begin8x512)))
	}
	for _, f := range formatsLow512 {
		g.matVec(avx512, f)
		g.decodeRow(avx512, f)
	}
	g.sumLoop(stretchTile)
	g.arrangeLoop("arrangeAVX2", single)
	g.arrangeLoop("arrangePairsAVX2", pairs)
	g.int8Loop("int8AVX2", signedSingle8, false)
	g.int8Loop("int8PairsAVX2", pairs8, false)
	g.int8Loop("int8PairsMinAVX2", pairs8, true)
	g.blocksLoop("int8BlocksAVX2", blocks8, false)
	g.blocksLoop("int8BlocksMinAVX2", blocks8, true)
	g.superLoop("int8SuperAVX2", super8)
	for _, v := range []isa{avx512, avx2} {
		g.vectorLoops(v)
		for _, s := range v.shapes {
			g.productLoop(v, s)
		}
	}
	file, err := g.Result()
	if err != nil {
		return nil, nil, err
	}
	if err := pass.Compile.Execute(file); err != nil {
		return nil, nil, err
	}
	config := printer.Config{Name: "internal/asm", Pkg: "linalg"}
	if assembly, err = printer.NewGoAsm(config).Print(file); err != nil {
		return nil, nil, err
	}
	assembly = aligned.ReplaceAll(assembly, []byte("$1 "))
	declarations, err = printer.NewStubs(config).Print(file)
	return assembly, declarations, err
}
