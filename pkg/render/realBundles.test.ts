import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { bundleFiles, compareRender, type RenderCase, rendered } from "../../test/cases/topics/render.ts";
import { describeWithData } from "../../test/support/sharedData.ts";
import type { KubeObject } from "../api/k8s.ts";
import { MANIFEST_TYPES } from "../bundle/goTypes.ts";
import { buildUniqueName } from "../bundle/objectNames.ts";
import { encodeGoJson } from "../golang/json.ts";

const MAX_SHOWN = 10;
/** Operators by first letter, one test for each group. Tests read the data at run time, because vitest collects tests even if the data is missing. */
const LETTERS = ["ab", "c", "def", "ghij", "klm", "nop", "qr", "s", "tuvwxyz0123456789"];

// Source: objects that the Go operator-controller rendered for these bundles.
describeWithData("real bundles are rendered as operator-controller renders them", (folder) => {
  test.for(LETTERS)(
    "renderBundle renders the same objects as the Go implementation for operators whose name starts with one of %s",
    { timeout: 120_000 },
    (letters) => {
      const differing: string[] = [];
      for (const operator of readdirSync(join(folder, "render")).filter(([first = ""]) => letters.includes(first))) {
        for (const file of readdirSync(join(folder, "render", operator))) {
          const expected = JSON.parse(readFileSync(join(folder, "render", operator, file), "utf8")) as RenderCase;
          const lines = compareRender(expected, rendered(expected, bundleFiles(join(folder, expected.bundle))));
          if (lines.length > 0) differing.push(`${operator}/${file}: ${lines.join("\n  ")}`);
        }
      }
      expect(differing.slice(0, MAX_SHOWN)).toEqual([]);
    },
  );

  test("LETTERS contains the first letters of all operators", () => {
    expect(readdirSync(join(folder, "render")).filter(([first = ""]) => !LETTERS.join("").includes(first))).toEqual([]);
  });
});

/** Returns the objects of a release as JSON texts written by Go. */
function releasedObjects(folder: string): string[] {
  const { items } = JSON.parse(readFileSync(join(folder, "go-release/secrets.json"), "utf8")) as { items: { data: { chunk: string } }[] };
  return items.flatMap(({ data }) => {
    const release = JSON.parse(gunzipSync(Buffer.from(data.chunk, "base64")).toString("utf8")) as { chart: { files: { data: string }[] } };
    return release.chart.files.map((file) => Buffer.from(file.data, "base64").toString("utf8"));
  });
}

// Source: the release Secrets of a real install by the Go operator-controller (flux-operator).
describeWithData("what a Go release holds", (folder) => {
  const ofKind = (kind: string) =>
    releasedObjects(folder)
      .map((text) => ({ text, object: JSON.parse(text) as KubeObject }))
      .filter(({ object }) => object.kind === kind);
  const inGoOrder = (value: unknown) => encodeGoJson(value, { sortKeys: false });

  test("MANIFEST_TYPES converts CRDs and Deployments to the same JSON as the Go implementation", () => {
    expect([ofKind("CustomResourceDefinition").length, ofKind("Deployment").length]).toEqual([8, 2]);
    for (const { text, object } of ofKind("CustomResourceDefinition")) {
      expect(inGoOrder(MANIFEST_TYPES.convert("apiextensions/v1.CustomResourceDefinition", object))).toBe(text);
    }
    for (const { object } of ofKind("Deployment")) {
      expect(inGoOrder(MANIFEST_TYPES.convert("apps/v1.DeploymentSpec", object["spec"]))).toBe(inGoOrder(object["spec"]));
    }
  });

  test("renderBundle uses the same ClusterRole names as the Go implementation", () => {
    const [first, second] = ofKind("ClusterRole").map(({ object }) => object);
    const named = (version: string, rules: unknown) =>
      buildUniqueName(`flux-operator.v${version}-flux-operator`, { serviceAccountName: "flux-operator", rules });
    expect(first?.metadata.name).toBe(named("0.37.1", first?.["rules"]));
    expect(second?.metadata.name).toBe(named("0.38.1", second?.["rules"]));
  });
});
