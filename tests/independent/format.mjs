// What docs/format.md says about single things: bytes, headers, envelopes, keys, signed notes.
// "§" and a number name a section of it. verify.mjs puts them together.

import { createHash, createPublicKey, verify as verifySignature } from "node:crypto";
import { isDeepStrictEqual } from "node:util";

// ---- Bytes, hashes, base64 (§1) ---------------------------------------------------------------------------

export const sha256 = (...parts) => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
};

export const leafHash = (entry) => sha256(Buffer.of(0), entry);
const nodeHash = (left, right) => sha256(Buffer.of(1), left, right);
export const isHex = (text, bytes) => typeof text === "string" && text.length === 2 * bytes && /^[0-9a-f]*$/.test(text);

/** Decode base64 in its one spelling, or return null. */
function base64(text) {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : null;
}

/** Decode UTF-8 without byte-order mark, or return null. */
export function utf8(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

// ---- Canonical JSON (§2) ----------------------------------------------------------------------------------

export function encode(value, depth = 1) {
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
export function canonical(bytes) {
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
export const hasExactly = (value, ...members) =>
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
export function isVetted(key) {
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
export function isSigned(publicKey, message, signature) {
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
export const DIGEST = /^sha256:[0-9a-f]{64}$/;
const ORIGIN = /^(?=.{1,160}$)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?:\/[a-z0-9][a-z0-9._-]*)*$/;
const EVENT = /^(?=.{1,64}$)([a-z]+(?:_[a-z]+)*\.[a-z]+(?:_[a-z]+)*)\/[1-9][0-9]{0,3}$/;
const STREAM = /^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{16}$/;
const MEDIA = /^(?=.{1,80}$)[a-z]+\/[a-z0-9][a-z0-9.+-]*$/;
const TIME = /^([0-9]{4})-([0-9]{2})-([0-9]{2})T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{6}Z$/;
const VERSION = /^(?=.{1,64}$)[0-9]{1,9}(?:\.[0-9]{1,9}){0,3}(?:[.+-]?[a-z0-9]{1,24}){0,4}$/;
const NAME = "[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?:/[a-z0-9][a-z0-9._-]*)*";
const VKEY = new RegExp(`^(?=.{1,214}$)${NAME}\\+[0-9a-f]{8}\\+[A-Za-z0-9+/]{44}$`);
const CHECKPOINT = new RegExp(`^(?=[^]{1,1300}$)${NAME}\n(?:0|[1-9][0-9]{0,15})\n[A-Za-z0-9+/]{43}=\n\n` +
  `(?:\u2014 ${NAME} [A-Za-z0-9+/]{91}=\n){1,4}$`);
const FIELD = /^[a-z0-9][a-z0-9_]{0,63}$/;

export const matches = (pattern) => (value) => typeof value === "string" && pattern.test(value);
export const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
const isRole = (value) => ["ledger", "root", "operator", "collector"].includes(value);
const isOrigin = matches(ORIGIN);
export const isHash = matches(HASH);

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
const isPublicText = (text) => typeof text === "string" && text !== "" && [...text].length <= 1000 && !HIDDEN.test(text) &&
  text.normalize("NFC") === text && !/^\p{Zs}|\p{Zs}$/u.test(text);

// The facts of control events: exactly these members (§13). `each` is for arrays, `exactly` for objects.
const exactly = (shape) => (value) => hasExactly(value, ...Object.keys(shape)) &&
  Object.entries(shape).every(([name, fits]) => fits(value[name]));
const each = (fits) => (value) => Array.isArray(value) && value.every(fits);
const orNull = (fits) => (value) => value === null || fits(value);
const isState = exactly({ origin: isOrigin, root: isHash, size: isCount });

export const FACTS = {
  "ledger.created/1": exactly({
    keys: each(exactly({ public_key: isHash, role: isRole })),
    origin: isOrigin,
    predecessor: orNull(exactly({
      anchored_checkpoint: orNull(matches(CHECKPOINT)),
      key: matches(VKEY),
      lost: orNull(isCount),
      restored: isState,
      restored_checkpoint: orNull(matches(CHECKPOINT)),
    })),
    software: matches(VERSION),
  }),
  "key.added/1": exactly({ public_key: isHash, role: isRole }),
  "key.rotated/1": exactly({ new_public_key: isHash, old_key: isHash }),
  "key.revoked/1": exactly({
    cause: (value) => ["compromised", "lost", "retired"].includes(value),
    key: isHash,
    last_good: isState,
  }),
  "stream.abandoned/1": exactly({
    abandoned: matches(STREAM),
    last_header: isHash,
    last_seq: isCount,
    reason: matches(LABEL),
  }),
  "event.retracted/1": exactly({ reason: isPublicText, target: isHash }),
  "sealed.redacted/1": exactly({ field: matches(LABEL), reason: isPublicText, target: isHash }),
  "artifact.redacted/1": exactly({ artifact: matches(LABEL), reason: isPublicText, target: isHash }),
  "artifact.missing/1": exactly({ artifact: matches(LABEL), reason: isPublicText, target: isHash }),
  "artifact.disclosed/1": exactly({
    artifact: matches(LABEL),
    digest: matches(DIGEST),
    salt: isHash,
    size: isCount,
    target: isHash,
  }),
  "artifact.disclosed/2": exactly({
    artifact: matches(LABEL),
    digest: matches(DIGEST),
    exceptions: each(isHash),
    extent: (value) => ["digest", "bytes"].includes(value),
    reason: orNull(isPublicText),
    salt: isHash,
    size: isCount,
    target: isHash,
  }),
};

// ---- Entry and header (§3, §5) ----------------------------------------------------------------------------

export const PAYLOAD_TYPE = "application/vnd.anvil.event.v1+json";
const SIGNATURE = String.raw`\{"keyid":"[0-9a-f]{64}","sig":"[A-Za-z0-9+/]{86}=="\}`;
const ENVELOPE = new RegExp(String.raw`^\{"payload":"([A-Za-z0-9+/=]*)","payloadType":"${PAYLOAD_TYPE.replace("+", "\\+")}"` +
  String.raw`,"signatures":\[(${SIGNATURE}(?:,${SIGNATURE}){0,15})\]\}$`);

/** Split an entry; null when it is not in its one spelling. */
export function readEnvelope(entry) {
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
export function judgeHeader(header) {
  if (!isObject(header)) return "non-canonical";
  if (header.v !== 1) return "unsupported-version";
  const alg = header.sealed?.alg;
  if (alg !== undefined && alg !== "sha256-salted/1") return "unsupported-version";
  if (!hasExactly(header, ...Object.keys(MEMBERS))) return "non-canonical";
  return Object.entries(MEMBERS).every(([name, fits]) => fits(header[name], header)) ? null : "non-canonical";
}

// ---- The tree (§11) ---------------------------------------------------------------------------------------

export function root(hashes) {
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
export function readVerifierKey(text) {
  const parts = /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(text);
  const bytes = parts && base64(parts[3]);
  if (!bytes || bytes.length !== 33 || bytes[0] !== 1 || !isOrigin(parts[1])) return null;
  const publicKey = bytes.subarray(1);
  return keyHash(parts[1], publicKey) === parts[2] && isVetted(publicKey) ? { name: parts[1], publicKey } : null;
}

export const keyHash = (name, publicKey) =>
  sha256(name, Buffer.of(0x0a, 1), publicKey).subarray(0, 4).toString("hex");

/** Read a checkpoint; null when it is none. */
export function readCheckpoint(bytes) {
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
