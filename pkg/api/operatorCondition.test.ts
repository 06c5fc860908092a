import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { describeWithData } from "../../test/support/sharedData.ts";
import type { KubeObject } from "./k8s.ts";
import { buildOperatorConditionCrd } from "./operatorCondition.ts";

/** Removes descriptions of fields. */
function withoutDescriptions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDescriptions);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([name, member]) => name !== "description" || typeof member !== "string");
  return Object.fromEntries(members.map(([name, member]) => [name, withoutDescriptions(member)]));
}

describeWithData("the definition of OperatorConditions", (folder) => {
  test("buildOperatorConditionCrd has the schema of OLM v0", () => {
    const lines = gunzipSync(readFileSync(join(folder, "classic/objects.jsonl.gz")))
      .toString("utf8")
      .trimEnd()
      .split("\n");
    const crd = buildOperatorConditionCrd();
    const live = lines
      .filter((line) => line.includes(crd.metadata.name))
      .map((line) => JSON.parse(line) as KubeObject)
      .find(({ kind, metadata }) => kind === "CustomResourceDefinition" && metadata.name === crd.metadata.name);
    const { conversion: _default, ...spec } = (live?.["spec"] ?? {}) as Record<string, unknown>;
    expect(withoutDescriptions(crd["spec"])).toEqual(withoutDescriptions(spec));
  });
});
