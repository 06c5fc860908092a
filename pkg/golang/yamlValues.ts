import { YAMLException } from "js-yaml";
import { MAX_INT64 } from "./json.ts";
import type { CollectionNode, ScalarNode, YamlNode } from "./yamlParser.ts";

/** A number, and whether Go decodes it as a float64 instead of a 64-bit integer. */
interface ReadNumber {
  readonly value: number | bigint;
  readonly isFloat: boolean;
}

const TAG_PREFIX = "tag:yaml.org,2002:";
/** Words with a type other than text or number. */
const WORDS: ReadonlyMap<string, boolean | null | number> = new Map<string, boolean | null | number>([
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"].map((word) => [word, true] as const),
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"].map((word) => [word, false] as const),
  ...["", "~", "null", "Null", "NULL"].map((word) => [word, null] as const),
  ...[".nan", ".NaN", ".NAN"].map((word) => [word, Number.NaN] as const),
  ...[".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"].map((word) => [word, Number.POSITIVE_INFINITY] as const),
  ...["-.inf", "-.Inf", "-.INF"].map((word) => [word, Number.NEGATIVE_INFINITY] as const),
]);
const INTEGER = /^[-+]?(?:0[bB][01]+|0[oO]?[0-7]+|0[xX][\da-fA-F]+|0|[1-9]\d*)$/;
const SIGNED_BINARY = /^0b[-+][01]+$/;
const FLOAT = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;
/** Fractions that strconv.ParseFloat accepts, from the point on. */
const FRACTION = /^\.\d(?:_?\d)*(?:[eE][-+]?\d(?:_?\d)*)?$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const TIMESTAMP = /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[Tt]([\d:]+)(?:[.,]\d+)?(?:Z|[-+]\d\d:\d\d)| ([\d:]+)(?:[.,]\d+)?)?$/;
const TIME = /^(\d{1,2}):(\d{1,2}):(\d{1,2})$/;
const MIN_INT64 = -(2n ** 63n);
const MAX_UINT64 = 2n ** 64n - 1n;
/** Maximum length of an integer. Longer ones do not fit into 64 bits unless they have leading zeros, and parsing them exactly would be slow. */
const MAX_EXACT_CHARACTERS = 100;

/**
 * Returns the value of a scalar as Go's decoder resolves it: text, boolean, null, number, or bigint for an integer beyond 2^53.
 * @param fail throws the error for a value that does not have the type of its tag.
 * @see https://github.com/yaml/go-yaml/blob/v2.4.3/resolve.go
 */
function resolveScalar(node: ScalarNode, fail: (reason: string, position: number) => never): unknown {
  const { tag, value, isPlain } = node;
  if (tag === "") return isPlain ? resolvePlain(value) : value;
  if (!tag.startsWith(TAG_PREFIX)) return value;
  const type = tag.slice(TAG_PREFIX.length);
  const wrong = (): never => fail(`cannot decode \`${value.slice(0, 100)}\` as a !!${type}`, node.start);
  switch (type) {
    case "null":
      return resolvePlain(value) === null ? null : wrong();
    case "bool": {
      const resolved = resolvePlain(value);
      return typeof resolved === "boolean" ? resolved : wrong();
    }
    case "int": {
      const number = numberIn(value);
      return number && !number.isFloat ? number.value : wrong();
    }
    case "float": {
      const number = numberIn(value);
      return number && number.value <= MAX_INT64 ? Number(number.value) : floatWord(value, wrong);
    }
    case "timestamp":
      return isTimestamp(value) ? value : wrong();
    case "binary":
      return textOfBase64(value) ?? wrong();
    default:
      return value;
  }
}

function resolvePlain(text: string): unknown {
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  return numberIn(text)?.value ?? text;
}

function floatWord(text: string, wrong: () => never): number {
  const word = WORDS.get(text);
  if (typeof word === "number") return word;
  const number = numberIn(text);
  return number?.isFloat ? Number(number.value) : wrong();
}

/** Reports whether Go decodes the text of an untagged scalar as a float64. */
function isFloatScalar({ tag, value }: ScalarNode): boolean {
  return tag === `${TAG_PREFIX}float` || (numberIn(value)?.isFloat ?? true);
}

/** Parses the number in an unquoted text; undefined if there is none. An integer beyond 64 bits becomes a float, one beyond float64 stays text. */
function numberIn(text: string): ReadNumber | undefined {
  const first = text.charCodeAt(0);
  if (first === 0x2e) return FRACTION.test(text) ? float(text.replaceAll("_", "")) : undefined;
  if (!((first >= 0x30 && first <= 0x39) || first === 0x2b || first === 0x2d)) return undefined;
  const digits = text.includes("_") ? text.replaceAll("_", "") : text;
  if (INTEGER.test(digits)) {
    const value = integer(digits);
    if (value !== undefined) return { value, isFloat: false };
  }
  if (FLOAT.test(digits)) return float(digits);
  if (SIGNED_BINARY.test(digits)) {
    const value = integer(`${digits[2]}0b${digits.slice(3)}`);
    if (value !== undefined) return { value, isFloat: false };
  }
  return undefined;
}

function float(digits: string): ReadNumber | undefined {
  const value = Number(digits);
  return Number.isFinite(value) ? { value, isFloat: true } : undefined;
}

/** Returns undefined if the integer does not fit into 64 bits, or into int64 if it has a sign. */
function integer(digits: string): number | bigint | undefined {
  const isNegative = digits.startsWith("-");
  const isSigned = isNegative || digits.startsWith("+");
  const body = (isSigned ? digits.slice(1) : digits).toLowerCase().replace(/^0(?=[0-7]+$)/, "0o");
  const size = Number(body);
  if (Number.isSafeInteger(size)) return isNegative && size !== 0 ? -size : size;
  if (body.length > MAX_EXACT_CHARACTERS) return undefined;
  const exact = isNegative ? -BigInt(body) : BigInt(body);
  return exact >= MIN_INT64 && exact <= (isSigned ? MAX_INT64 : MAX_UINT64) ? exact : undefined;
}

function isTimestamp(text: string): boolean {
  const match = TIMESTAMP.exec(text);
  if (!match) return false;
  const [, year, month, day, withZone, withoutZone] = match;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return false;
  const time = withZone ?? withoutZone;
  if (time === undefined) return true;
  const [, hour, minute, second] = TIME.exec(time) ?? [];
  return hour !== undefined && Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60;
}

/** Decodes base64 to text, because JSON has no bytes; undefined if it is invalid. */
function textOfBase64(text: string): string | undefined {
  const base64 = text.replace(/[\r\n]/g, "");
  return BASE64.test(base64) && base64.length % 4 === 0 ? Buffer.from(base64, "base64").toString("utf8") : undefined;
}

/** Formats a float64 as a key like sigs.k8s.io/yaml: with the digits of a float32, and an exponent below 1e-04 and from 1e+06. */
function floatKey(value: number): string {
  if (Number.isNaN(value)) return ".nan";
  const single = Math.fround(value);
  if (!Number.isFinite(single)) return single < 0 ? "-.inf" : ".inf";
  if (single === 0) return Object.is(single, -0) ? "-0" : "0";
  let precision = 1;
  while (precision < 9 && Math.fround(Number(single.toPrecision(precision))) !== single) precision++;
  const [digits = "", exponentText = "0"] = single.toExponential(precision - 1).split("e");
  const exponent = Number(exponentText);
  const sign = exponent < 0 ? "-" : "+";
  if (exponent < -4 || exponent >= 6) return `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
  return String(Number(`${digits}e${exponent}`));
}

/**
 * Limits for the share of decoded values that come from aliases: nearly all up to the first number of values, a tenth from the second number on. In
 * between, the share decreases linearly.
 */
const MANY_VALUES = 400_000;
const MOST_VALUES = 4_000_000;
/** Maximum number of members that merge keys may add to a document. */
const MAX_MERGED = 10_000;

/** Options for decoding values. */
export interface ValueOptions {
  /**
   * Largest integer that is decoded as bigint. Larger integers become number, and integers up to 2^53 are always number. Default: 64-bit integers are
   * bigint. 0 disables bigint, as in a Go program that decodes into untyped values.
   */
  maxInteger?: bigint;
  /** Called with the name of each member before it is set. May throw to limit members, which take the most memory. */
  onMember?: ((name: string) => void) | undefined;
}

interface Built {
  readonly value: unknown;
  /** Number of values that Go decodes, including those of aliases. */
  readonly decoded: number;
}

/**
 * Converts nodes to values as sigs.k8s.io/yaml does before it writes JSON. Keys become strings, a repeated key keeps its last value, and a merge key
 * adds members at its position. Values of aliases are shared, not copied.
 * @see https://github.com/yaml/go-yaml/blob/v2.4.3/decode.go and https://github.com/kubernetes-sigs/yaml/blob/v1.6.0/yaml.go
 */
export class ValueBuilder {
  readonly #fail: (reason: string, position: number) => never;
  /** Alias targets, and "open" for incomplete ones. */
  readonly #shared = new Map<YamlNode, Built | "open">();
  readonly #maxInteger: bigint | undefined;
  readonly #onMember: ((name: string) => void) | undefined;
  readonly #targets: ReadonlySet<YamlNode>;
  #decoded = 0;
  #aliased = 0;
  #merged = 0;
  #notFinite: { value: string; start: number } | undefined;

  /** @param targets nodes that aliases refer to @param fail throws the error for a value that JSON cannot represent, with the offset of its node */
  constructor(
    targets: ReadonlySet<YamlNode>,
    fail: (reason: string, position: number) => never,
    { maxInteger, onMember }: ValueOptions = {},
  ) {
    this.#targets = targets;
    this.#fail = fail;
    this.#maxInteger = maxInteger;
    this.#onMember = onMember;
  }

  /** Converts a document. @throws YAMLException for aliases that contain themselves or add too much, and for values that JSON cannot represent */
  document(node: YamlNode): unknown {
    const value = this.#value(node);
    // Fails only now, because a later member with the same name may have replaced the value.
    if (this.#notFinite && hasNonFinite(value)) this.#fail(`json: unsupported value: ${this.#notFinite.value}`, this.#notFinite.start);
    return value;
  }

  #value(node: YamlNode): unknown {
    const value = this.#build(node);
    if (typeof value === "number" && !Number.isFinite(value)) this.#notFinite ??= readText(node);
    const max = this.#maxInteger;
    return typeof value === "bigint" && max !== undefined && (value > max || value < -max - 1n) ? Number(value) : value;
  }

  #build(node: YamlNode): unknown {
    this.#count(1);
    if (node.kind === "alias") return this.#alias(node.target, node.name);
    if (!this.#targets.has(node)) return this.#content(node);
    this.#shared.set(node, "open");
    const before = this.#decoded;
    const value = this.#content(node);
    this.#shared.set(node, { value, decoded: this.#decoded - before + 1 });
    return value;
  }

  #content(node: ScalarNode | CollectionNode): unknown {
    if (node.kind === "scalar") return resolveScalar(node, this.#fail);
    if (node.kind === "mapping") return this.#mapping(node);
    return node.children.map((child) => this.#value(child));
  }

  #alias(target: YamlNode, name: string): unknown {
    const built = this.#shared.get(target);
    if (built === "open") throw new YAMLException(`anchor '${name}' value contains itself`);
    if (!built) return this.#build(target); // a merge list is read from the end, so the anchor may come later
    this.#aliased += built.decoded;
    this.#count(built.decoded);
    return built.value;
  }

  /** Rejects a document that consists mainly of repeated aliases, by the rule of Go's decoder. */
  #count(values: number): void {
    this.#decoded += values;
    if (this.#aliased > 100 && this.#decoded > 1_000 && this.#aliased / this.#decoded > allowedShare(this.#decoded))
      throw new YAMLException("document contains excessive aliasing");
  }

  #mapping({ children }: CollectionNode): Record<string, unknown> {
    const members: Record<string, unknown> = {};
    for (let at = 0; at < children.length; at += 2) {
      const key = children[at];
      const value = children[at + 1];
      if (!key || !value) break;
      if (isMergeKey(key)) {
        this.#merge(members, value);
        continue;
      }
      const name = this.#key(key);
      this.#onMember?.(name);
      setMember(members, name, this.#value(value));
    }
    return members;
  }

  #key(node: YamlNode): string {
    const key = this.#build(node);
    if (typeof key === "string") return key;
    if (typeof key === "number") return isFloat(node) ? floatKey(key) : String(key);
    if (typeof key === "boolean") return String(key);
    if (typeof key === "bigint" && key < 2n ** 63n) return String(key);
    return this.#fail(typeof key === "object" && key !== null ? "invalid map key" : `unsupported map key: ${String(key)}`, node.start);
  }

  #merge(members: Record<string, unknown>, node: YamlNode): void {
    const isList = node.kind === "sequence";
    // In reverse, because members of earlier maps take precedence.
    const sources = isList ? node.children.toReversed() : [node];
    for (const source of sources) {
      const target = source.kind === "alias" ? source.target : source;
      if (target.kind !== "mapping") this.#fail("map merge requires map or sequence of maps as the value", source.start);
      const value = this.#build(source) as Record<string, unknown>;
      for (const key of Object.keys(value)) {
        if (++this.#merged > MAX_MERGED) throw new YAMLException(`merge keys add more than ${MAX_MERGED} members`);
        setMember(members, key, value[key]);
      }
    }
  }
}

/** Sets a member of any name, including `__proto__`. */
function setMember(members: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__") Object.defineProperty(members, key, { value, writable: true, enumerable: true, configurable: true });
  else members[key] = value;
}

function readText(node: YamlNode): { value: string; start: number } {
  const scalar = node.kind === "alias" ? node.target : node;
  return { value: scalar.kind === "scalar" ? scalar.value : "", start: node.start };
}

/** Visits shared values each time they occur. Only used for documents with an infinity. */
function hasNonFinite(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value);
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some(hasNonFinite);
}

function isFloat(node: YamlNode): boolean {
  const scalar = node.kind === "alias" ? node.target : node;
  return scalar.kind === "scalar" && isFloatScalar(scalar);
}

function isMergeKey(key: YamlNode): boolean {
  return key.kind === "scalar" && key.value === "<<" && (key.isPlain || key.tag === "tag:yaml.org,2002:merge");
}

function allowedShare(decoded: number): number {
  const beyond = Math.min(Math.max(decoded - MANY_VALUES, 0), MOST_VALUES - MANY_VALUES);
  return 0.99 - 0.89 * (beyond / (MOST_VALUES - MANY_VALUES));
}

/** Maximum number of characters and values that aliases may add to a document. Aliases in real documents add none. */
const MAX_GROWTH = 16_000_000;
interface Measure {
  /** Characters and values after expanding all aliases. */
  size: number;
  /** Levels of nesting. */
  height: number;
}

/**
 * Rejects a document that is huge after expanding its aliases, or contains itself. Measures shared values once, so it takes linear time.
 * @param limits length of the text, and the allowed levels of nesting
 * @throws YAMLException
 */
export function checkAliases(document: unknown, limits: { length: number; maxDepth: number }): void {
  const most = limits.length + MAX_GROWTH;
  const { maxDepth } = limits;
  const known = new Map<object, Measure | "open">();
  const measure = (value: unknown, depth: number): Measure => {
    if (typeof value !== "object" || value === null) return { size: 1 + (typeof value === "string" ? value.length : 0), height: 0 };
    const before = known.get(value);
    if (before === "open") throw new YAMLException("an anchor's value contains itself");
    if (depth + (before?.height ?? 0) > maxDepth) throw new YAMLException(`nested deeper than ${maxDepth} levels after expanding aliases`);
    if (before) return before;
    known.set(value, "open");
    const all: Measure = { size: 1, height: 0 };
    for (const member of Object.values(value)) {
      const { size, height } = measure(member, depth + 1);
      all.size += size;
      all.height = Math.max(all.height, height + 1);
      if (all.size > most) throw new YAMLException("document contains excessive aliasing");
    }
    known.set(value, all);
    return all;
  };
  measure(document, 0);
}
