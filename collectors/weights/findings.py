"""What can be wrong with a snapshot: a closed list of kinds, each with what it means."""

from __future__ import annotations

from typing import NamedTuple

KINDS: dict[str, str] = {
    # what lies in the folder
    "snapshot-not-found": "No snapshot lies where it was looked for.",
    "snapshot-empty": "No file is in the snapshot.",
    "link-out": "A link leads out of the snapshot, or out of its repository in a cache; it was not followed.",
    "link-broken": "A link leads nowhere.",
    "link-loop": "Links lead to one another, or too many follow one another.",
    "link-to-folder": "A link leads to a folder; it was not followed.",
    "device": "A device; it was not opened.",
    "fifo": "A named pipe; it was not opened.",
    "socket": "A socket; it was not opened.",
    "odd-name": "A name with control, invisible or undecodable characters.",
    "too-many-files": "More files than are looked at; the rest was left alone.",
    "too-deep": "Folders deeper than are looked at; the rest was left alone.",
    "too-large": "A file larger than is read; it has no digest here.",
    "unreadable": "A file or folder that could not be read.",
    "changed-while-read": "A file that changed while it was read; it has no digest here.",
    "git-folder": "A git repository's own folder, with hooks and history; it was left alone.",
    "incomplete-download": "A part of a file whose download did not end.",
    # what files are
    "code": "Source code: Python, shell or another language.",
    "native-code": "A program or library for a processor.",
    "remote-code": "A configuration that makes an engine import code from the repository.",
    "pickle": "A Python pickle: reading it runs what it says.",
    "pickle-suspected": "A file of a kind that usually is a Python pickle, with contents that are not recognized.",
    "pytorch-archive": "A PyTorch archive, which holds a pickle.",
    "archive": "An archive; it was not unpacked.",
    "numpy-objects": "A NumPy file of Python objects, which are pickles.",
    "keras-model": "A Keras or HDF5 model, which can hold code.",
    "disguised": "A file whose contents are of another kind than its name says.",
    "zip-appended": "A tensor file that is an archive too, read from its end.",
    "template-escapes": "A chat template that reaches for Python's internals.",
    # documents
    "document-malformed": "A configuration or index that is no JSON.",
    "document-too-large": "A configuration or index larger than is read.",
    "too-nested": "JSON nested deeper than is read.",
    "duplicate-keys": "JSON in which one key stands twice; readers differ in which one they take.",
    # safetensors
    "header-too-short": "A safetensors file too short for a header.",
    "header-too-long": "A safetensors header that claims more than the format's libraries read.",
    "header-beyond-file": "A safetensors header that claims more bytes than the file has.",
    "header-malformed": "A safetensors header that is no JSON object, or is padded with other than spaces.",
    "too-many-tensors": "More tensors than are read.",
    "metadata-malformed": "Metadata that is no map from text to text.",
    "tensor-malformed": "A tensor's entry lacks a part, or has one of the wrong kind.",
    "unknown-fields": "A tensor's entry says more than the format knows.",
    "tensor-name": "A tensor's name that no model uses: a path, blanks, control characters.",
    "data-type-unknown": "A data type that the format does not have.",
    "shape-malformed": "A shape that is no short list of counts.",
    "range-malformed": "A byte range that is negative, turned around, or no pair of whole numbers.",
    "range-beyond-file": "A byte range that ends behind the file.",
    "range-size": "A byte range with more or fewer bytes than data type and shape have.",
    "ranges-overlap": "Two tensors share bytes.",
    "ranges-gap": "Bytes between tensors that belong to none.",
    "trailing-bytes": "Bytes behind the last tensor.",
    # index files
    "index-malformed": "An index whose map is no map from tensor to file.",
    "index-path": "An index that names a file by a path, or outside of the snapshot.",
    "index-file-missing": "An index names a tensor file that is not there.",
    "index-file-unlisted": "A tensor file that the index of its folder does not name.",
    "index-tensor-differs": "An index names a tensor that the file does not hold, or leaves one out.",
    "index-size-differs": "An index states another size than the tensors have.",
    # GGUF
    "gguf-version": "A GGUF version that is not read: another byte order, or a version unknown here.",
    "gguf-truncated": "A GGUF header that goes on behind the file, or behind what is read of one.",
    "gguf-counts": "Counts of tensors or metadata that the file has no room for.",
    "gguf-string": "A GGUF text whose length the file has no room for.",
    "gguf-array": "A GGUF array whose length the file has no room for, or that is nested.",
    "gguf-value-type": "A GGUF value of a type that the format does not have.",
    "gguf-alignment": "A GGUF alignment that is no power of two.",
    "gguf-part-missing": "A part of a split GGUF model that is not there.",
    # identities
    "identity-differs": "A file is another one than its name in the cache, or its download's metadata, says.",
    "pinned-digest-differs": "The tensor files are not those whose digests the recipe names.",
    "expected-differs": "Counts or sizes are not those that the recipe names.",
    "model-differs": "The folder belongs to another model than the recipe names.",
    "revision-differs": "The folder belongs to another revision than the recipe names.",
    "checksum-stale": "A supplier's checksum file does not fit the file that it names.",
    "checksum-missing-file": "A supplier's checksum file names a file that is not there.",
    "checksum-empty": "A supplier's checksum file that names no file.",
}  # fmt: skip
"""Kind to its meaning. A kind is published; the file that it was found in is not."""

MAX_SHOWN = 200
"""Findings that are named with their file, in the sealed part of an event."""


class Found(NamedTuple):
    """One finding, with the file that it was found in; no file for the snapshot as a whole."""

    kind: str
    file: str


def counted(found: list[Found]) -> dict[str, int]:
    """Return how many files each kind concerns, by the order of `KINDS`.

    Raises:
        KeyError: a kind is not in the list.
    """
    counts = dict.fromkeys(KINDS, 0)
    for kind, _ in dict.fromkeys(found):
        counts[kind] += 1
    return {kind: count for kind, count in counts.items() if count}
