import type { KubeObject } from "../api/k8s.ts";
import { BUNDLE_LIMITS, bundleTooLarge } from "../bundle/limits.ts";
import type { Csv } from "../bundle/types.ts";
import { goJson } from "../golang/json.ts";
import { excerpt } from "../fbc/boundedTexts.ts";

/**
 * Checks how many objects the permissions of a bundle render to, before they are rendered: a Role and a RoleBinding in each watched namespace.
 * @throws TerminalError Blocked above the limit on rendered objects.
 */
export function checkRoles({ spec }: Pick<Csv, "spec">, namespaces: readonly string[]): void {
  const { renderedObjects: most } = BUNDLE_LIMITS;
  const permissions = spec.install.spec.permissions?.length ?? 0;
  const objects = 2 * permissions * namespaces.length;
  if (objects > most)
    throw bundleTooLarge(
      `its ${permissions} permissions in ${namespaces.length} watched namespaces render to ${objects} objects, more than the ${most} allowed`,
    );
}

/**
 * Checks the size of rendered objects as JSON.
 * @throws TerminalError Blocked above a limit on the number of objects, on the bytes of one, which it names, or on the bytes of all.
 */
export function checkRendered(objects: readonly KubeObject[]): void {
  const { renderedObjects, renderedObjectBytes, renderedBytes } = BUNDLE_LIMITS;
  if (objects.length > renderedObjects)
    throw bundleTooLarge(`it renders to ${objects.length} objects, more than the ${renderedObjects} allowed`);
  let bytes = 0;
  for (const object of objects) {
    const size = jsonBytes(object);
    if (size > renderedObjectBytes)
      throw bundleTooLarge(
        `its ${described(object)} has ${size} bytes as JSON, more than the ${renderedObjectBytes} an API server accepts`,
      );
    bytes += size;
    if (bytes > renderedBytes) throw bundleTooLarge(`its objects have ${bytes} bytes as JSON, more than the ${renderedBytes} allowed`);
  }
}

/** Kind and name, which a manifest may lack. */
function described({ kind, metadata }: Partial<KubeObject>): string {
  return excerpt(`${kind} ${metadata?.name}`);
}

function jsonBytes(object: KubeObject): number {
  try {
    return Buffer.byteLength(JSON.stringify(object));
  } catch {
    // JSON.stringify does not write bigint, and is twice as fast.
    return Buffer.byteLength(goJson(object));
  }
}
