import { expect, test } from "vitest";
import { bundleOf } from "../../test/support/bundleFixture.ts";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import type { JsonObject } from "../api/k8s.ts";
import { getProblems, TerminalError } from "../errors/errors.ts";
import { encodeGoJson } from "../golang/json.ts";
import { readBundleConfig } from "./config.ts";
import { chooseTargetNamespaces } from "./watchScope.ts";

interface ConfigCase extends CaseHead {
  modes: string[];
  namespace: string;
  /** JSON. */
  config: string;
  error?: string;
  /** Result of Go's decoder and encoder, which drop an empty node selector. */
  deploymentConfig?: string;
}

interface ExtendedCase extends CaseHead {
  modes?: string[];
  config: JsonObject;
  /** Expected watched namespaces. */
  targets?: string[];
  error?: string;
}

const PREFIX = "invalid ClusterExtension configuration: ";
const GO = { deploymentConfig: true, extended: false };
const EXTENDED = { deploymentConfig: true, extended: true };

function check(modes: readonly string[], installNamespace: string, config: unknown, options = EXTENDED) {
  return readBundleConfig(bundleOf({ modes }).csv, config, { installNamespace, ...options });
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

/** Returns the prefix of the error and the message of the problem, which includes details that the error omits. */
function fullFaultOf(run: () => unknown): string {
  const text = faultOf(run);
  try {
    run();
  } catch (err) {
    const [problem] = getProblems(err);
    if (problem && text.startsWith(PREFIX)) return `${PREFIX}invalid configuration: ${problem.message}`;
  }
  return text;
}

test.for(loadCases<ConfigCase>("render-config"))("$name", ({ modes, namespace, config, error, deploymentConfig }) => {
  const run = () => check(modes, namespace, JSON.parse(config), GO);
  if (error !== undefined) {
    const [text = ""] = faultOf(run).replace(PREFIX, "").split("; ");
    expect(text).toBe(error);
    return;
  }
  const { nodeSelector, ...rest } = run().deploymentConfigs[0] ?? {};
  const kept = nodeSelector && Object.keys(nodeSelector).length > 0 ? { nodeSelector } : {};
  if (deploymentConfig !== undefined) expect(JSON.parse(encodeGoJson({ ...kept, ...rest }))).toEqual(JSON.parse(deploymentConfig));
});

test.for(loadCases<ExtendedCase>("config-extended"))("$name", ({ modes = ["AllNamespaces"], config, targets, error }) => {
  const run = () => check(modes, "ns", config);
  if (error !== undefined) expect(fullFaultOf(run)).toBe(`${PREFIX}${error}`);
  else expect(chooseTargetNamespaces(bundleOf({ modes }).csv, run().watchNamespaces)).toEqual(targets);
});

test("readBundleConfig rejects fields and values unknown to the Go implementation unless the configuration is extended", () => {
  const modes = ["MultiNamespace", "SingleNamespace", "AllNamespaces"];
  const unknown = (field: string) => `${PREFIX}invalid configuration: unknown field "${field}"`;
  expect(faultOf(() => check(modes, "ns", { watchNamespaces: ["a", "b"] }, GO))).toContain(unknown("watchNamespaces"));
  expect(faultOf(() => check(modes, "ns", { deploymentConfigs: [] }, GO))).toContain(unknown("deploymentConfigs"));
  expect(faultOf(() => check(modes, "ns", { deploymentConfig: { selector: {} } }, GO))).toContain(unknown("selector"));
  expect(faultOf(() => check(modes, "ns", { deploymentConfig: { includeInitContainers: true } }, GO))).toContain(
    unknown("includeInitContainers"),
  );
  for (const all of ["", "*"]) expect(faultOf(() => check(modes, "ns", { watchNamespace: all }, GO))).toContain("must match pattern");
});

test("readBundleConfig rejects deploymentConfig as an unknown field if its feature is disabled", () => {
  const options = { ...EXTENDED, deploymentConfig: false };
  expect(faultOf(() => check(["AllNamespaces"], "ns", { deploymentConfig: {} }, options))).toBe(
    `${PREFIX}invalid configuration: unknown field "deploymentConfig"`,
  );
});

test("readBundleConfig suggests a similar field for an unknown field, or otherwise lists all fields once", () => {
  const mistakes = (config: unknown): unknown => {
    try {
      return check(["AllNamespaces"], "ns", config);
    } catch (err) {
      return getProblems(err)[0]?.details?.configuration;
    }
  };
  expect(mistakes({ deploymentconfig: {} })).toEqual([
    { path: "deploymentconfig", message: 'unknown field, did you mean "deploymentConfig"?' },
  ]);
  expect(mistakes({ one: 1, two: 2 })).toEqual([
    { path: "one", message: 'unknown field; the valid fields are "deploymentConfig", "deploymentConfigs"' },
    { path: "two", message: "unknown field" },
  ]);
});

test("readBundleConfig rejects a value that the schema accepts but Go cannot decode", () => {
  expect(faultOf(() => check(["AllNamespaces"], "ns", { deploymentConfig: { resources: { limits: { cpu: "lots" } } } }))).toBe(
    "invalid deploymentConfig: failed to unmarshal deploymentConfig: quantities must match the regular expression " +
      "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
  );
});

test("readBundleConfig keeps an empty node selector", () => {
  const modes = ["AllNamespaces", "OwnNamespace"];
  const none = { deploymentConfigs: [] };
  expect(check(modes, "ns", { deploymentConfig: { nodeSelector: {} } })).toEqual({ deploymentConfigs: [{ nodeSelector: {} }] });
  expect(check(modes, "ns", { deploymentConfig: {} })).toEqual({ deploymentConfigs: [{}] });
  expect(check(modes, "ns", { watchNamespace: null })).toEqual(none);
  expect(check(modes, "ns", { watchNamespace: "ns" })).toEqual({ watchNamespaces: ["ns"], ...none });
});

test("readBundleConfig lists a limited number of mistakes, and the number of remaining mistakes", () => {
  const fault = fullFaultOf(() => check(["AllNamespaces"], "ns", Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`x${i}`, i]))));
  expect(fault.split("\n")).toHaveLength(22);
  expect(fault).toMatch(/and 480 more$/);
});

test.for<[what: string, env: unknown[]]>([
  ["empty items", Array.from({ length: 9_000 }, () => ({}))],
  ["numbers", Array.from({ length: 9_000 }, (_, i) => i)],
  ["fields of wrong types", Array.from({ length: 3_000 }, () => ({ name: null, value: 3 }))],
])("readBundleConfig returns an error of limited length for a list with thousands of %s", ([, env]) => {
  const first = { deploymentConfig: { env: env.slice(0, 100) } };
  const known = faultOf(() => check(["AllNamespaces"], "ns", first)).split("; ")[0] ?? "";
  const text = faultOf(() => check(["AllNamespaces"], "ns", { deploymentConfig: { env } }));
  expect(text.startsWith(known)).toBe(true);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(32_768);
});

test("readBundleConfig lists twenty unknown fields, and the number of remaining unknown fields", () => {
  const fields = Object.fromEntries(Array.from({ length: 9_000 }, (_, i) => [`deploymentConfi${i}`, 1]));
  const lines = fullFaultOf(() => check(["AllNamespaces"], "ns", fields)).split("\n");
  expect(lines).toHaveLength(22);
  expect(lines.at(-1)).toBe("  - and 8980 more");
});
