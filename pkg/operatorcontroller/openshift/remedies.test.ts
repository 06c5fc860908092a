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
test("what is not known yet is looked for, once, and told when it is in", async () => {
  const asked: string[] = [];
  const { made, changes } = remedies((extension) => {
    asked.push(extension);
    return Promise.resolve(`${extension} 2`);
  });
  expect(made.of([A, B], signal)).toEqual(new Map());
  await settled();
  expect(made.of([A, B], signal)).toEqual(
    new Map([
      ["a", "a 2"],
      ["b", "b 2"],
    ]),
  );
  await settled();
  expect([asked, changes()]).toEqual([["a", "b"], 2]);
});

test("another bundle of the extension needs another remedy; what is outdated stays until there is a newer one", async () => {
  let version = 1;
  const { made } = remedies(() => Promise.resolve(`to ${version}`));
  made.of([A], signal);
  await settled();
  expect(made.of([{ ...A, bundle: "a.v2" }], signal)).toEqual(new Map());
  await settled();
  version = 2;
  made.outdate();
  expect(made.of([{ ...A, bundle: "a.v2" }], signal)).toEqual(new Map([["a", "to 1"]]));
  await settled();
  expect(made.of([{ ...A, bundle: "a.v2" }], signal)).toEqual(new Map([["a", "to 2"]]));
});

test("one that cannot be found is no error, and holds up no other", async () => {
  const { made, changes } = remedies((extension) =>
    extension === "a" ? Promise.reject(new Error("no catalog answers")) : Promise.resolve("to 2"),
  );
  made.of([A, B], signal);
  await settled();
  expect(made.of([A, B], signal)).toEqual(new Map([["b", "to 2"]]));
  expect(changes()).toBe(1);
});

test("what is no longer in the way is forgotten", async () => {
  const asked: string[] = [];
  const { made } = remedies((extension) => {
    asked.push(extension);
    return Promise.resolve("to 2");
  });
  made.of([A], signal);
  await settled();
  expect(made.of([], signal)).toEqual(new Map());
  expect(made.of([A], signal)).toEqual(new Map());
  await settled();
  expect(asked).toEqual(["a", "a"]);
});

test("for all bundles of an extension together", async () => {
  const asked: (readonly string[])[] = [];
  const { made } = remedies((_extension, bundles) => {
    asked.push(bundles);
    return Promise.resolve("to 2");
  });
  made.of([{ ...A, bundle: "a.v2" }, A], signal);
  await settled();
  made.of([A, { ...A, bundle: "a.v2" }], signal);
  await settled();
  expect(asked).toEqual([["a.v1", "a.v2"]]);
});
