import { expect, test } from "vitest";
import { Schema } from "../content.ts";
import type { EntryOutline } from "./channelCheck.ts";
import { FindingLog, type FindingSubject } from "./finding.ts";
import { checkModel } from "./modelCheck.ts";

/** The entries of a channel. Counts how often they are searched. */
class CountedEntries extends Map<string, EntryOutline> {
  lookups = 0;

  override has(name: string): boolean {
    this.lookups++;
    return super.has(name);
  }
}

test("checkModel searches few channels for each bundle when many bundles in many channels have a deprecation without a message", () => {
  const count = 100;
  const subject = (schema: string, name: string): FindingSubject => ({ schema, package: "foo", name, place: { file: "a", document: 1 } });
  const names = Array.from({ length: count }, (_, i) => `foo.v0.0.${i}`);
  const channels = names.map((name, i) => {
    const entry = { name, replaces: "", skips: [], skipRangeFault: undefined };
    return { ...subject(Schema.channel, `c${i}`), entries: new CountedEntries([[name, entry]]), duplicates: [] };
  });
  const bundles = names.map((name, i) => ({ ...subject(Schema.bundle, name), version: `0.0.${i}`, leaves: [] }));
  const entries = names.map((name) => ({ schema: Schema.bundle, name, hasMessage: false }));
  const log = new FindingLog();
  const packages = [{ ...subject(Schema.package, "foo"), defaultChannel: "c0" }];
  checkModel({ packages, channels, bundles, deprecations: [{ ...subject(Schema.deprecations, ""), entries }] }, log);
  expect(log.findings.map(({ path }) => path)).toEqual(
    names.map((name, i) => ['invalid package "foo"', `invalid channel "c${i}"`, `invalid bundle "${name}"`]),
  );
  expect(channels.reduce((sum, channel) => sum + channel.entries.lookups, 0)).toBeLessThan(5 * count);
});
