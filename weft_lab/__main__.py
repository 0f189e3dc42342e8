"""`python -m weft_lab` is `weft-lab`."""

from __future__ import annotations

from weft_lab.cli import main

if __name__ == "__main__":
    main()
