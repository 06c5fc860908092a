import { expect, test } from "vitest";
import { bundleOf } from "../../test/support/bundleFixture.ts";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { TerminalError } from "../errors/errors.ts";
import { goJson } from "../fbc/canonical.ts";
import { bundleConfig } from "./config.ts";

interface ConfigCase extends CaseHead {
  modes: string[];
  namespace: string;
  /** JSON. */
  config: string;
  error?: string;
  /** What Go's decoder and encoder make of it, JSON; an empty node selector is lost on that way. */
  deploymentConfig?: string;
}

const PREFIX = "invalid ClusterExtension configuration: ";

function check(modes: readonly string[], installNamespace: string, config: unknown, deploymentConfig = true) {
  return bundleConfig(bundleOf({ modes }).csv, config, { installNamespace, deploymentConfig });
}

function faultOf(run: () => unknown): string {
  try {
    run();
  } catch (err) {
    expect(err).toBeInstanceOf(TerminalError);
    expect((err as TerminalError).reason).toBe("InvalidConfiguration");
    return (err as TerminalError).message;
  }
  throw new Error("the configuration was accepted");
}

test.for(loadCases<ConfigCase>("render-config"))("$name", ({ modes, namespace, config, error, deploymentConfig }) => {
  const run = () => check(modes, namespace, JSON.parse(config));
  if (error !== undefined) {
    const [text = ""] = faultOf(run).replace(PREFIX, "").split("; ");
    expect(text).toBe(error);
    return;
  }
  const { nodeSelector, ...rest } = run().deploymentConfig ?? {};
  const kept = nodeSelector && Object.keys(nodeSelector).length > 0 ? { nodeSelector } : {};
  if (deploymentConfig !== undefined) expect(JSON.parse(goJson({ ...kept, ...rest }))).toEqual(JSON.parse(deploymentConfig));
});

test.for<[name: string, config: unknown, behind: string]>([
  [
    "what a reference hides",
    { deploymentConfig: { env: [{ name: "a", value: 5 }] } },
    'invalid type for field "deploymentConfig.env.0.value": got number, want string',
  ],
  [
    "all that references hide",
    { deploymentConfig: { resources: { limits: { cpu: {} } }, tolerations: [{}, { key: 1 }] } },
    'invalid value for field "deploymentConfig.resources.limits.cpu", invalid type for field "deploymentConfig.tolerations.1.key": got number, want string',
  ],
  ["further unknown fields", { b: 1, a: 1, c: 1 }, 'unknown field "b", unknown field "c"'],
  [
    "further missing fields, with their place",
    { deploymentConfig: { volumeMounts: [{}] } },
    'required field "deploymentConfig.volumeMounts.0.name" is missing, required field "deploymentConfig.volumeMounts.0.mountPath" is missing',
  ],
])("behind Go's text stands %s", ([, config, behind]) => {
  const fault = faultOf(() => check(["AllNamespaces"], "ns", config));
  expect(fault.slice(fault.indexOf("; ") + 2)).toBe(behind);
});

test("without the feature deploymentConfig is an unknown field", () => {
  expect(faultOf(() => check(["AllNamespaces"], "ns", { deploymentConfig: {} }, false))).toBe(
    `${PREFIX}invalid configuration: unknown field "deploymentConfig"`,
  );
});

test("a value that the schema lets through and Go cannot decode", () => {
  expect(faultOf(() => check(["AllNamespaces"], "ns", { deploymentConfig: { resources: { limits: { cpu: "lots" } } } }))).toBe(
    "invalid deploymentConfig: failed to unmarshal deploymentConfig: quantities must match the regular expression " +
      "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  );
});

test("what was given is known: an empty node selector differs from none", () => {
  expect(check(["AllNamespaces"], "ns", { deploymentConfig: { nodeSelector: {} } })).toEqual({ deploymentConfig: { nodeSelector: {} } });
  expect(check(["AllNamespaces"], "ns", { deploymentConfig: {} })).toEqual({ deploymentConfig: {} });
  expect(check(["AllNamespaces", "OwnNamespace"], "ns", { watchNamespace: null })).toEqual({});
  expect(check(["AllNamespaces", "OwnNamespace"], "ns", { watchNamespace: "ns" })).toEqual({ watchNamespace: "ns" });
});
