import { expect, test } from "vitest";
import { releaseRecord } from "../../test/support/releases.ts";
import { LABEL_BUNDLE_NAME, LABEL_BUNDLE_VERSION } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import { compareRecords } from "./releaseComparison.ts";

const object = (kind: string, name: string, content: object): KubeObject => ({
  apiVersion: "v1",
  kind,
  metadata: { name, namespace: "a" },
  ...content,
});
const labels = (version: string) => ({ [LABEL_BUNDLE_NAME]: `x.v${version}`, [LABEL_BUNDLE_VERSION]: version });

test("compareRecords returns created, changed, deleted and unchanged objects, and masks Secrets and sourced values", () => {
  const before = releaseRecord(1, "superseded", {
    labels: labels("1.0.0"),
    objects: [
      object("ConfigMap", "changed", { data: { level: "info", url: "token-abcdef" } }),
      object("Secret", "secret", { data: { password: "b2xk" } }),
      object("Service", "old", {}),
      object("Service", "same", {}),
    ],
  });
  const after = releaseRecord(2, "deployed", {
    labels: labels("1.1.0"),
    sourced: ["token-abcdef"],
    objects: [
      object("ConfigMap", "changed", { data: { level: "debug", url: "other" } }),
      object("Secret", "secret", { data: { password: "bmV3" } }),
      object("Service", "same", {}),
      object("Service", "new", {}),
    ],
  });
  const { from, to, objects } = compareRecords(before, after);
  expect([from, to]).toEqual([
    { revision: 1, bundle: "x.v1.0.0", version: "1.0.0" },
    { revision: 2, bundle: "x.v1.1.0", version: "1.1.0" },
  ]);
  expect(objects.map(({ action, ref }) => `${action} ${ref.kind} ${ref.name}`).sort()).toEqual([
    "Create Service new",
    "Delete Service old",
    "Unchanged Service same",
    "Update ConfigMap changed",
    "Update Secret secret",
  ]);
  expect(objects.find(({ ref }) => ref.name === "changed")?.changes).toMatchObject([
    { path: "data.level", before: '"info"', after: '"debug"' },
    { path: "data.url" },
  ]);
  expect(JSON.stringify(objects)).not.toMatch(/b2xk|bmV3|token-abcdef/);
});
