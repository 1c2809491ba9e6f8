#!/usr/bin/env node
// A second verifier for exported ledgers, written from docs/format.md alone by somebody who had not read anvil.
// Node 18 or newer, standard library only. "§" and a number name a section of docs/format.md.
//
//     node verify.mjs DIRECTORY VKEY [--openings] [--json]
//
// VKEY is the text of the verifier key, which has to come from elsewhere than DIRECTORY. With --openings,
// openings.ndjson and blobs/ are checked as well. Exit status as in §14; 2 when used wrongly.

import { createHash, createPublicKey, verify as verifySignature } from "node:crypto";
import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

// ---- Findings and their gravity (§14) ---------------------------------------------------------------------

const FATAL = new Set(["rolled-back", "split-view"]);
const NOTES = new Set(["redacted", "stream-open", "disowned", "clock-stepped-back", "unknown-type",
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

// ---- Bytes, hashes, base64 (§1) ---------------------------------------------------------------------------

const sha256 = (...parts) => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
};

const leafHash = (entry) => sha256(Buffer.of(0), entry);
const nodeHash = (left, right) => sha256(Buffer.of(1), left, right);
const isHex = (text, bytes) => typeof text === "string" && text.length === 2 * bytes && /^[0-9a-f]*$/.test(text);

/** Decode base64 in its one spelling, or return null. */
function base64(text) {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : null;
}

/** Decode UTF-8 without byte-order mark, or return null. */
function utf8(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

// ---- Canonical JSON (§2) ----------------------------------------------------------------------------------

function encode(value, depth = 1) {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") {
    if (/\p{Surrogate}/u.test(value)) throw new RangeError("lone surrogate");
    return JSON.stringify(value);
  }
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value)) throw new RangeError("number");
    return String(value);
  }
  if (depth > 254) throw new RangeError("depth");
  if (Array.isArray(value)) return `[${value.map((each) => encode(each, depth + 1)).join(",")}]`;
  const keys = Object.keys(value).sort();
  if (!keys.every((key) => /^[a-z0-9_]+$/.test(key))) throw new RangeError("key");
  return `{${keys.map((key) => `"${key}":${encode(value[key], depth + 1)}`).join(",")}}`;
}

/** Read canonical JSON; undefined when it is anything else. */
function canonical(bytes) {
  const text = utf8(bytes);
  if (text === null) return undefined;
  try {
    const value = JSON.parse(text);
    return encode(value) === text ? value : undefined;
  } catch {
    return undefined;
  }
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const hasExactly = (value, ...members) =>
  isObject(value) && isDeepStrictEqual(Object.keys(value).sort(), members.sort());

// ---- Ed25519 (§6) -----------------------------------------------------------------------------------------

const P = 2n ** 255n - 19n;
const mod = (value) => ((value % P) + P) % P;

function power(base, exponent) {
  let result = 1n;
  for (let square = mod(base); exponent > 0n; exponent >>= 1n, square = mod(square * square))
    if (exponent & 1n) result = mod(result * square);
  return result;
}

const D = mod(-121665n * power(121666n, P - 2n));
const SQRT_M1 = power(2n, (P - 1n) / 4n);

/** Vetting: is this the canonical encoding of a point that is not of small order? */
function isVetted(key) {
  const number = BigInt(`0x${Buffer.from(key).reverse().toString("hex")}`);
  let [sign, y] = [number >> 255n, number & (2n ** 255n - 1n)];
  if (y >= P) return false;
  const square = mod((y * y - 1n) * power(D * y * y + 1n, P - 2n));
  let x = power(square, (P + 3n) / 8n);
  if (mod(x * x) !== square) x = mod(x * SQRT_M1);
  if (mod(x * x) !== square || (x === 0n && sign === 1n)) return false;
  if ((x & 1n) !== sign) x = mod(-x);
  for (let doubled = 0; doubled < 3; doubled++) {
    const product = D * x * x * y * y;
    [x, y] = [mod(2n * x * y * power(1n + product, P - 2n)), mod((y * y + x * x) * power(1n - product, P - 2n))];
  }
  return x !== 0n || y !== 1n;
}

const SPKI = Buffer.from("302a300506032b6570032100", "hex");

/** OpenSSL's check is the cofactorless equation that §6 asks for. */
function isSigned(publicKey, message, signature) {
  try {
    const key = createPublicKey({ key: Buffer.concat([SPKI, publicKey]), format: "der", type: "spki" });
    return verifySignature(null, message, key, signature);
  } catch {
    return false;
  }
}

// ---- The languages of clear values (§3, §13) --------------------------------------------------------------

const HASH = /^[0-9a-f]{64}$/;
const LABEL = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const ORIGIN = /^(?=.{1,160}$)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?:\/[a-z0-9][a-z0-9._-]*)*$/;
const EVENT = /^(?=.{1,64}$)([a-z]+(?:_[a-z]+)*\.[a-z]+(?:_[a-z]+)*)\/[1-9][0-9]{0,3}$/;
const STREAM = /^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{16}$/;
const MEDIA = /^(?=.{1,80}$)[a-z]+\/[a-z0-9][a-z0-9.+-]*$/;
const TIME = /^([0-9]{4})-([0-9]{2})-([0-9]{2})T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{6}Z$/;
const FIELD = /^[a-z0-9][a-z0-9_]{0,63}$/;

const matches = (pattern) => (value) => typeof value === "string" && pattern.test(value);
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
const isRole = (value) => ["ledger", "root", "operator", "collector"].includes(value);
const isOrigin = matches(ORIGIN);
const isHash = matches(HASH);

function isTime(text) {
  const parts = typeof text === "string" && TIME.exec(text);
  if (!parts) return false;
  const [year, month, day] = parts.slice(1).map(Number);
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
  return year >= 1 && days !== undefined && day >= 1 && day <= days;
}

// What Unicode 15.0 to 17.0 assigned: not a character to §13, which means Unicode 14.0.
const NEWER = (`88f 897 c5c cdc cf3 ece 1acf-1add 1ae0-1aeb 1b4e-1b4f 1b7f 1c89-1c8a 20c1 2427-2429 2b96 2ffc-2fff
31e4-31e5 31ef a7cb-a7cf a7d2 a7d4 a7da-a7dc a7f1 fbc3-fbd2 fd90-fd91 fdc8-fdce 105c0-105f3 10940-10959 10d40-10d65
10d69-10d85 10d8e-10d8f 10ec2-10ec7 10ed0-10ed8 10efa-10eff 1123f-11241 11380-11389 1138b 1138e 11390-113b5
113b7-113c0 113c2 113c5 113c7-113ca 113cc-113d5 113d7-113d8 113e1-113e2 116d0-116e3 11b00-11b09 11b60-11b67
11bc0-11be1 11bf0-11bf9 11db0-11ddb 11de0-11de9 11f00-11f10 11f12-11f3a 11f3e-11f5a 1342f 13439-13455 13460-143fa
16100-16139 16d40-16d79 16ea0-16eb8 16ebb-16ed3 16ff2-16ff6 187f8-187ff 18cff 18d09-18d1e 18d80-18df2 1b132 1b155
1cc00-1ccfc 1cd00-1ceb3 1ceba-1ced0 1cee0-1cef0 1d2c0-1d2d3 1df25-1df2a 1e030-1e06d 1e08f 1e4d0-1e4f9 1e5d0-1e5fa
1e5ff 1e6c0-1e6de 1e6e0-1e6f5 1e6fe-1e6ff 1f6d8 1f6dc 1f774-1f77f 1f7d9 1f8b2-1f8bb 1f8c0-1f8c1 1f8d0-1f8d8
1fa54-1fa57 1fa75-1fa77 1fa87-1fa8a 1fa8e-1fa8f 1faad-1faaf 1fabb-1fabf 1fac6 1fac8 1facd-1facf 1fada-1fadc 1fadf
1fae8-1faea 1faef 1faf7-1faf8 1fbcb-1fbef 1fbfa 2b739-2b73f 2cea2-2cead 2ebf0-2ee5d 31350-33479`)
  .replace(/[0-9a-f]+/g, "\\u{$&}").replace(/\s+/g, "");
const HIDDEN = new RegExp(`[\\p{Cn}\\p{Cc}\\p{Cf}\\p{Co}\\p{Cs}\\p{Zl}\\p{Zp}${NEWER}\\u034f\\u115f-\\u1160\\u17b4-\\u17b5` +
  "\\u180b-\\u180f\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0f\\uffa0\\ufff0-\\ufffb\\u{13430}-\\u{1343f}\\u{16fe4}" +
  "\\u{1d159}\\u{e0000}-\\u{e0fff}]", "u");
const isPublicText = (text) => typeof text === "string" && [...text].length <= 1000 && !HIDDEN.test(text) &&
  text.normalize("NFC") === text && !/^\p{Zs}|\p{Zs}$/u.test(text);

// The members of facts that a verdict hangs on, by family, as far as §8 to §10 name them.
const isKeyList = (value) => Array.isArray(value) &&
  value.every((key) => isObject(key) && isHash(key.public_key) && isRole(key.role));
const isState = (value) => isObject(value) && isOrigin(value.origin) && isHash(value.root) && isCount(value.size);
const FACTS = {
  "ledger.created": { origin: isOrigin, keys: isKeyList,
    predecessor: (value) => value === null || (isObject(value) && isState(value.restored)) },
  "key.added": { public_key: isHash, role: isRole },
  "key.rotated": { new_public_key: isHash, old_key: isHash },
  "key.revoked": { key: isHash, last_good: isState },
  "stream.abandoned": { abandoned: matches(STREAM), last_seq: isCount, last_header: isHash },
  "event.retracted": { target: isHash },
  "sealed.redacted": { target: isHash, field: matches(FIELD), reason: isPublicText },
  "artifact.redacted": { target: isHash, artifact: matches(LABEL), reason: isPublicText },
  "artifact.disclosed": { target: isHash, artifact: matches(LABEL), digest: matches(DIGEST), size: isCount,
    salt: isHash },
};

// ---- Entry and header (§3, §5) ----------------------------------------------------------------------------

const PAYLOAD_TYPE = "application/vnd.anvil.event.v1+json";
const SIGNATURE = String.raw`\{"keyid":"[0-9a-f]{64}","sig":"[A-Za-z0-9+/]{86}=="\}`;
const ENVELOPE = new RegExp(String.raw`^\{"payload":"([A-Za-z0-9+/=]*)","payloadType":"${PAYLOAD_TYPE.replace("+", "\\+")}"` +
  String.raw`,"signatures":\[(${SIGNATURE}(?:,${SIGNATURE}){0,15})\]\}$`);

/** Split an entry; null when it is not in its one spelling. */
function readEnvelope(entry) {
  if (entry.length > 65535) return null;
  const parts = ENVELOPE.exec(entry.toString("latin1"));
  const header = parts && base64(parts[1]);
  if (!header) return null;
  const signatures = JSON.parse(`[${parts[2]}]`).map(({ keyid, sig }) => ({ keyid, sig: base64(sig) }));
  const distinct = new Set(signatures.map(({ keyid }) => keyid)).size === signatures.length;
  return distinct && signatures.every(({ sig }) => sig?.length === 64) ? { header, signatures } : null;
}

const isArtifact = (value) => isObject(value) && matches(LABEL)(value.name) && matches(MEDIA)(value.media_type) &&
  (value.disclosure === "public"
    ? hasExactly(value, "disclosure", "name", "media_type", "digest", "size") &&
      matches(DIGEST)(value.digest) && isCount(value.size)
    : hasExactly(value, "disclosure", "name", "media_type", "commitment") &&
      value.disclosure === "private" && isHash(value.commitment));

const MEMBERS = {
  v: (value) => value === 1,
  event: matches(EVENT),
  ledger: isOrigin,
  key: isHash,
  at: isTime,
  stream: matches(STREAM),
  stream_seq: isCount,
  stream_prev: (value, header) => (header.stream_seq === 0 ? value === null : isHash(value)),
  subject: (value) => isObject(value) && Object.entries(value).every(([name, label]) =>
    ["campaign", "candidate", "attempt"].includes(name) && matches(LABEL)(label)),
  facts: isObject,
  sealed: (value) => hasExactly(value, "alg", "fields") && isObject(value.fields) &&
    Object.entries(value.fields).every(([name, commitment]) => FIELD.test(name) && isHash(commitment)),
  artifacts: (value) => Array.isArray(value) && value.every(isArtifact) &&
    new Set(value.map(({ name }) => name)).size === value.length,
};

/** Judge a header: the code of what is wrong with it, or null. */
function judgeHeader(header) {
  if (!isObject(header)) return "non-canonical";
  if ("v" in header && header.v !== 1) return "unsupported-version";
  const alg = header.sealed?.alg;
  if (alg !== undefined && alg !== "sha256-salted/1") return "unsupported-version";
  if (!hasExactly(header, ...Object.keys(MEMBERS))) return "non-canonical";
  return Object.entries(MEMBERS).every(([name, fits]) => fits(header[name], header)) ? null : "non-canonical";
}

// ---- The tree (§11) ---------------------------------------------------------------------------------------

function root(hashes) {
  if (hashes.length === 0) return sha256("");
  let level = hashes;
  while (level.length > 1) {
    const next = [];
    for (let at = 0; at + 1 < level.length; at += 2) next.push(nodeHash(level[at], level[at + 1]));
    if (level.length % 2) next.push(level.at(-1));
    level = next;
  }
  return level[0];
}

// ---- Signed notes (§11) -----------------------------------------------------------------------------------

/** Read a verifier key; null when it is none. */
function readVerifierKey(text) {
  const parts = /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text);
  const bytes = parts && base64(parts[3]);
  if (!bytes || bytes.length !== 33 || bytes[0] !== 1 || !isOrigin(parts[1])) return null;
  const publicKey = bytes.subarray(1);
  return keyHash(parts[1], publicKey) === parts[2] && isVetted(publicKey) ? { name: parts[1], publicKey } : null;
}

const keyHash = (name, publicKey) =>
  sha256(name, Buffer.of(0x0a, 1), publicKey).subarray(0, 4).toString("hex");

/** Read a checkpoint; null when it is none. */
function readCheckpoint(bytes) {
  const note = utf8(bytes);
  if (note === null || /[\0-\x09\x0b-\x1f]/.test(note)) return null;
  const middle = note.lastIndexOf("\n\n");
  if (middle < 0 || !note.endsWith("\n")) return null;
  const text = note.slice(0, middle + 1);
  const signatures = note.slice(middle + 2, -1).split("\n").map((line) => {
    const parts = /^\u2014 ([^ +]+) ([A-Za-z0-9+/=]+)$/.exec(line);
    const bytes = parts && base64(parts[2]);
    return bytes && bytes.length > 4
      ? { name: parts[1], hash: bytes.subarray(0, 4).toString("hex"), sig: bytes.subarray(4) } : null;
  });
  const [origin, size, rootText, ...extension] = text.slice(0, -1).split("\n");
  const hash = base64(rootText ?? "");
  const sound = signatures.length <= 100 && signatures.every(Boolean) && isOrigin(origin) &&
    /^(?:0|[1-9][0-9]*)$/.test(size ?? "") && BigInt(size) < 2n ** 63n && hash?.length === 32 &&
    extension.every((line) => line !== "");
  return sound ? { text: Buffer.from(text), origin, size: Number(size), root: hash, signatures } : null;
}

// ---- Exported files (§12) ---------------------------------------------------------------------------------

function readFile(path, index) {
  try {
    return readFileSync(path);
  } catch {
    report("file-damaged", index, `${path} cannot be read`);
    return null;
  }
}

function tilePath(folder, level, number, width) {
  const digits = String(number).padStart(Math.ceil(String(number).length / 3) * 3, "0");
  const groups = digits.match(/.{3}/g);
  const name = groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join("/");
  return join(folder, "tile", String(level), name + (width < 256 ? `.p/${width}` : ""));
}

/** Read the entries that a size calls for; null where one is not there. */
function readEntries(folder, size) {
  const entries = [];
  for (let number = 0; number * 256 < size; number++) {
    const width = Math.min(256, size - number * 256);
    const path = tilePath(folder, "entries", number, width);
    const bundle = readFile(path, number * 256);
    let at = 0;
    const found = [];
    while (bundle && found.length < width && at + 2 <= bundle.length) {
      const end = at + 2 + bundle.readUInt16BE(at);
      if (end > bundle.length) break;
      found.push(bundle.subarray(at + 2, end));
      at = end;
    }
    if (bundle && (found.length < width || at !== bundle.length))
      report("file-damaged", number * 256, `${path} does not hold ${width} entries`);
    for (let each = 0; each < width; each++) entries.push(found[each] ?? null);
  }
  return entries;
}

/** Compare the hash tiles with what the entries give. */
function checkTiles(folder, leaves) {
  for (let level = 0, hashes = leaves; hashes.length > 0; level++) {
    for (let from = 0; from < hashes.length; from += 256) {
      const expected = hashes.slice(from, from + 256);
      const path = tilePath(folder, level, from / 256, expected.length);
      const tile = readFile(path, null);
      if (!tile) continue;
      if (tile.length !== 32 * expected.length) {
        report("file-damaged", null, `${path} has ${tile.length} bytes`);
        continue;
      }
      expected.forEach((hash, at) => {
        if (hash === null || hash.equals(tile.subarray(32 * at, 32 * at + 32))) return;
        if (level === 0) report("tampered", from + at, "the entry is not the one in the hash tile");
        else report("tree-differs", null, `hash ${from + at} of level ${level} is not what the entries give`);
      });
    }
    const next = [];
    for (let from = 0; from + 256 <= hashes.length; from += 256) {
      const below = hashes.slice(from, from + 256);
      next.push(below.includes(null) ? null : root(below));
    }
    hashes = next;
  }
}

// ---- The events, in order of index (§7 to §10) ------------------------------------------------------------

const PERSON = ["operator"];
const ANY = ["root", "operator", "collector"];
const ROLES = {
  "ledger.created/1": ["root"], "key.added/1": ["root"], "key.rotated/1": ["root"], "key.revoked/1": ["root"],
  "stream.opened/1": ANY, "stream.closed/1": ANY, "stream.abandoned/1": ANY, "observation.noted/1": PERSON,
  "event.retracted/1": PERSON, "sealed.redacted/1": PERSON, "artifact.redacted/1": PERSON,
  "artifact.disclosed/1": PERSON,
};
const KEY_FAMILIES = ["ledger.created", "key.added", "key.rotated", "key.revoked"];
const OPENERS = ["stream.opened", "ledger.created"];

const commit = (salt, value) => sha256("anvil/sealed/1", Buffer.of(0), salt, value).toString("hex");
const keyId = (publicKey) => sha256(Buffer.from(publicKey, "hex")).toString("hex");

class Log {
  rings = new Map(); // origin -> { base, keys: Map(key id -> { publicKey, role, added, rotated, revoked, good }) }
  ranges = []; // carried ranges, outermost first: { from, until, origin, root }
  streams = new Map(); // stream id -> its last event: { seq, hash, key, ledger, at, ended, index }
  byHash = new Map(); // entry hash -> { index, header }
  redactions = []; // { index, header } of those that were permitted and have a target
  events = []; // { index, header, ring } of all that could be read
  origin = null;

  constructor(entries) {
    this.entries = entries;
    this.leaves = entries.map((entry) => entry && leafHash(entry));
  }

  read() {
    this.entries.forEach((entry, index) => entry && this.readEntry(entry, index));
    for (const range of this.ranges) {
      const leaves = this.leaves.slice(range.from, range.until);
      if (leaves.includes(null)) continue;
      if (leaves.length < range.until - range.from || root(leaves).toString("hex") !== range.root)
        report("tree-differs", range.from, "the carried range has another root");
    }
    const open = [...this.streams.values()].filter(({ ended }) => !ended).length;
    if (open) report("stream-open", null, `${open} streams are open`);
    const disowned = this.events.filter((event) => this.isDisowned(event)).length;
    if (disowned) report("disowned", null, `${disowned} events are disowned`);
    const excused = this.redactions.filter((event) => !this.isDisowned(event)).length;
    if (excused) report("redacted", null, `${excused} redactions`);
  }

  readEntry(entry, index) {
    const envelope = readEnvelope(entry);
    if (!envelope) return report("non-canonical", index, "the entry is not in its one spelling");
    const header = canonical(envelope.header);
    const wrong = header === undefined ? "non-canonical" : judgeHeader(header);
    if (wrong) return report(wrong, index, "the header is not one");
    const family = header.event.split("/")[0];
    const known = header.event in ROLES;
    let sound = true;
    if (!known && KEY_FAMILIES.includes(family))
      sound = report("unsupported-version", index, header.event);
    else if (!known) report("unknown-type", index, header.event);
    const shape = known ? FACTS[family] ?? {} : {};
    if (!Object.entries(shape).every(([name, fits]) => fits(header.facts[name])))
      sound = report("non-canonical", index, "the facts are not those of the type");

    // §10: where the entry stands says which ledger is its home.
    const home = this.ranges.findLast(({ from, until }) => from <= index && index < until)?.origin ?? this.origin;
    const opens = index === 0 || this.ranges.some(({ from }) => from === index);
    if (index === 0) this.origin = header.ledger;
    else if (header.ledger !== home) sound = report("not-permitted", index, "an event of another ledger");

    const ring = this.rings.get(header.ledger);
    const introduced = sound ? this.introduces(header, family, index, ring, opens) : new Map();
    if (introduced === null) sound = false;
    if (!this.checkSignatures(envelope, header, family, known, index, ring, introduced ?? new Map()) || !sound)
      sound = false;
    const event = { index, header, ring };
    sound = this.checkStream(event, sha256(envelope.header).toString("hex"), family, known, sound) && sound;
    this.checkTarget(event, family, known, sound);
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
      const leaves = this.leaves.slice(ring.base, ring.base + size);
      if (!leaves.includes(null) && root(leaves).toString("hex") !== stated)
        return refuse("last_good.root is another");
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
    for (const { keyid, sig } of signatures) {
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

  /** §7: the event continues its stream. */
  checkStream({ index, header }, hash, family, known, sound) {
    const last = this.streams.get(header.stream);
    const refuse = (message) => report("chain-broken", index, message);
    let chained = true;
    if (header.stream_seq === 0) {
      if (last) chained = refuse("the stream began already");
      else if (!OPENERS.includes(family)) chained = refuse(`a stream cannot begin with ${family}`);
    } else if (!last) chained = refuse("the stream did not begin");
    else if (last.ended) chained = refuse("the stream has ended");
    else if (OPENERS.includes(family)) chained = refuse(`${family} in the middle of a stream`);
    else if (header.stream_seq !== last.seq + 1 || header.stream_prev !== last.hash)
      chained = refuse("the event before it is another");
    else if (header.key !== last.key || header.ledger !== last.ledger) chained = refuse("another key or ledger");
    if (last && header.at < last.at) report("clock-stepped-back", index, "earlier than the event before it");
    let ends = family === "stream.closed";
    if (header.event === "stream.abandoned/1" && sound) {
      const named = this.streams.get(header.facts.abandoned);
      if (header.facts.abandoned === header.stream || !named || named.ended || named.seq !== header.facts.last_seq ||
        named.hash !== header.facts.last_header) chained = refuse("the abandoned stream is not as it says");
      else named.ended = true;
    }
    this.streams.set(header.stream, { seq: header.stream_seq, hash, key: header.key, ledger: header.ledger,
      at: header.at, ended: ends, index });
    return chained;
  }

  /** §9: corrections name an earlier event, and a field or artifact of it. */
  checkTarget(event, family, known, sound) {
    const { index, header: { facts } } = event;
    if (!known || !["event.retracted", "sealed.redacted", "artifact.redacted", "artifact.disclosed"].includes(family))
      return;
    const target = this.byHash.get(facts.target)?.header;
    const artifact = target?.artifacts.find(({ name }) => name === facts.artifact);
    const there = family === "event.retracted" ? target
      : family === "sealed.redacted" ? Object.hasOwn(target?.sealed.fields ?? {}, facts.field)
        : family === "artifact.redacted" ? artifact : artifact?.disclosure === "private";
    if (!there) report("dangling-reference", index, "what the correction names is not there");
    else if (family.endsWith(".redacted") && sound) this.redactions.push(event);
    else if (family === "artifact.disclosed") {
      const value = Buffer.from(encode({ digest: facts.digest, size: facts.size }));
      if (commit(Buffer.from(facts.salt, "hex"), value) !== artifact.commitment)
        report("sealed-altered", index, "the disclosure does not open the commitment");
    }
  }

  /** §8, §10: what a permitted event of the key families changes. */
  apply({ index, header: { ledger, facts } }, family, introduced) {
    if (family === "ledger.created") {
      this.rings.set(ledger, { base: index, keys: introduced });
      if (facts.predecessor) {
        const { origin, size, root: stated } = facts.predecessor.restored;
        this.ranges.push({ from: index + 1, until: index + 1 + size, origin, root: stated });
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
        if (!openings) continue;
        if (!openings.has(artifact.commitment)) {
          if (!excused) report("artifact-missing", index, `the opening of ${artifact.name}`);
          continue;
        }
        pointer = open(artifact.commitment, index);
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
        if (!excused) report("artifact-missing", index, artifact.name);
      } else if (statSync(blob).size !== pointer.size || (await digestOf(blob)) !== pointer.digest)
        report("artifact-altered", index, artifact.name);
    }
  }
}

// ---- All together (§14) -----------------------------------------------------------------------------------

async function verify(folder, vkey, withBytes) {
  const bytes = readFile(join(folder, "checkpoint"), null);
  const checkpoint = bytes && readCheckpoint(bytes);
  if (!checkpoint) return bytes && report("checkpoint-invalid", null, "the checkpoint cannot be read");
  const log = new Log(readEntries(folder, checkpoint.size));
  log.read();
  checkTiles(folder, log.leaves);

  // Identity.
  const ring = log.rings.get(vkey.name);
  const mine = ring?.keys.get(sha256(vkey.publicKey).toString("hex"));
  if (vkey.name !== log.origin || mine?.role !== "ledger")
    report("other-ledger", null, "the verifier key is not one of this ledger");

  // The checkpoint: signed by a ledger key in force, and of this tree.
  const keys = [...(log.rings.get(log.origin)?.keys.values() ?? [])].filter(({ role }) => role === "ledger");
  const signed = checkpoint.signatures.flatMap(({ name, hash, sig }) => keys
    .filter((key) => name === checkpoint.origin && keyHash(name, key.publicKey) === hash)
    .map((key) => ({ key, valid: isSigned(key.publicKey, checkpoint.text, sig) })));
  const counts = signed.some(({ key }) => key.revoked === null || key.good >= checkpoint.size);
  if (checkpoint.origin !== log.origin || !counts || signed.some(({ valid }) => !valid))
    report("checkpoint-invalid", null, "no ledger key in force signed the checkpoint");
  if (!log.leaves.includes(null) && !root(log.leaves).equals(checkpoint.root))
    report("tampered", 0, "the entries are not those of the checkpoint");

  if (withBytes) await checkBytes(folder, log);
  else report("not-checked", null, "openings and artifacts");
  report("unanchored", null, "whether there were more entries is not known here");
  return { origin: log.origin, size: checkpoint.size };
}

const flags = process.argv.slice(2).filter((argument) => argument.startsWith("--"));
const [folder, text, ...rest] = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const vkey = text && readVerifierKey(text.trim());
if (!vkey || rest.length || flags.some((flag) => !["--openings", "--json"].includes(flag))) {
  console.error("usage: node verify.mjs DIRECTORY VKEY [--openings] [--json]");
  process.exit(2);
}
if (!existsSync(folder)) {
  console.error(`${folder} is not there`);
  process.exit(3);
}
const seen = await verify(folder, vkey, flags.includes("--openings"));
if (flags.includes("--json")) console.log(JSON.stringify({ ...seen, exit_code: exitStatus(), findings }));
else for (const { code, index, message } of findings) console.log(`${code}${index === null ? "" : ` ${index}`}: ${message}`);
process.exitCode = exitStatus();
