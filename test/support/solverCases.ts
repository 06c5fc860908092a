import type { Property } from "../../pkg/fbc/types.ts";
import { CelRules } from "../../pkg/resolve/cel/celRules.ts";
import type { Gvk } from "../../pkg/resolve/constraint/constraint.ts";
import { parseConstraints } from "../../pkg/resolve/constraint/parse.ts";
import type { RejectedSolverBundle, SolverBundle, SolverProblem, Unit } from "../../pkg/resolve/solver/problem.ts";
import { parseVersionRelease } from "../../pkg/version/version.ts";
import type { CaseHead } from "./caseFiles.ts";

/** A bundle in a case; omitted members have the usual value. */
interface StatedBundle {
  version: string;
  name?: string;
  /** "x" by default; null for none. */
  catalog?: string | null;
  priority?: number;
  channels?: string[];
  /** False for a bundle that is not in the default channel. */
  default?: boolean;
  deprecated?: boolean;
  /** As group/version/kind. */
  apis?: string[];
  properties?: Property[];
  /** Values of `olm.constraint`, or whole properties. */
  requires?: (Record<string, unknown> | Property)[];
}

/** A bundle in a case that cannot be chosen. */
interface StatedRejection extends Omit<StatedBundle, "version" | "requires" | "catalog"> {
  /** Undefined for a bundle without a valid version. */
  version?: string;
  catalog?: string;
  /** The author's mistake, or another reason. */
  faulty?: string;
  why?: "unnamed" | "unversioned" | "fixed";
}

/** The candidates of each package in a case. */
type StatedUnits = Record<string, StatedBundle[]>;

export interface SolverCase extends CaseHead {
  wanted?: StatedUnits;
  installed?: StatedUnits;
  offered?: StatedUnits;
  /** APIs that the cluster serves, as group/version/kind, each with its owner; null for no owner. */
  served?: Record<string, string | null>;
  rejected?: Record<string, StatedRejection[]>;
}

const cel = new CelRules();

/** Creates the problem of a case. @throws Error for a constraint that cannot be parsed. */
export function buildSolverProblem({ wanted = {}, installed = {}, offered = {}, served = {}, rejected = {} }: SolverCase): SolverProblem {
  return {
    units: [...toUnits("wanted", wanted), ...toUnits("installed", installed), ...toUnits("offered", offered)],
    served: Object.entries(served).map(([api, owner]) => ({ gvk: parseGvk(api), owner: owner ?? undefined })),
    rejected: Object.entries(rejected).flatMap(([packageName, bundles]) => bundles.map((bundle) => toRejected(packageName, bundle))),
  };
}

function toUnits(kind: Unit["kind"], stated: StatedUnits): Unit[] {
  return Object.entries(stated).map(([packageName, bundles]) => ({
    kind,
    packageName,
    candidates: bundles.map((bundle) => bundleOf(packageName, bundle)),
  }));
}

function bundleOf(packageName: string, stated: StatedBundle): SolverBundle {
  const { version, name = `${packageName}.v${version}`, catalog = "x", requires = [], properties = [], apis = [] } = stated;
  const declared = requires.map((value) => ("type" in value ? (value as Property) : { type: "olm.constraint", value }));
  const { constraints, faults } = parseConstraints({ name, properties: declared }, cel);
  if (faults.length > 0) throw new Error(`${name}: ${JSON.stringify(faults)}`);
  return {
    packageName,
    name,
    version: parseVersionRelease(version),
    catalog: catalog ?? undefined,
    priority: stated.priority ?? 0,
    channels: stated.channels ?? ["stable"],
    inDefaultChannel: stated.default ?? true,
    deprecated: stated.deprecated ?? false,
    apis: apis.map(parseGvk),
    properties,
    constraints,
  };
}

function toRejected(packageName: string, stated: StatedRejection): RejectedSolverBundle {
  const { version, name = `${packageName}.v${version}`, catalog = "x", apis = [], properties = [], faulty, why = "fixed" } = stated;
  return {
    packageName,
    name,
    version: version === undefined ? undefined : parseVersionRelease(version),
    catalog,
    apis: apis.map(parseGvk),
    properties,
    why: faulty === undefined ? { kind: why } : { kind: "faulty", fault: faulty },
  };
}

function parseGvk(text: string): Gvk {
  const [group = "", version = "", kind = ""] = text.split("/");
  return { group, version, kind };
}

/** Formats the solution as in cases: versions by package, with the catalog if it is not "x". */
export function statedChoice(chosen: ReadonlyMap<string, SolverBundle>): Record<string, string> {
  return Object.fromEntries(
    [...chosen.values()].map(({ packageName, name, catalog }) => {
      const version = name.slice(packageName.length + 2);
      return [packageName, catalog === undefined || catalog === "x" ? version : `${version} of ${catalog}`];
    }),
  );
}
