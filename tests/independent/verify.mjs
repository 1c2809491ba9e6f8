#!/usr/bin/env node
// A second verifier for exported ledgers, written from docs/format.md alone by somebody who had not read anvil.
// Node 18 or newer, standard library only. "§" and a number name a section of docs/format.md.
//
//     node verify.mjs DIRECTORY VKEY [--openings] [--json]
//
// VKEY is the text of the verifier key, which has to come from elsewhere than DIRECTORY. With --openings,
// openings.ndjson and blobs/ are checked as well. Exit status as in §14; 2 when used wrongly.

import { createHash } from "node:crypto";
import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DIGEST, FACTS, PAYLOAD_TYPE, canonical, encode, hasExactly, isCount, isHash, isHex, isSigned, isVetted,
  judgeHeader, keyHash, leafHash, matches, readCheckpoint, readEnvelope, readVerifierKey, root, sha256, utf8 }
  from "./format.mjs";

// ---- Findings and their gravity (§14) ---------------------------------------------------------------------

const FATAL = new Set(["rolled-back", "split-view"]);
const NOTES = new Set(["uncovered", "redacted", "lost", "stream-open", "disowned", "clock-stepped-back", "unknown-type",
  "dangling-reference", "not-checked"]);
const findings = [];

function report(code, index, message) {
  findings.push({ code, index: index ?? null, message });
  return false;
}

function exitStatus() {
  const exits = findings.map(({ code }) =>
    FATAL.has(code) ? 4 : code === "unanchored" ? 3 : NOTES.has(code) ? 0 : 1);
  return [4, 1, 3].find((exit) => exits.includes(exit)) ?? 0;
}

// ---- Exported files (§12) ---------------------------------------------------------------------------------

function readFile(path) {
  try {
    return readFileSync(path);
  } catch {
    report("file-damaged", null, `${path} cannot be read`);
    return null;
  }
}

function tilePath(folder, level, number, width) {
  const digits = String(number).padStart(Math.ceil(String(number).length / 3) * 3, "0");
  const groups = digits.match(/.{3}/g);
  const name = groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join("/");
  return join(folder, "tile", String(level), name + (width < 256 ? `.p/${width}` : ""));
}

/** Read the entries that a size calls for; null when one is not there. */
function readEntries(folder, size) {
  const entries = [];
  for (let number = 0; number * 256 < size; number++) {
    const width = Math.min(256, size - number * 256);
    const path = tilePath(folder, "entries", number, width);
    const bundle = readFile(path);
    if (!bundle) return null;
    let at = 0;
    for (let each = 0; each < width; each++) {
      const end = at + 2 <= bundle.length ? at + 2 + bundle.readUInt16BE(at) : Infinity;
      if (end > bundle.length) return report("file-damaged", null, `${path} ends within entry ${each}`) || null;
      entries.push(bundle.subarray(at + 2, end));
      at = end;
    }
    if (at !== bundle.length) return report("file-damaged", null, `${path} goes on after its last entry`) || null;
  }
  return entries;
}

/** Compare the hash tiles with what the entries give. */
function checkTiles(folder, { leaves, unreadable }) {
  for (let level = 0, hashes = leaves; hashes.length > 0; level++) {
    for (let from = 0; from < hashes.length; from += 256) {
      const expected = hashes.slice(from, from + 256);
      const path = tilePath(folder, level, from / 256, expected.length);
      const tile = readFile(path);
      if (!tile) continue;
      if (tile.length !== 32 * expected.length) {
        report("file-damaged", null, `${path} has ${tile.length} bytes`);
        continue;
      }
      expected.forEach((hash, at) => {
        if (hash.equals(tile.subarray(32 * at, 32 * at + 32))) return;
        if (level === 0 && unreadable.has(from + at)) return;
        if (level === 0) report("tampered", from + at, "the entry is not the one in the hash tile");
        else report("tree-differs", null, `hash ${from + at} of level ${level} is not what the entries give`);
      });
    }
    const next = [];
    for (let from = 0; from + 256 <= hashes.length; from += 256) {
      next.push(root(hashes.slice(from, from + 256)));
    }
    hashes = next;
  }
}

// ---- The events, in order of index (§7 to §10) ------------------------------------------------------------

const PERSON = ["operator"];
const ANY = ["root", "operator", "collector"];
const ROLES = {
  "ledger.created/1": ["root"], "key.added/1": ["root"], "key.rotated/1": ["root"], "key.revoked/1": ["root"],
  "stream.opened/1": ANY, "stream.closed/1": ANY, "stream.abandoned/1": ANY, "observation.noted/1": PERSON, "observation.noted/2": PERSON,
  "event.retracted/1": PERSON, "sealed.redacted/1": PERSON, "artifact.redacted/1": PERSON,
  "artifact.missing/1": PERSON, "artifact.disclosed/1": PERSON, "artifact.disclosed/2": PERSON, "evidence.attached/1": PERSON,
};
const KEY_FAMILIES = ["ledger.created", "key.added", "key.rotated", "key.revoked"];
const OPENERS = ["stream.opened", "ledger.created"];

const commit = (salt, value) => sha256("anvil/sealed/1", Buffer.of(0), salt, value).toString("hex");
const keyId = (publicKey) => sha256(Buffer.from(publicKey, "hex")).toString("hex");

class Log {
  rings = new Map(); // origin -> { base, keys: Map(key id -> { publicKey, role, added, rotated, revoked, good }) }
  ranges = []; // carried ranges, outermost first: { from, until, origin, predecessor }
  streams = new Map(); // stream id -> its last event: { seq, hash, key, ledger, at, ended }
  byHash = new Map(); // entry hash -> { index, header }
  redactions = []; // { index, header } of those that were permitted and have a target
  losses = []; // the same of artifact.missing
  disclosures = []; // the same of artifact.disclosed, where it opens the commitment and is of bytes
  events = []; // { index, header, ring } of all that could be read
  unreadable = new Set(); // indices of entries that are not spelled as they must be
  abandoned = new Set(); // the streams that were abandoned
  agreed = 0; // the largest size at which a signed state agreed with the entries

  constructor(entries, origin) {
    this.entries = entries;
    this.origin = origin;
    this.leaves = entries.map(leafHash);
  }

  read() {
    this.entries.forEach((entry, index) => this.readEntry(entry, index));
    for (const range of this.ranges) this.checkRange(range);
    const open = [...this.streams].filter(([id, { ended }]) => !ended && !this.abandoned.has(id)).length;
    if (open) report("stream-open", null, `${open} streams are open`);
    const disowned = this.events.filter((event) => this.isDisowned(event)).length;
    if (disowned) report("disowned", null, `${disowned} events are disowned`);
    if (this.redactions.length) report("redacted", null, `${this.redactions.length} redactions`);
    if (this.losses.length) report("lost", null, `${this.losses.length} losses`);
  }

  readEntry(entry, index) {
    const envelope = readEnvelope(entry);
    this.unreadable.add(index);
    if (!envelope) return report("non-canonical", index, "the entry is not in its one spelling");
    const header = canonical(envelope.header);
    const wrong = header === undefined ? "non-canonical" : judgeHeader(header);
    if (wrong) return report(wrong, index, "the header is not one");
    this.unreadable.delete(index);
    const family = header.event.split("/")[0];
    const known = header.event in ROLES;
    let sound = true;
    if (!known && KEY_FAMILIES.includes(family))
      sound = report("unsupported-version", index, header.event);
    else if (!known) report("unknown-type", index, header.event);
    const spelled = FACTS[header.event]?.(header.facts) ?? true;
    if (!spelled) sound = report("non-canonical", index, "the facts are not those of the type");

    // §10: where the entry stands says which ledger is its home.
    const home = this.ranges.findLast(({ from, until }) => from <= index && index < until)?.origin ?? this.origin;
    const opens = index === 0 || this.ranges.some(({ from }) => from === index);
    const fits = header.ledger === home || report("not-permitted", index, "an event of another ledger");
    sound = sound && fits;
    const ring = this.rings.get(header.ledger);
    const introduced = sound ? this.introduces(header, family, index, ring, opens) : new Map();
    if (introduced === null) sound = false;
    if (!fits || !this.checkSignatures(envelope, header, family, known, index, ring, introduced ?? new Map()))
      sound = false;
    const event = { index, header, ring };
    sound = this.checkStream(event, sha256(envelope.header).toString("hex"), family, known, sound) && sound;
    if (known && spelled) this.checkTarget(event, family, sound);
    if (sound && known) this.apply(event, family, introduced);
    event.ring = this.rings.get(header.ledger);
    this.events.push(event);
    this.byHash.set(this.leaves[index].toString("hex"), event);
  }

  /** §8: the keys that an event of the four key families introduces; null when it breaks their rules. */
  introduces(header, family, index, ring, opens) {
    const { facts } = header;
    const refuse = (message) => (report("not-permitted", index, message), null);
    let introduced = [];
    if (family === "ledger.created") {
      if (!opens || ring) return refuse("a ledger is created in the wrong place");
      if (facts.origin !== header.ledger) return refuse("the origin is not the header's ledger");
      introduced = facts.keys;
      if (!["root", "ledger"].every((role) => introduced.some((key) => key.role === role)))
        return refuse("a ledger needs a root and a ledger key");
    } else if (family === "key.added") {
      introduced = [facts];
    } else if (family === "key.rotated") {
      const old = ring?.keys.get(facts.old_key);
      if (!old || old.rotated !== null || old.revoked !== null) return refuse("the old key cannot be rotated");
      introduced = [{ public_key: facts.new_public_key, role: old.role }];
    } else if (family === "key.revoked") {
      const key = ring?.keys.get(facts.key);
      if (!key || key.revoked !== null || key.role === "root") return refuse("the key cannot be revoked");
      const others = [...ring.keys].filter(([id, each]) =>
        id !== facts.key && each.role === "ledger" && each.rotated === null && each.revoked === null);
      if (key.role === "ledger" && key.rotated === null && others.length === 0) return refuse("the only ledger key");
      const { origin, size, root: stated } = facts.last_good;
      if (origin !== header.ledger || ring.base + size > index) return refuse("last_good is no state of the ledger");
      const agrees = this.rootOf(ring.base, size) === stated;
      if (agrees && ring.base === 0) this.agreed = Math.max(this.agreed, size);
      if (!agrees && header.ledger === this.origin) refuse("last_good.root is another"); // it revokes all the same
      else if (!agrees) report("tree-differs", ring.base, "last_good.root is another");
    }
    const keys = new Map();
    for (const { public_key: hex, role } of introduced) {
      const id = keyId(hex);
      if (!isVetted(Buffer.from(hex, "hex"))) return refuse("a key does not pass the vetting");
      if (ring?.keys.has(id) || keys.has(id)) return refuse("a key is in the keyring already");
      keys.set(id, { publicKey: Buffer.from(hex, "hex"), role, added: index, rotated: null, revoked: null });
    }
    return keys;
  }

  /** §5, §8: every signature by a key that counts here, by a role that may sign. */
  checkSignatures({ header: bytes, signatures }, header, family, known, index, ring, introduced) {
    const pae = Buffer.concat([Buffer.from(`DSSEv1 35 ${PAYLOAD_TYPE} ${bytes.length} `), bytes]);
    let sound = true;
    const refuse = (code, message) => (sound = report(code, index, message));
    if (signatures[0].keyid !== header.key) refuse("not-permitted", "the first signature is not by the header's key");
    const unread = !known && KEY_FAMILIES.includes(family); // which keys it introduces is not known
    for (const { keyid, sig } of unread ? signatures.slice(0, 1) : signatures) {
      const mayBeNew = keyid !== header.key || family === "ledger.created";
      const key = ring?.keys.get(keyid) ?? (mayBeNew ? introduced.get(keyid) : undefined);
      if (!key) {
        refuse("unknown-key", `key ${keyid} is not known here`);
        continue;
      }
      if (key.revoked !== null) refuse("signed-after-revocation", `key ${keyid} was revoked`);
      if (!isSigned(key.publicKey, pae, sig)) refuse("tampered", `the signature by ${keyid} does not verify`);
      if (keyid === header.key) {
        if (key.rotated !== null && (header.stream_seq === 0 || KEY_FAMILIES.includes(family)))
          refuse("not-permitted", "a rotated key");
        if (known ? !ROLES[header.event].includes(key.role) : key.role === "ledger")
          refuse("not-permitted", `a ${key.role} key may not sign ${header.event}`);
      }
    }
    const needed = new Set([header.key, ...introduced.keys()]);
    if (family === "key.rotated" && known) needed.add(header.facts.old_key);
    const signers = new Set(signatures.map(({ keyid }) => keyid));
    if (known && KEY_FAMILIES.includes(family) && [...needed].some((id) => !signers.has(id)))
      refuse("not-permitted", "a signature that the event needs is not there");
    return sound;
  }

  /** The root of some entries, in hex; null when there are not so many. */
  rootOf(from, size) {
    return from + size > this.leaves.length ? null : root(this.leaves.slice(from, from + size)).toString("hex");
  }

  /** §11: does a ledger key in force at its size, or of any time, sign the checkpoint, and none wrongly? */
  counts(checkpoint, origin, ofAnyTime = false) {
    const inForce = [...(this.rings.get(origin)?.keys.values() ?? [])].filter((key) =>
      key.role === "ledger" && (ofAnyTime || key.revoked === null || key.good >= checkpoint.size));
    const signed = checkpoint.signatures.flatMap(({ name, hash, sig }) => inForce
      .filter(({ publicKey }) => name === origin && keyHash(name, publicKey) === hash)
      .map(({ publicKey }) => isSigned(publicKey, checkpoint.text, sig)));
    return checkpoint.origin === origin && signed.length > 0 && !signed.includes(false);
  }

  /** §10: a carried range has the root that was restored, and the predecessor's checkpoints fit it. */
  checkRange({ from, origin, predecessor }) {
    const { restored, lost } = predecessor;
    if (this.rootOf(from, restored.size) !== restored.root)
      report("tree-differs", from, "the carried range has another root");
    const refuse = (message) => report("checkpoint-invalid", from - 1, `the predecessor: ${message}`);
    const vkey = readVerifierKey(predecessor.key);
    const key = this.rings.get(origin)?.keys.get(vkey && sha256(vkey.publicKey).toString("hex"));
    if (vkey?.name !== origin || key?.role !== "ledger") return refuse("its key is no ledger key of it");
    const open = (text) => text && readCheckpoint(Buffer.from(text));
    const [stored, anchored] = [open(predecessor.restored_checkpoint), open(predecessor.anchored_checkpoint)];
    for (const checkpoint of [stored, anchored]) {
      if (checkpoint && !this.counts(checkpoint, origin, true)) return refuse("a checkpoint that is not signed");
    }
    if (stored && stored.size > restored.size) refuse("its checkpoint covers more than was restored");
    else if (stored && this.rootOf(from, stored.size) !== stored.root.toString("hex"))
      report("tree-differs", from, "the predecessor's checkpoint has another root");
    if (lost !== (anchored ? Math.max(0, anchored.size - restored.size) : null)) refuse("lost is another number");
    return true;
  }

  /** §7: the event continues its stream. */
  checkStream({ index, header }, hash, family, known, sound) {
    const last = this.streams.get(header.stream);
    const refuse = (message) => report("chain-broken", index, message);
    let chained = true;
    if (header.stream_seq === 0) {
      if (last || this.abandoned.has(header.stream)) chained = refuse("the stream began already");
      else if (!OPENERS.includes(family)) chained = refuse(`a stream cannot begin with ${family}`);
    } else if (!last) chained = refuse("the stream did not begin");
    else if (last.ended || this.abandoned.has(header.stream)) chained = refuse("the stream has ended");
    else if (OPENERS.includes(family)) chained = refuse(`${family} in the middle of a stream`);
    else if (header.stream_seq !== last.seq + 1 || header.stream_prev !== last.hash)
      chained = refuse("the event before it is another");
    else if (header.key !== last.key || header.ledger !== last.ledger) chained = refuse("another key or ledger");
    if (last && header.at < last.at) report("clock-stepped-back", index, "earlier than the event before it");
    if (header.event === "stream.abandoned/1" && sound) {
      const { abandoned, last_seq: seq, last_header: hash } = header.facts;
      const named = this.streams.get(abandoned);
      if (abandoned === header.stream || !named || named.ended || this.abandoned.has(abandoned) ||
        named.seq !== seq || named.hash !== hash) chained = refuse("the abandoned stream is not as it says");
      this.abandoned.add(abandoned);
    }
    this.streams.set(header.stream, { seq: header.stream_seq, hash, key: header.key, ledger: header.ledger,
      at: header.at, ended: family === "stream.closed" });
    return chained;
  }

  /** §9: corrections name an earlier event, and a field or artifact of it. */
  checkTarget(event, family, sound) {
    const { index, header: { facts } } = event;
    if (!["event.retracted", "sealed.redacted", "artifact.redacted", "artifact.missing", "artifact.disclosed"]
      .includes(family)) return;
    const target = this.byHash.get(facts.target)?.header;
    const artifact = target?.artifacts.find(({ name }) => name === facts.artifact);
    const there = family === "event.retracted" ? target
      : family === "sealed.redacted" ? Object.hasOwn(target?.sealed.fields ?? {}, facts.field)
        : artifact;
    if (!there) report("dangling-reference", index, "what the correction names is not there");
    else if (family.endsWith(".redacted") && sound) this.redactions.push(event);
    else if (family === "artifact.missing" && sound) this.losses.push(event);
    else if (family === "artifact.disclosed") {
      const value = Buffer.from(encode({ digest: facts.digest, size: facts.size }));
      if (commit(Buffer.from(facts.salt, "hex"), value) !== artifact.commitment)
        report("sealed-altered", index, "the disclosure does not open the commitment");
      else if (sound && facts.extent === "bytes") this.disclosures.push(event);
    }
  }

  /** §8, §10: what a permitted event of the key families changes. */
  apply({ index, header: { ledger, facts } }, family, introduced) {
    if (family === "ledger.created") {
      this.rings.set(ledger, { base: index, keys: introduced });
      if (facts.predecessor) {
        const { origin, size } = facts.predecessor.restored;
        this.ranges.push({ from: index + 1, until: index + 1 + size, origin, predecessor: facts.predecessor });
      }
      return;
    }
    const ring = this.rings.get(ledger);
    for (const [id, key] of introduced) ring.keys.set(id, key);
    if (family === "key.rotated") ring.keys.get(facts.old_key).rotated = index;
    if (family === "key.revoked")
      Object.assign(ring.keys.get(facts.key), { revoked: index, good: ring.base + facts.last_good.size });
  }

  isDisowned({ index, header, ring }) {
    const key = ring?.keys.get(header.key);
    return key !== undefined && key.revoked !== null && key.good <= index && index < key.revoked;
  }
}

// ---- Openings and artifacts (§4, §9, §12) -----------------------------------------------------------------

function readOpenings(path) {
  const openings = new Map();
  const text = utf8(readFileSync(path)) ?? "?";
  text.split("\n").forEach((line, number) => {
    if (line === "" && number === text.split("\n").length - 1) return;
    try {
      const { commitment, salt, value } = JSON.parse(line);
      if (!isHash(commitment) || !isHex(salt, salt.length / 2) || !isHex(value, value.length / 2)) throw new Error();
      openings.set(commitment, { salt: Buffer.from(salt, "hex"), value: Buffer.from(value, "hex") });
    } catch {
      report("file-damaged", null, `line ${number + 1} of ${path} is no opening`);
    }
  });
  return openings;
}

async function digestOf(path) {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return `sha256:${hash.digest("hex")}`;
}

async function checkBytes(folder, log) {
  const path = join(folder, "openings.ndjson");
  const openings = existsSync(path) ? readOpenings(path) : null;
  const blobs = existsSync(join(folder, "blobs"));
  if (!openings) report("not-checked", null, "sealed values are not among these files");
  if (!blobs) report("not-checked", null, "artifacts are not among these files");

  const redacted = new Set();
  for (const event of log.redactions.filter((each) => !log.isDisowned(each)))
    redacted.add(`${event.header.facts.target} ${event.header.facts.field ?? ""} ${event.header.facts.artifact ?? ""}`);

  const lost = new Set(log.losses.filter((each) => !log.isDisowned(each))
    .map(({ header: { facts } }) => `${facts.target} ${facts.artifact}`));

  const disclosed = new Map(log.disclosures.filter((each) => !log.isDisowned(each))
    .map(({ header: { facts: { target, artifact, digest, size } } }) => [`${target} ${artifact}`, { digest, size }]));

  const open = (commitment, index) => {
    const { salt, value } = openings.get(commitment);
    const opened = canonical(value);
    if (salt.length === 32 && commit(salt, value) === commitment && opened !== undefined && value.length <= 65535)
      return opened;
    report("sealed-altered", index, "an opening does not fit its commitment");
    return undefined;
  };

  for (const { index, header } of log.events) {
    const name = log.leaves[index].toString("hex");
    for (const [field, commitment] of openings ? Object.entries(header.sealed.fields) : []) {
      if (openings.has(commitment)) open(commitment, index);
      else if (!redacted.has(`${name} ${field} `)) report("sealed-missing", index, `field ${field}`);
    }
    for (const artifact of header.artifacts) {
      const excused = redacted.has(`${name}  ${artifact.name}`);
      let pointer = artifact;
      if (artifact.disclosure === "private") {
        if (!openings) pointer = disclosed.get(`${name} ${artifact.name}`);
        else if (openings.has(artifact.commitment)) pointer = open(artifact.commitment, index);
        else {
          if (!excused) report("artifact-missing", index, `the opening of ${artifact.name}`);
          continue;
        }
        if (pointer === undefined) continue;
        if (!hasExactly(pointer, "digest", "size") || !matches(DIGEST)(pointer.digest) || !isCount(pointer.size)) {
          report("sealed-altered", index, `what is opened for ${artifact.name} is no digest and size`);
          continue;
        }
      }
      if (!blobs) continue;
      const hex = pointer.digest.slice(7);
      const blob = join(folder, "blobs", "sha256", hex.slice(0, 2), hex.slice(2));
      if (!existsSync(blob)) {
        if (!excused && !lost.has(`${name} ${artifact.name}`)) report("artifact-missing", index, artifact.name);
      } else if (statSync(blob).size !== pointer.size || (await digestOf(blob)) !== pointer.digest)
        report("artifact-altered", index, artifact.name);
    }
  }
}

// ---- All together (§14) -----------------------------------------------------------------------------------

async function verify(folder, vkey, withBytes) {
  const checkpoint = readCheckpoint(readFileSync(join(folder, "checkpoint")));
  if (!checkpoint) return report("checkpoint-invalid", null, "the checkpoint cannot be read") || null;
  const { origin, size } = checkpoint;
  const entries = readEntries(folder, size);
  if (!entries) return { origin, size };
  const log = new Log(entries, origin);
  log.read();
  checkTiles(folder, log);

  // Identity.
  const ring = log.rings.get(vkey.name);
  const mine = ring?.keys.get(sha256(vkey.publicKey).toString("hex"));
  if (vkey.name !== log.origin || mine?.role !== "ledger")
    report("other-ledger", null, "the verifier key is not one of this ledger");

  // The checkpoint: signed by a ledger key in force, and of this tree.
  if (!log.counts(checkpoint, origin)) {
    report("checkpoint-invalid", Math.max(size - 1, 0), "no ledger key in force signed the checkpoint, or one wrongly");
    if (size > 0) report("uncovered", 0, "no checkpoint covers the entries");
  } else if (!root(log.leaves).equals(checkpoint.root))
    report("tampered", log.agreed, "the entries are not those of the checkpoint");

  if (withBytes) await checkBytes(folder, log);
  else report("not-checked", null, "openings and artifacts");
  report("unanchored", null, "whether there were more entries is not known here");
  return { origin, size };
}

const flags = process.argv.slice(2).filter((argument) => argument.startsWith("--"));
const [folder, text, ...rest] = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const vkey = text && readVerifierKey(text.trim());
if (!vkey || rest.length || flags.some((flag) => !["--openings", "--json"].includes(flag))) {
  console.error("usage: node verify.mjs DIRECTORY VKEY [--openings] [--json]");
  process.exit(2);
}
if (!existsSync(join(folder, "checkpoint"))) {
  console.error(`nothing was verified: there is no checkpoint in ${folder}`);
  process.exit(3);
}
const seen = await verify(folder, vkey, flags.includes("--openings"));
if (flags.includes("--json")) console.log(JSON.stringify({ ...seen, exit_code: exitStatus(), findings }));
else for (const { code, index, message } of findings) console.log(`${code}${index === null ? "" : ` ${index}`}: ${message}`);
process.exitCode = exitStatus();
