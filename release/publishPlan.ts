import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { compare, parse } from "semver";
import { z } from "zod";
import { PROJECT } from "./project.ts";

const REGISTRY = "https://registry.npmjs.org";

/** The parts of a package in the registry that a release reads. @see https://github.com/npm/registry/blob/main/docs/responses/package-metadata.md */
const RegistryPackage = z.object({ versions: z.record(z.string(), z.object({ dist: z.object({ integrity: z.string() }) })) });

/** Integrity of each published version, such as "sha512-…". */
export type PublishedVersions = Readonly<Record<string, string>>;

/** How a version is published. */
export interface PublishPlan {
  /** Tag of the version in npm. Undefined if npm already has the version. */
  readonly npmTag: string | undefined;
  readonly isPrerelease: boolean;
  /** Whether GitHub shows the release as the latest one. */
  readonly isLatest: boolean;
}

/**
 * Decides how to publish a version: `latest` is the newest version that is not a pre-release. Pre-releases get the tag `next`, and patches of older
 * versions a tag such as `release-1.2`, so that users do not get them without asking.
 * @param integrity of the packed package
 * @throws Error if npm already has the version with other content.
 */
export function planPublication(version: string, integrity: string, published: PublishedVersions): PublishPlan {
  const parsed = parse(version);
  if (parsed === null) throw new Error(`${version} is not a version`);
  const existing = published[version];
  if (existing !== undefined && existing !== integrity)
    throw new Error(`npm has ${PROJECT.name} ${version} with ${existing}, not ${integrity}. Release a new version`);
  const isPrerelease = parsed.prerelease.length > 0;
  const isLatest = !isPrerelease && !Object.keys(published).some((other) => isRelease(other) && compare(other, version) > 0);
  const tag = isLatest ? "latest" : isPrerelease ? "next" : `release-${parsed.major}.${parsed.minor}`;
  return { npmTag: existing === undefined ? tag : undefined, isPrerelease, isLatest };
}

function isRelease(version: string): boolean {
  return parse(version)?.prerelease.length === 0;
}

/** Formats a plan as outputs of a step in a workflow: `npm-tag` is empty if nothing is published, and `flags` are those of `gh release edit`. */
export function formatOutputs({ npmTag = "", isPrerelease, isLatest }: PublishPlan): string {
  return [`npm-tag=${npmTag}`, `flags=--prerelease=${isPrerelease} --latest=${isLatest}`].join("\n");
}

/**
 * Reads the published versions from the registry of npm.
 * @throws Error if the package does not exist, because npm trusts a workflow only for an existing package.
 */
export async function readPublishedVersions(request: typeof fetch = fetch): Promise<PublishedVersions> {
  const response = await request(`${REGISTRY}/${PROJECT.name}`, {
    headers: { accept: "application/vnd.npm.install-v1+json", "cache-control": "no-cache" },
  });
  if (response.status === 404)
    throw new Error(`npm has no package ${PROJECT.name}. Publish its first version by hand: docs/how-to/release.md`);
  if (!response.ok) throw new Error(`cannot read the versions of ${PROJECT.name} from npm: status ${response.status}. Run the job again`);
  const { versions } = RegistryPackage.parse(await response.json());
  return Object.fromEntries(Object.entries(versions).map(([version, { dist }]) => [version, dist.integrity]));
}

/** Computes the integrity of a file as npm does. */
export async function computeIntegrity(file: string): Promise<string> {
  const hash = createHash("sha512");
  await pipeline(createReadStream(file), hash);
  return `sha512-${hash.digest("base64")}`;
}
