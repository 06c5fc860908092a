import { type KubeObject, refOf } from "../../api/k8s.ts";
import { messageOf } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import { describeObject } from "../../release/identity.ts";
import type { Owner } from "../../release/ownership.ts";
import type { CrdPolicy } from "../../release/plan.ts";
import type { LeftObject } from "../../release/record.ts";
import type { Applier } from "./applier.ts";
import { throwFailures } from "./failures.ts";
import { asObject, oursOf } from "./ownedObjects.ts";
import { type KeptCrd, removeCrds } from "./removeCrds.ts";

/** For whom kept definitions are checked again, and what becomes of them. */
export interface RecheckRequest {
  policy: CrdPolicy;
  owner: Owner;
  /** Whether another extension wants an object. */
  isWanted: (object: KubeObject) => boolean;
}

/** A definition that stays after a check. */
export interface StillKept {
  left: LeftObject;
  /** Set when the next try may find the definition unused. */
  retry?: { readonly cause: unknown };
}

/** Whether it is a definition that is kept, not an object that is left for another extension. */
export function isKept({ kept }: LeftObject): boolean {
  return kept !== undefined;
}

/** A kept definition as a release records it. */
export function asLeft({ crd, because }: KeptCrd): LeftObject {
  return { ...refOf(crd), kept: because };
}

/** Such as "CustomResourceDefinition things.example.com: custom resources of it exist". */
export function keptText({ kept = "", ...ref }: LeftObject): string {
  return `${describeObject(ref)}: ${kept}`;
}

/**
 * Checks definitions again that an earlier release has kept: deletes what the policy allows now, and forgets what is gone or belongs to someone else.
 * The bundle that contained them is no longer installed, so the ServiceAccount may have lost its permissions on them. Under policies DeleteIfUnused and
 * Retain such a definition stays, or an administrator who narrows the permissions would hold up every later upgrade and the uninstall.
 * @returns those that stay, with the reason of this check.
 * @throws RetryableError Retrying if a read fails for another reason; under policy Delete with every refusal.
 */
export async function recheckKept(
  applier: Pick<Applier, "readEach" | "remove" | "removeUnchanged">,
  client: Pick<Client, "get" | "list" | "raw">,
  definitions: readonly LeftObject[],
  { policy, owner, isWanted }: RecheckRequest,
  signal: AbortSignal,
): Promise<StillKept[]> {
  const still: StillKept[] = [];
  for (const one of definitions) {
    const { kept: _before, ...ref } = one;
    const stays = (because: string): void => void still.push({ left: { ...ref, kept: because } });
    const { objects, failures } = await applier.readEach([ref]);
    const [failure] = failures;
    if (failure && (policy === "Delete" || !isForbidden(failure.err))) throwFailures("could not get object: ", failures);
    if (failure) {
      stays(`it may not be read (${messageOf(failure.err)})`);
      continue;
    }
    const [crd] = oursOf([asObject(ref)], objects, owner);
    if (!crd) continue;
    if (isWanted(crd)) {
      still.push({ left: one });
      continue;
    }
    try {
      for (const kept of (await removeCrds(applier, client, [crd], policy, signal)).kept)
        still.push({ left: asLeft(kept), ...(kept.retry ? { retry: kept.retry } : {}) });
    } catch (err) {
      const { cause } = err as Error;
      if (policy === "Delete" || !isForbidden(cause)) throw err;
      stays(`it is unused but may not be deleted (${messageOf(cause)})`);
    }
  }
  return still;
}
