import { expect, test } from "vitest";
import { bundleOf } from "../../test/support/bundleFixture.ts";
import type { JsonObject } from "../api/k8s.ts";
import { TerminalError } from "../errors/errors.ts";
import { chooseConfigs } from "./deploymentConfig.ts";
import { renderBundle } from "./render.ts";

const deployment = (index: number, containers = 1) => ({
  name: `d${index}`,
  label: { app: `d${index}` },
  spec: { template: { metadata: {}, spec: { containers: Array.from({ length: containers }, (_, i) => ({ name: `c${i}` })) } } },
});
const bundleWith = (count: number, containers = 1) =>
  bundleOf({ deployments: Array.from({ length: count }, (_, i) => deployment(i, containers)) });
const env = (count: number, value = "v") => Array.from({ length: count }, (_, i) => ({ name: `NAME_${i}`, value }));
const map = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`key-${i}`, "v"]));
const fault = (where: string): string =>
  `invalid ClusterExtension configuration: invalid configuration: too many values: at most 100000 are allowed, counted once per Deployment and container; exceeded at Deployment ${where}`;

test.for<[what: string, deployments: number, containers: number, config: JsonObject, message: string | undefined]>([
  ["3000 variables of one Deployment with nine containers", 1, 9, { deploymentConfig: { env: env(3_000) } }, undefined],
  ["300 variables of 50 Deployments with two containers", 50, 2, { deploymentConfig: { env: env(300) } }, undefined],
  ["3000 annotations of nine Deployments", 9, 1, { deploymentConfig: { annotations: map(3_000) } }, undefined],
  ["20 variables of 1000 Deployments", 1_000, 1, { deploymentConfig: { env: env(20) } }, undefined],
  [
    "a list for each of 32 Deployments",
    32,
    1,
    { deploymentConfigs: Array.from({ length: 32 }, (_, i) => ({ selector: { matchLabels: { app: `d${i}` } }, env: env(90) })) },
    undefined,
  ],
  ["3000 variables of 300 Deployments", 300, 1, { deploymentConfig: { env: env(3_000) } }, fault('"d9", 10 of 300')],
  ["3000 variables of a Deployment with 20 containers", 1, 20, { deploymentConfig: { env: env(3_000) } }, fault('"d0", 1 of 1')],
  ["3000 annotations of 300 Deployments", 300, 1, { deploymentConfig: { annotations: map(3_000) } }, fault('"d9", 10 of 300')],
  ["a long text of 300 Deployments", 300, 1, { deploymentConfig: { env: env(1, "x".repeat(200_000)) } }, fault('"d31", 32 of 300')],
  [
    "32 lists that apply to all Deployments",
    20,
    1,
    { deploymentConfigs: Array.from({ length: 32 }, () => ({ selector: {}, env: env(90) })) },
    fault('"d0", 1 of 20'),
  ],
  [
    "a selector of 1000 labels and 300 Deployments",
    300,
    1,
    { deploymentConfig: { selector: { matchExpressions: Array.from({ length: 1_000 }, () => ({ key: "a", operator: "DoesNotExist" })) } } },
    fault('"d100", 101 of 300'),
  ],
])("renderBundle limits the number of values that a configuration adds: %s", ([, deployments, containers, config, message]) => {
  const render = () => renderBundle(bundleWith(deployments, containers), { installNamespace: "ns", config });
  if (message === undefined) expect(render()).toHaveLength(deployments);
  else expect(render).toThrow(new TerminalError("InvalidConfiguration", message));
});

test("chooseConfigs returns the matching configurations in order and reads each selector once", () => {
  const reads = (count: number): number => {
    let read = 0;
    const selector = {
      get matchLabels() {
        read += 1;
        return { app: "d0" };
      },
    };
    const [first, ...others] = chooseConfigs(
      Array.from({ length: count }, (_, i) => deployment(i)) as unknown as Parameters<typeof chooseConfigs>[0],
      [{ env: env(1) }, { selector }, { selector: {} }],
    );
    expect(first).toHaveLength(3);
    for (const other of others) expect(other).toEqual([{ env: env(1) }, { selector: {} }]);
    return read;
  };
  expect(reads(100)).toBe(reads(1));
});
