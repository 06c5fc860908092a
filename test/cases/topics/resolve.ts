import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { CatalogSource } from "../../../pkg/api/clusterExtension.ts";
import type { FbcDeprecations } from "../../../pkg/fbc/types.ts";
import type { LabeledCatalog, Resolution } from "../../../pkg/resolve/resolution.ts";
import { resolve } from "../../../pkg/resolve/resolve.ts";
import type { BundleMetadata } from "../../../pkg/resolve/successors.ts";
import { formatVersion, formatVersionRelease } from "../../../pkg/version/version.ts";
import { type CaseContext, type Difference, hasMembers, type Topic } from "../topic.ts";

/** A resolution from whole catalogs, and the bundle or error of the Go operator-controller. */
export interface ResolveCase {
  id?: string;
  catalogs: { name: string; priority?: number; labels?: Record<string, string>; fbc: string; availabilityMode?: string }[];
  catalog: CatalogSource;
  installed?: BundleMetadata | null;
  expect: { bundle: string; version: string; deprecation: FbcDeprecations | null } | { error: string };
}

/** Our error must start with the expected one. With several catalogs, ours reports the deprecations of the chosen one, which may differ from Go. */
export const resolveTopic: Topic<ResolveCase> = {
  isCase: (value): value is ResolveCase => hasMembers(value, "catalogs", "catalog", "expect"),
  title: ({ id, catalog }) => `${id === undefined ? "" : `id ${id}, `}package ${catalog.packageName}`,
  async run({ catalogs, catalog: source, installed, expect }, context) {
    const contents = await Promise.all(
      catalogs.filter((one) => one.availabilityMode !== "Unavailable").map((one) => buildContent(one, source.packageName, context)),
    );
    const resolution = resolve({ source, catalogs: contents, installed: installed ?? undefined });
    return "error" in expect ? compareError(resolution, expect.error) : compareChoice(resolution, expect, catalogs.length);
  },
};

async function buildContent(
  { name, priority = 0, labels = {}, fbc }: ResolveCase["catalogs"][number],
  packageName: string,
  context: CaseContext,
): Promise<LabeledCatalog> {
  const catalog = await context.catalogs.load(join(context.dataFolder, fbc));
  return { name, priority, labels, content: catalog.get(packageName) };
}

function compareError(resolution: Resolution, error: string): Difference | undefined {
  if (resolution.kind === "unresolved" && resolution.message.startsWith(error)) return undefined;
  return { lines: [`want error: ${error}`, `got ${describeResolution(resolution)}`] };
}

function compareChoice(
  resolution: Resolution,
  want: { bundle: string; version: string; deprecation: FbcDeprecations | null },
  catalogs: number,
): Difference | undefined {
  if (resolution.kind === "unresolved") return { lines: [`want bundle ${want.bundle}`, `got ${describeResolution(resolution)}`] };
  const { bundle, version, deprecations } = resolution;
  if (bundle.name !== want.bundle || formatVersion(version.version) !== want.version) {
    return { lines: [`want bundle ${want.bundle} (version ${want.version})`, `got ${describeResolution(resolution)}`] };
  }
  if (catalogs > 1 || isDeepStrictEqual(listEntries(deprecations), listEntries(want.deprecation))) return undefined;
  return { lines: [`want deprecation ${JSON.stringify(want.deprecation)}`, `got ${JSON.stringify(deprecations ?? null)}`] };
}

function listEntries(deprecations: FbcDeprecations | null | undefined): unknown {
  return deprecations?.entries.map(({ reference: { schema, name = "" }, message }) => ({ schema, name, message }));
}

function describeResolution(resolution: Resolution): string {
  if (resolution.kind === "unresolved") return `error: ${resolution.message}`;
  return `bundle ${resolution.bundle.name} (version ${formatVersionRelease(resolution.version)}): ${resolution.explanation}`;
}
