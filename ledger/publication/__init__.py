"""Publications: a released document in a folder that verifies by itself, with the ledger's public key.

1. `layout` says which files there are, and reads them without following anything out of the folder.
2. `manifest` names every file of the document by its digest. The event that releases it has the digest
   of the manifest; what comes after that event (`release/`, `withdrawn/`) is proved by signatures.
3. `evidence` is how envelopes and their proofs lie in files: verbatim, one a line.
4. `gathering` chooses the events that go along: every event of each stream that speaks of the campaign or
   is cited, of those that correct or end one of these, and of those with events about keys.
5. `disclosing` is about the bytes of public artifacts that figures rest on, and of those that were disclosed: they go
   along, nothing private does.
6. `releasing` writes: everything or nothing. `withdrawing` adds the notice that it is taken back.
7. `verifying` checks a folder against a verifier key, with nothing else at hand.
"""
