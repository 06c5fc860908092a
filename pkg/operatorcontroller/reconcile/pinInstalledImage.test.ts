import { expect, test } from "vitest";
import { RecordedEvents } from "../../../test/support/extensionFakes.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import { problemTexts, buildResolved as resolvedPhase, runStep } from "../../../test/support/phases.ts";
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
    isReported: boolean,
  ]
>([
  ["nothing is installed", undefined, {}, INSTALLED.image, undefined, false],
  ["the catalog names another version", INSTALLED, { version: "1.0.1", image: "quay.io/p:2" }, "quay.io/p:2", undefined, false],
  [
    "the catalog names another bundle of the same version",
    INSTALLED,
    { name: "p.other", image: "quay.io/p:2" },
    "quay.io/p:2",
    undefined,
    false,
  ],
  [
    "the catalog names another release of the same version",
    INSTALLED,
    { release: "2", image: "quay.io/p:2" },
    "quay.io/p:2",
    undefined,
    false,
  ],
  ["the catalog names the same image", INSTALLED, {}, INSTALLED.image, INSTALLED.image, false],
  ["the catalog names a tag that may have moved", TAGGED, { image: TAGGED.image }, TAGGED.image, `quay.io/p@${digest(1)}`, false],
  [
    "the catalog names a tag whose digest is unknown",
    { ...TAGGED, imageDigest: undefined },
    { image: TAGGED.image },
    TAGGED.image,
    TAGGED.image,
    false,
  ],
  ["the catalog names the digest of the tag", TAGGED, {}, TAGGED.image, INSTALLED.image, false],
  [
    "the catalog names the same digest in another repository",
    INSTALLED,
    { image: `mirror.io/p@${digest(1)}` },
    INSTALLED.image,
    `mirror.io/p@${digest(1)}`,
    false,
  ],
  ["the catalog names another digest", INSTALLED, { image: `quay.io/p@${digest(2)}` }, INSTALLED.image, INSTALLED.image, true],
  [
    "the catalog names another digest than that of the tag",
    TAGGED,
    { image: `quay.io/p@${digest(2)}` },
    TAGGED.image,
    `quay.io/p@${digest(1)}`,
    true,
  ],
  ["the catalog names another tag", TAGGED, { image: "quay.io/p:rebuilt" }, TAGGED.image, `quay.io/p@${digest(1)}`, true],
  ["the references are malformed", { ...TAGGED, image: "P" }, { image: "Q" }, "P", "P", true],
])("keepInstalledImage returns the image to pull when %s", ([, installed, named, image, from, isReported]) => {
  const { bundle, changed } = keepInstalledImage({ ...INSTALLED, ...CHOSEN, ...named }, installed);
  expect([bundle.image, bundle.pullFrom]).toEqual([image, from]);
  expect(bundle).toMatchObject(CHOSEN);
  if (!isReported) return expect(changed).toBeUndefined();
  return expect(changed).toBe(
    `catalog "c" now has image "${named.image}" for bundle "p.v1.0.0": the controller keeps the content of "${image}" because it never replaces the content of an installed version`,
  );
});

test("keepInstalledImage keeps the recorded version when the release is in build metadata and the bundle has a separate release", () => {
  const recorded = { ...INSTALLED, version: "1.0.0+2" };
  const { bundle } = keepInstalledImage({ ...INSTALLED, ...CHOSEN, release: "2" }, recorded);
  expect([bundle.version, bundle.release]).toEqual(["1.0.0+2", undefined]);
});

interface Given {
  resolved?: Partial<ResolvedBundle>;
  installed?: InstalledBundle;
}

function choosing() {
  const extension = createExtension("x", { packageName: "p" });
  const events = new RecordedEvents();
  const step = pinInstalledImage({ events, memory: new ExtensionCache() });
  const pass = async ({
    resolved: buildResolved,
    installed,
  }: Given): Promise<{ problems: string[]; bundle: ResolvedBundle | undefined }> => {
    const before = resolvedPhase(extension, { ...INSTALLED, ...CHOSEN, ...buildResolved }, { releases: { installed } });
    const { phase, next } = await runStep(step, before);
    return { problems: problemTexts(phase), bundle: next?.bundle };
  };
  return { pass, events };
}

test("pinInstalledImage records one Event for each selected bundle, and reports a problem while the bundle is installed", async () => {
  const { pass, events } = choosing();
  const cautions = ["no edge leads there"];
  const chosen = await pass({ resolved: { cautions } });
  expect(chosen.problems).toEqual(cautions);
  await pass({ resolved: { cautions } });
  expect(events.seen).toEqual(["Warning UpgradeConstraintOverridden: no edge leads there"]);
  const there = await pass({ installed: { ...INSTALLED, cautions } });
  expect([there.problems, there.bundle?.cautions]).toEqual([cautions, cautions]);
  await pass({ resolved: { version: "2.0.0", cautions }, installed: { ...INSTALLED, cautions } });
  expect(events.seen).toHaveLength(2);
});

test("pinInstalledImage records one Event when the catalog has other content for the installed bundle", async () => {
  const { pass, events } = choosing();
  const given: Given = { resolved: { image: "quay.io/p:2" }, installed: INSTALLED };
  const { problems } = await pass(given);
  await pass(given);
  expect(problems).toEqual([expect.stringContaining('has image "quay.io/p:2"')]);
  expect(events.seen).toEqual([`Warning BundleContentChanged: ${problems[0]}`]);
});
