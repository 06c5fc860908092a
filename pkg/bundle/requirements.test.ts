import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { thingDefinition } from "../../test/support/definitions.ts";
import { type BundleRequirements, findUnmetRequirements, parseRequirements, readRequirements } from "./requirements.ts";
import type { ApiServiceDescription, Crd, Csv } from "./types.ts";

interface RequirementsCase extends CaseHead {
  kube?: string;
  requires: { minKubeVersion?: string; definitions?: { name: string; version: string; kind: string }[]; apis?: Record<string, string>[] };
  brings?: string[];
  /** Kinds that the operator serves. */
  serves?: Record<string, string>[];
  served?: string[];
  /** Set if there are no requirements. */
  wants?: "nothing";
  unmet?: string[];
}

const csvOf = (
  { minKubeVersion, definitions, apis }: RequirementsCase["requires"],
  serves: RequirementsCase["serves"] = [],
): Pick<Csv, "spec"> => ({
  spec: {
    install: { strategy: "deployment", spec: { deployments: [] } },
    version: "1.0.0",
    customresourcedefinitions: definitions ? { required: definitions } : {},
    apiservicedefinitions: { owned: serves as unknown as ApiServiceDescription[], ...(apis ? { required: apis } : {}) },
    ...(minKubeVersion === undefined ? {} : { minKubeVersion }),
  },
});

function crdOf(text: string): Crd {
  const [, name = "", version = ""] = /^(.+)\/(.+)$/.exec(text) ?? [];
  return { ...thingDefinition("g.io"), metadata: { name }, spec: { versions: [{ name: version, served: true }] } };
}

function servedOf(text: string) {
  const [, resource = "", group = "", version = "", kind = ""] = /^([^.]+)\.(.+)\/(\S+) (.+)$/.exec(text) ?? [];
  return { resource, group, version, kind };
}

test.for(loadCases<RequirementsCase>("requirements"))(
  "requirements ($source): $name",
  ({ requires, brings = [], serves = [], served = [], kube = "v1.36.0", wants, unmet }) => {
    const required = readRequirements({ csv: csvOf(requires, serves), crds: brings.map(crdOf) });
    if (wants === "nothing") return expect(required).toBeUndefined();
    expect(parseRequirements(JSON.parse(JSON.stringify(required)))).toEqual(required);
    return expect(findUnmetRequirements(required ?? {}, { kubeVersion: kube, served: served.map(servedOf) })).toEqual(unmet);
  },
);

test("readRequirements limits the number and length of requirements", () => {
  const definitions = Array.from({ length: 1_000 }, (_, i) => ({
    name: `${i}.${"x".repeat(10_000)}`,
    version: "v".repeat(10_000),
    kind: "K",
  }));
  const required = readRequirements({ csv: csvOf({ definitions, minKubeVersion: "9".repeat(10_000) }), crds: [] });
  expect(required?.definitions).toHaveLength(100);
  expect(JSON.stringify(required).length).toBeLessThan(60_000);
});

test.for<[what: string, json: unknown, requirements: BundleRequirements | undefined]>([
  ["a list", [], undefined],
  ["fields of wrong types", { minKubeVersion: 1, definitions: 7, apis: [7, { group: "g" }] }, { definitions: [], apis: [] }],
])("parseRequirements ignores %s", ([, json, requirements]) => {
  expect(parseRequirements(json)).toEqual(requirements);
});
