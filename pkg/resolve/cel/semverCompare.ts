import { formatDouble } from "../../cel/goNumbers.ts";
import type { StepMeter } from "../../cel/meter.ts";
import { Failure, getTypeName, type Result, Uint, type Value } from "../../cel/values.ts";
import { compareVersions, parseOperatorVersion, parseVersion, type Version } from "../../version/version.ts";

const MAX_VERSION = 256;
const VERSION_COST = 20;

/** Compares versions as OLM v0's `semver_compare` does: strings and numbers, with or without a leading v, of one to three parts. */
export function compareSemver([left = null, right = null]: readonly Value[], meter: StepMeter): Result {
  meter.spend(VERSION_COST);
  const [a, b] = [parseTolerantVersion(left), parseTolerantVersion(right)];
  if (a instanceof Failure) return a;
  return b instanceof Failure ? b : BigInt(compareVersions(a, b));
}

function parseTolerantVersion(value: Value): Version | Failure {
  if (typeof value !== "string" && typeof value !== "bigint" && typeof value !== "number" && !(value instanceof Uint))
    return new Failure(`cannot parse a value of type ${getTypeName(value)} as a version`);
  const text = typeof value === "number" ? formatDouble(value) : String(value instanceof Uint ? value.value : value);
  if (text.length > MAX_VERSION)
    return new Failure(`cannot parse a string of ${text.length} characters as a version: maximum ${MAX_VERSION}`);
  try {
    return parseVersion(parseOperatorVersion(text));
  } catch (err) {
    return new Failure(err instanceof Error ? err.message : String(err));
  }
}
