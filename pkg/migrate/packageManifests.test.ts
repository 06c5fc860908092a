import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import type { ChannelEntry } from "../fbc/types.ts";
import { type MigratedPackage, migratePackage } from "./packageManifests.ts";

interface PackageCase extends CaseHead {
  /** Files by path, including the version subfolders. */
  files: Record<string, string>;
  package?: unknown;
  channels?: Record<string, ChannelEntry[]>;
  bundles?: string[];
  faults?: string[];
  warnings?: string[];
  error?: string;
}

test.for(loadCases<PackageCase>("package-manifests"))("$name", ({ files, error, ...expected }) => {
  if (error !== undefined) {
    expect(() => migrate(files)).toThrow(new Error(error));
    return;
  }
  const { metas, faults, warnings } = migrate(files);
  expect(faults).toEqual(expected.faults ?? []);
  const of = (schema: string) => metas.filter((meta) => meta.schema === schema);
  if (expected.package !== undefined) expect(of("olm.package").map(({ blob }) => blob)).toEqual([expected.package]);
  if (expected.channels)
    expect(Object.fromEntries(of("olm.channel").map(({ name, blob }) => [name, blob["entries"]]))).toEqual(expected.channels);
  if (expected.bundles) expect(of("olm.bundle").map(({ name }) => name)).toEqual(expected.bundles);
  if (expected.faults) expect(metas).toEqual([]);
  else expect(warnings).toEqual(expected.warnings ?? []);
});

test("migratePackage converts versions to bundles with their metadata", () => {
  const { bundles, metas } = migrate({
    "e.package.yaml": "packageName: e\nchannels: [{name: a, currentCSV: e.v1}, {name: b, currentCSV: e.v1}]\ndefaultChannel: b\n",
    "1/csv.yaml": "kind: ClusterServiceVersion\nmetadata: {name: e.v1}\nspec: {version: 1.0.0}\n",
  });
  const files = bundles.get("1") ?? new Map<string, Uint8Array>();
  expect([...files.keys()].sort()).toEqual(["manifests/csv.yaml", "metadata/annotations.yaml"]);
  expect(new TextDecoder().decode(files.get("metadata/annotations.yaml"))).toBe(`annotations:
  operators.operatorframework.io.bundle.mediatype.v1: "registry+v1"
  operators.operatorframework.io.bundle.manifests.v1: "manifests/"
  operators.operatorframework.io.bundle.metadata.v1: "metadata/"
  operators.operatorframework.io.bundle.package.v1: "e"
  operators.operatorframework.io.bundle.channels.v1: "a,b"
  operators.operatorframework.io.bundle.channel.default.v1: "b"
`);
  expect(metas.at(-1)?.blob).toMatchObject({ name: "e.v1", image: "example.com/e:1.0.0" });
});

function migrate(texts: Record<string, string>): MigratedPackage {
  const files = new Map<string, Uint8Array>();
  const versions = new Map<string, Map<string, Uint8Array>>();
  for (const [path, text] of Object.entries(texts)) {
    const [folder = "", name] = path.split("/");
    const content = new TextEncoder().encode(text);
    if (name === undefined) files.set(folder, content);
    else versions.set(folder, (versions.get(folder) ?? new Map<string, Uint8Array>()).set(name, content));
  }
  return migratePackage(
    { files, versions },
    { imageOf: ({ packageName, version }) => `example.com/${packageName}:${version}`, level: "none" },
  );
}
