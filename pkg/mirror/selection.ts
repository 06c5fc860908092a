import { messageOf } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { type Constraint, parseConstraint } from "../version/masterminds.ts";

/** Which part of a catalog is wanted. */
export interface Selection {
  /** names; undefined means all packages */
  readonly packages: ReadonlySet<string> | undefined;
  /** Of a package: names of its channels, none meaning all. */
  channelsOf(packageName: string): readonly string[];
  /** Of a package: its versions that are wanted; undefined means all. */
  versionsOf(packageName: string): Constraint | undefined;
}

/** The texts of a selection. Each of the last two may stand for one package alone, as in `PACKAGE:CHANNEL`, which is wanted then. */
export interface SelectionTexts {
  readonly packages?: readonly string[];
  readonly channels?: readonly string[];
  readonly versions?: readonly string[];
}

/** A package is named by a DNS-1123 subdomain, and no range has a colon. */
const QUALIFIED = /^([a-z0-9](?:[-a-z0-9.]*[a-z0-9])?):(.+)$/s;
/** Key for what is about every package. */
const ALL = "";

/** @returns undefined where the whole catalog is wanted. @throws Error for a range that cannot be read. */
export function parseSelection({ packages = [], channels = [], versions = [] }: SelectionTexts): Selection | undefined {
  if (packages.length + channels.length + versions.length === 0) return undefined;
  const byChannel = Map.groupBy(channels.map(qualified), ({ of }) => of);
  const byVersion = Map.groupBy(versions.map(qualified), ({ of }) => of);
  const ranges = new Map<string, Constraint>();
  for (const [of, given] of byVersion) {
    if (given.length > 1)
      throw new Error(`there are several ranges of versions ${of === ALL ? "for all packages" : `of package ${goQuote(of)}`}: give one`);
    for (const { text } of given) ranges.set(of, rangeFrom(text));
  }
  const named = new Set([...packages, ...byChannel.keys(), ...byVersion.keys()].filter((name) => name !== ALL));
  return {
    packages: named.size === 0 ? undefined : named,
    channelsOf: (name) => [...(byChannel.get(name) ?? []), ...(byChannel.get(ALL) ?? [])].map(({ text }) => text),
    versionsOf: (name) => ranges.get(name) ?? ranges.get(ALL),
  };
}

function qualified(text: string): { of: string; text: string } {
  const [, of = ALL, rest = text] = QUALIFIED.exec(text) ?? [];
  return { of, text: rest };
}

function rangeFrom(text: string): Constraint {
  try {
    return parseConstraint(text);
  } catch (err) {
    throw new Error(`range of versions ${goQuote(text)} cannot be read: ${messageOf(err)}`, { cause: err });
  }
}
