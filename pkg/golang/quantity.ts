import { MAX_INT64 } from "./json.ts";

/** An amount such as "1500m": `unscaled` × 10^-`scale`. */
interface Amount {
  unscaled: bigint;
  scale: number;
}
type QuantityFormat = "DecimalSI" | "BinarySI" | "DecimalExponent";

const DECIMAL = new Map<string, number>([
  ["n", -9],
  ["u", -6],
  ["m", -3],
  ["", 0],
  ["k", 3],
  ["M", 6],
  ["G", 9],
  ["T", 12],
  ["P", 15],
  ["E", 18],
]);
const BINARY = new Map<string, number>([
  ["Ki", 10],
  ["Mi", 20],
  ["Gi", 30],
  ["Ti", 40],
  ["Pi", 50],
  ["Ei", 60],
]);
const DECIMAL_BY_EXPONENT = new Map([...DECIMAL].map(([suffix, exponent]) => [exponent, suffix]));
const BINARY_BY_EXPONENT = new Map([...BINARY].map(([suffix, exponent]) => [exponent, suffix]));
/** A suffix must begin with a non-digit, so that the digits before it match in only one way. */
const PARTS = /^([+-]?)(\d*)(?:\.(\d*))?((?:[eEinumkKMGTP]+[-+]?\d*|[-+]\d*)?)$/;
const FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX_WRONG = "unable to parse quantity's suffix";
const NANO = 9;
/** Number of digits that always fits into an int64. */
const MAX_INT64_DIGITS = 18;
/** Maximum length of a text, because big arithmetic takes quadratic time. The largest int64 has 19 digits. */
const MAX_LENGTH = 256;
/** Maximum exponent. A larger one would fill the memory with zeros. */
const MAX_EXPONENT = 1_000;

/**
 * Formats a resource quantity as Kubernetes does: "1024Mi" becomes "1Gi", "0.5" becomes "500m". Text that is canonical by Go's quick check
 * ("1.500", "+5") stays unchanged.
 * @throws Error with the text of apimachinery if the text is not a quantity, and with another text if it has more than 256 characters
 * @see https://pkg.go.dev/k8s.io/apimachinery/pkg/api/resource#Quantity
 */
export function normalizeQuantity(text: string): string {
  const trimmed = text.trim();
  const { negative, amount, format, isNormal } = parseQuantity(trimmed);
  return isNormal ? trimmed : formatted(negative, amount, format);
}

/** Returns a resource quantity in billionths, its smallest unit. @throws Error as `normalizeQuantity` */
export function parseQuantityNanos(text: string): bigint {
  const { negative, amount } = parseQuantity(text.trim());
  const nanos = amount.unscaled * 10n ** BigInt(NANO - amount.scale);
  return negative ? -nanos : nanos;
}

interface ParsedQuantity {
  readonly negative: boolean;
  readonly amount: Amount;
  readonly format: QuantityFormat;
  /** Whether Go keeps the text. */
  readonly isNormal: boolean;
}

function parseQuantity(trimmed: string): ParsedQuantity {
  if (trimmed.length > MAX_LENGTH) throw new Error(`quantity is too long: ${trimmed.length} characters, maximum ${MAX_LENGTH}`);
  const parts = trimmed === "" ? null : PARTS.exec(trimmed);
  if (!parts) throw new Error(FORMAT_WRONG);
  const negative = parts[1] === "-";
  const whole = (parts[2] ?? "").replace(/^0+/, "");
  const digits = whole === "" ? "0" : whole;
  const fraction = parts[3] ?? "";
  const { base, exponent, format } = parseSuffix(parts[4] ?? "");

  let isNormal = false;
  if (fitsInt64(digits, fraction, base, exponent)) {
    const scale = (base === 10 ? exponent : 0) - fraction.length;
    isNormal = isCanonical(format, digits + fraction, scale);
  } else if (!/^[+-]?\.?\d/.test(trimmed)) throw new Error("unable to parse numeric part of quantity");
  const amount = capped(computeAmount(digits + fraction, fraction.length, base, exponent), format);
  return { negative, amount, format, isNormal };
}

/** Go's estimate whether the number can be parsed without big arithmetic. */
function fitsInt64(digits: string, fraction: string, base: 2 | 10, exponent: number): boolean {
  if (base === 10) return digits.length + fraction.length <= MAX_INT64_DIGITS && exponent - fraction.length >= -NANO;
  const bits = Math.trunc(Math.fround(Math.fround(exponent) * 3) / 10);
  return fraction === "" && 15 - digits.length - bits - 1 >= 0;
}

/** Reports whether Go keeps the text of the number unchanged. */
function isCanonical(format: QuantityFormat, shifted: string, scale: number): boolean {
  if (format === "BinarySI") return (BigInt(shifted) & 7n) !== 0n;
  return scale % 3 === 0 && !shifted.endsWith("000") && !shifted.startsWith("0");
}

function parseSuffix(suffix: string): { base: 2 | 10; exponent: number; format: QuantityFormat } {
  const decimal = DECIMAL.get(suffix);
  if (decimal !== undefined) return { base: 10, exponent: decimal, format: "DecimalSI" };
  const binary = BINARY.get(suffix);
  if (binary !== undefined) return { base: 2, exponent: binary, format: "BinarySI" };
  if (!/^[eE][-+]?\d+$/.test(suffix)) throw new Error(SUFFIX_WRONG);
  const exponent = Number(suffix.slice(1));
  if (Math.abs(exponent) > MAX_EXPONENT) throw new Error(SUFFIX_WRONG);
  return { base: 10, exponent, format: "DecimalExponent" };
}

function computeAmount(digits: string, fractionDigits: number, base: 2 | 10, exponent: number): Amount {
  if (base === 10) return { unscaled: BigInt(digits), scale: fractionDigits - exponent };
  return { unscaled: BigInt(digits) << BigInt(exponent), scale: fractionDigits };
}

/** Rounds up to nanos, at least one unless zero; binary amounts are limited to the largest int64. */
function capped({ unscaled, scale }: Amount, format: QuantityFormat): Amount {
  let amount = { unscaled, scale };
  if (scale > NANO) {
    const divisor = 10n ** BigInt(scale - NANO);
    amount = { unscaled: (unscaled + divisor - 1n) / divisor, scale: NANO };
  }
  if (format === "BinarySI" && amount.unscaled > MAX_INT64 * 10n ** BigInt(Math.max(amount.scale, 0)))
    return { unscaled: MAX_INT64, scale: 0 };
  return amount;
}

function formatted(negative: boolean, { unscaled, scale }: Amount, format: QuantityFormat): string {
  if (unscaled === 0n) return "0";
  const sign = negative ? "-" : "";
  if (format === "BinarySI") {
    const unit = 10n ** BigInt(scale);
    if (unscaled >= 1024n * unit && unscaled % unit === 0n) {
      const [number, times] = withoutFactors(unscaled / unit, 1024n);
      return `${sign}${number}${BINARY_BY_EXPONENT.get(times * 10) ?? ""}`;
    }
  }
  let [number, times] = withoutFactors(unscaled, 10n);
  let exponent = times - scale;
  for (; exponent % 3 !== 0; exponent--) number *= 10n;
  if (format === "DecimalExponent") return `${sign}${number}${exponent === 0 ? "" : `e${exponent}`}`;
  return `${sign}${number}${DECIMAL_BY_EXPONENT.get(exponent) ?? ""}`;
}

function withoutFactors(value: bigint, factor: bigint): [rest: bigint, times: number] {
  let [rest, times] = [value, 0];
  for (; rest !== 0n && rest % factor === 0n; times++) rest /= factor;
  return [rest, times];
}
