const INT_BITS = 64;
const TRUE: ReadonlySet<string> = new Set(["1", "t", "T", "true", "TRUE", "True"]);
const FALSE: ReadonlySet<string> = new Set(["0", "f", "F", "false", "FALSE", "False"]);
/** Digits, with single underscores between them. */
const DIGITS = /^\d+(?:_\d+)*$/;
/** Powers of ten from which on a number is printed with an exponent: below 10^-4 and from 10^6. */
const [MIN_POWER, MAX_POWER] = [-4, 6];

/** Parses a bool as Go's strconv.ParseBool does; undefined if the text is not a bool. */
export function parseBool(text: string): boolean | undefined {
  if (TRUE.has(text)) return true;
  return FALSE.has(text) ? false : undefined;
}

/** Parses a decimal integer with an optional sign as Go's strconv.ParseInt does; undefined if it is not an int of 64 bits. */
export function parseSigned(text: string): bigint | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined;
  const value = BigInt(text.replace(/^\+/, ""));
  return BigInt.asIntN(INT_BITS, value) === value ? value : undefined;
}

/** Parses a decimal integer as Go's strconv.ParseUint does; undefined if it is not an unsigned integer of 64 bits. */
export function parseUnsigned(text: string): bigint | undefined {
  if (!/^\d+$/.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asUintN(INT_BITS, value) === value ? value : undefined;
}

/** Parses a number as Go's strconv.ParseFloat does; undefined if the text is not a number, or out of range. */
export function parseDouble(text: string): number | undefined {
  const [, sign = "", body = ""] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  if (text.toLowerCase() === "nan") return Number.NaN;
  const magnitude = parseMagnitude(body.toLowerCase());
  if (magnitude === undefined) return undefined;
  return sign === "-" ? -magnitude : magnitude;
}

function parseMagnitude(text: string): number | undefined {
  if (text === "inf" || text === "infinity") return Number.POSITIVE_INFINITY;
  const value = text.startsWith("0x") ? parseHexadecimal(text.slice(2)) : parseDecimal(text);
  return value === undefined || !Number.isFinite(value) ? undefined : value;
}

function parseDecimal(text: string): number | undefined {
  const [, whole = "", fraction = "", exponent = "0"] = /^([\d_]*)(?:\.([\d_]*))?(?:e([+-]?[\d_]+))?$/.exec(text) ?? [];
  const digits = [whole, fraction, exponent.replace(/^[+-]/, "")];
  if (whole + fraction === "" || digits.some((part) => part !== "" && !DIGITS.test(part))) return undefined;
  return Number(`${whole || "0"}.${fraction || "0"}e${exponent}`.replaceAll("_", ""));
}

/** @param text what follows `0x`: hexadecimal digits and a binary exponent */
function parseHexadecimal(text: string): number | undefined {
  const [, whole = "", fraction = "", exponent = ""] = /^([\da-f]*)(?:\.([\da-f]*))?p([+-]?\d+)$/.exec(text) ?? [];
  if (whole + fraction === "") return undefined;
  return Number(BigInt(`0x${whole}${fraction}`)) * 2 ** (Number(exponent) - 4 * fraction.length);
}

/** Formats a number as Go's strconv.FormatFloat does with format 'g': the shortest digits that identify it. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [mantissa = "", exponent = ""] = value.toExponential().split("e");
  const power = Number(exponent);
  if (power < MIN_POWER || power >= MAX_POWER) {
    const digits = String(Math.abs(power)).padStart(2, "0");
    return `${mantissa}e${power < 0 ? "-" : "+"}${digits}`;
  }
  return String(value);
}
