"""Where cached files lie."""

from __future__ import annotations

import os
from pathlib import Path


def root() -> Path:
    """The cache folder: ``$PDMBENCH_CACHE``, else the platform's user cache."""
    if folder := os.environ.get("PDMBENCH_CACHE"):
        return Path(os.path.expanduser(folder))  # Path's own raises where there is no such user
    import platformdirs

    return platformdirs.user_cache_path("pdmbench")
