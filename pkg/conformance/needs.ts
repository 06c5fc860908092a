import type { KubeObject } from "../api/k8s.ts";
import type { Client } from "../kube/client.ts";
import { KindNotServed } from "../kube/errors.ts";

/** Fields of a CustomResourceDefinition, by kind of the field need. */
const DEFINITIONS: Readonly<Record<string, string>> = {
  ClusterCatalog: "clustercatalogs.olm.operatorframework.io",
  ClusterExtension: "clusterextensions.olm.operatorframework.io",
};

/** Finds out what a cluster has; asks once for each need. */
export class ClusterNeeds {
  readonly #client: Pick<Client, "get" | "list">;
  readonly #signal: AbortSignal;
  readonly #known = new Map<string, Promise<string | undefined>>();

  constructor(client: Pick<Client, "get" | "list">, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  /**
   * Returns why the cluster does not have what a scenario needs, a reason for each need:
   * - `kind GROUP/VERSION Kind`: the API server serves the kind
   * - `field ClusterExtension.spec.x`: the definition has the field
   * - `nodes`: the cluster runs Pods
   * - several of these, separated by ` | `: at least one of them
   * @throws Error for another need
   */
  async findMissing(needs: readonly string[]): Promise<string[]> {
    const missing = await Promise.all(needs.map((need) => this.#ask(need)));
    return missing.filter((reason) => reason !== undefined);
  }

  #ask(need: string): Promise<string | undefined> {
    const known = this.#known.get(need) ?? this.#checkAny(need.split(" | "));
    this.#known.set(need, known);
    return known;
  }

  async #checkAny(needs: readonly string[]): Promise<string | undefined> {
    const reasons: string[] = [];
    for (const need of needs) {
      const reason = await this.#check(need);
      if (reason === undefined) return undefined;
      reasons.push(reason);
    }
    return reasons.join(", and ");
  }

  async #check(need: string): Promise<string | undefined> {
    const [kind, ...rest] = need.split(" ");
    const subject = rest.join(" ");
    if (kind === "kind") return this.#checkKind(rest[0] ?? "", rest[1] ?? "");
    if (kind === "field") return this.#checkField(subject);
    if (need === "nodes") return this.#checkNodes();
    throw new Error(`unknown need "${need}"`);
  }

  async #checkKind(apiVersion: string, kind: string): Promise<string | undefined> {
    try {
      await this.#client.list({ apiVersion, kind }, { metadataOnly: true, signal: this.#signal });
      return undefined;
    } catch (err) {
      if (err instanceof KindNotServed) return `the API server does not serve ${apiVersion} ${kind}`;
      throw err;
    }
  }

  async #checkField(field: string): Promise<string | undefined> {
    const [kind = "", ...path] = field.split(".");
    const name = DEFINITIONS[kind];
    if (name === undefined) throw new Error(`unknown kind in need "field ${field}"`);
    const definition = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", name };
    const crd = await this.#client.get(definition, { signal: this.#signal });
    return crd && hasField(crd, path) ? undefined : `${kind} has no field ${path.join(".")}`;
  }

  async #checkNodes(): Promise<string | undefined> {
    const { items } = await this.#client.list({ apiVersion: "v1", kind: "Node" }, { metadataOnly: true, signal: this.#signal });
    return items.length > 0 ? undefined : "the cluster has no nodes";
  }
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
}

function hasField(crd: KubeObject, path: readonly string[]): boolean {
  const { versions } = crd["spec"] as { versions: { schema?: { openAPIV3Schema?: Schema } }[] };
  return versions.some(({ schema }) => {
    let at: Schema | undefined = schema?.openAPIV3Schema;
    for (const name of path) at = at?.properties?.[name];
    return at !== undefined;
  });
}
