import type { JsonObject } from "../api/k8s.ts";
import { goQuote } from "../golang/quote.ts";
import { type BundleVersion, rangeTest, versionInName } from "../fbc/graph/bundleVersion.ts";
import { givenText, listMember, objectMember, objectMembers, textMember } from "../fbc/members.ts";
import { channelHeads } from "../fbc/summary/channelHeads.ts";
import type { ComparedBundle } from "./comparedBundle.ts";

interface Entry {
  readonly name: string;
  readonly replaces: string | undefined;
  readonly skips: readonly string[];
  readonly skipRange: string | undefined;
}

/** A package as it is compared with one of another catalog. */
export class ComparedPackage {
  readonly name: string;
  defaultChannel = "";
  readonly bundles = new Map<string, ComparedBundle>();
  /** By schema and name. */
  readonly deprecations = new Map<string, { schema: string; name: string; message: string }>();
  readonly #entries = new Map<string, readonly Entry[]>();
  readonly #versions = new Map<string, BundleVersion>();

  constructor(name: string) {
    this.name = name;
  }

  addChannel(name: string, blob: JsonObject): void {
    const entries = objectMembers(blob, "entries").map((entry) => ({
      name: textMember(entry, "name"),
      replaces: givenText(entry, "replaces"),
      skips: listMember(entry, "skips").filter((skip) => typeof skip === "string"),
      skipRange: givenText(entry, "skipRange"),
    }));
    this.#entries.set(name, entries);
  }

  addBundle(name: string, bundle: ComparedBundle, { parsed }: { parsed: BundleVersion }): void {
    this.bundles.set(name, bundle);
    this.#versions.set(name, parsed);
  }

  addDeprecations(blob: JsonObject): void {
    for (const entry of objectMembers(blob, "entries")) {
      const reference = objectMember(entry, "reference") ?? {};
      const [schema, name] = [textMember(reference, "schema"), textMember(reference, "name")];
      this.deprecations.set(JSON.stringify([schema, name]), { schema, name, message: textMember(entry, "message") });
    }
  }

  /** Entries of each channel, with their edges in words. */
  get channels(): ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>> {
    return new Map([...this.#entries].map(([name, entries]) => [name, new Map(entries.map((entry) => [entry.name, edgesOf(entry)]))]));
  }

  /** Whether nothing in the channel replaces or skips an entry of it. */
  isHead(channel: string, name: string): boolean {
    return channelHeads(this.#entries.get(channel) ?? []).includes(name);
  }

  /** For each bundle that this or the other package has in the channel: the entries that it can be updated to. */
  updatesIn(channel: string, other: ComparedPackage): ReadonlyMap<string, readonly string[]> {
    const entries = this.#entries.get(channel) ?? [];
    const names = [...entries, ...(other.#entries.get(channel) ?? [])].map(({ name }) => name);
    const tests = entries.map((entry) => ({ entry, holds: entry.skipRange ? rangeTest(entry.skipRange) : () => false }));
    return new Map(
      [...new Set(names)].map((name) => {
        const version = this.#versions.get(name) ?? other.#versions.get(name) ?? versionInName(name);
        const followed = tests.filter(({ entry, holds }) => entry.replaces === name || entry.skips.includes(name) || holds(version));
        return [name, followed.map(({ entry }) => entry.name).filter((target) => target !== name)];
      }),
    );
  }
}

function edgesOf({ replaces, skips, skipRange }: Entry): ReadonlySet<string> {
  return new Set([
    ...(replaces ? [`replaces ${goQuote(replaces)}`] : []),
    ...skips.map((skip) => `skips ${goQuote(skip)}`),
    ...(skipRange ? [`has skipRange ${goQuote(skipRange)}`] : []),
  ]);
}
