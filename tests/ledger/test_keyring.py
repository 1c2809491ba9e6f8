"""The keyring, rule by rule: who may sign what, and from where to where in the log."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from support.story import COLLECTOR, FIRST_KEYS, LEDGER, OPERATOR, ROOT

from anvil.ledger.errors import MalformedKey, NotPermitted
from anvil.ledger.events import (
    CATALOGUE,
    InitialKey,
    KeyAdded,
    KeyRevoked,
    KeyRotated,
    LedgerCreated,
    ObservationNoted,
    TreeState,
)
from anvil.ledger.keyring import (
    KEY_FAMILIES,
    Keyring,
    RevokedKey,
    UnknownKey,
    changes_keys,
    permitted_roles,
)
from anvil.ledger.public import Role
from anvil.ledger.signing import PrivateKey

ORIGIN = "a.test.invalid"
NEW, NEWER = PrivateKey.from_seed(b"n" * 32), PrivateKey.from_seed(b"m" * 32)
OPENED, OBSERVED = "stream.opened/1", "observation.noted/1"


def key_id(key: PrivateKey) -> str:
    return key.public_key.key_id


def ids(*keys: PrivateKey) -> list[str]:
    return [key_id(key) for key in keys]


def created(keys: Iterable[tuple[Role, PrivateKey]], origin: str = ORIGIN) -> LedgerCreated:
    initial = tuple(InitialKey(role=role, public_key=key.public_key.raw.hex()) for role, key in keys)
    return LedgerCreated(origin=origin, keys=initial, predecessor=None, software="1.0")


def added(key: PrivateKey, role: Role = "collector") -> KeyAdded:
    return KeyAdded(role=role, public_key=key.public_key.raw.hex())


def rotated(old: PrivateKey, new: PrivateKey) -> KeyRotated:
    return KeyRotated(old_key=key_id(old), new_public_key=new.public_key.raw.hex())


def revoked(key: PrivateKey, size: int, origin: str = ORIGIN) -> KeyRevoked:
    state = TreeState(origin=origin, size=size, root="00" * 32)
    return KeyRevoked(key=key_id(key), last_good=state, cause="compromised")


@pytest.fixture
def keyring() -> Keyring:
    """After `ledger.created` at index 0."""
    return Keyring(ORIGIN).apply(created(FIRST_KEYS.items()), 0, ids(*FIRST_KEYS.values()))


# --- rule 1: known from its introduction on -----------------------------------------------------------


def test_rule_1_a_key_that_was_never_introduced_is_unknown(keyring: Keyring) -> None:
    with pytest.raises(UnknownKey):
        keyring.require(key_id(NEW), OBSERVED, 5, 1)
    with pytest.raises(UnknownKey):
        Keyring(ORIGIN).require(key_id(ROOT), OPENED, 0, 0)


def test_rule_1_a_key_is_unknown_before_the_entry_that_introduces_it(keyring: Keyring) -> None:
    later = keyring.apply(added(NEW, "operator"), 7, ids(ROOT, NEW))
    with pytest.raises(UnknownKey):
        later.require(key_id(NEW), OBSERVED, 6, 1)
    assert later.require(key_id(NEW), OBSERVED, 8, 1).added == 7


def test_rule_1_a_key_does_not_head_the_entry_that_introduces_it(keyring: Keyring) -> None:
    later = keyring.apply(added(NEW, "root"), 7, ids(ROOT, NEW))
    with pytest.raises(UnknownKey, match="signs the event that introduces it"):
        later.require(key_id(NEW), "key.added/1", 7, 1)
    assert later.require_known(key_id(NEW), 7).role == "root", "but it signs along"


def test_rule_1_a_key_introduced_in_another_home_ledger_is_unknown(keyring: Keyring) -> None:
    elsewhere = Keyring("b.test.invalid")
    with pytest.raises(NotPermitted, match=r"names a\.test\.invalid"):
        elsewhere.apply(created(FIRST_KEYS.items()), 0, ids(*FIRST_KEYS.values()))
    with pytest.raises(UnknownKey):
        elsewhere.require(key_id(OPERATOR), OBSERVED, 3, 1)


# --- rule 2: signed by the key that it introduces ------------------------------------------------------


def test_rule_2_a_new_key_signs_its_own_introduction(keyring: Keyring) -> None:
    with pytest.raises(NotPermitted, match="its own introduction"):
        keyring.apply(added(NEW), 1, ids(ROOT))
    with pytest.raises(NotPermitted, match="its own introduction"):
        keyring.apply(rotated(OPERATOR, NEW), 1, ids(ROOT, OPERATOR))


@pytest.mark.parametrize("role", FIRST_KEYS)
def test_rule_2_every_first_key_signs_the_creation(role: Role) -> None:
    others = [key for name, key in FIRST_KEYS.items() if name != role]
    with pytest.raises(NotPermitted, match="its own introduction"):
        Keyring(ORIGIN).apply(created(FIRST_KEYS.items()), 0, ids(*others))


def test_rule_2_an_old_key_signs_its_own_rotation(keyring: Keyring) -> None:
    with pytest.raises(NotPermitted, match="its own rotation"):
        keyring.apply(rotated(OPERATOR, NEW), 1, ids(ROOT, NEW))


# --- rule 3: the role may sign the type ----------------------------------------------------------------


@pytest.mark.parametrize("event_type", CATALOGUE)
def test_rule_3_only_the_roles_of_its_class_sign_a_type(keyring: Keyring, event_type: str) -> None:
    for role, key in FIRST_KEYS.items():
        if role in CATALOGUE[event_type].signed_by:
            assert keyring.require(key_id(key), event_type, 1, 1).role == role
        else:
            with pytest.raises(NotPermitted, match=f"this key is {role}|is a {role} key"):
                keyring.require(key_id(key), event_type, 1, 1)


def test_rule_3_the_ledger_key_signs_no_event_and_key_events_are_for_root_alone() -> None:
    assert all("ledger" not in cls.signed_by for cls in CATALOGUE.values())
    for event_type, cls in CATALOGUE.items():
        assert (cls.signed_by == {"root"}) == changes_keys(event_type)


def test_rule_3_the_right_to_sign_an_unknown_type_is_not_judged(keyring: Keyring) -> None:
    assert permitted_roles("future.seen/1") is None
    keyring.require(key_id(COLLECTOR), "future.seen/1", 1, 1)
    with pytest.raises(UnknownKey):
        keyring.require(key_id(NEW), "future.seen/1", 1, 1)
    with pytest.raises(NotPermitted, match="signs checkpoints and no event"):
        keyring.require(key_id(FIRST_KEYS["ledger"]), "future.seen/1", 1, 1)


# --- rule 4: rotated -------------------------------------------------------------------------------------


def test_rule_4_a_rotated_key_opens_no_new_stream(keyring: Keyring) -> None:
    after = keyring.apply(rotated(OPERATOR, NEW), 4, ids(ROOT, OPERATOR, NEW))
    with pytest.raises(NotPermitted, match="opens no new stream"):
        after.require(key_id(OPERATOR), OPENED, 5, 0)


def test_rule_4_a_rotated_key_finishes_its_streams(keyring: Keyring) -> None:
    after = keyring.apply(rotated(OPERATOR, NEW), 4, ids(ROOT, OPERATOR, NEW))
    for event_type in (OBSERVED, "stream.closed/1"):
        assert after.require(key_id(OPERATOR), event_type, 5, 9).rotated == 4
    assert after.require(key_id(NEW), OPENED, 5, 0).role == "operator"


def test_rule_4_a_rotated_root_key_changes_no_keys(keyring: Keyring) -> None:
    after = keyring.apply(rotated(ROOT, NEW), 4, ids(ROOT, NEW))
    with pytest.raises(NotPermitted, match="not change keys"):
        after.require(key_id(ROOT), "key.added/1", 5, 3)
    assert after.require(key_id(ROOT), "stream.closed/1", 5, 3).rotated == 4
    assert after.require(key_id(ROOT), "key.rotated/1", 4, 2).rotated == 4, "its own rotation stands"


def test_rule_4_a_rotated_key_is_not_rotated_again_and_a_known_one_is_no_successor(keyring: Keyring) -> None:
    after = keyring.apply(rotated(OPERATOR, NEW), 4, ids(ROOT, OPERATOR, NEW))
    with pytest.raises(NotPermitted, match="not a current key"):
        after.apply(rotated(OPERATOR, NEWER), 5, ids(ROOT, OPERATOR, NEWER))
    with pytest.raises(NotPermitted, match="already known"):
        after.apply(rotated(NEW, OPERATOR), 5, ids(ROOT, OPERATOR, NEW))
    with pytest.raises(NotPermitted, match="not a current key"):
        keyring.apply(rotated(NEWER, NEW), 5, ids(ROOT, NEW, NEWER))


# --- rule 5: revoked -------------------------------------------------------------------------------------


def test_rule_5_a_revoked_key_signs_nothing_after_the_revocation(keyring: Keyring) -> None:
    after = keyring.apply(revoked(OPERATOR, 3), 6, ids(ROOT))
    for seq in (0, 1):
        with pytest.raises(RevokedKey, match="revoked at index 6"):
            after.require(key_id(OPERATOR), OPENED if seq == 0 else OBSERVED, 7, seq)


def test_rule_5_what_it_signed_from_the_last_good_state_on_is_disowned(keyring: Keyring) -> None:
    known = keyring.apply(revoked(OPERATOR, 3), 6, ids(ROOT)).keys[key_id(OPERATOR)]
    assert [index for index in range(9) if known.disowns(index)] == [3, 4, 5]
    assert not any(keyring.keys[key_id(OPERATOR)].disowns(index) for index in range(9))


def test_rule_5_the_last_good_state_is_an_earlier_one_of_this_ledger(keyring: Keyring) -> None:
    for bad in (revoked(OPERATOR, 7), revoked(OPERATOR, 3, "b.test.invalid")):
        with pytest.raises(NotPermitted, match="last good state"):
            keyring.apply(bad, 6, ids(ROOT))
    keyring.apply(revoked(OPERATOR, 6), 6, ids(ROOT))


def test_rule_5_a_revoked_key_is_not_revoked_rotated_or_introduced_again(keyring: Keyring) -> None:
    after = keyring.apply(revoked(OPERATOR, 3), 6, ids(ROOT))
    with pytest.raises(NotPermitted, match="not a current key"):
        after.apply(revoked(OPERATOR, 3), 7, ids(ROOT))
    with pytest.raises(NotPermitted, match="not a current key"):
        after.apply(rotated(OPERATOR, NEW), 7, ids(ROOT, OPERATOR, NEW))
    with pytest.raises(NotPermitted, match="already known"):
        after.apply(added(OPERATOR), 7, ids(ROOT, OPERATOR))


def test_rule_5_the_only_current_ledger_key_stays(keyring: Keyring) -> None:
    with pytest.raises(NotPermitted, match="only current ledger key"):
        keyring.apply(revoked(LEDGER, 1), 1, ids(ROOT))


def test_rule_5_a_rotated_ledger_key_does_not_stand_in_for_the_current_one(keyring: Keyring) -> None:
    after = keyring.apply(rotated(LEDGER, NEW), 1, ids(ROOT, LEDGER, NEW))
    with pytest.raises(NotPermitted, match="only current ledger key"):
        after.apply(revoked(NEW, 2), 2, ids(ROOT))
    done = after.apply(revoked(LEDGER, 2), 2, ids(ROOT))
    assert [known.public_key for known in done.holders("ledger")] == [NEW.public_key]


def test_rule_5_a_stolen_ledger_key_is_revoked_once_another_was_added(keyring: Keyring) -> None:
    after = keyring.apply(added(NEW, "ledger"), 1, ids(ROOT, NEW)).apply(revoked(LEDGER, 1), 2, ids(ROOT))
    assert [known.public_key for known in after.holders("ledger")] == [NEW.public_key]


# --- rule 6: judged by what was before; root stays -------------------------------------------------------


def test_rule_6_the_root_key_cannot_be_revoked_even_when_rotated(keyring: Keyring) -> None:
    with pytest.raises(NotPermitted, match="root key"):
        keyring.apply(revoked(ROOT, 1), 1, ids(ROOT))
    after = keyring.apply(rotated(ROOT, NEW), 1, ids(ROOT, NEW))
    with pytest.raises(NotPermitted, match="root key"):
        after.apply(revoked(ROOT, 1), 2, ids(NEW))


def test_rule_6_a_ledger_is_created_once(keyring: Keyring) -> None:
    with pytest.raises(NotPermitted, match="created before"):
        keyring.apply(created(FIRST_KEYS.items()), 1, ids(*FIRST_KEYS.values()))


@pytest.mark.parametrize("missing", ["root", "ledger"])
def test_rule_6_a_ledger_begins_with_a_root_and_a_ledger_key(missing: str) -> None:
    keys = [(role, key) for role, key in FIRST_KEYS.items() if role != missing]
    with pytest.raises(NotPermitted, match="no root key or no ledger key"):
        Keyring(ORIGIN).apply(created(keys), 0, ids(*FIRST_KEYS.values()))


def test_one_key_has_one_role() -> None:
    keys = [*FIRST_KEYS.items(), ("collector", OPERATOR)]
    with pytest.raises(NotPermitted, match="one role"):
        Keyring(ORIGIN).apply(created(keys), 0, ids(*FIRST_KEYS.values()))  # type: ignore[arg-type]


@pytest.mark.parametrize("raw", [bytes(32), b"\x01" + bytes(31), b"\xed" + b"\xff" * 30 + b"\x7f"])
def test_an_unsafe_key_is_not_introduced(keyring: Keyring, raw: bytes) -> None:
    with pytest.raises(MalformedKey):
        keyring.apply(KeyAdded(role="collector", public_key=raw.hex()), 1, ids(ROOT))


def test_a_refused_event_and_an_event_about_something_else_change_nothing(keyring: Keyring) -> None:
    before = dict(keyring.keys)
    with pytest.raises(NotPermitted):
        keyring.apply(added(NEW), 1, ids(ROOT))
    noted = ObservationNoted(status="declared", claims=None, public_text="x", text=None)
    assert keyring.apply(noted, 1, ids(OPERATOR)) is keyring
    after = keyring.apply(added(NEW), 1, ids(ROOT, NEW))
    assert keyring.keys == before
    assert after.keys.keys() - before.keys() == {key_id(NEW)}


def test_the_families_that_change_keys_are_those_of_the_catalogue() -> None:
    assert {family for t in CATALOGUE if (family := t.partition("/")[0]) in KEY_FAMILIES} == KEY_FAMILIES
    assert changes_keys("key.added/9")
    assert not changes_keys(OBSERVED)
