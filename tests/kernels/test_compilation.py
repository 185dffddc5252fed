"""Where compiled kernels are kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_kernels_without_a_writable_cache_go_to_a_folder_that_does_not_outlive_the_process(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", "from pdmbench.kernels import CACHE_FOLDER as c; print(c, c.is_dir())"],
        env=environment | {"PDMBENCH_CACHE": str(file / "cache")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    folder, existed = done.stdout.split()
    assert existed == "True"
    assert not Path(folder).exists()
    assert "Not a directory" in done.stderr
