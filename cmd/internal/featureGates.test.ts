import { expect, test } from "vitest";
import { parseFlags as parseCatalogd } from "../catalogd/flags.ts";
import { parseFlags as parseController } from "../operator-controller/flags.ts";
import { featureGatesFlag } from "./flags.ts";

const flag = featureGatesFlag({
  A: { stage: "alpha", byDefault: true },
  B: { stage: "beta", byDefault: false },
  C: { stage: "alpha", byDefault: false, fixed: "C does not exist" },
});

// Source: C-04, I-28.
test.for([
  ["", { A: true, B: false, C: false }, []],
  ["A=false", { A: false, B: false, C: false }, []],
  [" A = f , B=1,", { A: false, B: true, C: false }, []],
  ["A=false,A=true", { A: true, B: false, C: false }, []],
  ["C=true", { A: true, B: false, C: false }, ["C=true: C does not exist"]],
  ["C=false", { A: true, B: false, C: false }, []],
  ["AllAlpha=false", { A: false, B: false, C: false }, []],
  ["AllAlpha=true,AllBeta=true,A=false", { A: false, B: true, C: false }, []],
] as const)("featureGatesFlag parses %j", ([text, enabled, ignored]) => {
  expect(flag.parse(text)).toEqual({ enabled, ignored });
});

test.for([
  ["A", "missing bool value for A"],
  ["A=on", 'invalid value of A=on, err: strconv.ParseBool: parsing "on": invalid syntax'],
  ["X=true", "unrecognized feature gate: X; known are A, B, C"],
  ["constructor=true", "unrecognized feature gate: constructor; known are A, B, C"],
] as const)("featureGatesFlag rejects %j: %s", ([text, message]) => {
  const { error } = flag.safeParse(text);
  expect(error?.issues.map((issue) => issue.message)).toEqual([message]);
});

test("catalogd enables both gated endpoints by default, and disables each with its feature gate", () => {
  expect(parseCatalogd([])).toMatchObject({ "feature-gates": { enabled: { APIV1MetasHandler: true, GraphQLCatalogQueries: true } } });
  expect(parseCatalogd(["--feature-gates=GraphQLCatalogQueries=false", "--feature-gates=APIV1MetasHandler=true"])).toMatchObject({
    "feature-gates": { enabled: { APIV1MetasHandler: true, GraphQLCatalogQueries: false }, ignored: [] },
  });
});

test("operator-controller accepts all feature gates, and reports the gates that have no effect", () => {
  const given = "--feature-gates=SingleOwnNamespaceInstallSupport=true,DeploymentConfig=true,BoxcutterRuntime=true";
  const want = ["BoxcutterRuntime=true: bundles are always applied as releases in Secrets"];
  expect(parseController([given])).toMatchObject({ "feature-gates": { ignored: want } });
});
