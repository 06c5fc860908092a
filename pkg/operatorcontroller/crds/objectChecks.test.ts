import { afterAll, expect, test } from "vitest";
import { FakeClock } from "../../../test/support/fakeClock.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { ObjectChecker } from "./existingObjects.ts";
import { compareCrds } from "./objectChecks.ts";

const checker = new ObjectChecker(new FakeClock());
afterAll(() => checker.end());

function definition(type: string, fields: number): KubeObject {
  const properties = Object.fromEntries(Array.from({ length: fields }, (_, i) => [`field${i}`, { type, description: "x".repeat(100) }]));
  const schema = { openAPIV3Schema: { type: "object", properties } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "things.e.com" },
    spec: { group: "e.com", names: { kind: "Thing" }, versions: [{ name: "v1", served: true, storage: true, schema }] },
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
