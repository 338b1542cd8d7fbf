"""Packs the Go distribution's sources into the corpus that train.py reads.

    python3 corpus.py --goroot "$(go env GOROOT)" --out build/tinyglm/corpus.tar.xz

The archive holds VERSION, LICENSE, train/<path> and heldout/<path>. Members are sorted and carry no dates or
owners, so the same Go release always gives the same bytes.

Held-out text is whole packages, not random files: files of one package repeat each other's code, and a random
split would let the model see most of what it is tested on.
"""

import argparse
import io
import re
import tarfile
from pathlib import Path

HELD_OUT = ("bufio", "container", "encoding/csv", "encoding/hex", "expvar", "mime", "net/mail", "net/textproto",
            "path", "text/scanner", "text/tabwriter")
SKIPPED_DIRS = {"testdata", "vendor"}
# Files for other platforms than Linux on amd64 or arm64 say the same thing many times over.
OTHER_PLATFORM = re.compile(
    r"_(aix|android|darwin|dragonfly|freebsd|illumos|ios|js|netbsd|openbsd|plan9|solaris|wasip1|windows"
    r"|386|arm|loong64|mipsx?|mipsle|mips64x?|mips64le|ppc|ppc64|ppc64le|ppc64x|riscv64|s390x?|sparc64|wasm)"
    r"(_[a-z0-9]+)?(_test)?\.go$")
GENERATED = re.compile(rb"^// Code generated .* DO NOT EDIT\.?$", re.MULTILINE)
MAX_BYTES = 400_000  # longer hand-written files are number tables (P-256 points)


def sources(src: Path):
    """Yields (path relative to src, bytes) of every hand-written Go file, in sorted order."""
    for path in sorted(src.rglob("*.go")):
        name = path.relative_to(src)
        if SKIPPED_DIRS & set(name.parts) or OTHER_PLATFORM.search(name.name):
            continue
        data = path.read_bytes()
        if len(data) <= MAX_BYTES and not GENERATED.search(data):
            yield name.as_posix(), data


def is_held_out(name: str) -> bool:
    return any(name.startswith(package + "/") for package in HELD_OUT)


def main() -> None:
    args = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    args.add_argument("--goroot", type=Path, required=True)
    args.add_argument("--out", type=Path, required=True)
    args = args.parse_args()

    members = [(name, (args.goroot / name).read_bytes()) for name in ("VERSION", "LICENSE")]
    split_bytes = {"train": 0, "heldout": 0}
    for name, data in sources(args.goroot / "src"):
        split = "heldout" if is_held_out(name) else "train"
        members.append((f"{split}/{name}", data))
        split_bytes[split] += len(data)

    args.out.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(args.out, "w:xz", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    print(f"{args.out}: {len(members) - 2} files, {split_bytes['train']} training bytes, "
          f"{split_bytes['heldout']} held-out bytes, {args.out.stat().st_size} bytes packed")


if __name__ == "__main__":
    main()
