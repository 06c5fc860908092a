import { inject } from "vitest";

/**
 * Returns whether the control plane of this run is older than a minor version of Kubernetes. If so, prints that tests are skipped, and why.
 * @param minor such as 36 for Kubernetes 1.36, the first version that has what the tests need
 * @param what the skipped tests, such as "config/admission"
 */
export function isOlderThan(minor: number, what: string): boolean {
  const context = inject("cluster");
  if (!context.available) return false;
  const [, found = "0"] = /^v1\.(\d+)/.exec(context.kubernetes) ?? [];
  if (Number(found) >= minor) return false;
  console.log(`skipped: ${what}: needs Kubernetes 1.${minor}, but the control plane has ${context.kubernetes}`);
  return true;
}
