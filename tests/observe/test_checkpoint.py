"""Spark's logs as files: what is whole, what is damaged, and from where Spark can start."""

from __future__ import annotations

import zlib
from pathlib import Path

import pytest

from weft.errors import StateError
from weft.observe.checkpoint import Checkpoint, SparkLog, open_tree


def write(file: Path, *lines: str, summed: bool = True) -> None:
    """Write a file as Spark does, with the checksum that Hadoop puts beside it on a local disk."""
    file.parent.mkdir(parents=True, exist_ok=True)
    content = "\n".join(("v1", *lines)).encode()
    file.write_bytes(content)
    if summed:
        pieces = (content[at : at + 512] for at in range(0, len(content), 512))
        sums = b"".join(zlib.crc32(piece).to_bytes(4, "big") for piece in pieces)
        (file.parent / f".{file.name}.crc").write_bytes(b"crc\0" + (512).to_bytes(4, "big") + sums)


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    """Return a checkpoint after four batches of two file sources."""
    (tmp_path / "metadata").write_text('{"id":"q"}', encoding="utf-8")
    for batch in range(4):
        offset = f'{{"logOffset":{batch}}}'
        write(tmp_path / "offsets" / str(batch), f'{{"batchWatermarkMs":{batch * 10}}}', offset, offset)
        write(tmp_path / "commits" / str(batch), f'{{"nextBatchWatermarkMs":{batch * 10 + 10}}}')
        for source in ("0", "1"):
            write(tmp_path / "sources" / source / str(batch), f'{{"path":"file:/{batch}","batchId":{batch}}}')
    return Checkpoint.open(str(tmp_path), "q")


def test_a_whole_checkpoint(checkpoint: Checkpoint) -> None:
    assert checkpoint.newest == 3
    assert [checkpoint.trouble(batch) for batch in range(4)] == [""] * 4
    assert not checkpoint.unread(3) and not checkpoint.versions(0) and not checkpoint.commit(3)
    assert not checkpoint.stands(4) and "offsets/4" in checkpoint.trouble(4)


@pytest.mark.parametrize("harm", ["empty", "cut", "changed", "missing"])
def test_a_damaged_entry_is_found(checkpoint: Checkpoint, tmp_path: Path, harm: str) -> None:
    file = tmp_path / "sources" / "1" / "2"
    content = file.read_bytes()
    changed = {"empty": b"", "cut": content[:-2], "changed": content.replace(b"file:/2", b"file:/7")}
    file.write_bytes(changed[harm]) if harm in changed else file.unlink()
    assert SparkLog(open_tree(str(file.parent))).lines(2) is None
    assert [checkpoint.stands(batch) for batch in range(4)] == [True, True, False, False]
    gone = {Path(tree.path) for tree in checkpoint.unread(1)}
    assert gone == {tmp_path / "sources" / "1" / name for name in ("2", "3")} - ({file} if harm == "missing" else set())


def test_a_log_that_was_put_together_needs_nothing_before(checkpoint: Checkpoint, tmp_path: Path) -> None:
    folder = tmp_path / "sources" / "0"
    for name in ("0", "1", "2"):
        (folder / name).unlink()
    assert not checkpoint.stands(3)
    write(folder / "2.compact", *(f'{{"path":"file:/{batch}"}}' for batch in range(3)))
    assert checkpoint.stands(3) and not checkpoint.stands(1)
    (folder / "2.compact").write_bytes(b"")
    assert not checkpoint.stands(3)


def test_a_lost_commit_says_the_watermark_of_the_batch_after(checkpoint: Checkpoint, tmp_path: Path) -> None:
    (tmp_path / "commits" / "2").write_bytes(b"")
    assert checkpoint.commit(2) == 'v1\n{"nextBatchWatermarkMs":30}'
    (tmp_path / "offsets" / "3").unlink()
    assert checkpoint.commit(2) == 'v1\n{"nextBatchWatermarkMs":20}', "an earlier watermark drops nothing more"
    write(tmp_path / "state" / "0" / "1" / "3.delta", summed=False)
    assert "Spark's own operators need it" in checkpoint.trouble(2)
    assert [Path(tree.path).name for tree in checkpoint.versions(2)] == ["3.delta"] and not checkpoint.versions(3)


def test_a_damaged_checksum_says_nothing(checkpoint: Checkpoint, tmp_path: Path) -> None:
    (tmp_path / "offsets" / ".3.crc").write_bytes(b"")
    assert checkpoint.stands(3)
    write(tmp_path / "offsets" / "3", '{"batchWatermarkMs":30}', '{"logOffset":3}', "-", summed=False)
    assert checkpoint.stands(3), "a source without an offset has a dash"


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="is not the checkpoint of query q"):
        Checkpoint.open(str(tmp_path), "q")
    with pytest.raises(StateError, match="cannot be read"):
        Checkpoint.open("nosuch://x/y", "q")
