import { type GroupVersionKind, getGroup, type KubeObject } from "../../api/k8s.ts";
import { newProblem, type ProblemObject } from "../../api/problems.ts";
import type { Client } from "../../kube/client.ts";
import { isCrd } from "../../release/identity.ts";
import { WaitingError } from "../state/conditionPoller.ts";
import { newFinding, type PreflightCheck, type Refusal } from "./preflightRequest.ts";
import { findResource, formatKinds, getKindKey, type ServedKinds } from "./preparedObjects.ts";

const GO_PREFIX =
  "failed to get release state using server-side dry-run: error while running post render on files: postrenderer[0] (*client.ownerPostRenderer) failed: ";

/** A kind that the cluster does not serve. */
interface UnservedKind extends GroupVersionKind {
  /** The CustomResourceDefinition in the same bundle that defines this kind, if there is one. */
  readonly definedBy?: string;
}

/** Denies a release with kinds that the cluster does not serve. */
export const kindsCheck: PreflightCheck = {
  name: "kindNotServed",
  run: ({ desired, kinds, discovery, isAwaited }) => {
    const unserved = kinds.unserved.filter((object) => !isAwaited?.(object));
    return Promise.resolve(denyUnservedKinds(desired, { unserved }, discovery));
  },
};

/**
 * Denies objects whose kind the cluster does not serve, even if a CustomResourceDefinition among them defines it. If so, nothing is written.
 * @returns WaitingError KindNotServed with every such object; undefined if every kind is served.
 * @see helm-operator-plugins v0.9.1 pkg/client/ownerutil.go for the start of the text
 */
export function denyUnservedKinds(
  desired: readonly KubeObject[],
  { unserved }: Pick<ServedKinds, "unserved">,
  client: Pick<Client, "resourceFor">,
): Refusal | undefined {
  const [first] = unserved;
  if (!first) return undefined;
  const each = unserved.map(
    ({ apiVersion, kind, metadata }) =>
      `resource mapping not found for name: "${metadata.name}" namespace: "${metadata.namespace ?? ""}" from "": ` +
      `no matches for kind "${kind}" in version "${apiVersion}"\nensure CRDs are installed first`,
  );
  const listed = each.length === 1 ? each[0] : `[${each.join(", ")}]`;
  const message = `this cluster does not serve ${formatKinds(unserved)}`;
  const isOver = async (): Promise<boolean> => (await findResource(client, first)) !== undefined;
  const kinds = findUnservedKinds(desired, unserved);
  return {
    findings: [
      newFinding("kindNotServed", newProblem("KindNotServed", { message, next: getAdvice(kinds), details: kinds.map(toKindDetails) })),
    ],
    error: new WaitingError("KindNotServed", `${GO_PREFIX}${listed}`, { isOver }),
  };
}

function toKindDetails({ apiVersion, kind }: UnservedKind): ProblemObject {
  const group = getGroup(apiVersion);
  return { ...(group === "" ? {} : { group }), kind };
}

function findUnservedKinds(desired: readonly KubeObject[], unserved: readonly KubeObject[]): UnservedKind[] {
  const definitions = new Map(
    desired.filter(isCrd).flatMap((crd) => listDefinedKinds(crd).map((kind) => [kind, crd.metadata.name] as const)),
  );
  const byKind = new Map(unserved.map(({ apiVersion, kind }) => [getKindKey({ apiVersion, kind }), { apiVersion, kind }]));
  return [...byKind].map(([key, gvk]) => {
    const definedBy = definitions.get(key);
    return definedBy === undefined ? gvk : { ...gvk, definedBy };
  });
}

/** Lists the keys of all kinds that a CustomResourceDefinition defines. */
function listDefinedKinds(crd: KubeObject): string[] {
  const {
    group = "",
    names,
    versions = [],
  } = (crd["spec"] ?? {}) as {
    group?: string;
    names?: { kind?: string };
    versions?: { name?: string }[];
  };
  return versions.map(({ name }) => getKindKey({ apiVersion: `${group}/${name}`, kind: names?.kind ?? "" }));
}

function getAdvice(kinds: readonly UnservedKind[]): string {
  const unknown = kinds.filter(({ definedBy }) => definedBy === undefined);
  const defined = kinds.filter(({ definedBy }) => definedBy !== undefined);
  if (defined.length === 0) return "first install the operator or CustomResourceDefinition that provides the missing kind";
  const own = `apply the CustomResourceDefinition of ${formatKinds(defined)} from the bundle yourself, because operator-controller applies no objects until the cluster serves all kinds`;
  return unknown.length === 0 ? own : `first install the operator that provides ${formatKinds(unknown)}, and ${own}`;
}
