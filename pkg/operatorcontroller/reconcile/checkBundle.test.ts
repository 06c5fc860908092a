import { expect, test } from "vitest";
import { bundleOf } from "../../../test/support/bundleFixture.ts";
import { RecordedEvents } from "../../../test/support/extensionFakes.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildUnpacked, type PhaseParts, problemTexts, runStep } from "../../../test/support/phases.ts";
import { releaseRecord } from "../../../test/support/releases.ts";
import { toRenderableBundle } from "../bundles/bundleCache.ts";
import { newReleaseHistory } from "../releases/releaseStore.ts";
import { ExtensionCache } from "../state/extensionCache.ts";
import type { ResolvedBundle, Unpacked } from "../state/phases.ts";
import { checkBundle } from "./check.ts";

const BUNDLE: ResolvedBundle = { packageName: "p", name: "a.v1.0.0", version: "1.0.0", image: "i", explanation: "" };
const FLAW = 'its ClusterServiceVersion has version "1.0.0", but the catalog has "1.0.1"';
const WARNING = `bundle "a.v1.0.0" has mistakes that its author must fix: ${FLAW}`;

/** One extension and its Events. */
class CheckFixture {
  readonly events = new RecordedEvents();
  readonly #memory = new ExtensionCache();
  readonly #extension = createExtension("x", { packageName: "p" });

  async pass({ bundle = BUNDLE, ...parts }: PhaseParts<Unpacked>): Promise<Unpacked | undefined> {
    const { next } = await runStep(
      checkBundle({ events: this.events, memory: this.#memory }),
      buildUnpacked(this.#extension, bundle, parts),
    );
    return next;
  }
}

const OTHER = { ...BUNDLE, version: "1.0.1" };
const kept = { releases: { history: { ...newReleaseHistory(), current: [releaseRecord(1, "deployed", { flaws: [FLAW] })] } } };

// Source: H-02, S0-010, S3-33.
test.for<[why: string, parts: PhaseParts<Unpacked>, notes: string[]]>([
  ["it matches its catalog", { content: toRenderableBundle(bundleOf()) }, []],
  ["it contradicts its catalog", { content: toRenderableBundle(bundleOf()), bundle: OTHER }, [WARNING]],
  ["it is installed and the release contains its mistakes", kept, [WARNING]],
  ["it was pulled, which replaces the mistakes in the release", { ...kept, content: toRenderableBundle(bundleOf()) }, []],
  ["it is on hold", { content: toRenderableBundle(bundleOf()), bundle: OTHER, held: { reason: "Retrying", message: "" } }, []],
])("checkBundle accepts a bundle and reports its mistakes when %s", async ([, given, notes]) => {
  const phase = await new CheckFixture().pass(given);
  expect(phase && problemTexts(phase)).toEqual(notes);
  if (!given.held) expect(phase?.flaws).toEqual(notes.length > 0 ? [FLAW] : []);
});

test("checkBundle records one Event, and another one when mistakes occur again after they were fixed", async () => {
  const fixture = new CheckFixture();
  const flawed = { content: toRenderableBundle(bundleOf()), bundle: OTHER };
  for (const parts of [flawed, flawed, kept]) await fixture.pass(parts);
  expect(fixture.events.seen).toEqual([`Warning BundleWarning: ${WARNING}`]);
  await fixture.pass({ content: toRenderableBundle(bundleOf()) });
  await fixture.pass(flawed);
  expect(fixture.events.seen).toHaveLength(2);
});
