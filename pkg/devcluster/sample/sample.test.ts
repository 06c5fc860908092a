import { expect, test } from "vitest";
import type { KubeObject } from "../../api/k8s.ts";
import { parseYaml } from "../../golang/yaml.ts";
import { buildSampleBundles, buildSampleCatalog, buildSampleImages, SAMPLE_PACKAGE, SAMPLE_VERSIONS } from "./sample.ts";

interface Csv extends KubeObject {
  spec: { version: string; customresourcedefinitions: { owned: { name: string }[] } };
}

interface Meta {
  schema: string;
  name?: string;
  image?: string;
  entries?: { name?: string; replaces?: string; reference?: { schema: string; name: string } }[];
}

const text = (content: Uint8Array | undefined): string => Buffer.from(content ?? []).toString("utf8");

function metasOf(registryHost: string): Meta[] {
  const file = buildSampleCatalog(registryHost).get(`configs/${SAMPLE_PACKAGE}/catalog.yaml`);
  return text(file)
    .split(/^---$/m)
    .map((document) => parseYaml(document) as Meta);
}

test("every sample bundle contains one ClusterServiceVersion with the name and version of the bundle, and the CRDs that it owns", () => {
  for (const { name, version, files } of buildSampleBundles()) {
    const manifests = [...files]
      .filter(([path]) => path.startsWith("manifests/"))
      .map(([, content]) => parseYaml(text(content)) as KubeObject);
    const csvs = manifests.filter(({ kind }) => kind === "ClusterServiceVersion") as Csv[];
    expect(csvs.map((csv) => [csv.metadata.name, csv.spec.version])).toEqual([[name, version]]);
    const owned = csvs.flatMap((csv) => csv.spec.customresourcedefinitions.owned.map((crd) => crd.name));
    expect(owned).toEqual(manifests.filter(({ kind }) => kind === "CustomResourceDefinition").map((crd) => crd.metadata.name));
    expect(files.has("metadata/annotations.yaml")).toBe(true);
  }
});

test("each upgrade of the sample bundle removes a manifest and adds another manifest", () => {
  const paths = buildSampleBundles().map(({ files }) => [...files.keys()]);
  for (let i = 1; i < paths.length; i++) {
    const [before = [], after = []] = [paths[i - 1], paths[i]];
    expect(before.filter((path) => !after.includes(path)).length).toBeGreaterThan(0);
    expect(after.filter((path) => !before.includes(path)).length).toBeGreaterThan(0);
  }
});

test("the sample catalog contains the bundle images in the registry, two channels and one deprecated bundle", () => {
  const metas = metasOf("127.0.0.1:5000");
  expect(metas.flatMap(({ schema, image }) => (schema === "olm.bundle" ? [image] : []))).toEqual(
    SAMPLE_VERSIONS.map((version) => `127.0.0.1:5000/hello-operator-bundle:v${version}`),
  );
  const bundles = metas.filter(({ schema }) => schema === "olm.bundle").map(({ name }) => name);
  const channels = metas.filter(({ schema }) => schema === "olm.channel");
  expect(channels.map(({ name }) => name)).toEqual(["stable", "candidate"]);
  for (const { entries = [] } of channels) {
    for (const entry of entries) expect(bundles).toContain(entry.name);
    const replaced = entries.map(({ replaces }) => replaces);
    expect(entries.filter(({ name }) => !replaced.includes(name)).map(({ name }) => name)).toEqual(["hello-operator.v1.2.0"]);
  }
  const deprecated = metas.filter(({ schema }) => schema === "olm.deprecations").flatMap(({ entries = [] }) => entries);
  expect(deprecated.map(({ reference }) => reference)).toEqual([{ schema: "olm.bundle", name: "hello-operator.v1.0.0" }]);
});

test("each sample image has the required labels, and bundle images have the same annotations as labels", () => {
  const images = buildSampleImages("localhost:1");
  expect(images.map(({ repository, tag }) => `${repository}:${tag}`)).toEqual([
    "hello-operator-bundle:v1.0.0",
    "hello-operator-bundle:v1.1.0",
    "hello-operator-bundle:v1.2.0",
    "hello-catalog:latest",
  ]);
  for (const { files, labels } of images.slice(0, 3)) {
    expect(parseYaml(text(files.get("metadata/annotations.yaml")))).toEqual({ annotations: labels });
  }
  expect(images[3]?.labels).toEqual({ "operators.operatorframework.io.index.configs.v1": "/configs" });
});
