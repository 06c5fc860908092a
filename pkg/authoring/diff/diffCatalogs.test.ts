import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import { MetaDecoder } from "../../fbc/decode.ts";
import { ComparedCatalog } from "./comparedCatalog.ts";
import { diffCatalogs } from "./diffCatalogs.ts";

interface Case extends CaseHead {
  replace?: string;
  edit?: [from: string, to: string][];
  append?: string;
  finds: { change: string; kind: string; message: string; breaking?: boolean }[];
}

const BEFORE = readFileSync(join(import.meta.dirname, "../../../test/cases/fbc-diff/before/catalog.yaml"), "utf8");

function catalogOf(text: string): ComparedCatalog {
  const catalog = new ComparedCatalog();
  const decoder = new MetaDecoder("catalog.yaml");
  for (const meta of [...decoder.push(Buffer.from(text)), ...decoder.end()]) catalog.add(meta, JSON.stringify);
  return catalog;
}

test.for(loadCases<Case>("fbc-diff"))("diffCatalogs: $name", ({ replace = BEFORE, edit = [], append, finds }) => {
  let text = replace;
  for (const [from, to] of edit) {
    expect(text.split(from), `occurrences of ${from}`).toHaveLength(2);
    text = text.replace(from, () => to);
  }
  if (append !== undefined) text += `---\n${append}`;
  const got = diffCatalogs(catalogOf(BEFORE), catalogOf(text));
  expect(got.map(({ change, kind, message, breaking }) => ({ change, kind, message, ...(breaking ? { breaking } : {}) }))).toEqual(finds);
  expect(got.every((one) => one.package === "foo" || one.kind === "package")).toBe(true);
});
