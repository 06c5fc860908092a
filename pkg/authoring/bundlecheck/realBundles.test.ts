import { join } from "node:path";
import { expect, test } from "vitest";
import { loadCases } from "../../../test/support/caseFiles.ts";
import { bundleIds } from "../../../test/support/realBundle.ts";
import { describeWithData } from "../../../test/support/sharedData.ts";
import { readBundleFiles } from "../../operatorcontroller/bundles/bundleFiles.ts";
import { checkBundleFiles } from "./checkBundle.ts";

// test/integration/realBundles.test.ts installs each of these bundles on an API server.
describeWithData("checkBundleFiles on all real bundles", (folder) => {
  test("checkBundleFiles finds errors only in bundles that cannot be installed", { timeout: 300_000 }, async () => {
    const failing: string[] = [];
    for (const id of bundleIds(join(folder, "bundles"))) {
      const { findings } = checkBundleFiles(await readBundleFiles(join(folder, "bundles", id)));
      if (findings.some(({ severity }) => severity === "error")) failing.push(id);
    }
    expect(failing.sort()).toEqual(
      loadCases("real-bundles")
        .map(({ name }) => name)
        .sort(),
    );
  });
});
