import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject, KubeObject } from "../../../pkg/api/k8s.ts";
import { loadBundle } from "../../../pkg/bundle/load.ts";
import type { BundleFiles } from "../../../pkg/bundle/types.ts";
import { type CertificateProvider, certManager, serviceCa } from "../../../pkg/certificates/providers.ts";
import { getErrorMessage, TerminalError } from "../../../pkg/errors/errors.ts";
import { writeExactJson } from "../../../pkg/golang/json.ts";
import { renderBundle } from "../../../pkg/render/render.ts";
import { UsageError } from "../runMain.ts";
import { hasMembers, type Topic } from "../topic.ts";

/** A bundle with a configuration, and its rendered objects (large CRDs as digests) or the start of an error. */
export interface RenderCase {
  /** Folder of the bundle. */
  bundle: string;
  namespace: string;
  certProvider?: string | null;
  config?: JsonObject | null;
  objects?: JsonObject[];
  objectsExceptCRDs?: JsonObject[];
  error?: string;
}

/** Result of rendering. */
export type Rendered = { objects: readonly KubeObject[] } | { error: string; terminal: boolean };

const TERMINAL = "terminal error: ";
const CRD = "CustomResourceDefinition";
const PROVIDERS: Readonly<Record<string, CertificateProvider>> = { "cert-manager": certManager, "service-ca": serviceCa };
const MAX_LINES = 8;

export const renderTopic: Topic<RenderCase> = {
  isCase: (value): value is RenderCase =>
    hasMembers(value, "bundle", "namespace") && ["objects", "objectsExceptCRDs", "error"].some((member) => Object.hasOwn(value, member)),
  title: ({ bundle, config, certProvider }) => `${bundle} ${JSON.stringify(config ?? null).slice(0, 80)} ${certProvider ?? "no provider"}`,
  async run(value, { dataFolder }) {
    const folder = join(dataFolder, value.bundle);
    if (!existsSync(folder)) throw new Error(`bundle ${folder} not found`);
    const lines = compareRender(value, rendered(value, bundleFiles(folder)));
    return lines.length === 0 ? undefined : { lines: lines.slice(0, MAX_LINES) };
  },
};

/** Reads the files in `manifests/` and `metadata/` of a bundle folder. */
export function bundleFiles(folder: string): BundleFiles {
  const files = new Map<string, Uint8Array>();
  for (const part of ["manifests", "metadata"]) {
    if (!existsSync(join(folder, part))) continue;
    for (const entry of readdirSync(join(folder, part), { withFileTypes: true, recursive: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      files.set(path.slice(folder.length + 1), readFileSync(path));
    }
  }
  return files;
}

/** Renders the bundle of a case. @throws UsageError for an unknown certificate provider. */
export function rendered({ namespace, certProvider, config }: RenderCase, files: BundleFiles): Rendered {
  const provider = certProvider ? PROVIDERS[certProvider] : undefined;
  if (certProvider && !provider) throw new UsageError(`unknown certificate provider ${certProvider}`);
  try {
    return {
      objects: renderBundle(loadBundle(files), {
        installNamespace: namespace,
        config: config ?? undefined,
        certProvider: provider,
        extendedConfig: false,
        ownedApiServices: false,
      }),
    };
  } catch (err) {
    return { error: getErrorMessage(err), terminal: err instanceof TerminalError };
  }
}

/**
 * Returns lines about differences; none if the result is as expected. Ignores the order of objects, and CRDs if `objectsExceptCRDs` is given.
 * Our error must start with the expected one, and must be terminal if the expected one is.
 */
export function compareRender(expected: RenderCase, actual: Rendered): string[] {
  if (expected.error !== undefined) return compareError(expected.error, actual);
  if ("error" in actual)
    return [`want ${(expected.objects ?? expected.objectsExceptCRDs ?? []).length} objects`, `got error: ${actual.error}`];
  const expectedObjects = expected.objects ?? expected.objectsExceptCRDs ?? [];
  const objects = expected.objects ? actual.objects : actual.objects.filter(({ kind }) => kind !== CRD);
  const digests = new Set(expectedObjects.filter((object) => "sha256" in object).map(identity));
  const want = countBy(expectedObjects);
  const got = countBy(
    objects.map((object) => (digests.has(identity(object)) ? replaceByDigest(object) : (JSON.parse(sortedJson(object)) as JsonObject))),
  );
  const missing = [...want].filter(([text, count]) => count > (got.get(text) ?? 0)).map(([text]) => text);
  const unwanted = [...got].filter(([text, count]) => count > (want.get(text) ?? 0)).map(([text]) => text);
  return describe(missing, unwanted);
}

function compareError(expectedError: string, actual: Rendered): string[] {
  if (!("error" in actual)) return [`want error: ${expectedError}`, `got ${actual.objects.length} objects`];
  const terminal = expectedError.startsWith(TERMINAL);
  const text = terminal ? expectedError.slice(TERMINAL.length) : expectedError;
  if (actual.error.startsWith(text) && actual.terminal === terminal) return [];
  return [`want error: ${expectedError}`, `got error:  ${actual.terminal ? TERMINAL : ""}${actual.error}`];
}

function countBy(objects: readonly JsonObject[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const object of objects) {
    const text = sortedJson(object);
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return counts;
}

function replaceByDigest(object: KubeObject): JsonObject {
  const { apiVersion, kind, metadata } = object;
  const sha256 = createHash("sha256").update(sortedJson(object)).digest("hex");
  return { apiVersion, kind, metadata: { name: metadata.name }, sha256 };
}

function identity(object: JsonObject | KubeObject): string {
  const metadata = object["metadata"] as { name?: string } | undefined;
  return `${String(object["apiVersion"])} ${String(object["kind"])} ${metadata?.name ?? ""}`;
}

/**
 * Formats JSON as for the digests in cases: without spaces or unneeded escapes, and with fields in order of code points, because a JavaScript object
 * orders numeric names first.
 */
function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return writeExactJson(value);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  const sorted = members.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return `{${sorted.map(([key, member]) => `${JSON.stringify(key)}:${sortedJson(member)}`).join(",")}}`;
}

/** Pairs missing objects with unexpected ones of the same name, and shows the first difference of each pair. */
function describe(missing: readonly string[], unwanted: readonly string[]): string[] {
  const left = unwanted.map((text) => ({ text, id: identity(JSON.parse(text) as JsonObject) }));
  const lines: string[] = [];
  for (const text of missing) {
    const id = identity(JSON.parse(text) as JsonObject);
    const at = left.findIndex((entry) => entry.id === id);
    const [other] = at < 0 ? [] : left.splice(at, 1);
    if (!other) lines.push(`missing: ${id}`);
    else lines.push(`differs: ${id}`, ...firstDifference(text, other.text));
  }
  return [...lines, ...left.map(({ id }) => `unexpected: ${id}`)];
}

function firstDifference(want: string, got: string): string[] {
  let at = 0;
  while (at < want.length && want[at] === got[at]) at++;
  const from = Math.max(0, at - 60);
  return [`  want …${want.slice(from, at + 60)}`, `  got  …${got.slice(from, at + 60)}`];
}
