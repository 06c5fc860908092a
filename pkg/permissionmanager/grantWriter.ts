import { LABEL_PERMISSIONS_FOR } from "../api/constants.ts";
import { type KubeObject, toObjectRef } from "../api/k8s.ts";
import { mapInParallel } from "../async/concurrency.ts";
import { encodeCanonicalJson } from "../golang/json.ts";
import type { Client } from "../kube/client.ts";
import { isAlreadyExists } from "../kube/errors.ts";
import { buildGrantObjects, type GrantedAccess, isGrantName, readGrantedRules } from "../permissions/grantObjects.ts";
import type { Subject } from "../rbac/installerManifests.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";
import { getObjectKey } from "../release/identity.ts";

/** Field manager of everything that permission-manager writes. */
export const PERMISSION_FIELD_MANAGER = "permission-manager";

/** An extension has about eight objects. */
const WRITES_AT_ONCE = 8;
const RBAC = "rbac.authorization.k8s.io/v1";
/** The kinds that permission-manager creates for an extension, in the order in which it deletes them. */
export const GRANT_KINDS = [
  { apiVersion: RBAC, kind: "ClusterRoleBinding" },
  { apiVersion: RBAC, kind: "RoleBinding" },
  { apiVersion: RBAC, kind: "ClusterRole" },
  { apiVersion: RBAC, kind: "Role" },
  { apiVersion: "v1", kind: "ServiceAccount" },
] as const;

/** The objects of one extension on the cluster. */
export interface GrantedObjects {
  readonly objects: readonly KubeObject[];
  readonly rules: RequiredRules;
}

/** Reads, writes and deletes the identity and the roles of extensions. Every write is idempotent, so that the next reconcile completes it. */
export class GrantWriter {
  readonly #client: Pick<Client, "apply" | "create" | "delete" | "list">;
  readonly #controller: Subject;

  /** @param controller identity of operator-controller, which may request tokens of the ServiceAccounts */
  constructor(client: Pick<Client, "apply" | "create" | "delete" | "list">, controller: Subject) {
    this.#client = client;
    this.#controller = controller;
  }

  /** Reads the objects of an extension. */
  async read(extension: string, signal: AbortSignal): Promise<GrantedObjects> {
    const labelSelector = `${LABEL_PERMISSIONS_FOR}=${extension}`;
    const lists = await Promise.all(
      GRANT_KINDS.map(async (gvk) => (await this.#client.list(gvk, { labelSelector, signal })).items.map((item) => ({ ...item, ...gvk }))),
    );
    // Objects with the label but another name are not ours: permission-manager neither trusts nor deletes them.
    const objects = lists.flat().filter(({ metadata }) => isGrantName(metadata.name));
    return { objects, rules: readGrantedRules(extension, objects) };
  }

  /**
   * Gives an extension exactly the rules of `grant`: writes objects that differ, roles before their bindings, then deletes those that are not needed.
   * @param before what `read` returned
   */
  async write(extension: string, namespace: string, grant: GrantedAccess, before: GrantedObjects): Promise<void> {
    const desired = buildGrantObjects(extension, namespace, grant, this.#controller);
    const live = new Map(before.objects.map((object) => [getObjectKey(object), object]));
    const apply = async (object: KubeObject): Promise<void> => {
      const found = live.get(getObjectKey(object));
      live.delete(getObjectKey(object));
      if (!found) await this.#create(object);
      else if (hasChanged(found, object)) await this.#apply(object);
    };
    // A binding must not bind a role with other rules: writing a role fails if another program created it.
    await writeAll(
      desired.filter((object) => !isBinding(object)),
      apply,
    );
    await writeAll(desired.filter(isBinding), apply);
    await this.#delete([...live.values()]);
  }

  /** Creates an object, which costs the API server less than an apply. */
  async #create(object: KubeObject): Promise<void> {
    try {
      await this.#client.create(object, { fieldManager: PERMISSION_FIELD_MANAGER });
    } catch (err) {
      if (!isAlreadyExists(err)) throw err;
      await this.#apply(object);
    }
  }

  async #apply(object: KubeObject): Promise<void> {
    await this.#client.apply(object, { fieldManager: PERMISSION_FIELD_MANAGER, force: true });
  }

  /** Deletes the identity and all roles of an extension. */
  async revoke({ objects }: GrantedObjects): Promise<void> {
    await this.#delete(objects);
  }

  async #delete(objects: readonly KubeObject[]): Promise<void> {
    const order = (object: KubeObject): number => GRANT_KINDS.findIndex(({ kind }) => kind === object.kind);
    for (const object of objects.toSorted((a, b) => order(a) - order(b))) await this.#client.delete(toObjectRef(object));
  }
}

/**
 * Writes all objects, also after a failure: one that cannot be written must not keep permissions in
 * the others. @throws the first error
 */
async function writeAll(objects: readonly KubeObject[], write: (object: KubeObject) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  await mapInParallel(objects, WRITES_AT_ONCE, (object) => write(object).catch((err: unknown) => void failures.push(err)));
  if (failures.length > 0) throw failures[0];
}

function isBinding({ kind }: KubeObject): boolean {
  return kind.endsWith("Binding");
}

/** Reports whether the permissions of a live object differ from the desired ones. */
function hasChanged(live: KubeObject, desired: KubeObject): boolean {
  return ["rules", "roleRef", "subjects"].some(
    (member) => encodeCanonicalJson(live[member] ?? null) !== encodeCanonicalJson(desired[member] ?? null),
  );
}
