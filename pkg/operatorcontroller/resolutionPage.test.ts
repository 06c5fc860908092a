import { expect, test } from "vitest";
import { recordResolution } from "../resolve/resolutionRecord.ts";
import { filterCandidates } from "../resolve/resolve.ts";
import { newResolutionPage } from "./dryResolution.ts";

const filtered = filterCandidates({ source: { packageName: "p", version: "nonsense" }, catalogs: [] });
const record = filtered.kind === "unresolved" ? recordResolution("p", filtered) : undefined;
const signal = new AbortController().signal;

test.for<[why: string, leads: boolean, ready: boolean, answer: () => Promise<typeof record>, want: unknown]>([
  ["the record of an extension", true, true, () => Promise.resolve(record), { json: record }],
  [
    "404 when the extension does not exist",
    true,
    true,
    () => Promise.resolve(undefined),
    { status: 404, text: expect.stringContaining('ClusterExtension "x" does not exist') },
  ],
  [
    "503 when another replica leads",
    false,
    true,
    () => Promise.resolve(record),
    { status: 503, text: expect.stringContaining("is not the leader") },
  ],
  [
    "503 before the cluster has been read",
    true,
    false,
    () => Promise.resolve(record),
    { status: 503, text: expect.stringContaining("is not the leader") },
  ],
  [
    "503 when the resolution fails",
    true,
    true,
    () => Promise.reject(new Error("waiting until the releases of 3 extensions have been read")),
    { status: 503, text: "cannot resolve now: waiting until the releases of 3 extensions have been read" },
  ],
])("newResolutionPage returns %s", async ([, leads, ready, resolutionOf, want]) => {
  expect(await newResolutionPage({ ready, resolutionOf }, () => leads).answer("x", signal)).toEqual(want);
});
