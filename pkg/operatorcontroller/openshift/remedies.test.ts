import { expect, test } from "vitest";
import { flushPromises } from "../../../test/support/watchedKind.ts";
import { createLogger } from "../../telemetry/log.ts";
import { Remedies, type RemedyFinder } from "./clusterUpgradeGate.ts";

const { signal } = new AbortController();
const A = { extension: "a", bundle: "a.v1" };
const B = { extension: "b", bundle: "b.v1" };

function newCache(find: RemedyFinder) {
  const cache = new Remedies(find, createLogger({ component: "test", level: "silent" }));
  let changes = 0;
  cache.onChange(() => changes++);
  return { cache, changes: () => changes };
}

// Source: G-08.
test("Remedies searches for an unknown remedy once, and notifies when the remedy is found", async () => {
  const requested: string[] = [];
  const { cache, changes } = newCache((extension) => {
    requested.push(extension);
    return Promise.resolve(`${extension} 2`);
  });
  expect(cache.get([A, B], signal)).toEqual(new Map());
  await flushPromises();
  expect(cache.get([A, B], signal)).toEqual(
    new Map([
      ["a", "a 2"],
      ["b", "b 2"],
    ]),
  );
  await flushPromises();
  expect([requested, changes()]).toEqual([["a", "b"], 2]);
});

test("Remedies searches again when the bundle changes, and keeps the outdated remedy until it finds a newer remedy", async () => {
  let version = 1;
  const { cache } = newCache(() => Promise.resolve(`to ${version}`));
  cache.get([A], signal);
  await flushPromises();
  expect(cache.get([{ ...A, bundle: "a.v2" }], signal)).toEqual(new Map());
  await flushPromises();
  version = 2;
  cache.outdate();
  expect(cache.get([{ ...A, bundle: "a.v2" }], signal)).toEqual(new Map([["a", "to 1"]]));
  await flushPromises();
  expect(cache.get([{ ...A, bundle: "a.v2" }], signal)).toEqual(new Map([["a", "to 2"]]));
});

test("Remedies continues with the next extension when a search fails", async () => {
  const { cache, changes } = newCache((extension) =>
    extension === "a" ? Promise.reject(new Error("no catalog answers")) : Promise.resolve("to 2"),
  );
  cache.get([A, B], signal);
  await flushPromises();
  expect(cache.get([A, B], signal)).toEqual(new Map([["b", "to 2"]]));
  expect(changes()).toBe(1);
});

test("Remedies forgets an extension that no longer blocks cluster upgrades", async () => {
  const requested: string[] = [];
  const { cache } = newCache((extension) => {
    requested.push(extension);
    return Promise.resolve("to 2");
  });
  cache.get([A], signal);
  await flushPromises();
  expect(cache.get([], signal)).toEqual(new Map());
  expect(cache.get([A], signal)).toEqual(new Map());
  await flushPromises();
  expect(requested).toEqual(["a", "a"]);
});

test("Remedies searches once for all blocking bundles of an extension", async () => {
  const requested: (readonly string[])[] = [];
  const { cache } = newCache((_extension, bundles) => {
    requested.push(bundles);
    return Promise.resolve("to 2");
  });
  cache.get([{ ...A, bundle: "a.v2" }, A], signal);
  await flushPromises();
  cache.get([A, { ...A, bundle: "a.v2" }], signal);
  await flushPromises();
  expect(requested).toEqual([["a.v1", "a.v2"]]);
});
