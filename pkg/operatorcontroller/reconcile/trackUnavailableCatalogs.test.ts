import { expect, test } from "vitest";
import { stepContext } from "../../../test/support/extensionFakes.ts";
import { extensionNamed } from "../../../test/support/extensions.ts";
import type { CatalogPackage } from "../../resolve/resolution.ts";
import { ExtensionCache } from "../state/extensionCache.ts";
import { newReconcileState } from "../state/reconcileState.ts";
import { trackUnavailableCatalogs } from "./resolve.ts";

const ASKED: CatalogPackage = { name: "a", priority: 0, content: undefined };

test.for<[what: string, catalogs: CatalogPackage[] | undefined, misses: boolean]>([
  ["no catalog", undefined, false],
  ["catalogs that answer", [ASKED], false],
  ["one that does not", [ASKED, { ...ASKED, name: "b", unavailable: "connection refused" }], true],
])("an extension of %s is looked at again soon or not", async ([, catalogs, misses]) => {
  const extension = extensionNamed("x", { packageName: "p" });
  const memory = new ExtensionCache();
  await trackUnavailableCatalogs(memory).run(
    { ...newReconcileState(extension), ...(catalogs ? { catalogs } : {}) },
    stepContext(extension),
  );
  expect(memory.of(extension).missesCatalogs).toBe(misses);
});
