import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../../test/support/caseFiles.ts";
import type { JsonObject } from "../../api/k8s.ts";
import { compileRangeTest } from "../../fbc/bundleOrder.ts";
import { addBundleToChannels, promote, setDefaultChannel } from "./channelEdits.ts";
import { type DeprecationTarget, deprecate, removeDeprecation } from "./deprecate.ts";
import { addEdge, rebuildZstream, removeEdge, setSkipRange, skip } from "./edgeEdits.ts";
import { extract } from "./extract.ts";
import { applyEdit, type CatalogFiles, EditError, editCatalog, type PackageEdit } from "./packageEdit.ts";
import { formatUnifiedDiff } from "./unifiedDiff.ts";

interface Request {
  package: string;
  schema: DeprecationTarget["schema"];
  name?: string;
  message: string;
  channel: string;
  channels?: string[];
  bundle: string;
  from: string;
  to: string;
  type?: "replaces" | "skips";
  by?: string;
  replaces?: string;
  skips?: string[];
  skipRange?: string;
  range?: string;
  headsOnly?: boolean;
  version: string;
}

interface Case extends CaseHead {
  do: Record<string, Request>;
  diff?: string;
  notes?: string[];
  refuses?: string;
}

const EDITS: Record<string, (edit: PackageEdit, request: Request) => void> = {
  deprecate: (edit, { schema, name = "", message }) => deprecate(edit, { schema, name }, message),
  undo: (edit, { schema, name = "" }) => removeDeprecation(edit, { schema, name }),
  setDefaultChannel: (edit, { channel }) => setDefaultChannel(edit, channel),
  promote: (edit, { bundle, ...placement }) => promote(edit, bundle, placement),
  addEdge: (edit, { type, channel, ...edge }) => addEdge(edit, edge, type, channel),
  removeEdge: (edit, { channel, ...edge }) => removeEdge(edit, edge, channel),
  setSkipRange: (edit, { to, skipRange, channel }) => setSkipRange(edit, to, skipRange, channel),
  skip: (edit, { bundle, by, channel }) => skip(edit, bundle, by, channel),
  zstream: (edit, { channel }) => rebuildZstream(edit, channel),
  extract: (edit, { channels = [], range, headsOnly = false }) =>
    extract(edit, { channels, headsOnly, ...(range === undefined ? {} : { includes: compileRangeTest(range) }) }),
  addBundle: (edit, { package: name, version, channels = [] }) =>
    addBundleToChannels(
      edit,
      bundleOf(name, version),
      channels.map((channel) => ({ channel })),
    ),
};

const ROOT = join(import.meta.dirname, "../../../test/cases/fbc-edit/catalog");
const FILES: CatalogFiles = new Map(
  readdirSync(ROOT, { recursive: true, encoding: "utf8" })
    .filter((path) => /\.(yaml|json)$/.test(path))
    .sort()
    .map((path) => [path, readFileSync(join(ROOT, path), "utf8")]),
);

function bundleOf(name: string, version: string): JsonObject {
  const properties = [{ type: "olm.package", value: { packageName: name, version } }];
  return { schema: "olm.bundle", package: name, name: `${name}.v${version}`, image: `quay.io/example/${name}:v${version}`, properties };
}

test.for(loadCases<Case>("fbc-edit"))("editCatalog: $name", ({ do: asked, diff, notes = [], refuses }) => {
  const [[name, request]] = Object.entries(asked) as [[string, Request]];
  const work = (edit: PackageEdit): void => EDITS[name]?.(edit, request);
  if (refuses !== undefined) {
    expect(() => editCatalog(FILES, request.package, work)).toThrow(new EditError(refuses));
    return;
  }
  const result = editCatalog(FILES, request.package, work);
  const got = [...result.files].map(([path, text]) => formatUnifiedDiff(path, FILES.get(path), text)).join("");
  if (diff !== undefined) expect(got).toBe(diff);
  expect(result.notes).toEqual(notes);
  expect(editCatalog(applyEdit(FILES, result), request.package, work).files, "done again").toEqual(new Map());
});
