import { expect, test } from "vitest";
import { stepContext } from "../../../test/support/extensionFakes.ts";
import { extensionNamed } from "../../../test/support/extensions.ts";
import type { CatalogContent } from "../../resolve/resolution.ts";
import { newFacts } from "../facts.ts";
import { ExtensionMemory } from "../memory.ts";
import { lookAgain } from "./lookAgain.ts";

const ASKED: CatalogContent = { name: "a", priority: 0, labels: {}, content: undefined };

test.for<[what: string, catalogs: CatalogContent[] | undefined, misses: boolean]>([
  ["no catalog", undefined, false],
  ["catalogs that answer", [ASKED], false],
  ["one that does not", [ASKED, { ...ASKED, name: "b", unavailable: "connection refused" }], true],
])("an extension of %s is looked at again soon or not", async ([, catalogs, misses]) => {
  const extension = extensionNamed("x", { packageName: "p" });
  const memory = new ExtensionMemory();
  await lookAgain(memory).run({ ...newFacts(extension), ...(catalogs ? { catalogs } : {}) }, stepContext(extension));
  expect(memory.of(extension).missesCatalogs).toBe(misses);
});
