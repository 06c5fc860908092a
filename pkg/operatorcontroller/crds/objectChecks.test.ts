import { afterAll, expect, test } from "vitest";
import { countTasks } from "../../../test/support/countTasks.ts";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { ObjectChecker } from "./existingObjects.ts";
import { compareCrds } from "./objectChecks.ts";

const checker = new ObjectChecker(new FakeClock());
afterAll(() => checker.end());

function definition(type: string, fields: number, versions = ["v1"]): KubeObject {
  const properties = Object.fromEntries(Array.from({ length: fields }, (_, i) => [`field${i}`, { type, description: "x".repeat(100) }]));
  const schema = { openAPIV3Schema: { type: "object", properties } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "things.e.com" },
    spec: {
      group: "e.com",
      names: { kind: "Thing" },
      versions: versions.map((name) => ({ name, served: true, storage: name === "v1", schema })),
    },
  };
}

test.for([10, 2_000])(
  "ObjectChecker.compare returns the same result for two CRDs with %i fields as a comparison in the main thread",
  async (fields) => {
    const [before, after] = [definition("string", fields), definition("integer", fields)];
    const bytes = (object: KubeObject): Uint8Array => new TextEncoder().encode(JSON.stringify(object));
    const found = await checker.compare(before, after, ["existingObjects"]);
    expect(found).toEqual(compareCrds({ before: bytes(before), after: bytes(after), ignored: ["existingObjects"] }));
    expect([found.findings.length > 0, found.checks]).toEqual([true, []]);
  },
);

test("ObjectChecker.compare runs other tasks meanwhile when a small CRD has many versions", async () => {
  const versions = Array.from({ length: 50 }, (_, i) => `v${i + 1}`);
  const [before, after] = [definition("string", 2, versions), definition("integer", 2, versions)];
  let compared = 0;
  const tasks = await countTasks(async () => {
    compared = (await checker.compare(before, after, ["existingObjects"])).findings.length;
  });
  expect([compared, tasks > 10]).toEqual([100, true]);
});
