import {
  boolYaml11Tag,
  CORE_SCHEMA,
  defineMappingTag,
  defineScalarTag,
  mapTag,
  mergeTag,
  NOT_RESOLVED,
  type Schema,
  YAMLException,
} from "js-yaml";

const INT = /^[-+]?(0[bB][01_]+|0[oO][0-7_]+|0[xX][\da-fA-F_]+|0[0-7_]*|[1-9][\d_]*)$/;
const FLOAT = /^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$/;
const NO_NUMBER = /^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$/;
const DIGITS = "+-0123456789".split("");
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const MIN_INT64 = -(2n ** 63n);
const MAX_UINT64 = 2n ** 64n - 1n;
/** No number of more characters has 64 bits, unless zeros stand before it; long ones would be slow to read exactly. */
const MAX_EXACT_CHARACTERS = 100;

const intTag = defineScalarTag<number | bigint>("tag:yaml.org,2002:int", {
  implicit: true,
  implicitFirstChars: DIGITS,
  identify: (value: unknown) => typeof value === "bigint",
  resolve: (text) => (INT.test(text) ? integerFrom(text) : NOT_RESOLVED),
});

const floatTag = defineScalarTag<number>("tag:yaml.org,2002:float", {
  implicit: true,
  implicitFirstChars: [".", ...DIGITS],
  identify: (value: unknown) => typeof value === "number",
  resolve(text) {
    if (NO_NUMBER.test(text)) throw new YAMLException(`json: unsupported value: ${text}`);
    return floatFrom(text) ?? NOT_RESOLVED;
  },
});

/** Bytes become the text that they spell, since JSON has no bytes. */
const binaryTag = defineScalarTag<string>("tag:yaml.org,2002:binary", {
  identify: () => false,
  resolve(text) {
    const base64 = text.replace(/[\r\n]/g, "");
    return BASE64.test(base64) && base64.length % 4 === 0 ? Buffer.from(base64, "base64").toString("utf8") : NOT_RESOLVED;
  },
});

const { create, has, keys, get, identify, represent } = mapTag;
/** Keys become strings; null is refused, as Go does. */
const stringKeyedMapTag = defineMappingTag("tag:yaml.org,2002:map", {
  create,
  has,
  keys,
  get,
  identify,
  represent,
  addPair: (container, key, value) => (key === null ? "unsupported map key: null" : mapTag.addPair(container, key, value)),
});

/** Scalars as Kubernetes' YAML has them: YAML 1.1 booleans and integers, merge keys, timestamps left as strings. */
export const KUBE_SCHEMA: Schema = CORE_SCHEMA.withTags(mergeTag, boolYaml11Tag, intTag, floatTag, binaryTag, stringKeyedMapTag);

/** What exceeds 64 bits is a float where its digits can be one, otherwise text. */
function integerFrom(text: string): number | bigint | typeof NOT_RESOLVED {
  const sign = text.startsWith("-") ? -1 : 1;
  const digits = text.replace(/^[-+]/, "").replaceAll("_", "").toLowerCase();
  const body = digits.replace(/^0(?=[0-7]+$)/, "0o");
  const size = Number(body);
  if (Number.isSafeInteger(size)) return size === 0 ? 0 : sign * size;
  if (body.length <= MAX_EXACT_CHARACTERS && !Number.isNaN(size)) {
    const exact = BigInt(sign) * BigInt(body);
    if (exact >= MIN_INT64 && exact <= MAX_UINT64) return exact;
  }
  return floatFrom(text) ?? NOT_RESOLVED;
}

/** Undefined for what is no float, and for one that is too large: that stays text, as in Go. */
function floatFrom(text: string): number | undefined {
  const body = text.replaceAll("_", "");
  const value = FLOAT.test(body) ? Number(body) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}
