import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SIGNATURE_REASONS } from "./signatureProblem.ts";

test("the documentation lists every reason with its cause", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/how-to/image-signatures.md"), "utf8");
  const lines = Object.entries(SIGNATURE_REASONS).map(([reason, cause]) => `- \`${reason}\`: ${cause}`);
  expect(page.slice(page.indexOf("### Reasons")).match(/^- .*$/gm)).toEqual(lines);
});
