"""Coverage-guided runs: atheris instruments Weft's Python code and keeps the inputs that reach something new.

`python -m weft_lab.fuzz.guided TARGET CORPUS FINDINGS [libFuzzer options]` is what `run_fuzz` starts: libFuzzer never returns. A
finding is written down and the run goes on; only what takes the process down (a crash, no end, no memory left) ends it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from random import Random

from weft_lab.fuzz.findings import Findings

__all__ = ["fuzz"]


def fuzz(name: str, corpus: Path, folder: Path, options: Sequence[str]) -> None:
    """Fuzz a target until an option ends it; does not return."""
    import atheris

    warnings.simplefilter("error")
    with atheris.instrument_imports(include=["weft"], exclude=_kernels()):
        from weft_lab.fuzz.targets import target_named

        target = target_named(name)
    findings = Findings(name, folder)
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (corpus / f"seed-{number}").write_bytes(seed)

    def once(data: bytes) -> None:
        try:
            target.run(data)
        except Exception as error:  # noqa: BLE001  that is what is looked for
            if findings.note(data, error):
                print(f"FINDING {len(findings.causes)}: {next(reversed(findings.causes))}", file=sys.stderr, flush=True)

    def mutated(data: bytes, most: int, seed: int) -> bytes:
        draw = Random(seed)
        if draw.random() < 0.1:
            return bytes(atheris.Mutate(data, most))
        for _ in range(draw.choice((1, 1, 2, 3))):
            data = target.mutate(data, draw)
        return data[: min(most, target.longest)]

    arguments = [sys.argv[0], *options, f"-max_len={target.longest}", "-len_control=0", str(corpus)]
    atheris.Setup(arguments, once, custom_mutator=mutated)
    atheris.Fuzz()


def _kernels() -> list[str]:
    """Return the modules that Numba compiles: it does not read instrumented code. Found without importing them."""
    spec = find_spec("weft_lab")
    root = Path(str(spec.origin)).parents[1] if spec is not None else Path()
    files = (root / "weft" / "kernels").rglob("*.py")
    return [".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__") for file in files]


if __name__ == "__main__":
    fuzz(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
