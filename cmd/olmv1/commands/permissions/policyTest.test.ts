import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../../../../test/support/runCli.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const BUNDLE = join(ROOT, "pkg/devcluster/sample/bundles/1.2.0");
const POLICIES = join(ROOT, "test/goldens/cli/fixtures/policies.yaml");
const HEADER = "apiVersion: olm.operatorframework.io/v1alpha1\nkind: PermissionPolicy\nmetadata: { name: p }\n";

test.for<[what: string, args: string[], stdin: string, message: string]>([
  [
    "a name that is not in the file",
    ["x", "-f", POLICIES, "--bundle", BUNDLE],
    "",
    'contains 0 PermissionPolicies (olm.operatorframework.io/v1alpha1) with name "x", must contain exactly one',
  ],
  [
    "several policies without a name",
    ["-f", POLICIES, "--bundle", BUNDLE],
    "",
    "contains 2 PermissionPolicies (olm.operatorframework.io/v1alpha1), must contain exactly one",
  ],
  [
    "an invalid policy",
    ["-f", "-", "--bundle", BUNDLE],
    `${HEADER}spec: { grant: Always }\n`,
    'PermissionPolicy "p" is invalid: spec.grant: ',
  ],
  ["no policy", ["--bundle", BUNDLE], "", "specify the name of a PermissionPolicy on the cluster, or a file with --filename"],
  [
    "a version of a folder",
    ["-f", "-", "--bundle", BUNDLE, "--version", "1.0.0"],
    `${HEADER}spec: {}\n`,
    "--version, --channel and --catalog-dir require a package in --bundle",
  ],
  ["a file that does not exist", ["-f", "/nowhere.yaml", "--bundle", BUNDLE], "", "read /nowhere.yaml: "],
])("olmv1 permissions policy test rejects %s", async ([, args, stdin, message]) => {
  const { code, out, err } = await runCli(["permissions", "policy", "test", ...args], { width: 200, stdin });
  expect([code, out, err]).toEqual([2, "", expect.stringContaining(message)]);
});

test("olmv1 permissions policy test exits with 0 when the policy grants all permissions, and reads a package from --catalog-dir", async () => {
  const stdin = `${HEADER}spec: { grant: Automatic }\n`;
  const args = ["permissions", "policy", "test", "-f", "-", "--bundle"];
  const { code, out } = await runCli([...args, BUNDLE], { width: 200, stdin });
  expect([code, out]).toEqual([0, expect.stringContaining("\nResult: granted\n")]);
  const harbour = join(ROOT, "test/goldens/cli/fixtures/catalogs/harbour");
  const none = await runCli([...args, "lighthouse-operator", "--version", ">=9", "--catalog-dir", harbour], { width: 200, stdin });
  expect([none.code, none.out, none.err]).toEqual([1, "", expect.stringContaining("no bundle: ")]);
});
