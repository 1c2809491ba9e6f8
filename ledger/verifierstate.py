"""A verifier's own saved state: how far it has read, and what it needs to go on from there.

The file belongs to the verifier, not to the ledger. It holds the tree (from which the root
follows), the keyrings, the carried ranges and the heads of open streams. A later verification reads
only what is new and says that older rows were not read again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from anvil.ledger import canonical
from anvil.ledger.chain import StreamHead
from anvil.ledger.checks.keys import CarriedRange, Control
from anvil.ledger.errors import LedgerError, Malformed
from anvil.ledger.keyring import Keyring, KnownKey
from anvil.ledger.signing import PublicKey
from anvil.ledger.tiledtree import TiledTree

SCHEMA = "anvil.verifier-state/1"


@dataclass(frozen=True)
class VerifierState:
    """What one verification leaves for the next."""

    origin: str
    tiles: tuple[tuple[bytes, ...], ...]
    keyrings: dict[str, Keyring]
    carried: tuple[CarriedRange, ...]
    heads: tuple[StreamHead, ...]

    @classmethod
    def of(
        cls, origin: str, tree: TiledTree, control: Control, heads: dict[str, StreamHead]
    ) -> VerifierState:
        """Return the state after a verification."""
        return cls(origin, tree.tiles, dict(control.keyrings), tuple(control.carried), tuple(heads.values()))

    @property
    def tree(self) -> TiledTree:
        """The tree as far as it was read, ready to grow."""
        return TiledTree(self.tiles)

    def control(self) -> Control:
        """Return what earlier control events said."""
        return Control(keyrings=dict(self.keyrings), carried=list(self.carried))

    def open_heads(self) -> dict[str, StreamHead]:
        """Return the heads of the streams that were open."""
        return {head.stream: head for head in self.heads}

    def encode(self) -> bytes:
        """Return the bytes of the state file."""
        return canonical.encode(
            {
                "schema": SCHEMA,
                "origin": self.origin,
                "size": self.tree.size,
                "root": self.tree.root().hex(),
                "tiles": [[node.hex() for node in tile] for tile in self.tiles],
                "keyrings": [_spell_keyring(keyring) for keyring in self.keyrings.values()],
                "carried": [{**asdict(r), "root": r.root.hex()} for r in self.carried],
                "heads": [head._asdict() for head in self.heads],
            }
        )

    @classmethod
    def parse(cls, raw: bytes) -> VerifierState:
        """Return the state in a state file.

        Raises:
            LedgerError: it is not one, or it contradicts itself.
        """
        try:
            members = canonical.decode(raw)
            if members["schema"] != SCHEMA:
                raise ValueError(f"schema {members['schema']!r}")
            state = cls(
                members["origin"],
                tuple(tuple(bytes.fromhex(node) for node in tile) for tile in members["tiles"]),
                {item["origin"]: _parse_keyring(item) for item in members["keyrings"]},
                tuple(CarriedRange(**{**r, "root": bytes.fromhex(r["root"])}) for r in members["carried"]),
                tuple(_parse_head(head) for head in members["heads"]),
            )
            tree = state.tree
            if (tree.size, tree.root().hex()) != (members["size"], members["root"]):
                raise ValueError("its tree does not have the root it states")
        except (Malformed, ValueError, TypeError, KeyError, AttributeError) as error:
            raise LedgerError(
                f"this is no verifier state of {SCHEMA}: {error}", advice="Verify once without --since."
            ) from error
        return state


def _spell_keyring(keyring: Keyring) -> dict[str, Any]:
    keys = [{**asdict(known), "public_key": known.public_key.raw.hex()} for known in keyring.keys.values()]
    return {"origin": keyring.origin, "base": keyring.base, "keys": keys}


def _parse_head(members: dict[str, Any]) -> StreamHead:
    head = StreamHead(**members)
    texts = (head.stream, head.ledger, head.key, head.header_hash)
    if type(head.seq) is not int or {type(text) for text in texts} != {str} or head.state != "open":
        raise ValueError(f"a stream stands at {members!r:.200}")
    return head


def _parse_keyring(members: dict[str, Any]) -> Keyring:
    keys = {}
    for item in members["keys"]:
        positions = [item[name] for name in ("added", "rotated", "revoked", "last_good")]
        if type(positions[0]) is not int or {type(p) for p in positions} - {int, type(None)}:
            raise ValueError(f"a key counts from {positions!r}")
        public_key = PublicKey.vetted(bytes.fromhex(item["public_key"]))
        keys[public_key.key_id] = KnownKey(**{**item, "public_key": public_key})
    return Keyring(members["origin"], keys, members["base"])
