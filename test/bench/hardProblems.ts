import type { BundleConstraint, Gvk } from "../../pkg/resolve/constraint/constraint.ts";
import type { SolverBundle, SolverProblem, Unit } from "../../pkg/resolve/solver/problem.ts";
import { parseRange } from "../../pkg/version/blang.ts";
import { parseVersionRelease } from "../../pkg/version/version.ts";
import { createRandom, pick, shuffle, upTo } from "../support/random.ts";

/** Returns a bundle of a package with a major version, in one catalog. */
function bundle(packageName: string, major: number, content: Partial<Pick<SolverBundle, "apis" | "constraints">> = {}): SolverBundle {
  return {
    packageName,
    name: `${packageName}.v${major}.0.0`,
    version: parseVersionRelease(`${major}.0.0`),
    catalog: "hard",
    priority: 0,
    channels: ["stable"],
    inDefaultChannel: true,
    deprecated: false,
    apis: [],
    properties: [],
    constraints: [],
    ...content,
  };
}

function api(kind: string): Gvk {
  return { group: "example.com", version: "v1", kind };
}

function requireApi(kind: string): BundleConstraint {
  return { kind: "gvk", gvk: api(kind) };
}

function requirePackage(packageName: string, range: string): BundleConstraint {
  return { kind: "package", packageName, range: { text: range, versions: parseRange(range) } };
}

function listOf<T>(length: number, make: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => make(index));
}

/** Returns a problem with one wanted bundle and offered packages. */
function rootProblem(constraints: readonly BundleConstraint[], offered: readonly (readonly SolverBundle[])[]): SolverProblem {
  const units = offered.map((candidates): Unit => ({ kind: "offered", packageName: candidates[0]?.packageName ?? "", candidates }));
  return { units: [{ kind: "wanted", packageName: "root", candidates: [bundle("root", 1, { constraints })] }, ...units], served: [] };
}

/** Returns wanted packages that each need one of a number of APIs for themselves. There is no solution if there are more packages than APIs. */
export function generatePigeons(packages: number, holes: number): SolverProblem {
  const units = listOf(packages, (pigeon): Unit => {
    const packageName = `pigeon${pigeon}`;
    return { kind: "wanted", packageName, candidates: listOf(holes, (hole) => bundle(packageName, hole, { apis: [api(`Hole${hole}`)] })) };
  });
  return { units, served: [] };
}

/** Returns a bundle that requires a number of versions, each of any package. There is no solution if there are more versions than packages. */
export function generateVersions(versions: number, packages: number): SolverProblem {
  const required = listOf(versions, (version): BundleConstraint => {
    return { kind: "any", constraints: listOf(packages, (index) => requirePackage(`package${index}`, `${version}.0.0`)) };
  });
  return rootProblem(
    required,
    listOf(packages, (index) => listOf(versions, (version) => bundle(`package${index}`, version))),
  );
}

/**
 * Returns a bundle that requires a number of APIs, each with this number of providers. A provider also provides one of the APIs `Slot`, which can have
 * only one provider. There is no solution if there are fewer slots than APIs.
 */
export function generateProviders(apis: number, providers: number, slots: number): SolverProblem {
  const offered = listOf(apis * providers, (index) => {
    const [kind, provider] = [Math.floor(index / providers), index % providers];
    return [bundle(`provider${kind}-${provider}`, 1, { apis: [api(`Kind${kind}`), api(`Slot${provider % slots}`)] })];
  });
  return rootProblem(
    listOf(apis, (kind) => requireApi(`Kind${kind}`)),
    offered,
  );
}

/** Returns a bundle that requires a number of APIs, each with this number of providers, which each require two random providers of other APIs. */
export function generateRandomProviders(apis: number, providers: number, seed: number): SolverProblem {
  const random = createRandom(seed);
  const other = (kind: number): BundleConstraint => {
    const on = (kind + 1 + upTo(random, apis - 1)) % apis;
    return { kind: "any", constraints: listOf(3, () => requirePackage(`provider${on}-${upTo(random, providers)}`, ">=1.0.0")) };
  };
  const offered = listOf(apis * providers, (index) => {
    const kind = Math.floor(index / providers);
    const packageName = `provider${kind}-${index % providers}`;
    return [bundle(packageName, 1, { apis: [api(`Kind${kind}`)], constraints: [other(kind), other(kind)] })];
  });
  return rootProblem(
    listOf(apis, (kind) => requireApi(`Kind${kind}`)),
    offered,
  );
}

/** Returns packages that each require the next one in a random range of versions. */
export function generateChain(packages: number, versions: number, seed: number): SolverProblem {
  const random = createRandom(seed);
  const offered = listOf(packages, (index) =>
    listOf(versions, (version) => {
      const from = upTo(random, versions);
      const to = from + upTo(random, versions - from);
      const next = requirePackage(`package${index + 1}`, `>=${from}.0.0 <=${to}.0.0`);
      return bundle(`package${index}`, version, { constraints: index + 1 < packages ? [next] : [] });
    }),
  );
  return rootProblem([requirePackage("package0", ">=0.0.0")], offered);
}

/** Returns clauses of three random literals over variables, as a bundle that requires one of three versions of packages for each clause. */
export function generateThreeSat(variables: number, clauses: number, seed: number): SolverProblem {
  const random = createRandom(seed);
  const names = listOf(variables, (index) => `variable${index}`);
  const clause = (): BundleConstraint => ({
    kind: "any",
    constraints: shuffle(random, names)
      .slice(0, 3)
      .map((name) => requirePackage(name, pick(random, ["0.0.0", "1.0.0"]))),
  });
  return rootProblem(
    listOf(clauses, clause),
    names.map((name) => [bundle(name, 0), bundle(name, 1)]),
  );
}
