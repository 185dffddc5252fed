"""``python -m pdmbench``."""

from pdmbench.cli import main

main()
