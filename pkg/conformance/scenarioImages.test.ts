import { join } from "node:path";
import { expect, test } from "vitest";
import { TempFolder } from "../../test/support/tempFolder.ts";
import { withImages } from "../authoring/build/publishImage.ts";
import { parseReference } from "../oci/reference.ts";
import { ScenarioImages } from "./scenarioImages.ts";
import { ScenarioNames } from "./scenarioNames.ts";

test("remove returns the tags with the reason when the file with the credentials cannot be read", async () => {
  using folder = new TempFolder();
  const authFile = join(folder.path, "missing.json");
  const { signal } = new AbortController();
  const terminal = { env: {}, signal, out: () => undefined, err: () => undefined };
  const repository = parseReference("registry.invalid/conformance");
  const reason = `reading JSON file "${authFile}": ENOENT`;
  await withImages({ authFile }, terminal, async (stores) => {
    const names = new ScenarioNames("install", { repository: "registry.invalid/conformance", run: "r1" });
    const images = new ScenarioImages({ stores, repository }, names, {}, signal);
    await expect(images.publishFiles("main-v1", new Map())).rejects.toThrow(reason);
    expect(await images.remove(signal)).toEqual([expect.stringContaining(`registry.invalid/conformance:r1-install-main-v1: ${reason}`)]);
    expect(await images.remove(signal)).toEqual([]);
  });
});
