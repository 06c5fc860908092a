import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { mapInParallel } from "../../../pkg/async/concurrency.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { KindNotServed } from "../../../pkg/kube/errors.ts";
import { table } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";

/** An API that an extension brings, and what the user may do with its objects. */
export interface ProvidedApi {
  readonly kind: string;
  readonly group: string;
  readonly versions: readonly string[];
  readonly extension: string;
  /** Of `VERBS`, in their order; absent where the API is not served. */
  readonly allowed?: readonly string[];
}

const VERBS = ["get", "list", "watch", "create", "update", "patch", "delete"] as const;
const READING: readonly string[] = ["get", "list", "watch"];
/** Questions under way at once. */
const PARALLEL = 8;

/**
 * The APIs that the extensions bring, with what the user may do, by SelfSubjectAccessReview.
 * @param namespace where; without one, in all namespaces together.
 */
export async function apisOf(
  client: Pick<Client, "resourceFor" | "raw">,
  extensions: readonly ClusterExtension[],
  namespace: string | undefined,
): Promise<ProvidedApi[]> {
  const provided = extensions.flatMap(({ metadata, status }) =>
    (status?.providedAPIs ?? []).map(({ group, kind, versions }) => ({ kind, group, versions, extension: metadata.name })),
  );
  return mapInParallel(provided, PARALLEL, async (api) => {
    const { group, kind, versions } = api;
    try {
      const { resource, namespaced } = await client.resourceFor({ apiVersion: `${group}/${versions[0] ?? ""}`, kind });
      const where = namespaced && namespace !== undefined ? { namespace } : {};
      const may = (verb: string): Promise<boolean> => isAllowed(client, { group, resource, verb, ...where });
      if (await may("*")) return { ...api, allowed: [...VERBS] };
      const answers = await Promise.all(VERBS.map(may));
      return { ...api, allowed: VERBS.filter((_, i) => answers[i]) };
    } catch (err) {
      if (err instanceof KindNotServed) return api;
      throw err;
    }
  });
}

async function isAllowed(client: Pick<Client, "raw">, resourceAttributes: object): Promise<boolean> {
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes } };
  const answer = (await client.raw("POST", path, review)) as { status?: { allowed?: boolean } };
  return answer.status?.allowed === true;
}

/** The APIs as a table. */
export function apisText(
  terminal: Pick<Terminal, "width" | "colour">,
  apis: readonly ProvidedApi[],
  namespace: string | undefined,
): string {
  if (apis.length === 0) return "no extension provides an API\n";
  const may = namespace === undefined ? "YOU MAY" : `YOU MAY IN ${namespace}`;
  const rows = apis.map(({ kind, group, versions, extension, allowed }) => [
    kind,
    group,
    versions.join(","),
    extension,
    allowedText(allowed),
  ]);
  return table(terminal, ["KIND", "GROUP", "VERSIONS", "EXTENSION", may], rows);
}

function allowedText(allowed: readonly string[] | undefined): string {
  if (!allowed) return "nothing: it is not served";
  if (allowed.length === 0) return "nothing";
  if (allowed.length === VERBS.length) return "everything";
  return allowed.length === READING.length && READING.every((verb) => allowed.includes(verb)) ? "read" : allowed.join(",");
}
