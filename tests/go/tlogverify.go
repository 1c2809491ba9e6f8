// Command tlogverify checks a C2SP tlog-tiles log, or a tlog-proof, with code that anvil's authors did
// not write: golang.org/x/mod/sumdb/note and golang.org/x/mod/sumdb/tlog. It shares nothing with anvil.
//
//	tlogverify [-exact] DIR
//	tlogverify -vkey FILE -proof FILE -entry FILE
//
// DIR holds log.vkey, checkpoint and tile/. The checks, in order:
//
//  1. the checkpoint is a signed note, a signature by log.vkey verifies, and its origin is that key's name;
//  2. every entry bundle that the size calls for is there, holds exactly its entries and nothing after them;
//  3. the tree built from the entries alone has the checkpoint's root;
//  4. every hash tile that the size calls for is there, authenticated from the root down and equal to the
//     file byte for byte, and its leaf hashes are those of the entries;
//  5. inclusion proofs and consistency proofs made from the tiles are accepted;
//  6. with -exact, there is no other file under tile/.
//
// It prints one line that begins with OK and exits 0, or one that begins with FAIL and exits 1.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const (
	tileHeight    = 8
	tileWidth     = 1 << tileHeight
	proveAllBelow = 2048 // up to this size each entry gets its inclusion proof, beyond it every 97th
	proofHeader   = "c2sp.org/tlog-proof@v1\n"
)

// A head is what a verified checkpoint says.
type head struct {
	origin     string
	tree       tlog.Tree
	signatures int
	unknown    int
}

func openCheckpoint(vkey, raw []byte) (head, error) {
	verifier, err := note.NewVerifier(strings.TrimSuffix(string(vkey), "\n"))
	if err != nil {
		return head{}, fmt.Errorf("verifier key: %w", err)
	}
	opened, err := note.Open(raw, note.VerifierList(verifier))
	if err != nil {
		return head{}, fmt.Errorf("checkpoint: %w", err)
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) < 4 || lines[len(lines)-1] != "" {
		return head{}, errors.New("checkpoint: fewer than three lines")
	}
	if lines[0] != verifier.Name() {
		return head{}, fmt.Errorf("checkpoint: origin %q, key name %q", lines[0], verifier.Name())
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 || strconv.FormatInt(size, 10) != lines[1] {
		return head{}, fmt.Errorf("checkpoint: tree size %q", lines[1])
	}
	root, err := tlog.ParseHash(lines[2])
	if err != nil {
		return head{}, fmt.Errorf("checkpoint: root hash: %w", err)
	}
	return head{lines[0], tlog.Tree{N: size, Hash: root}, len(opened.Sigs), len(opened.UnverifiedSigs)}, nil
}

// A directory is a log on disk; it is the tlog.TileReader of its hash tiles.
type directory string

// path turns golang.org/x/mod's tile/8/L/N into C2SP's tile/L/N.
func path(tile tlog.Tile) string {
	return "tile/" + strings.TrimPrefix(tile.Path(), fmt.Sprintf("tile/%d/", tileHeight))
}

func bundlePath(tile tlog.Tile) string {
	return "tile/entries/" + strings.TrimPrefix(path(tile), "tile/0/")
}

func (d directory) read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(d), filepath.FromSlash(name)))
}

func (d directory) Height() int { return tileHeight }

func (d directory) SaveTiles([]tlog.Tile, [][]byte) {}

func (d directory) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	contents := make([][]byte, len(tiles))
	for i, tile := range tiles {
		content, err := d.read(path(tile))
		if err != nil {
			return nil, err
		}
		contents[i] = content
	}
	return contents, nil
}

// layout lists every tile of a log, whose width at level l is what of size/256**l remains.
func layout(size int64) (tiles []tlog.Tile) {
	for level, hashes := 0, size; hashes > 0; level, hashes = level+1, hashes/tileWidth {
		for n := int64(0); n*tileWidth < hashes; n++ {
			width := hashes - n*tileWidth
			if width > tileWidth {
				width = tileWidth
			}
			tiles = append(tiles, tlog.Tile{H: tileHeight, L: level, N: n, W: int(width)})
		}
	}
	return tiles
}

// entries splits a bundle into exactly want entries.
func entries(bundle []byte, want int) ([][]byte, error) {
	split := make([][]byte, 0, want)
	for len(split) < want {
		if len(bundle) < 2 {
			return nil, fmt.Errorf("ends before entry %d of %d", len(split), want)
		}
		length := int(binary.BigEndian.Uint16(bundle))
		if len(bundle) < 2+length {
			return nil, fmt.Errorf("ends within entry %d of %d", len(split), want)
		}
		split, bundle = append(split, bundle[2:2+length]), bundle[2+length:]
	}
	if len(bundle) > 0 {
		return nil, fmt.Errorf("%d bytes after entry %d", len(bundle), want)
	}
	return split, nil
}

// checkEntries rebuilds the tree from the entries alone and returns their leaf hashes.
func checkEntries(dir directory, tree tlog.Tree) ([]tlog.Hash, error) {
	var stored, leaves []tlog.Hash
	lookup := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		found := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			found[i] = stored[index]
		}
		return found, nil
	})
	for _, tile := range layout(tree.N) {
		if tile.L != 0 {
			continue
		}
		name := bundlePath(tile)
		bundle, err := dir.read(name)
		if err != nil {
			return nil, err
		}
		split, err := entries(bundle, tile.W)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, entry := range split {
			hashes, err := tlog.StoredHashes(int64(len(leaves)), entry, lookup)
			if err != nil {
				return nil, err
			}
			stored, leaves = append(stored, hashes...), append(leaves, tlog.RecordHash(entry))
		}
	}
	root, err := tlog.TreeHash(tree.N, lookup)
	if err != nil {
		return nil, err
	}
	if tree.N > 0 && root != tree.Hash {
		return nil, fmt.Errorf("the entries give root %v, the checkpoint says %v", root, tree.Hash)
	}
	return leaves, nil
}

// checkTiles authenticates every hash of every tile and compares it with the bytes of the file.
func checkTiles(dir directory, tree tlog.Tree, leaves []tlog.Hash, reader tlog.HashReader) error {
	for _, tile := range layout(tree.N) {
		name := path(tile)
		content, err := dir.read(name)
		if err != nil {
			return err
		}
		first := tile.N * tileWidth
		indexes := make([]int64, tile.W)
		for i := range indexes {
			indexes[i] = tlog.StoredHashIndex(tile.L*tileHeight, first+int64(i))
		}
		hashes, err := reader.ReadHashes(indexes)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		var expected bytes.Buffer
		for i, hash := range hashes {
			if tile.L == 0 && hash != leaves[first+int64(i)] {
				return fmt.Errorf("%s: hash %d is not that of entry %d", name, i, first+int64(i))
			}
			expected.Write(hash[:])
		}
		if !bytes.Equal(content, expected.Bytes()) {
			return fmt.Errorf("%s: %d bytes that are not its %d hashes", name, len(content), tile.W)
		}
	}
	return nil
}

func checkProofs(tree tlog.Tree, leaves []tlog.Hash, reader tlog.HashReader) (included, consistent int, err error) {
	for index := int64(0); index < tree.N; index++ {
		if tree.N > proveAllBelow && index%97 != 0 && index != tree.N-1 {
			continue
		}
		proof, err := tlog.ProveRecord(tree.N, index, reader)
		if err == nil {
			err = tlog.CheckRecord(proof, tree.N, tree.Hash, index, leaves[index])
		}
		if err != nil {
			return included, consistent, fmt.Errorf("inclusion proof of entry %d: %w", index, err)
		}
		included++
	}
	olds := []int64{tree.N / 3, tree.N / 2, tree.N - 1, tree.N}
	for power := int64(1); power < tree.N; power *= 2 {
		olds = append(olds, power, power+1)
	}
	for _, old := range olds {
		if old < 1 || old > tree.N {
			continue
		}
		oldRoot, err := tlog.TreeHash(old, reader)
		if err != nil {
			return included, consistent, err
		}
		proof, err := tlog.ProveTree(tree.N, old, reader)
		if err == nil {
			err = tlog.CheckTree(proof, tree.N, tree.Hash, old, oldRoot)
		}
		if err != nil {
			return included, consistent, fmt.Errorf("consistency proof from size %d: %w", old, err)
		}
		consistent++
	}
	return included, consistent, nil
}

// checkExact refuses files under tile/ that a log of this size does not have.
func checkExact(dir directory, size int64) error {
	known := map[string]bool{}
	for _, tile := range layout(size) {
		known[path(tile)] = true
		if tile.L == 0 {
			known[bundlePath(tile)] = true
		}
	}
	return filepath.WalkDir(filepath.Join(string(dir), "tile"), func(name string, item fs.DirEntry, err error) error {
		if err != nil || item.IsDir() {
			return err
		}
		relative, err := filepath.Rel(string(dir), name)
		if err == nil && !known[filepath.ToSlash(relative)] {
			err = fmt.Errorf("%s does not belong to a log of size %d", relative, size)
		}
		return err
	})
}

func verifyLog(dir directory, exact bool) (string, error) {
	vkey, err := dir.read("log.vkey")
	if err != nil {
		return "", err
	}
	raw, err := dir.read("checkpoint")
	if err != nil {
		return "", err
	}
	head, err := openCheckpoint(vkey, raw)
	if err != nil {
		return "", err
	}
	leaves, err := checkEntries(dir, head.tree)
	if err != nil {
		return "", err
	}
	reader := tlog.TileHashReader(head.tree, dir)
	if err := checkTiles(dir, head.tree, leaves, reader); err != nil {
		return "", err
	}
	included, consistent, err := checkProofs(head.tree, leaves, reader)
	if err != nil {
		return "", err
	}
	if exact {
		if err := checkExact(dir, head.tree.N); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("origin=%s size=%d root=%x signatures=%d unknown=%d included=%d consistent=%d",
		head.origin, head.tree.N, head.tree.Hash[:], head.signatures, head.unknown, included, consistent), nil
}

func verifyProof(vkeyFile, proofFile, entryFile string) (string, error) {
	var contents [3][]byte
	for i, name := range []string{vkeyFile, proofFile, entryFile} {
		content, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		contents[i] = content
	}
	proof, checkpoint, found := strings.Cut(string(contents[1]), "\n\n")
	if !found || !strings.HasPrefix(proof, proofHeader) {
		return "", errors.New("not a tlog-proof")
	}
	lines := strings.Split(strings.TrimPrefix(proof, proofHeader), "\n")
	if strings.HasPrefix(lines[0], "extra ") {
		lines = lines[1:]
	}
	if len(lines) == 0 || !strings.HasPrefix(lines[0], "index ") {
		return "", errors.New("tlog-proof without an index")
	}
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[0], "index "), 10, 64)
	if err != nil {
		return "", err
	}
	var path tlog.RecordProof
	for _, line := range lines[1:] {
		decoded, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(decoded) != tlog.HashSize {
			return "", fmt.Errorf("not a hash: %q", line)
		}
		var hash tlog.Hash
		copy(hash[:], decoded)
		path = append(path, hash)
	}
	head, err := openCheckpoint(contents[0], []byte(checkpoint))
	if err != nil {
		return "", err
	}
	leaf := tlog.RecordHash(contents[2])
	if err := tlog.CheckRecord(path, head.tree.N, head.tree.Hash, index, leaf); err != nil {
		return "", err
	}
	return fmt.Sprintf("origin=%s size=%d index=%d", head.origin, head.tree.N, index), nil
}

func main() {
	exact := flag.Bool("exact", false, "refuse files under tile/ that the size does not call for")
	vkey := flag.String("vkey", "", "`file` with the verifier key of a tlog-proof")
	proof := flag.String("proof", "", "`file` with a tlog-proof")
	entry := flag.String("entry", "", "`file` with the entry that the tlog-proof is about")
	flag.Parse()
	var said string
	var err error
	switch {
	case *proof != "" && *vkey != "" && *entry != "" && flag.NArg() == 0:
		said, err = verifyProof(*vkey, *proof, *entry)
	case *proof == "" && flag.NArg() == 1:
		said, err = verifyLog(directory(flag.Arg(0)), *exact)
	default:
		flag.Usage()
		os.Exit(2)
	}
	if err != nil {
		fmt.Println("FAIL", err)
		os.Exit(1)
	}
	fmt.Println("OK", said)
}
