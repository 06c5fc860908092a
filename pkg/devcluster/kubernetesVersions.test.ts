import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { KUBERNETES_VERSIONS } from "./kubernetesVersions.ts";

test.each(KUBERNETES_VERSIONS)("the Go module of Kubernetes $minor builds $release from packages of one release", async (version) => {
  const { minor, release, moduleFile } = version;
  const text = await readFile(join(import.meta.dirname, "controlplane", moduleFile), "utf8");
  expect(release).toMatch(new RegExp(String.raw`^v${minor.replace(".", String.raw`\.`)}\.\d+$`));
  expect(text).toContain(`k8s.io/kubernetes ${release}\n`);
  const replacements = [...text.matchAll(/^replace (k8s\.io\/\S+) => \1 (\S+)$/gm)].map(([, , staging]) => staging);
  expect(replacements.length).toBeGreaterThan(20);
  expect(new Set(replacements)).toEqual(new Set([release.replace("v1.", "v0.")]));
});

test("the oldest version of KUBERNETES_VERSIONS is the oldest that the Helm chart accepts", async () => {
  const chart = await readFile(join(import.meta.dirname, "../../config/helm/olmv1/Chart.yaml"), "utf8");
  expect(chart).toContain(`kubeVersion: ">=${KUBERNETES_VERSIONS[0]?.minor}.0-0"`);
});
