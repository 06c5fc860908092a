import { expect, test } from "vitest";
import { settled } from "../../../test/support/watchedKind.ts";
import { createLogger } from "../../telemetry/log.ts";
import { Remedies, type RemedyFinder } from "./clusterUpgradeGate.ts";

const { signal } = new AbortController();
const A = { extension: "a", bundle: "a.v1" };
const B = { extension: "b", bundle: "b.v1" };

function remedies(find: RemedyFinder) {
  const made = new Remedies(find, createLogger({ component: "test", level: "silent" }));
  let changes = 0;
  made.onChange(() => changes++);
  return { made, changes: () => changes };
}

// Source: G-08.
test("Remedies searches for an unknown remedy once, and notifies when it is found", async () => {
  const asked: string[] = [];
  const { made, changes } = remedies((extension) => {
    asked.push(extension);
    return Promise.resolve(`${extension} 2`);
  });
  expect(made.get([A, B], signal)).toEqual(new Map());
  await settled();
  expect(made.get([A, B], signal)).toEqual(
    new Map([
      ["a", "a 2"],
      ["b", "b 2"],
    ]),
  );
  await settled();
  expect([asked, changes()]).toEqual([["a", "b"], 2]);
});

test("Remedies searches again for another bundle of the extension, and keeps an outdated remedy until it finds a newer one", async () => {
  let version = 1;
  const { made } = remedies(() => Promise.resolve(`to ${version}`));
  made.get([A], signal);
  await settled();
  expect(made.get([{ ...A, bundle: "a.v2" }], signal)).toEqual(new Map());
  await settled();
  version = 2;
  made.outdate();
  expect(made.get([{ ...A, bundle: "a.v2" }], signal)).toEqual(new Map([["a", "to 1"]]));
  await settled();
  expect(made.get([{ ...A, bundle: "a.v2" }], signal)).toEqual(new Map([["a", "to 2"]]));
});

test("Remedies continues with the next extension when a search fails", async () => {
  const { made, changes } = remedies((extension) =>
    extension === "a" ? Promise.reject(new Error("no catalog answers")) : Promise.resolve("to 2"),
  );
  made.get([A, B], signal);
  await settled();
  expect(made.get([A, B], signal)).toEqual(new Map([["b", "to 2"]]));
  expect(changes()).toBe(1);
});

test("Remedies forgets an extension when it no longer blocks", async () => {
  const asked: string[] = [];
  const { made } = remedies((extension) => {
    asked.push(extension);
    return Promise.resolve("to 2");
  });
  made.get([A], signal);
  await settled();
  expect(made.get([], signal)).toEqual(new Map());
  expect(made.get([A], signal)).toEqual(new Map());
  await settled();
  expect(asked).toEqual(["a", "a"]);
});

test("Remedies searches once for all blocking bundles of an extension", async () => {
  const asked: (readonly string[])[] = [];
  const { made } = remedies((_extension, bundles) => {
    asked.push(bundles);
    return Promise.resolve("to 2");
  });
  made.get([{ ...A, bundle: "a.v2" }, A], signal);
  await settled();
  made.get([A, { ...A, bundle: "a.v2" }], signal);
  await settled();
  expect(asked).toEqual([["a.v1", "a.v2"]]);
});
