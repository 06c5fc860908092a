import { Reason } from "../api/constants.ts";
import { TerminalError } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { excerpt } from "../text/truncate.ts";

/** Most of what a configuration of a bundle may hold: ten times 300 environment variables with a value each, or 300 annotations. */
export const CONFIG_LIMITS = {
  /** As JSON in UTF-8. */
  bytes: 262_144,
  /** Objects, lists and scalars. */
  values: 10_000,
  /** Lines, list items and members in the texts of all sources, counted before they are parsed, with the lines of comments and certificates. */
  separators: 20_000,
  /** Levels of nesting; the deepest field of a Pod has some 15. */
  depth: 64,
  /** Values, counted for each Deployment and container that gets them, see `chooseConfigs`. */
  work: 100_000,
} as const;

/** What error texts begin with, as operator-controller writes it. */
export const INVALID_CONFIG = "invalid ClusterExtension configuration: invalid configuration: ";

const TOO_MANY = {
  bytes: `it holds more than the ${CONFIG_LIMITS.bytes} bytes allowed as JSON`,
  values: `it holds more than the ${CONFIG_LIMITS.values} values allowed`,
  depth: `it is nested deeper than the ${CONFIG_LIMITS.depth} levels allowed`,
} as const;

/** A list or object around the value that is counted, by the name that it has in the one around it. */
interface Place {
  readonly name: string;
  readonly size: number;
  readonly isList: boolean;
}

/** Which limit a configuration exceeds, and where: names of fields, which may come from a Secret. */
export interface SizeFault {
  readonly limit: string;
  readonly where: string;
}

/**
 * Checks the size of a configuration before anything else is done with it. Counting stops at the first limit, whatever follows.
 * @param config parsed JSON or YAML, of any form.
 * @throws TerminalError InvalidConfiguration that names the limit, and the largest part on the way to where it was exceeded.
 */
export function checkConfigSize(config: unknown): void {
  const fault = configSizeFault(config);
  if (fault) throw new TerminalError(Reason.InvalidConfiguration, `${INVALID_CONFIG}${fault.limit}: ${fault.where}`);
}

/** Returns what `checkConfigSize` has against a configuration, or undefined. */
export function configSizeFault(config: unknown): SizeFault | undefined {
  return new SizeCount().add(config, "");
}

/** Counts values, bytes and levels; a method that returns a fault has found a limit exceeded. */
class SizeCount {
  #values = 0;
  #bytes = 0;
  readonly #places: Place[] = [];

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

  /** @param extra bytes that follow, such as a colon. */
  #addBytes(scalar: unknown, name: string, extra = 0): SizeFault | undefined {
    const { bytes: most } = CONFIG_LIMITS;
    // JSON is never shorter than the text, so a text above the limit need not be written to know that.
    const size = typeof scalar !== "string" ? String(scalar).length : scalar.length > most ? scalar.length : jsonLength(scalar);
    this.#bytes += size + extra;
    if (this.#bytes <= most) return undefined;
    return { limit: TOO_MANY.bytes, where: size > most / 2 ? `${this.#path(name)} alone has ${size}` : this.#largest() };
  }

  /** Names the largest list or object around the value that was counted last. */
  #largest(): string {
    const at = this.#places.reduce((most, { size }, index) => (size > (this.#places[most]?.size ?? 0) ? index : most), 0);
    const { size, isList } = this.#places[at] ?? { size: 0, isList: false };
    return `${this.#path(undefined, at + 1)} has ${size} ${isList ? "items" : "fields"}`;
  }

  #path(last?: string, depth = this.#places.length): string {
    const names = this.#places.slice(1, depth).map(({ name }) => name);
    if (last !== undefined) names.push(last);
    return names.length === 0 ? "it" : `field ${goQuote(excerpt(names.map((text) => excerpt(text)).join(".")))}`;
  }
}

function jsonLength(text: string): number {
  return Buffer.byteLength(JSON.stringify(text));
}
