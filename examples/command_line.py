"""Tune a program by its command line: the options of the LZMA compressor, for the smallest file.

Writes a program, a text and a study.toml into the directory that is given, or a temporary one, and calls `uncubed run`.
The compressor refuses lc + lp > 4: those evaluations fail, are written down as such and are avoided.
"""

import argparse
import lzma
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = """\
import lzma, sys
from pathlib import Path

lc, lp, pb, nice = map(int, sys.argv[1:])
options = {"id": lzma.FILTER_LZMA2, "preset": 6, "lc": lc, "lp": lp, "pb": pb, "nice_len": nice}
print(len(lzma.compress(Path("text").read_bytes(), filters=[options])))
"""

STUDY = """\
direction = "minimize"
evaluations = 40
jobs = 2
timeout = 60
seed = 0

[space]
lc = { type = "int", low = 0, high = 4 }
lp = { type = "int", low = 0, high = 4 }
pb = { type = "int", low = 0, high = 4 }
nice = { type = "int", low = 5, high = 273 }
"""


def main(directory: Path) -> None:
    text = Path(argparse.__file__).read_bytes()
    (directory / "text").write_bytes(text)
    (directory / "squeeze.py").write_text(PROGRAM)
    (directory / "study.toml").write_text(STUDY)
    print(f"the default options: {len(lzma.compress(text))} bytes\n")
    program = [sys.executable, "squeeze.py", "{lc}", "{lp}", "{pb}", "{nice}"]
    uncubed = str(Path(sys.executable).with_name("uncubed"))
    subprocess.run([uncubed, "run", "study.toml", "--", *program], cwd=directory, check=True)
    print("\nwhat the compressor said to the first evaluation:")
    print((directory / "study.logs" / "000000.log").read_text())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
