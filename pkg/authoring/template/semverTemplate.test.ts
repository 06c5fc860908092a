import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { toMeta } from "../../fbc/content.ts";
import type { ChannelEntry } from "../../fbc/types.ts";
import { parseVersion } from "../../version/version.ts";
import {
  ARCHETYPES,
  type Archetype,
  type ChannelKinds,
  generateChannels,
  listSemverImages,
  readSemverTemplate,
  renderSemver,
  type TemplateBundle,
} from "./semverTemplate.ts";
import { findOpmRefusal } from "./substitutesTemplate.ts";

interface ChannelCase extends CaseHead, Partial<Record<Archetype, string[]>> {
  kinds: Partial<ChannelKinds>;
  /** Entries such as `1.1.1 r 1.0.0 s[1.1.0]`. */
  channels: Record<string, string[]>;
  default: string;
}

const shown = ({ name, replaces, skips }: ChannelEntry) =>
  [name, ...(replaces === undefined ? [] : ["r", replaces]), ...(skips === undefined ? [] : [`s[${skips.join(" ")}]`])].join(" ");

test.for(loadCases<ChannelCase>("semver-channels"))("generateChannels: $name", ({ kinds, channels, default: defaultChannel, ...given }) => {
  const { major = false, minor = false, preference = minor ? "minor" : "major" } = kinds;
  const bundles = ARCHETYPES.map((archetype) => {
    const versions = (given[archetype] ?? []).toReversed();
    return [archetype, versions.map((version) => ({ name: version, version: parseVersion(version) }))] as const;
  });
  const generated = generateChannels(new Map(bundles), { major, minor, preference });
  expect(generated.channels.map(({ name }) => name)).toEqual(Object.keys(channels).sort());
  expect(Object.fromEntries(generated.channels.map(({ name, entries }) => [name, entries.map(shown)]))).toEqual(channels);
  expect(generated.defaultChannel).toBe(defaultChannel);
});

interface ReadCase extends CaseHead {
  template: string;
  semver?: unknown;
  error?: string;
}

test.for(loadCases<ReadCase>("templates"))("readSemverTemplate: $name", ({ template, semver, error }) => {
  if (error === undefined) expect(readSemverTemplate(template)).toEqual(semver);
  else expect(messageFrom(() => readSemverTemplate(template))).toContain(error);
});

function messageFrom(work: () => unknown): string {
  try {
    return JSON.stringify(work());
  } catch (err) {
    return getErrorMessage(err);
  }
}

describe("renderSemver", () => {
  const bundle = (name: string, version: string, packageName = "a", csv: object = {}): TemplateBundle => ({
    meta: toMeta({
      schema: "olm.bundle",
      name,
      package: packageName,
      image: `quay.io/example/${packageName}`,
      properties: [{ type: "olm.package", value: { packageName, version } }],
    }),
    csv: { ...csv },
  });
  const template = (...images: string[]) =>
    readSemverTemplate(`schema: olm.semver\nstable: {bundles: [${images.map((image) => `{image: ${image}}`).join(", ")}]}\n`);
  const rendered = (bundles: Record<string, TemplateBundle>, images = Object.keys(bundles)) =>
    renderSemver(template(...images), new Map(Object.entries(bundles)));

  test("renderSemver returns channels, bundles, and a package with the description of its newest bundle", () => {
    const spec = {
      description: "All about A.",
      icon: [
        { base64data: "aGk=", mediatype: "image/png" },
        { base64data: "eA==", mediatype: "x" },
      ],
    };
    const metas = rendered({ one: bundle("a.v1", "1.0.0"), two: bundle("a.v2", "1.0.1", "a", { spec }) });
    expect(metas.map(({ blob }) => blob)).toMatchObject([
      {
        schema: "olm.package",
        name: "a",
        defaultChannel: "stable-v1.0",
        icon: { base64data: "aGk=", mediatype: "image/png" },
        description: "All about A.",
      },
      { schema: "olm.channel", name: "stable-v1.0", package: "a", entries: [{ name: "a.v1" }, { name: "a.v2", skips: ["a.v1"] }] },
      { schema: "olm.bundle", name: "a.v1" },
      { schema: "olm.bundle", name: "a.v2" },
    ]);
  });

  test("renderSemver returns a valid catalog in which every version can be upgraded to the newest version of its major version", () => {
    const part = fc.nat({ max: 3 });
    const version = fc
      .tuple(fc.integer({ min: 1, max: 3 }), part, part, fc.constantFrom("", "-alpha", "-rc.1"))
      .map(([major, minor, patch, pre]) => `${major}.${minor}.${patch}${pre}`);
    const kinds = fc.constantFrom(
      "generateMajorChannels: true",
      "generateMinorChannels: true",
      "{generateMajorChannels: true, generateMinorChannels: true}",
    );
    fc.assert(
      fc.property(fc.uniqueArray(version, { minLength: 1, maxLength: 12 }), kinds, (versions, flags) => {
        const chosen = flags.replace(/[{}]/g, "").replace(", ", "\n");
        const images = versions.map((one) => `{image: "${one}"}`).join(", ");
        const read = readSemverTemplate(`schema: olm.semver\n${chosen}\nstable: {bundles: [${images}]}\n`);
        const bundles = versions.map((one) => [one, bundle(`a.v${one}`, one)] as const);
        const metas = renderSemver(read, new Map(bundles));
        expect(findOpmRefusal(metas)).toBeUndefined();
        for (const { name, blob } of metas.filter(({ schema }) => schema === "olm.channel").filter(({ name }) => !name.includes("."))) {
          const entries = blob["entries"] as ChannelEntry[];
          const head = entries.at(-1);
          const left = entries.slice(0, -1).filter((one) => one.name !== head?.replaces && !head?.skips?.includes(one.name));
          expect(left, name).toEqual([]);
        }
      }),
    );
  });

  test("listSemverImages lists each image once", () => {
    const text = "schema: olm.semver\ncandidate: {bundles: [{image: b}]}\nstable: {bundles: [{image: a}, {image: b}]}\n";
    expect(listSemverImages(readSemverTemplate(text))).toEqual(["b", "a"]);
  });

  test.for<[string, Record<string, TemplateBundle>, string[] | undefined, string]>([
    ["no bundles", {}, [], "render: no bundles specified or no bundles could be rendered"],
    [
      "an image that was not rendered",
      { one: bundle("a", "1.0.0") },
      ["one", "two"],
      'render: unable to post-process bundle info: supplied bundle image name "two" not found in rendered bundle images',
    ],
    [
      "a bundle of another package",
      { one: bundle("a", "1.0.0"), two: bundle("b", "1.0.0", "b") },
      undefined,
      'render: unable to post-process bundle info: bundle "b" does not belong to this package: "a"',
    ],
    [
      "two bundles with the same name",
      { one: bundle("a", "1.0.0"), two: bundle("a", "1.0.1") },
      undefined,
      'render: unable to post-process bundle info: duplicate bundle name "a"',
    ],
    [
      "an invalid version",
      { one: bundle("a", "1.0") },
      undefined,
      'render: unable to post-process bundle info: bundle "a" has invalid version "1.0": No Major.Minor.Patch elements found',
    ],
    [
      "a bundle without a version",
      { one: { meta: toMeta({ schema: "olm.bundle", name: "a" }), csv: {} } },
      undefined,
      'render: unable to post-process bundle info: bundle "a" has multiple "olm.package" properties, expected exactly 1',
    ],
    [
      "versions that differ only in build metadata",
      { one: bundle("a", "1.0.0+1"), two: bundle("b", "1.0.0+2"), three: bundle("c", "1.0.0+3") },
      undefined,
      "render: unable to post-process bundle info: encountered bundle versions which differ only by build metadata, which cannot be ordered: " +
        '[bundle version "1.0.0+2" cannot be compared to "1.0.0", bundle version "1.0.0+3" cannot be compared to "1.0.0"]',
    ],
  ])("renderSemver rejects %s", ([, bundles, images, error]) => {
    expect(() => rendered(bundles, images)).toThrow(new Error(error));
  });
});
