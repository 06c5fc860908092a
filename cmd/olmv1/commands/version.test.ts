import { expect, test } from "vitest";
import { runCli } from "../../../test/support/runCli.ts";
import { PROGRAM_VERSION } from "../../internal/program.ts";
import { formatVersions } from "./version.ts";

const SCREEN = { width: 100, colour: false };
const client = { version: "0.1.0", node: "v24.0.0" };

test("formatVersions lists the command line, the servers and Kubernetes", () => {
  const servers = { catalogd: { version: "0.1.0" }, "operator-controller": { unknown: "no leader in namespace olmv1-system" } };
  expect(formatVersions(SCREEN, { client, servers, kubernetes: { version: "v1.36.3" } })).toBe(
    [
      "olmv1:                0.1.0 (Node.js v24.0.0)",
      "catalogd:             0.1.0",
      "operator-controller:  unknown: no leader in namespace olmv1-system",
      "Kubernetes:           v1.36.3",
      "",
    ].join("\n"),
  );
});

test("olmv1 version --client does not contact the cluster", async () => {
  const { code, out } = await runCli(["version", "--client", "-o", "json"]);
  expect([code, JSON.parse(out)]).toEqual([0, { client: { version: PROGRAM_VERSION, node: process.version } }]);
});

test("olmv1 version reports a cluster that it cannot reach, and exits with 0", async () => {
  const { code, out } = await runCli(["version", "--kubeconfig", "/nowhere/kubeconfig"]);
  expect(code).toBe(0);
  expect(out).toMatch(/^Kubernetes: +unknown: kubeconfig: /m);
  expect(out).toContain("/nowhere/kubeconfig");
});
