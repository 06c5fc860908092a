import { expect, test } from "vitest";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildResolved, runStep } from "../../../test/support/phases.ts";
import type { CatalogPackage } from "../../resolve/resolution.ts";
import { ExtensionCache } from "../state/extensionCache.ts";
import { trackUnavailableCatalogs } from "./resolve.ts";

const AVAILABLE: CatalogPackage = { name: "a", priority: 0, content: undefined };

test.for<[what: string, catalogs: CatalogPackage[] | undefined, want: boolean]>([
  ["false without catalogs", undefined, false],
  ["false when all catalogs are available", [AVAILABLE], false],
  ["true when a catalog is unavailable", [AVAILABLE, { ...AVAILABLE, name: "b", unavailable: "connection refused" }], true],
])("trackUnavailableCatalogs records %s", async ([, catalogs, want]) => {
  const extension = createExtension("x", { packageName: "p" });
  const memory = new ExtensionCache();
  const phase = buildResolved(extension, { packageName: "p", name: "p.v1.0.0", version: "1.0.0", image: "i", explanation: "" });
  if (catalogs) phase.report.catalogs.packages = catalogs;
  await runStep(trackUnavailableCatalogs({ memory }), phase);
  expect(memory.of(extension).hasUnavailableCatalogs).toBe(want);
});
