import { buildPackageDetails } from "../../browse/details/packageDetails.ts";
import { Schema, selectPackage, toMeta } from "../../fbc/content.ts";
import { type BundleData, PackageData, sortBundlesByVersion } from "../../fbc/summary/packageData.ts";
import { findRepresentative } from "../../fbc/summary/packageSummary.ts";
import type { Meta } from "../../fbc/types.ts";
import { GraphRefusedError } from "./drawGraph.ts";
import type { LineRange } from "./queryContext.ts";

/** A client request for the details of a package. */
export interface DescribeRequest {
  readonly catalog: string;
  readonly package: string;
  /** Version or name of the bundle; by default, the default version. */
  readonly version?: string | undefined;
}

const NO_HASH = Buffer.alloc(0);

/**
 * Describes a package and one of its versions as JSON. Keeps only one object of the package in memory.
 * @param lines the lines of the package
 * @param read reads a part of the content file
 * @throws GraphRefusedError if the package has no such version
 */
export function describePackage(request: DescribeRequest, lines: readonly LineRange[], read: (range: LineRange) => Uint8Array): string {
  const { catalog, package: name, version } = request;
  const facts = new PackageData(name);
  const ranges = new Map<string, LineRange>();
  for (const range of lines) {
    const meta = readMeta(read(range));
    if (!meta) continue;
    facts.add(meta, NO_HASH);
    if (meta.schema === Schema.bundle && !ranges.has(meta.name)) ranges.set(meta.name, range);
  }
  const bundle = version === undefined ? findRepresentative(facts)?.bundle : findBundle(facts, version);
  if (!bundle) {
    const missing = version === undefined ? "has no versions" : `has no version ${JSON.stringify(version)}`;
    throw new GraphRefusedError("VersionNotFound", `package ${JSON.stringify(name)} ${missing}`);
  }
  const range = ranges.get(bundle.name);
  const meta = range && readMeta(read(range));
  const stated = meta && readStated(meta, name);
  return `${JSON.stringify(buildPackageDetails({ catalog, facts, bundle, meta, stated }, []))}\n`;
}

/** Finds the bundle with this version or name, of several with the same version the one with the highest release. */
function findBundle({ bundles }: PackageData, text: string): BundleData | undefined {
  const sorted = sortBundlesByVersion(bundles);
  return sorted.find(({ version }) => version === text) ?? sorted.find(({ name }) => name === text);
}

/** Returns the typed form of a bundle; undefined if the object is invalid. */
function readStated(meta: Meta, name: string): ReturnType<typeof selectPackage>["bundles"][number] | undefined {
  try {
    return selectPackage([meta], name).bundles[0];
  } catch {
    return undefined;
  }
}

/** Reads a line; undefined if it is not an object of a catalog. */
function readMeta(bytes: Uint8Array): Meta | undefined {
  try {
    return toMeta(JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()));
  } catch {
    return undefined;
  }
}
