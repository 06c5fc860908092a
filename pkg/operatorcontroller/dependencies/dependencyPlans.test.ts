import { expect, test } from "vitest";
import { createExtension } from "../../../test/support/extensions.ts";
import { chooseRuns } from "../../../test/support/manyRuns.ts";
import { type ModelBundle, type ModelCatalogs, PlanModel } from "../../../test/support/planModel.ts";
import { createRandom, pick, type Random, upTo } from "../../../test/support/random.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { KnownPlan } from "../state/knownPlan.ts";
import { buildCatalogSelector } from "./dependencyLabels.ts";
import { DependencyPlans } from "./dependencyPlans.ts";

const RUNS = chooseRuns(5_000);
const PACKAGES = ["a", "b", "c", "d", "e", "f"];
const KINDS = ["K", "L", "M"];
const VERSIONS = ["1.0.0", "2.0.0-rc.1", "2.0.0", "3.0.0"];
const RANGES = [">=1.0.0", ">=2.0.0-0", "<2.0.0-0", "2.0.0", "!=1.0.0", ">=1.0.0 <3.0.0"];

function generateConstraint(random: Random, depth = 1): string | object {
  const roll = random();
  if (depth > 0 && roll < 0.2) {
    const kind = pick(random, ["any", "any", "all", "not"]);
    const members = Array.from({ length: 2 }, () => toObject(generateConstraint(random, depth - 1)));
    return kind === "not"
      ? { any: { constraints: [{ not: { constraints: members.slice(0, 1) } }, members[1]] } }
      : { [kind]: { constraints: members } };
  }
  if (roll < 0.45) return `API ${pick(random, KINDS)}`;
  return `${pick(random, PACKAGES)} ${pick(random, RANGES)}`;
}

function toObject(constraint: string | object): object {
  if (typeof constraint !== "string") return constraint;
  const [first = "", ...rest] = constraint.split(" ");
  if (first === "API") return { gvk: { group: "example.com", version: "v1", kind: rest[0] } };
  return { package: { packageName: first, versionRange: rest.join(" ") } };
}

function generateCatalogs(random: Random): ModelCatalogs {
  const catalogs: ModelCatalogs = {};
  for (const catalog of random() < 0.4 ? ["x", "y"] : ["x"]) {
    catalogs[catalog] = {};
    for (const packageName of PACKAGES) {
      if (random() < 0.25) continue;
      const versions = VERSIONS.filter(() => random() < 0.5);
      const bundles = versions.map(
        (version): ModelBundle => ({
          name: `${packageName}.v${version}`,
          provides: KINDS.filter(() => random() < 0.2),
          requires: Array.from({ length: pick(random, [0, 1, 1, 2]) }, () => generateConstraint(random)),
        }),
      );
      // The same package in two catalogs would be ambiguous for the extension of a user.
      if (bundles.length > 0 && !(catalogs["x"]?.[packageName] && catalog === "y")) catalogs[catalog][packageName] = bundles;
    }
  }
  return catalogs;
}

/** Checks what must be true after each reconcile. */
function expectSound(model: PlanModel): void {
  const bundles = [...model.installed.values()];
  const packages = bundles.map(({ packageName }) => packageName);
  expect(new Set(packages).size, `two bundles of a package: ${packages.join()}`).toBe(packages.length);
  const apis = bundles.flatMap((bundle) => bundle.apis.map(({ kind }) => kind));
  expect(new Set(apis).size, `two providers of an API: ${bundles.map(({ name }) => name).join()}`).toBe(apis.length);
}

async function settle(model: PlanModel, random: Random): Promise<void> {
  for (let round = 0; round < 60; round++) {
    let isChanged = false;
    const names = [...model.extensions.keys()].sort(() => random() - 0.5);
    for (const name of names) {
      if (await model.reconcile(name)) isChanged = true;
      expectSound(model);
    }
    if (!isChanged) return;
  }
  throw new Error(`the extensions never settle: ${JSON.stringify([...model.states])}`);
}

async function run(seed: number): Promise<void> {
  const random = createRandom(seed);
  const model = new PlanModel(generateCatalogs(random));
  const roots = random() < 0.3 ? ["a", "b"] : ["a"];
  for (const root of roots) {
    const extension = createExtension(root, { packageName: root });
    const spec: ClusterExtension["spec"] = { ...extension.spec, dependencies: { policy: "Install", unneeded: "Remove" } };
    model.create({ ...extension, spec });
  }
  if (random() < 0.3) {
    const name = pick(random, ["c", "d"]);
    const selector = buildCatalogSelector(pick(random, ["x", "y"]));
    model.create(createExtension(name, { packageName: name, ...(random() < 0.5 ? { selector } : {}) }));
  }
  const failing = random() < 0.2 ? pick(random, PACKAGES) : "";
  model.fails = (bundle) => (bundle.startsWith(`${failing}.v`) && failing !== "" ? `${bundle} failed` : undefined);
  for (let step = upTo(random, 4); step > 0; step--) {
    const names = [...model.extensions.keys()];
    await model.reconcile(pick(random, names));
    expectSound(model);
  }
  if (random() < 0.2) model.restart();
  if (random() < 0.3) model.serve(generateCatalogs(random));
  await settle(model, random);
  const states = [...model.states];
  const isStuck = states.length > 0 && failing === "" && states.every(([, { kind }]) => kind === "waiting");
  expect(isStuck, JSON.stringify(states)).toBe(false);
  for (const root of roots) {
    const state = model.states.get(root);
    if (state?.kind === "waiting" && failing === "") {
      const blocked = states.filter(([, { kind }]) => kind === "rejected");
      expect(blocked.length, `waits in a circle: ${JSON.stringify(states)}`).toBeGreaterThan(0);
    }
  }
  if (states.every(([, { kind }]) => kind === "installed")) expect(await model.listUnneeded()).toEqual([]);
  // Everything is removed with the extensions of users.
  for (const name of model.extensions.keys())
    if (model.extensions.get(name)?.metadata.labels?.["olm.operatorframework.io/dependency"] === undefined) model.delete(name);
  await settle(model, random);
  expect([...model.extensions.keys()], JSON.stringify([...model.states])).toEqual([]);
}

test(`DependencyPlans ends with installed bundles or a reason in ${RUNS} generated worlds`, { timeout: 120_000 }, async () => {
  for (let seed = 1; seed <= RUNS; seed++)
    await run(seed).catch((err: unknown) => {
      throw new Error(`seed ${seed}: ${err instanceof Error ? err.message : String(err)}`, { cause: err });
    });
});

/** Creates a plan from the waves of its extensions; the root is in the last one. */
function newPlan(root: string, ...waves: string[][]): KnownPlan {
  const members = [...waves, [root]].flatMap((names, at) =>
    names.map((name) => ({
      extension: name,
      packageName: name,
      bundle: { name: `${name}.v1.0.0`, version: "1.0.0" },
      catalog: "c",
      wave: at + 1,
    })),
  );
  const bundle = { name: `${root}.v1.0.0`, version: "1.0.0" };
  const status = { digest: `sha256:${root}`, bundle, catalog: "c", wave: waves.length + 1, members };
  return { root, uid: `uid-of-${root}`, status, members };
}

function newPlans(...all: KnownPlan[]): { plans: DependencyPlans; enqueued: string[] } {
  const enqueued: string[] = [];
  const plans = new DependencyPlans({
    enqueue: (name) => enqueued.push(name),
    extensions: { get: () => undefined },
    installed: { list: () => [] },
  });
  for (const plan of all) plans.set(plan);
  return { plans, enqueued };
}

test("DependencyPlans lets an extension continue when one of its plans waits for no other extension", () => {
  const { plans } = newPlans(newPlan("aaa", ["f"], ["e"]), newPlan("bbb", ["e"]));
  expect(plans.listWaiting("e")).toEqual([]);
  plans.remove("bbb");
  expect(plans.listWaiting("e")).toEqual(['ClusterExtension "f" (package "f"), created as a dependency']);
});

test("DependencyPlans notes the failure of an extension for each plan that contains it and is not rolled back", () => {
  const { plans, enqueued } = newPlans(newPlan("aaa", ["e"]), newPlan("bbb", ["e"]), newPlan("ccc", ["f"]));
  expect(plans.fail("e", "first")).toBe(true);
  expect(["aaa", "bbb", "ccc"].map((root) => plans.getFailure(root))).toEqual(["first", "first", undefined]);
  expect(enqueued).toEqual(["aaa", "bbb"]);
  plans.recordFailure("aaa", { message: "first", generation: 1, at: 0 });
  expect(plans.find("e")?.root).toBe("bbb");
  plans.fail("e", "second");
  expect(["aaa", "bbb"].map((root) => plans.getFailure(root))).toEqual([undefined, "first"]);
  expect(plans.fail("g", "third")).toBe(false);
});
