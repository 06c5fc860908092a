import { expect, test } from "vitest";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { mapInParallel } from "../../pkg/async/concurrency.ts";
import { isInvalid } from "../../pkg/kube/errors.ts";
import { describeWithCluster } from "../support/cluster.ts";
import { waitForDefinition } from "../support/definitions.ts";
import { isOlderThan } from "../support/kubernetesVersion.ts";
import { SCHEMA_RULE_CASES } from "../support/schemaRuleCases.ts";

const GROUP = "rules.example.com";
const PARALLEL = 4;

const CASES = SCHEMA_RULE_CASES.filter(({ name, since = 0 }) => !isOlderThan(since, `CEL rule "${name}"`));

describeWithCluster("the CEL rules of a CRD", ({ client }) => {
  async function defineCases(): Promise<void> {
    const properties = Object.fromEntries(CASES.map(({ schema }, index) => [`case${index}`, schema]));
    const schema = { openAPIV3Schema: { type: "object", properties } };
    const crd: KubeObject = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `judges.${GROUP}` },
      spec: {
        group: GROUP,
        scope: "Cluster",
        names: { kind: "Judge", plural: "judges", singular: "judge", listKind: "JudgeList" },
        versions: [{ name: "v1", served: true, storage: true, schema }],
      },
    };
    await client.create(crd);
    await waitForDefinition(client, crd);
  }

  /** Creates an object in a dry run. An update would not apply rules to unchanged values ("ratcheting"). */
  async function judge(index: number, value: unknown): Promise<"valid" | "invalid"> {
    try {
      const object = { apiVersion: `${GROUP}/v1`, kind: "Judge", metadata: { name: "x" }, [`case${index}`]: value };
      await client.create(object, { dryRun: true });
      return "valid";
    } catch (err) {
      if (isInvalid(err)) return "invalid";
      throw err;
    }
  }

  test("the API server has the verdicts that SchemaRules has in its unit test", async () => {
    await defineCases();
    const all = CASES.flatMap(({ name, valid = [], invalid = [], unchecked = [] }, index) => [
      ...valid.map((value) => ({ name, index, value, expected: "valid" })),
      ...[...invalid, ...unchecked].map((value) => ({ name, index, value, expected: "invalid" })),
    ]);
    const judged = await mapInParallel(all, PARALLEL, async (one) => ({ ...one, verdict: await judge(one.index, one.value) }));
    const wrong = judged.filter(({ expected, verdict }) => expected !== verdict);
    expect(wrong).toEqual([]);
  });
});
