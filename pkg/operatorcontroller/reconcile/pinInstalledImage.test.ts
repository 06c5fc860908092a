import { expect, test } from "vitest";
import { RecordedEvents } from "../../../test/support/extensionFakes.ts";
import { extensionNamed } from "../../../test/support/extensions.ts";
import { problemTexts, resolved as resolvedPhase, runStep } from "../../../test/support/phases.ts";
import type { InstalledBundle } from "../../release/installedBundle.ts";
import { ExtensionCache } from "../state/extensionCache.ts";
import type { ResolvedBundle } from "../state/phases.ts";
import { keepInstalledImage, pinInstalledImage } from "./pinInstalledImage.ts";

const digest = (digit: number): string => `sha256:${String(digit).repeat(64)}`;
const INSTALLED: InstalledBundle = { packageName: "p", name: "p.v1.0.0", version: "1.0.0", image: `quay.io/p@${digest(1)}` };
const TAGGED: InstalledBundle = { ...INSTALLED, image: "quay.io/p:v1.0.0", imageDigest: digest(1) };
const CHOSEN = { catalog: "c", explanation: "the only one" };

/** Source: S3-39, H-20. */
test.for<
  [
    what: string,
    installed: InstalledBundle | undefined,
    named: Partial<ResolvedBundle>,
    image: string,
    from: string | undefined,
    said: boolean,
  ]
>([
  ["nothing is installed", undefined, {}, INSTALLED.image, undefined, false],
  ["another version comes", INSTALLED, { version: "1.0.1", image: "quay.io/p:2" }, "quay.io/p:2", undefined, false],
  ["another name of the same version", INSTALLED, { name: "p.other", image: "quay.io/p:2" }, "quay.io/p:2", undefined, false],
  ["another release of the same version", INSTALLED, { release: "2", image: "quay.io/p:2" }, "quay.io/p:2", undefined, false],
  ["the same is named", INSTALLED, {}, INSTALLED.image, INSTALLED.image, false],
  ["a tag that may have moved", TAGGED, { image: TAGGED.image }, TAGGED.image, `quay.io/p@${digest(1)}`, false],
  ["a tag whose digest nobody knows", { ...TAGGED, imageDigest: undefined }, { image: TAGGED.image }, TAGGED.image, TAGGED.image, false],
  ["the digest of that tag", TAGGED, {}, TAGGED.image, INSTALLED.image, false],
  ["the same digest elsewhere", INSTALLED, { image: `mirror.io/p@${digest(1)}` }, INSTALLED.image, `mirror.io/p@${digest(1)}`, false],
  ["another digest", INSTALLED, { image: `quay.io/p@${digest(2)}` }, INSTALLED.image, INSTALLED.image, true],
  ["another digest than that of the tag", TAGGED, { image: `quay.io/p@${digest(2)}` }, TAGGED.image, `quay.io/p@${digest(1)}`, true],
  ["another tag", TAGGED, { image: "quay.io/p:rebuilt" }, TAGGED.image, `quay.io/p@${digest(1)}`, true],
  ["what is no reference", { ...TAGGED, image: "P" }, { image: "Q" }, "P", "P", true],
])("of the installed bundle the content stays: %s", ([, installed, named, image, from, said]) => {
  const { bundle, changed } = keepInstalledImage({ ...INSTALLED, ...CHOSEN, ...named }, installed);
  expect([bundle.image, bundle.pullFrom]).toEqual([image, from]);
  expect(bundle).toMatchObject(CHOSEN);
  if (!said) return expect(changed).toBeUndefined();
  return expect(changed).toBe(
    `catalog "c" names image "${named.image}" for bundle "p.v1.0.0" now: what was installed from "${image}" stays, for content is not replaced under the same version`,
  );
});

test("a version stays as it was recorded, in whichever form its release is stated", () => {
  const recorded = { ...INSTALLED, version: "1.0.0+2" };
  const { bundle } = keepInstalledImage({ ...INSTALLED, ...CHOSEN, release: "2" }, recorded);
  expect([bundle.version, bundle.release]).toEqual(["1.0.0+2", undefined]);
});

interface Given {
  resolved?: Partial<ResolvedBundle>;
  installed?: InstalledBundle;
}

function choosing() {
  const extension = extensionNamed("x", { packageName: "p" });
  const events = new RecordedEvents();
  const step = pinInstalledImage({ events, memory: new ExtensionCache() });
  const pass = async ({ resolved, installed }: Given): Promise<{ problems: string[]; bundle: ResolvedBundle | undefined }> => {
    const before = resolvedPhase(extension, { ...INSTALLED, ...CHOSEN, ...resolved }, { releases: { installed } });
    const { phase, next } = await runStep(step, before);
    return { problems: problemTexts(phase), bundle: next?.bundle };
  };
  return { pass, events };
}

test("what was disregarded is told once for each decision, and noted as long as the bundle is there", async () => {
  const { pass, events } = choosing();
  const cautions = ["no edge leads there"];
  const chosen = await pass({ resolved: { cautions } });
  expect(chosen.problems).toEqual(cautions);
  await pass({ resolved: { cautions } });
  expect(events.seen).toEqual(["Warning UnadvisedBundle: no edge leads there"]);
  const there = await pass({ installed: { ...INSTALLED, cautions } });
  expect([there.problems, there.bundle?.cautions]).toEqual([cautions, cautions]);
  await pass({ resolved: { version: "2.0.0", cautions }, installed: { ...INSTALLED, cautions } });
  expect(events.seen).toHaveLength(2);
});

test("other content of the installed bundle is told once", async () => {
  const { pass, events } = choosing();
  const given: Given = { resolved: { image: "quay.io/p:2" }, installed: INSTALLED };
  const { problems } = await pass(given);
  await pass(given);
  expect(problems).toEqual([expect.stringContaining('names image "quay.io/p:2"')]);
  expect(events.seen).toEqual([`Warning BundleContentChanged: ${problems[0]}`]);
});
