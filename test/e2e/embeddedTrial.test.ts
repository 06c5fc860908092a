import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { describe, expect, test } from "vitest";
import { clusterAvailable } from "../support/cluster.ts";
import { runCli } from "../support/runCli.ts";
import { TempFolder } from "../support/tempFolder.ts";
import { tinyBundle } from "../support/tinyBundle.ts";

describe.skipIf(!clusterAvailable())("olmv1 bundle try --embedded", () => {
  test("olmv1 bundle try starts a control plane for the trial, with kubectl for the checks, and removes it", async () => {
    using folder = new TempFolder();
    const listFolders = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith("olmv1-embedded-"));
    const before = listFolders();
    const bundle = folder.write("bundle", tinyBundle("1.0.0", { modes: ["OwnNamespace"] }));
    const check = 'kubectl get deployments --namespace "$OLMV1_NAMESPACE" --output name';
    const { code, out, err } = await runCli(["bundle", "try", bundle, "--embedded", "--check", check], {
      // Without HOME, kubectl writes its cache to the current folder.
      env: { PATH: process.env["PATH"] ?? "", HOME: folder.write("home", {}) },
    });
    expect([code, out], err).toEqual([0, "p.v1.0.0: passed\n"]);
    expect(err).toMatch(/^deployment\.apps\/tiny\npassed {2}check: .*\npassed {2}uninstall \(/m);
    expect(listFolders()).toEqual(before);
  });
});
