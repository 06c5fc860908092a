import { Reason } from "../api/constants.ts";
import { TerminalError } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { truncateExcerpt } from "../text/truncate.ts";

/** Limits of a bundle configuration: ten times the size of 300 environment variables or 300 annotations. */
export const CONFIG_LIMITS = {
  /** As JSON in UTF-8. */
  bytes: 262_144,
  /** Objects, lists and scalars. */
  values: 10_000,
  /** Lines, list items and fields in the texts of all sources, counted before parsing; includes lines of comments and certificates. */
  separators: 20_000,
  /** Nesting levels; the deepest field in a Pod is at level 15. */
  depth: 64,
  /** Values, counted once for each Deployment and container that gets them, see `chooseConfigs`. */
  work: 100_000,
} as const;

/** Prefix of error texts, as in operator-controller. */
export const INVALID_CONFIG = "invalid ClusterExtension configuration: invalid configuration: ";

const TOO_MANY = {
  bytes: `it is larger than ${CONFIG_LIMITS.bytes} bytes as JSON`,
  values: `it has more than ${CONFIG_LIMITS.values} values`,
  depth: `it is nested more than ${CONFIG_LIMITS.depth} levels deep`,
} as const;

/** A list or object that contains the counted value. `name` is its name in its parent. */
interface CountedParent {
  readonly name: string;
  readonly size: number;
  readonly isList: boolean;
}

/** An exceeded limit and the path of the field. Field names can come from a Secret. */
export interface SizeFault {
  readonly limit: string;
  readonly where: string;
}

/**
 * Checks the size of a configuration before any other processing. Stops counting at the first exceeded limit.
 * @param config parsed JSON or YAML, of any form.
 * @throws TerminalError InvalidConfiguration with the exceeded limit and the largest field on the path to the value that exceeds it.
 */
export function checkConfigSize(config: unknown): void {
  const fault = findConfigSizeFault(config);
  if (fault) throw new TerminalError(Reason.InvalidConfiguration, `${INVALID_CONFIG}${fault.limit}: ${fault.where}`);
}

/** Returns the limit that a configuration exceeds, or undefined. */
export function findConfigSizeFault(config: unknown): SizeFault | undefined {
  return new SizeCount().add(config, "");
}

/** Counts values, bytes and levels. Methods return a fault if a limit is exceeded. */
class SizeCount {
  #values = 0;
  #bytes = 0;
  readonly #places: CountedParent[] = [];

  add(value: unknown, name: string): SizeFault | undefined {
    this.#values += 1;
    if (this.#values > CONFIG_LIMITS.values) return { limit: TOO_MANY.values, where: this.#largest() };
    if (typeof value !== "object" || value === null) return this.#addBytes(value, name);
    if (this.#places.length === CONFIG_LIMITS.depth) return { limit: TOO_MANY.depth, where: this.#path() };
    const isList = Array.isArray(value);
    const names = isList ? [] : Object.keys(value);
    const size = isList ? value.length : names.length;
    this.#places.push({ name, size, isList });
    this.#bytes += 2 + Math.max(0, size - 1);
    for (let i = 0; i < size; i++) {
      const member = isList ? String(i) : (names[i] ?? "");
      const fault =
        (isList ? undefined : this.#addBytes(member, member, 1)) ?? this.add((value as Record<string, unknown>)[member], member);
      if (fault) return fault;
    }
    this.#places.pop();
    return undefined;
  }

  /** @param extra additional bytes, such as for a colon. */
  #addBytes(scalar: unknown, name: string, extra = 0): SizeFault | undefined {
    const { bytes: most } = CONFIG_LIMITS;
    // JSON is never shorter than the text, so a text above the limit does not need encoding.
    const size = typeof scalar !== "string" ? String(scalar).length : scalar.length > most ? scalar.length : jsonLength(scalar);
    this.#bytes += size + extra;
    if (this.#bytes <= most) return undefined;
    return { limit: TOO_MANY.bytes, where: size > most / 2 ? `${this.#path(name)} has ${size} bytes` : this.#largest() };
  }

  /** Returns the largest list or object that contains the last counted value. */
  #largest(): string {
    const at = this.#places.reduce((most, { size }, index) => (size > (this.#places[most]?.size ?? 0) ? index : most), 0);
    const { size, isList } = this.#places[at] ?? { size: 0, isList: false };
    return `${this.#path(undefined, at + 1)} has ${size} ${isList ? "items" : "fields"}`;
  }

  #path(last?: string, depth = this.#places.length): string {
    const names = this.#places.slice(1, depth).map(({ name }) => name);
    if (last !== undefined) names.push(last);
    return names.length === 0 ? "it" : `field ${goQuote(truncateExcerpt(names.map((text) => truncateExcerpt(text)).join(".")))}`;
  }
}

function jsonLength(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}
