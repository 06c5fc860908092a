import { expect, test, vi } from "vitest";
import { createCatalog } from "../../../test/support/catalogs.ts";
import { rejectOnAbort } from "../../async/concurrency.ts";
import type { PackageContent } from "../../fbc/types.ts";
import { CatalogPackages, getServedContent, type KnownPackage, type PackageReader, UnexpectedStatus } from "./catalogPackages.ts";

const CONTENT: PackageContent = { channels: [], bundles: [], deprecations: [], others: 0 };

class CountingReader implements PackageReader {
  calls: string[] = [];
  answer: () => Promise<PackageContent | undefined> = () => Promise.resolve(CONTENT);
  known: (KnownPackage | undefined)[] = [];
  packageContent(base: string, ref: string, packageName: string, _signal: AbortSignal, known?: KnownPackage) {
    this.calls.push(`${base} ${ref} ${packageName}`);
    this.known.push(known);
    return this.answer();
  }
}

const signal = new AbortController().signal;

test("CatalogPackages reads a package once for a hundred extensions until the catalog's digest changes", async () => {
  const reader = new CountingReader();
  const contents = new CatalogPackages(reader);
  const catalog = createCatalog("c", { digest: "quay.io/c@sha256:1" });
  await Promise.all(Array.from({ length: 100 }, () => contents.read([catalog], "p", signal)));
  expect(reader.calls).toEqual(["https://catalogd/catalogs/c quay.io/c@sha256:1 p"]);
  await contents.read([createCatalog("c", { digest: "quay.io/c@sha256:2" })], "p", signal);
  expect(reader.calls).toHaveLength(2);
});

const newCatalog = (number: number, state: Parameters<typeof createCatalog>[1] = {}) =>
  createCatalog("c", { digest: `quay.io/c@sha256:${number}`, ...state });
const REF = "quay.io/c@sha256:1";

test("CatalogPackages compares new content with the cached previous content", async () => {
  const reader = new CountingReader();
  const contents = new CatalogPackages(reader);
  const asBefore = (number: number, before = `quay.io/c@sha256:${number - 1}`) =>
    contents.isUnchanged(newCatalog(number), before, "p", signal);
  await contents.read([newCatalog(1)], "p", signal);
  reader.answer = () => Promise.resolve({ ...CONTENT });
  expect(await asBefore(2)).toBe(true);
  reader.answer = () => Promise.resolve({ ...CONTENT, others: 1 });
  expect(await asBefore(3)).toBe(false);
  expect(await asBefore(4)).toBe(true);
  expect(await asBefore(4)).toBe(false);
  expect((await contents.read([newCatalog(4)], "p", signal))[0]?.content).toEqual({ ...CONTENT, others: 1 });
  expect(reader.calls).toHaveLength(4);
});

test("CatalogPackages continues a shared read when the caller that started it aborts", async () => {
  const response = Promise.withResolvers<PackageContent>();
  const contents = new CatalogPackages({ packageContent: (_base, _ref, _name, until) => rejectOnAbort(response.promise, until) });
  const stop = new AbortController();
  const impatient = contents.read([newCatalog(1)], "p", stop.signal);
  const patient = contents.read([newCatalog(1)], "p", signal);
  stop.abort(new Error("stopped"));
  await expect(impatient).rejects.toThrow("stopped");
  response.resolve(CONTENT);
  expect((await patient)[0]?.content).toBe(CONTENT);
});

test("CatalogPackages aborts reads when it is closed", async () => {
  const { promise } = Promise.withResolvers<PackageContent>();
  const contents = new CatalogPackages({ packageContent: (_base, _ref, _name, until) => rejectOnAbort(promise, until) });
  const reading = contents.read([newCatalog(1)], "p", signal);
  contents.close();
  expect((await reading)[0]?.unavailable).toContain("aborted");
});

test("CatalogPackages passes the known package to the next read, so that unchanged content is not sent again", async () => {
  const reader = new CountingReader();
  const contents = new CatalogPackages(reader);
  await contents.read([newCatalog(1)], "p", signal);
  reader.known[0]?.tags.set("/path", "tag");
  await contents.read([newCatalog(2)], "p", signal);
  expect(reader.known[1]).toEqual({ content: CONTENT, tags: new Map([["/path", "tag"]]) });
});

test("CatalogPackages passes the tags of the known package when its read ends after the next read began", async () => {
  const reader = new CountingReader();
  const contents = new CatalogPackages(reader);
  await contents.read([newCatalog(1)], "p", signal);
  reader.known[0]?.tags.set("/path", "tag 1");
  const response = Promise.withResolvers<PackageContent>();
  reader.answer = () => response.promise;
  const second = contents.read([newCatalog(2)], "p", signal);
  const third = contents.read([newCatalog(3)], "p", signal);
  await vi.waitFor(() => expect(reader.known).toHaveLength(2));
  reader.known[1]?.tags.set("/path", "tag 2");
  response.resolve({ ...CONTENT, others: 2 });
  await Promise.all([second, third]);
  expect(reader.known[2]).toEqual({ content: { ...CONTENT, others: 2 }, tags: new Map([["/path", "tag 2"]]) });
});

test.for<[string, (contents: CatalogPackages, reader: CountingReader) => Promise<boolean>]>([
  ["was never read", (contents) => contents.isUnchanged(newCatalog(2), REF, "other", signal)],
  ["was already read from later content", (contents) => contents.isUnchanged(newCatalog(2), "quay.io/c@sha256:0", "p", signal)],
  ["is not served now", (contents) => contents.isUnchanged(newCatalog(2, { serving: false }), REF, "p", signal)],
  [
    "cannot be read now",
    (contents, reader) => {
      reader.answer = () => Promise.reject(new Error("connection refused"));
      return contents.isUnchanged(newCatalog(2), REF, "p", signal);
    },
  ],
])("CatalogPackages.isUnchanged is false for a package that %s", async ([, ask]) => {
  const reader = new CountingReader();
  const contents = new CatalogPackages(reader);
  await contents.read([newCatalog(1)], "p", signal);
  expect(await ask(contents, reader)).toBe(false);
});

test("CatalogPackages returns the error of a failed read, and does not cache the error", async () => {
  const reader = new CountingReader();
  const contents = new CatalogPackages(reader);
  const catalog = createCatalog("c", { digest: "quay.io/c@sha256:1" });
  reader.answer = () => Promise.reject(new Error("error performing request: connection refused"));
  const [failed] = await contents.read([catalog], "p", signal);
  expect(failed?.unavailable).toBe('error retrieving cache for catalog "c": error performing request: connection refused');
  reader.answer = () => Promise.reject(new UnexpectedStatus(503));
  const [refused] = await contents.read([catalog], "p", signal);
  expect(refused?.unavailable).toBe('cache for catalog "c" not found; error: received unexpected response status code 503');
  reader.answer = () => Promise.resolve(CONTENT);
  const [served] = await contents.read([catalog], "p", signal);
  expect(served).toEqual({ name: "c", priority: 0, content: CONTENT });
});

test("CatalogPackages does not read a catalog whose availabilityMode is Unavailable", async () => {
  const reader = new CountingReader();
  const catalog = createCatalog("c", { digest: "quay.io/c@sha256:1", availabilityMode: "Unavailable" });
  expect(await new CatalogPackages(reader).read([catalog], "p", signal)).toEqual([]);
  expect(reader.calls).toEqual([]);
});

test.for<[string, ReturnType<typeof createCatalog>, string]>([
  ["no Serving condition", createCatalog("c", { digest: "d", serving: false }), 'catalog "c" is not being served'],
  ["no resolved source", createCatalog("c", {}), 'error: catalog "c" has a nil status.resolvedSource value'],
  ["no image in the resolved source", createCatalog("c", { digest: "" }), 'error: catalog "c" has a nil status.resolvedSource.image value'],
  ["no URL", createCatalog("c", { digest: "d", base: "" }), 'error: catalog "c" has a nil status.urls value'],
])("getServedContent returns the Go implementation's error for a catalog with %s", ([, catalog, want]) => {
  expect(getServedContent(catalog)).toBe(want);
});

test("CatalogPackages returns the last known package of a catalog that is no longer served, and reports the catalog", async () => {
  const reader = new CountingReader();
  const contents = new CatalogPackages(reader);
  const unknown = { name: "c", priority: 0, content: undefined, unavailable: 'catalog "c" is not being served' };
  const off = newCatalog(1, { serving: false });
  expect(await contents.read([off], "p", signal)).toEqual([{ ...unknown, reports: "catalogd has not reported its status yet" }]);
  await contents.read([newCatalog(1)], "p", signal);
  off.status?.conditions?.push({
    type: "Progressing",
    status: "True",
    reason: "Retrying",
    message: "manifest unknown",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  });
  const [after] = await contents.read([off], "p", signal);
  expect(after).toEqual({ ...unknown, reports: "it reports Retrying: manifest unknown", lastKnown: { content: CONTENT } });
});

test("CatalogPackages returns the last known package of the same catalog when a read fails", async () => {
  const reader = new CountingReader();
  const contents = new CatalogPackages(reader);
  await contents.read([newCatalog(1)], "p", signal);
  reader.answer = () => Promise.reject(new Error("connection refused"));
  for (const attempt of [2, 2, 3])
    expect((await contents.read([newCatalog(attempt)], "p", signal))[0]?.lastKnown).toEqual({ content: CONTENT });
  expect((await contents.read([createCatalog("d", { digest: REF })], "p", signal))[0]?.lastKnown).toBeUndefined();
  contents.forget("c");
  expect((await contents.read([newCatalog(3)], "p", signal))[0]?.lastKnown).toBeUndefined();
});
