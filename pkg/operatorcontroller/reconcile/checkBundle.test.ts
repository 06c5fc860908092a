import { expect, test } from "vitest";
import { bundleOf } from "../../../test/support/bundleFixture.ts";
import { RecordedEvents } from "../../../test/support/extensionFakes.ts";
import { extensionNamed } from "../../../test/support/extensions.ts";
import { type PhaseParts, problemTexts, runStep, unpacked } from "../../../test/support/phases.ts";
import { releaseRecord } from "../../../test/support/releases.ts";
import { contentOf } from "../bundles/bundleCache.ts";
import { noReleases } from "../releases/releaseStore.ts";
import { ExtensionCache } from "../state/extensionCache.ts";
import type { ResolvedBundle, Unpacked } from "../state/phases.ts";
import { checkBundle } from "./check.ts";

const BUNDLE: ResolvedBundle = { packageName: "p", name: "a.v1.0.0", version: "1.0.0", image: "i", explanation: "" };
const FLAW = 'its ClusterServiceVersion has version "1.0.0", the catalog says "1.0.1"';
const WARNING = `bundle "a.v1.0.0" has mistakes for its author to correct: ${FLAW}`;

/** One extension, and the Events about it. */
class CheckFixture {
  readonly events = new RecordedEvents();
  readonly #memory = new ExtensionCache();
  readonly #extension = extensionNamed("x", { packageName: "p" });

  async pass({ bundle = BUNDLE, ...parts }: PhaseParts<Unpacked>): Promise<Unpacked | undefined> {
    const { next } = await runStep(checkBundle({ events: this.events, memory: this.#memory }), unpacked(this.#extension, bundle, parts));
    return next;
  }
}

const OTHER = { ...BUNDLE, version: "1.0.1" };
const kept = { releases: { history: { ...noReleases(), current: [releaseRecord(1, "deployed", { flaws: [FLAW] })] } } };

// Source: H-02, S0-010, S3-33.
test.for<[why: string, parts: PhaseParts<Unpacked>, notes: string[]]>([
  ["it is what the catalog says", { content: contentOf(bundleOf()) }, []],
  ["it is not", { content: contentOf(bundleOf()), bundle: OTHER }, [WARNING]],
  ["it is installed, and the release has its mistakes", kept, [WARNING]],
  ["it was fetched: then what the release has of another does not count", { ...kept, content: contentOf(bundleOf()) }, []],
  ["it was given up", { content: contentOf(bundleOf()), bundle: OTHER, held: { reason: "Retrying", message: "" } }, []],
])("a bundle is told about, and nothing keeps it back: %s", async ([, given, notes]) => {
  const phase = await new CheckFixture().pass(given);
  expect(phase && problemTexts(phase)).toEqual(notes);
  if (!given.held) expect(phase?.flaws).toEqual(notes.length > 0 ? [FLAW] : []);
});

test("an Event tells it once, and again after it was well", async () => {
  const fixture = new CheckFixture();
  const flawed = { content: contentOf(bundleOf()), bundle: OTHER };
  for (const parts of [flawed, flawed, kept]) await fixture.pass(parts);
  expect(fixture.events.seen).toEqual([`Warning FlawedBundle: ${WARNING}`]);
  await fixture.pass({ content: contentOf(bundleOf()) });
  await fixture.pass(flawed);
  expect(fixture.events.seen).toHaveLength(2);
});
